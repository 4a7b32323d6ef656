//! Programs with all their descendants.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process_group,
    set_child_subreaper, wait, waitid, waitpid,
};

use crate::end::{
    EndRequest, SETTLE, Target, empties, end, end_by, kill, left_running, usual_request,
};
use uwf_protocol::agent::env::{ATTEMPT, SUPERVISORS};

use crate::signals::{Signals, supervisors};
use crate::snapshot::{Process, below, ended_children, processes};

/// A program that this process started, with everything that the program starts. Further programs can be
/// [added](Self::add): they are limited and ended together with the first.
#[derive(Debug)]
pub struct Tree {
    first: Program,
    added: Vec<Program>,
    /// The processes that have ended after their parents: number and status.
    orphans: Vec<(Pid, ExitStatus)>,
    /// Which processes had ended, or were past being asked to, when the others were asked to end; once they were.
    unasked: Option<Vec<Pid>>,
    /// Processes below us that are older than the tree, and children of ours that had ended before it was started. They do not
    /// belong to the tree: the code that started one waits for it.
    others: Vec<Process>,
    /// The mark in the environment of the tree's processes, if it has one. What carries another mark comes from a process
    /// of `others`.
    mark: Option<String>,
    /// The signal that its programs get as the request to end, if the caller chose one.
    request: Option<Signal>,
}

/// One program of a tree.
#[derive(Debug)]
struct Program {
    pid: Pid,
    child: Child,
    status: Option<ExitStatus>,
    /// Whether [`Tree::next_exit`] has returned its end.
    is_reported: bool,
}

impl Tree {
    /// Starts a program in a process group of its own. From now on the descendants of this process stay its
    /// descendants when their parents die.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let others = match has_children() {
            true => [descendants(|_| false), ended_children()].concat(),
            false => Vec::new(),
        };
        let mark = command.get_envs().find_map(|(name, value)| {
            let mark = value.filter(|_| name == ATTEMPT)?;
            Some(mark.to_string_lossy().into_owned())
        });
        Ok(Self {
            first: Program::spawn(command)?,
            added: Vec::new(),
            orphans: Vec::new(),
            unasked: None,
            others,
            mark,
            request: None,
        })
    }

    /// Chooses the signal by which [`end`](Self::end) asks the tree's programs to end, so that they can say which signal
    /// ended them. What they started is asked as usual.
    pub fn ask_by(&mut self, signal: i32) {
        self.request = Signal::from_named_raw(signal);
    }

    /// Starts another program of the tree, in a process group of its own, and returns the number of its process.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn add(&mut self, command: &mut Command) -> io::Result<u32> {
        let program = Program::spawn(command)?;
        let pid = program.child.id();
        self.added.push(program);
        Ok(pid)
    }

    /// Returns the number of the first program's process, which is also that of its process group.
    #[must_use]
    pub fn leader(&self) -> u32 {
        self.first.child.id()
    }

    /// Returns the pipe to the first program's standard input, once, if there is one.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.first.child.stdin.take()
    }

    /// Returns the pipe from the first program's standard output, once, if there is one.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.first.child.stdout.take()
    }

    /// Returns the pipe from the first program's standard error, once, if there is one.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.first.child.stderr.take()
    }

    /// Returns how the first program itself ended, if it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.collect_programs();
        self.first.status
    }

    /// Returns the number and the status of a program that has ended, each program once, in the order in which they were
    /// started. `Err` tells whether a program still runs.
    pub(crate) fn next_ended(&mut self) -> Result<(u32, ExitStatus), Running> {
        self.collect_programs();
        let mut running = Running::None;
        for program in self.programs_mut() {
            match program.status {
                Some(status) if !program.is_reported => {
                    program.is_reported = true;
                    return Ok((program.child.id(), status));
                }
                Some(_) => {}
                None => running = Running::Some,
            }
        }
        Err(running)
    }

    /// Returns how the next program ended of which no caller knows it yet, with its number.
    pub fn next_known_end(&mut self) -> Option<(u32, ExitStatus)> {
        self.next_ended().ok()
    }

    fn programs_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        std::iter::once(&mut self.first).chain(&mut self.added)
    }

    /// Tells whether everything that the program started has ended, and what it left behind has ended well. Processes
    /// of which the program itself saw the end do not count.
    #[must_use]
    pub fn ended_well_below(&mut self) -> bool {
        self.is_empty() && self.orphans.iter().all(|(_, status)| status.success())
    }

    /// Returns the numbers of the processes that have ended well after their parents, and before they were asked to end. A
    /// process that ends well because it was asked to may have been cut short.
    #[must_use]
    pub fn succeeded_orphans(&self) -> Vec<u32> {
        let is_unasked = |pid| self.unasked.as_ref().is_none_or(|all| all.contains(pid));
        let succeeded = self.orphans.iter();
        let succeeded = succeeded.filter(|(pid, status)| status.success() && is_unasked(pid));
        succeeded
            .filter_map(|(pid, _)| u32::try_from(pid.as_raw_pid()).ok())
            .collect()
    }

    /// Gives what the program left running a moment to end, and returns what is left then.
    #[must_use]
    pub fn left_running(&mut self, signals: &Signals) -> Vec<Process> {
        left_running(self, signals)
    }

    /// Ends everything that is left of the tree, as [`end`] does. Returns what could not be ended.
    #[must_use]
    pub fn end(&mut self, request: EndRequest, grace: Duration, signals: &Signals) -> Vec<Process> {
        let left = end(self, request, grace, signals);
        self.kill_without_proc(&left, signals);
        left
    }

    /// Ends everything that is left of the tree: each process gets the signal, and is killed after the grace, or as soon as
    /// this process gets a signal. Returns what could not be ended.
    #[must_use]
    pub fn end_by(&mut self, signal: i32, grace: Duration, signals: &Signals) -> Vec<Process> {
        let request = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
        let left = end_by(self, request, grace, signals);
        self.kill_without_proc(&left, signals);
        left
    }

    /// Kills everything that is left of the tree, and returns what could not be ended.
    #[must_use]
    pub fn kill(&mut self, signals: &Signals) -> Vec<Process> {
        let left = kill(self, signals);
        self.kill_without_proc(&left, signals);
        left
    }

    /// Kills the groups of the programs. Without `/proc` no other processes are known.
    fn kill_without_proc(&mut self, left: &[Process], signals: &Signals) {
        if self.is_empty() || !left.is_empty() {
            return;
        }
        for program in self.programs_mut() {
            let _ = kill_process_group(program.pid, Signal::KILL);
        }
        let _ = empties(self, SETTLE, signals);
    }

    /// Tells whether a process below us does not belong to the tree. Without older processes, all do.
    fn is_other(&self, process: &Process) -> bool {
        if self.others.is_empty() {
            return false;
        }
        let mark = process.variable(ATTEMPT);
        self.others.iter().any(|other| other.is(process))
            || (mark.is_some() && self.mark.is_some() && mark != self.mark)
    }

    /// Collects the programs that have ended. Without older processes, what they started is collected with them.
    fn collect_programs(&mut self) {
        if self.others.is_empty() {
            self.collect();
            return;
        }
        for program in self.programs_mut() {
            if program.status.is_none() {
                program.status = ended(program.pid);
            }
        }
    }

    /// Collects all processes of the tree that have ended. Older children are left: who started one waits for it, and its
    /// number stays its own until then.
    fn collect(&mut self) -> Reaped {
        if self.others.is_empty() {
            return reap(|pid, ended| self.take_end(pid, ended));
        }
        self.collect_programs();
        for process in ended_children() {
            let is_other = self.others.iter().any(|other| other.is(&process));
            let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid.filter(|_| !is_other)
                && let Some(status) = ended(pid)
            {
                self.take_end(pid, status);
            }
        }
        Reaped::SomeAreLeft
    }

    /// Tells whether nothing of the tree is left, while older children are.
    fn is_empty_beside_others(&mut self) -> bool {
        loop {
            let collected = self.orphans.len();
            if self.programs_mut().any(|program| program.status.is_none())
                || !self.members().is_empty()
            {
                return false;
            }
            // A process that ended during the look at all processes is in no list, and what it had started may be missing from
            // it, too. It has become a child of ours that has ended.
            self.collect();
            if self.orphans.len() == collected {
                return true;
            }
        }
    }

    fn take_end(&mut self, pid: Pid, ended: ExitStatus) {
        // A number may be that of an earlier program again.
        let program = self
            .programs_mut()
            .find(|program| program.pid == pid && program.status.is_none());
        match program {
            Some(program) => program.status = Some(ended),
            None => self.orphans.push((pid, ended)),
        }
    }
}

/// Whether a program of a tree still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Running {
    /// At least one does.
    Some,
    /// All have ended.
    None,
}

impl Program {
    /// Starts a program in a process group of its own, and tells it who its supervisors are.
    fn spawn(command: &mut Command) -> io::Result<Self> {
        let above = supervisors().into_iter();
        let all = above.chain([getpid().as_raw_pid()]);
        let all: Vec<String> = all.map(|pid| pid.to_string()).collect();
        let child = command
            .process_group(0)
            .env(SUPERVISORS, all.join(" "))
            .spawn()?;
        Ok(Self {
            pid: Pid::from_child(&child),
            child,
            status: None,
            is_reported: false,
        })
    }
}

impl Target for Tree {
    /// The kernel tells: without children there are no descendants, since orphans become our children.
    fn is_empty(&mut self) -> bool {
        match self.collect() {
            Reaped::NoChildLeft => true,
            Reaped::SomeAreLeft if self.others.is_empty() => false,
            Reaped::SomeAreLeft => self.is_empty_beside_others(),
        }
    }

    fn members(&self) -> Vec<Process> {
        descendants(|process| self.is_other(process))
    }

    fn before_request(&mut self, members: &[Process]) {
        let ending = members.iter().filter(|member| member.is_ending());
        let ending = ending.filter_map(|member| Pid::from_raw(i32::try_from(member.pid).ok()?));
        let mut unasked: Vec<Pid> = ending.collect();
        self.collect();
        unasked.extend(self.orphans.iter().map(|(pid, _)| *pid));
        self.unasked = Some(unasked);
    }

    fn request(&self, process: &Process) -> Signal {
        let is_ours = |program: &Program| program.child.id() == process.pid;
        let mut programs = std::iter::once(&self.first).chain(&self.added);
        match self.request {
            Some(signal) if programs.any(is_ours) && process.catches(signal) => signal,
            Some(_) | None => usual_request(process),
        }
    }
}

/// What is left after ended children were collected.
enum Reaped {
    NoChildLeft,
    SomeAreLeft,
}

/// Collects all children that have ended.
fn reap(mut on_end: impl FnMut(Pid, ExitStatus)) -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_end(pid, ExitStatus::from_raw(status.as_raw())),
            Ok(None) => return Reaped::SomeAreLeft,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::NoChildLeft,
        }
    }
}

/// Collects a child if it has ended.
fn ended(pid: Pid) -> Option<ExitStatus> {
    let (_, status) = waitpid(Some(pid), WaitOptions::NOHANG).ok()??;
    Some(ExitStatus::from_raw(status.as_raw()))
}

/// Tells whether this process has a child, also one that has ended and was not waited for. Collects none.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn descendants(leave_out: impl Fn(&Process) -> bool) -> Vec<Process> {
    below(processes(), &[std::process::id()], leave_out)
}

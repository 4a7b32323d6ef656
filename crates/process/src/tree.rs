//! A program with all its descendants.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process_group, set_child_subreaper, wait,
};

use crate::end::{Asked, SETTLE, Target, empties, end, left_running};
use uwf_protocol::agent::env::{ATTEMPT, SUPERVISORS};

use crate::signals::{Signals, supervisors};
use crate::snapshot::{Process, below, processes};

/// A program that this process started, with everything that the program starts.
#[derive(Debug)]
pub struct Tree {
    leader: Pid,
    child: Child,
    status: Option<ExitStatus>,
    /// Whether a process failed whose parent had ended before it.
    orphan_failed: bool,
    /// Processes below us that are older than the tree and do not belong to it.
    others: Vec<Process>,
    /// The mark in the environment of the tree's processes, if it has one. What carries another mark comes from a process
    /// of `others`.
    mark: Option<String>,
}

impl Tree {
    /// Starts a program in a process group of its own. From now on the descendants of this process stay its
    /// descendants when their parents die.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let others = match reap(|_, _| {}) {
            Reaped::NoChildLeft => Vec::new(),
            Reaped::SomeAreLeft => descendants(|_| false),
        };
        let mark = command.get_envs().find_map(|(name, value)| {
            let mark = value.filter(|_| name == ATTEMPT)?;
            Some(mark.to_string_lossy().into_owned())
        });
        let above = supervisors().into_iter();
        let all = above.chain([getpid().as_raw_pid()]);
        let all: Vec<String> = all.map(|pid| pid.to_string()).collect();
        let child = command
            .process_group(0)
            .env(SUPERVISORS, all.join(" "))
            .spawn()?;
        Ok(Self {
            leader: Pid::from_child(&child),
            child,
            status: None,
            orphan_failed: false,
            others,
            mark,
        })
    }

    /// Returns the number of the program's process, which is also that of its process group.
    #[must_use]
    pub fn leader(&self) -> u32 {
        self.child.id()
    }

    /// Returns the pipe to the program's standard input, once, if there is one.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Returns the pipe from the program's standard output, once, if there is one.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Returns the pipe from the program's standard error, once, if there is one.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Returns how the program itself ended, if it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.collect();
        self.status
    }

    /// Tells whether everything that the program started has ended, and what it left behind has ended well. Processes
    /// of which the program itself saw the end do not count.
    #[must_use]
    pub fn ended_well_below(&mut self) -> bool {
        self.is_empty() && !self.orphan_failed
    }

    /// Gives what the program left running a moment to end, and returns what is left then.
    #[must_use]
    pub fn left_running(&mut self, signals: &Signals) -> Vec<Process> {
        left_running(self, signals)
    }

    /// Ends everything that is left of the tree, as [`end`] does. Returns what could not be ended.
    #[must_use]
    pub fn end(&mut self, asked: Asked, grace: Duration, signals: &Signals) -> Vec<Process> {
        let left = end(self, asked, grace, signals);
        if !self.is_empty() && left.is_empty() {
            // Without `/proc` only the group of the program is known.
            let _ = kill_process_group(self.leader, Signal::KILL);
            let _ = empties(self, SETTLE, signals);
        }
        left
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

    /// Collects the processes that have ended.
    fn collect(&mut self) -> Reaped {
        let leader = self.leader;
        let (status, orphan_failed) = (&mut self.status, &mut self.orphan_failed);
        reap(|pid, ended| match pid == leader {
            true => *status = Some(ended),
            false => *orphan_failed |= !ended.success(),
        })
    }
}

impl Target for Tree {
    /// The kernel tells: without children there are no descendants, since orphans become our children.
    fn is_empty(&mut self) -> bool {
        match self.collect() {
            Reaped::NoChildLeft => true,
            Reaped::SomeAreLeft if self.others.is_empty() => false,
            Reaped::SomeAreLeft => self.status.is_some() && self.members().is_empty(),
        }
    }

    fn members(&self) -> Vec<Process> {
        descendants(|process| self.is_other(process))
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
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Reaped::NoChildLeft,
        }
    }
}

fn descendants(leave_out: impl Fn(&Process) -> bool) -> Vec<Process> {
    below(processes(), &[std::process::id()], leave_out)
}

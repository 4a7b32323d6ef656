//! Runs a command under the kernel's tracer and stops each of its processes before every system call that changes a
//! file of the world, waits for a lock or starts a process. There a test may look around, or kill the process.
//!
//! No code for this is in the binary: it works with every build, also the one that is shipped, and no place where a
//! crash could happen can be forgotten.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::sync::mpsc;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::calls;
use crate::world::World;

/// A process that is stopped before a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// The command line of the process.
    pub(crate) command: String,
    /// What it is about to do, such as `rename root/.uwf-temp-x root/threads.yaml`.
    pub(crate) call: String,
}

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoOn,
    Kill,
    /// Kills the command, too, and every process whose command line has the words.
    KillWith(&'static str),
    /// Whatever ends the process, the kernel holds it until the command has ended: nobody can end it before.
    Outlive,
    /// Tells the command to end, with SIGTERM, and lets the call be made.
    Terminate,
}

/// What a traced command did. All its processes have ended.
#[derive(Debug)]
pub(crate) struct Traced {
    /// The exit code, unless a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// All points, in the order in which they were reached.
    pub(crate) points: Vec<Point>,
    /// Which of them was the last of its process, because it was killed there.
    killed_at: Option<usize>,
}

impl Traced {
    /// Returns where a process was killed.
    pub(crate) fn killed(&self) -> Option<&Point> {
        Some(&self.points[self.killed_at?])
    }

    /// Returns what had been done when a process was killed: all of it if none was.
    pub(crate) fn before_the_kill(&self) -> &[Point] {
        &self.points[..self.killed_at.unwrap_or(self.points.len())]
    }
}

/// Runs a command and all that it starts to the end, and asks at every point what is to happen. Meanwhile the process
/// is held there, and the judge may run other commands.
pub(crate) fn trace(
    world: &World,
    args: &[&str],
    mut judge: impl FnMut(&Point) -> Verdict,
) -> Traced {
    let (ask, asked) = mpsc::channel();
    let (answer, answered) = mpsc::channel();
    std::thread::scope(|scope| {
        // The kernel reports to the thread that traces, about all its children: this one has no others.
        let traced = scope.spawn(move || {
            let judge = |point: &Point| {
                ask.send(point.clone()).unwrap();
                answered.recv().unwrap()
            };
            Tracer::start(world, args, judge).run()
        });
        for point in asked {
            answer.send(judge(&point)).unwrap();
        }
        traced.join().unwrap()
    })
}

struct Tracer<'a, J> {
    world: &'a World,
    judge: J,
    first: Pid,
    /// The threads that are traced, with their processes.
    tasks: HashMap<Pid, Pid>,
    traced: Traced,
    /// Whether the shell has become the command.
    begun: bool,
    /// Those that are held at their end.
    held: Vec<Pid>,
}

fn options() -> Options {
    Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL
}

impl<'a, J: FnMut(&Point) -> Verdict> Tracer<'a, J> {
    /// Starts the command behind a shell that waits until it is traced.
    #[expect(
        clippy::zombie_processes,
        reason = "the tracer waits for all that is traced"
    )]
    fn start(world: &'a World, args: &[&str], judge: J) -> Self {
        let output = |name: &str| File::create(world.dir().join(name)).unwrap();
        let mut child = world
            .command_of("sh")
            .args(["-c", "read go; exec \"$0\" \"$@\" < /dev/null"])
            .arg(crate::world::binary())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .spawn()
            .unwrap();
        let first = Pid::from_raw(child.id().cast_signed());
        ptrace::seize(first, options()).unwrap();
        ptrace::interrupt(first).unwrap();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        Self {
            world,
            judge,
            first,
            tasks: HashMap::new(),
            traced: Traced {
                code: None,
                stdout: String::new(),
                stderr: String::new(),
                points: Vec::new(),
                killed_at: None,
            },
            begun: false,
            held: Vec::new(),
        }
    }

    fn run(mut self) -> Traced {
        let any = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(any)) {
                Ok(status) => self.heed(status),
                Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => break,
                Err(error) => panic!("cannot wait for what is traced: {error}"),
            }
        }
        let read = |name: &str| fs::read_to_string(self.world.dir().join(name)).unwrap();
        self.traced.stdout = read("stdout");
        self.traced.stderr = read("stderr");
        self.traced
    }

    fn heed(&mut self, status: WaitStatus) {
        match status {
            WaitStatus::PtraceSyscall(task) => self.at_call(task),
            WaitStatus::PtraceEvent(task, _, libc::PTRACE_EVENT_EXIT) => self.held.push(task),
            WaitStatus::PtraceEvent(task, _, event) => {
                if event == libc::PTRACE_EVENT_EXEC {
                    self.begun = true;
                }
                go_on(task, None);
            }
            WaitStatus::Stopped(task, signal) => go_on(task, Some(signal)),
            WaitStatus::Exited(task, code) => {
                self.forget(task);
                if task == self.first {
                    self.traced.code = Some(code);
                }
            }
            WaitStatus::Signaled(task, ..) => self.forget(task),
            WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
        }
    }

    fn forget(&mut self, task: Pid) {
        self.tasks.remove(&task);
        if task == self.first {
            self.held.drain(..).for_each(|held| go_on(held, None));
        }
    }

    fn at_call(&mut self, id: Pid) {
        let process = *self.tasks.entry(id).or_insert_with(|| process_of(id));
        if self.begun
            && enters_call(id)
            && let Some(call) = calls::describe(id, self.world.dir())
        {
            let point = Point {
                command: command_of(process),
                call,
            };
            let verdict = (self.judge)(&point);
            self.traced.points.push(point);
            let with = match verdict {
                Verdict::GoOn => None,
                Verdict::Terminate => {
                    let _ = kill(self.first, Signal::SIGTERM);
                    None
                }
                Verdict::Outlive => {
                    ptrace::setoptions(id, options() | Options::PTRACE_O_TRACEEXIT).unwrap();
                    None
                }
                Verdict::Kill => Some(Vec::new()),
                Verdict::KillWith(words) => Some(self.processes_with(words)),
            };
            if let Some(others) = with {
                self.traced.killed_at = Some(self.traced.points.len() - 1);
                // A call is not carried out any more if its process is killed before it.
                kill(process, Signal::SIGKILL).unwrap();
                for other in others {
                    // It may have ended.
                    let _ = kill(other, Signal::SIGKILL);
                }
            }
        }
        go_on(id, None);
    }
}

impl<J> Tracer<'_, J> {
    /// Returns the command itself, and every traced process whose command line has the words.
    fn processes_with(&self, words: &str) -> Vec<Pid> {
        let traced = self.tasks.values().copied();
        let with_words = traced.filter(|process| command_of(*process).contains(words));
        [self.first].into_iter().chain(with_words).collect()
    }
}

/// Lets a task run to its next stop. It may have been killed meanwhile.
fn go_on(task: Pid, signal: Option<Signal>) {
    match ptrace::syscall(task, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("cannot let {task} go on: {error}"),
    }
}

/// Tells whether a task enters the system call at which it stopped. It stops again when it leaves it.
fn enters_call(task: Pid) -> bool {
    ptrace::syscall_info(task).is_ok_and(|info| info.op == libc::PTRACE_SYSCALL_INFO_ENTRY)
}

fn process_of(task: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.map_or(task, |id| Pid::from_raw(id.trim().parse().unwrap()))
}

fn command_of(process: Pid) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

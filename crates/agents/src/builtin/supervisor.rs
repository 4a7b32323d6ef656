//! The supervisor of a program: a process between the agent and a command that its model runs, or a server that it uses.
//!
//! It ends everything that the program started as soon as the program is over, or as soon as the agent closes the
//! supervisor's standard input. The kernel closes it when the agent dies.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use uwf_process::{EndRequest, Limits, OutputSeen, Signals, Tree, WaitEnd};

/// The argument by which the agent's own program becomes the supervisor of a command; the command follows.
pub(super) const COMMAND: &str = "--supervise-command";
/// The argument by which it becomes the supervisor of a server; its program and its arguments follow. The server has the
/// streams of its supervisor.
pub(super) const SERVER: &str = "--supervise-server";

/// How long a program may take to end after its time limit, or after its agent has died.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for a signal of the supervisor above us, which may arrive after the agent's death.
const SIGNAL_DELAY: Duration = Duration::from_millis(100);
/// How long a server may take to end by itself when its standard input is closed. The protocol asks it to.
const PATIENCE: Duration = Duration::from_secs(1);

/// A program under supervision.
pub(super) struct Supervised {
    program: Command,
    /// How long it may take to end by itself when the agent has closed its standard input.
    patience: Option<Duration>,
}

impl Supervised {
    /// Returns what the arguments ask this process to supervise, if they ask for that.
    pub(super) fn of(args: &[String]) -> Option<Self> {
        let (program, patience) = match args {
            [argument, command] if argument == COMMAND => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).stdin(Stdio::null());
                (shell, None)
            }
            [argument, program, args @ ..] if argument == SERVER => {
                let mut server = Command::new(program);
                server.args(args);
                (server, Some(PATIENCE))
            }
            _ => return None,
        };
        Some(Self { program, patience })
    }

    /// Runs the program to its end, and returns the exit code: its own, or 128 and the signal that ended it.
    pub(super) fn supervise(mut self, grace: Duration) -> i32 {
        match self.run(grace) {
            Ok(status) => status
                .code()
                .or(status.signal().map(|signal| 128 + signal))
                .unwrap_or(126),
            Err(error) => {
                let _ = writeln!(io::stderr(), "the program could not be run: {error}");
                126
            }
        }
    }

    fn run(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let signals = Signals::default();
        signals.watch()?;
        let mut tree = Tree::spawn(self.program.env_remove("PWD"))?;
        let ending = tree.wait(&signals, Limits::default(), &mut || {
            if is_cut_off() {
                OutputSeen::Enough
            } else {
                OutputSeen::Nothing
            }
        });
        if ending == WaitEnd::Enough {
            let _ = signals.wait(SIGNAL_DELAY);
            let wall = self.patience.filter(|_| signals.stop().is_none());
            if wall.is_some() {
                let _ = tree.wait(&signals, Limits { wall, idle: None }, &mut || {
                    OutputSeen::Nothing
                });
            }
        }
        let (request, grace) = match signals.stop() {
            Some(stop) if stop.by_supervisor => (EndRequest::SentBySupervisor, grace),
            Some(_) => (EndRequest::NotSent, grace),
            None => (EndRequest::NotSent, GRACE),
        };
        let status = tree.status();
        let _ = tree.end(request, grace, &signals);
        let killed = ExitStatus::from_raw(Signal::KILL.as_raw());
        Ok(status.or(tree.status()).unwrap_or(killed))
    }
}

/// Tells whether the agent has closed our standard input, on which it never writes.
fn is_cut_off() -> bool {
    let stdin = io::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let _ = poll(&mut ready, Some(&at_once));
    ready[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

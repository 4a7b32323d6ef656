//! The supervisor of a command: a process between the agent and a command that its model runs.
//!
//! It ends everything that the command started as soon as the command is over, or as soon as the agent closes the
//! supervisor's standard input. The kernel closes it when the agent dies.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use uwf_process::{EndRequest, Limits, OutputSeen, Signals, Tree, WaitEnd};

/// The argument by which the agent's own program becomes the supervisor; the command follows.
pub(super) const ARGUMENT: &str = "--supervise-command";

/// How long a command may take to end after its time limit, or after its agent has died.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for a signal of the supervisor above us, which may arrive after the agent's death.
const SIGNAL_DELAY: Duration = Duration::from_millis(100);

/// Runs a command to its end, and returns the exit code: its own, or 128 and the signal that ended it.
pub(super) fn supervise(command: &str, grace: Duration) -> i32 {
    match run(command, grace) {
        Ok(status) => status
            .code()
            .or(status.signal().map(|signal| 128 + signal))
            .unwrap_or(126),
        Err(error) => {
            let _ = writeln!(io::stderr(), "the command could not be run: {error}");
            126
        }
    }
}

fn run(command: &str, grace: Duration) -> io::Result<ExitStatus> {
    let signals = Signals::default();
    signals.watch()?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env_remove("PWD")
        .stdin(Stdio::null());
    let mut tree = Tree::spawn(&mut shell)?;
    let ending = tree.wait(&signals, Limits::default(), &mut || {
        if is_cut_off() {
            OutputSeen::TooMuch
        } else {
            OutputSeen::Nothing
        }
    });
    if ending == WaitEnd::TooMuchOutput {
        let _ = signals.wait(SIGNAL_DELAY);
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

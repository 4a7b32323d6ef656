//! How `git` is started: the caller may supervise the calls that run programs of the user, and calls that may take long.

use std::fmt;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use uwf_process::{HeldSignals, ShortEnd, Signals, run_limited};

/// How long one supervised call of `git` may take.
pub const LIMIT: Duration = Duration::from_mins(10);

/// Starts `git` and waits for its end. Its files are files, and no pipe: nothing has to be read meanwhile.
///
/// `git` starts programs itself: the filters of the repository, such as `git-lfs`. They may hang.
pub trait Start: fmt::Debug {
    /// Runs a call of `git` to its end.
    ///
    /// # Errors
    /// When it cannot be started.
    fn run(&self, command: &mut Command) -> io::Result<Ended>;
}

/// How a call of `git` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Exited(ExitStatus),
    /// It took longer than this, and was ended with everything that it had started.
    TooSlow(Duration),
    /// This signal told the caller to stop, and the call was ended likewise.
    Stopped(i32),
}

/// Starts `git` without a supervisor, and waits as long as it takes.
#[derive(Debug, Clone, Copy)]
pub struct Unsupervised;

impl Start for Unsupervised {
    fn run(&self, command: &mut Command) -> io::Result<Ended> {
        command.status().map(Ended::Exited)
    }
}

/// Starts `git` under supervision for a process that does not watch for signals otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Limited {
    /// How long one call may take.
    pub limit: Duration,
}

impl Limited {
    /// The `git` of a view: people wait for it, and can do without what it tells.
    pub const VIEW: Self = Self {
        limit: Duration::from_mins(1),
    };
}

impl Start for Limited {
    fn run(&self, command: &mut Command) -> io::Result<Ended> {
        let held = HeldSignals::new()?;
        held.with(|signals| run_supervised(command, self.limit, signals))
    }
}

/// Runs a call of `git` to its end, within a time limit and until a signal tells this process to stop. After such a signal, no call
/// is started.
///
/// # Errors
/// When it cannot be started.
pub fn run_supervised(
    command: &mut Command,
    limit: Duration,
    signals: &Signals,
) -> io::Result<Ended> {
    signals.watch()?;
    let stopped = || signals.stop().map(|stop| Ended::Stopped(stop.signal));
    if let Some(stopped) = stopped() {
        return Ok(stopped);
    }
    Ok(match run_limited(command, limit, signals)? {
        ShortEnd::Exited(status) => Ended::Exited(status),
        ShortEnd::TimedOut(limit) => Ended::TooSlow(limit),
        // The signal stays known after it was waited for.
        ShortEnd::Stopped | ShortEnd::TooMuch => {
            stopped().unwrap_or(Ended::Stopped(Signal::TERM.as_raw()))
        }
    })
}

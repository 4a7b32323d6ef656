//! Waiting for the programs of a tree.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::signals::{Event, Signals, Stop};
use crate::tree::{Running, Tree};

/// How often limits and output are checked while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// How long a signal to this process may be behind the same signal to its program.
const BEHIND: Duration = Duration::from_millis(100);

/// How long a program may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub wall: Option<Duration>,
    /// Without any output.
    pub idle: Option<Duration>,
}

/// Why waiting for a program is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// The program ended by itself.
    Exited,
    /// It ran for longer than this.
    TimedOut(Duration),
    /// It was silent for longer than this.
    Idle(Duration),
    /// This process was told to stop. The program may have failed at the same moment: such a signal often goes to both.
    Stopped(Stop),
    /// The caller [wants no more](OutputSeen::Enough).
    Enough,
}

/// What waiting for the next of several programs brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextExit {
    /// A program has ended.
    Exited {
        /// The number that its process had.
        pid: u32,
        /// How it ended.
        status: ExitStatus,
    },
    /// This process was told to stop.
    Stopped(Stop),
    /// The end of every program was returned before.
    NoneLeft,
}

/// What the caller found in the program's output since it looked last. New output restarts the limit of silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSeen {
    /// Nothing new.
    Nothing,
    /// New output.
    New,
    /// More than is wanted, or the program is not wanted any more: it shall not go on.
    Enough,
}

impl Tree {
    /// Waits until one more of the tree's programs ends. The end of each program is returned once. Ends nothing.
    pub fn next_exit(&mut self, signals: &Signals) -> NextExit {
        loop {
            if let Some(next) = self.next_exit_soon(signals) {
                return next;
            }
        }
    }

    /// Waits like [`next_exit`](Self::next_exit), but for a moment only: `None` means that every program still runs.
    pub fn next_exit_soon(&mut self, signals: &Signals) -> Option<NextExit> {
        match self.next_ended() {
            Ok((pid, status)) => return Some(NextExit::Exited { pid, status }),
            Err(Running::None) => return Some(NextExit::NoneLeft),
            Err(Running::Some) => {}
        }
        match signals.wait(TICK) {
            Event::Stop(stop) => Some(NextExit::Stopped(stop)),
            Event::Child | Event::Tick => None,
        }
    }

    /// Waits until the first program ends or one of the limits is reached. `look` is called again and again, and a last
    /// time after the program has ended. Ends nothing.
    pub fn wait(
        &mut self,
        signals: &Signals,
        limits: Limits,
        look: &mut dyn FnMut() -> OutputSeen,
    ) -> WaitEnd {
        let started = Instant::now();
        let mut last_output = started;
        let is_over = |limit: Option<Duration>, since: Instant| {
            limit.filter(|limit| since.elapsed() >= *limit)
        };
        loop {
            let event = signals.wait(self.pause(limits, started));
            if let Some(status) = self.status() {
                let seen = look();
                let stop = signals.stop().or_else(|| stop_of_both(signals, status));
                let stop = stop.filter(|_| !status.success());
                return match (stop, seen) {
                    (Some(stop), _) => WaitEnd::Stopped(stop),
                    (None, OutputSeen::Enough) => WaitEnd::Enough,
                    (None, OutputSeen::Nothing | OutputSeen::New) => WaitEnd::Exited,
                };
            }
            if let Event::Stop(stop) = event {
                return WaitEnd::Stopped(stop);
            }
            match look() {
                OutputSeen::Nothing => {}
                OutputSeen::New => last_output = Instant::now(),
                OutputSeen::Enough => return WaitEnd::Enough,
            }
            if let Some(limit) = is_over(limits.wall, started) {
                return WaitEnd::TimedOut(limit);
            }
            if let Some(limit) = is_over(limits.idle, last_output) {
                return WaitEnd::Idle(limit);
            }
        }
    }

    /// Returns how long to wait for an event: not beyond the end of the time limit.
    fn pause(&self, limits: Limits, started: Instant) -> Duration {
        let left = limits
            .wall
            .map(|wall| wall.saturating_sub(started.elapsed()));
        left.map_or(TICK, |left| left.min(TICK))
            .max(Duration::from_millis(1))
    }
}

/// Returns the signal that tells this process to stop, if it comes soon after the program has ended by such a signal. It was
/// sent to both, and the system may give it to the program first.
fn stop_of_both(signals: &Signals, status: ExitStatus) -> Option<Stop> {
    let ends = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
    status.signal().filter(|signal| ends.contains(signal))?;
    signals.sleep(BEHIND)
}

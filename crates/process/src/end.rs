//! Ending processes: first they are asked, then they are killed, until none is left.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::signals::{Event, Signals};
use crate::snapshot::Process;

/// How often it is checked whether processes are gone while no signal tells.
const TICK: Duration = Duration::from_millis(20);
/// How long killed processes have to be gone. Only the kernel can hold them up, for example a disk that hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an inner supervisor waits beyond the grace for the outer one, which ends the same processes.
const DEFERENCE: Duration = Duration::from_secs(5);

/// A set of processes that can be ended.
pub trait Target {
    /// Tells whether none is left.
    fn is_empty(&mut self) -> bool;
    /// Returns those that are left.
    fn members(&self) -> Vec<Process>;
}

/// Whether the processes were asked to end already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nobody has asked them.
    NotYet,
    /// A supervisor above us has sent the signals and will send the others.
    ByOurSupervisor,
}

/// Ends all processes of a target and returns those that could not be ended.
///
/// 1. A process that has a handler for INT gets INT, which is what interactive tools clean up on. All others get TERM.
/// 2. After half of the grace all that are left get TERM.
/// 3. After the whole grace all that are left get KILL, again and again until the target is empty.
///
/// A signal that comes meanwhile means that somebody is impatient: the next stage begins at once.
pub fn end(
    target: &mut dyn Target,
    asked: Asked,
    grace: Duration,
    signals: &Signals,
) -> Vec<Process> {
    match asked {
        Asked::NotYet => {
            for process in target.members() {
                let catches = process.catches(Signal::INT);
                process.signal(if catches { Signal::INT } else { Signal::TERM });
            }
            if empties(target, grace / 2, signals) {
                return Vec::new();
            }
            for process in target.members() {
                process.signal(Signal::TERM);
            }
            if empties(target, grace / 2, signals) {
                return Vec::new();
            }
        }
        Asked::ByOurSupervisor => {
            if empties(target, grace + DEFERENCE, signals) {
                return Vec::new();
            }
        }
    }
    kill(target, signals)
}

fn kill(target: &mut dyn Target, signals: &Signals) -> Vec<Process> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let members = target.members();
        for process in &members {
            process.signal(Signal::KILL);
        }
        if empties(target, TICK, signals) {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            return members;
        }
    }
}

/// Waits until the target is empty, but not longer than this, and tells whether it is.
pub(crate) fn empties(target: &mut dyn Target, most: Duration, signals: &Signals) -> bool {
    let deadline = Instant::now() + most;
    loop {
        if target.is_empty() {
            return true;
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return false;
        };
        // The later signals of a supervisor above us are for the whole tree: they are its stages, not impatience.
        if let Event::Stop(stop) = signals.wait(left.min(TICK))
            && !stop.by_supervisor
        {
            return target.is_empty();
        }
    }
}

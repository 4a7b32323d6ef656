//! Ends processes: asks them first, then kills them, until none is left.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::signals::{Event, Signals};
use crate::snapshot::{Process, below};

/// How often to check whether processes have ended while no signal arrives.
const TICK: Duration = Duration::from_millis(20);
/// How long killed processes may take to end. Only the kernel can delay them, for example when a disk hangs.
const KILLED_WITHIN: Duration = Duration::from_secs(10);
/// How long an inner supervisor waits beyond the grace period for the outer one, which ends the same processes.
const DEFERENCE: Duration = Duration::from_secs(5);

/// How long a program's helpers may take to end on their own after the program has ended.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);

/// A set of processes that can be ended.
pub trait Target {
    /// Tells whether no process is left.
    fn is_empty(&mut self) -> bool;
    /// Returns the processes that are left.
    fn members(&self) -> Vec<Process>;
    /// Is called right before these processes get their first signal: what has ended until now was not asked to.
    fn before_request(&mut self, _members: &[Process]) {}
    /// Returns the signal that asks a process to end: INT if it has a handler for INT and is not bash, else TERM.
    fn request(&self, process: &Process) -> Signal {
        usual_request(process)
    }
}

/// Whether somebody has sent the first signal, the request to end, before the call that ends the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRequest {
    /// Nobody has: the call sends it.
    NotSent,
    /// A supervisor above us has, and will send the other signals.
    SentBySupervisor,
}

/// Ends all processes of a target and returns those that could not be ended.
///
/// 1. A process that has a handler for INT gets INT, which is what interactive tools clean up on. All others get TERM, and so does
///    bash. A target may [choose](Target::request) otherwise.
/// 2. After half of the grace all that are left get TERM.
/// 3. After the whole grace all that are left get KILL, again and again until the target is empty.
///
/// A signal to this process means that somebody is impatient: the next stage starts at once.
pub fn end(
    target: &mut dyn Target,
    request: EndRequest,
    grace: Duration,
    signals: &Signals,
) -> Vec<Process> {
    match request {
        EndRequest::NotSent => {
            // The list takes a moment, in which a process can end by itself.
            let members = target.members();
            target.before_request(&members);
            for process in members {
                process.ask(target.request(&process));
            }
            if empties(target, grace / 2, signals) {
                return Vec::new();
            }
            for process in target.members() {
                process.ask(Signal::TERM);
            }
            if empties(target, grace / 2, signals) {
                return Vec::new();
            }
        }
        EndRequest::SentBySupervisor => {
            if empties(target, grace + DEFERENCE, signals) {
                return Vec::new();
            }
        }
    }
    kill(target, signals)
}

/// Asks all processes of a target by one signal, kills what is left after the grace, and returns what could not be ended.
///
/// A signal to this process means that somebody is impatient: the kill comes at once.
pub(crate) fn end_by(
    target: &mut dyn Target,
    request: Signal,
    grace: Duration,
    signals: &Signals,
) -> Vec<Process> {
    let members = target.members();
    target.before_request(&members);
    for process in members {
        process.ask(request);
    }
    if empties(target, grace, signals) {
        return Vec::new();
    }
    kill(target, signals)
}

/// Ends all processes of a target whose supervisor has died, and returns those that could not be ended.
///
/// An inner supervisor in the target ends its own processes, in the same stages. It gets one signal only: it does not
/// know us as its supervisor and would take a second signal for impatience. All other processes get the signals as from
/// [`end`].
pub fn end_for_another(
    target: &mut dyn Target,
    grace: Duration,
    signals: &Signals,
) -> Vec<Process> {
    let asked = Unattended::of(&target.members());
    asked.supervisors.iter().for_each(ask_first);
    asked.others.iter().for_each(ask_first);
    if empties(target, grace / 2, signals) {
        return Vec::new();
    }
    for process in Unattended::of(&target.members()).others {
        if !asked.supervisors.iter().any(|one| one.is(&process)) {
            process.ask(Signal::TERM);
        }
    }
    if empties(target, grace / 2, signals) {
        return Vec::new();
    }
    let members = target.members();
    let still_runs = |one: &Process| members.iter().any(|member| member.is(one));
    // An inner supervisor kills at the end of its own grace period, which started later than ours.
    if asked.supervisors.iter().any(still_runs) && empties(target, DEFERENCE, signals) {
        return Vec::new();
    }
    kill(target, signals)
}

/// The processes of a target that no inner supervisor ends.
struct Unattended {
    /// The inner supervisors: other processes of the target name them in their environment.
    supervisors: Vec<Process>,
    others: Vec<Process>,
}

impl Unattended {
    fn of(all: &[Process]) -> Self {
        let named: Vec<(Process, Vec<u32>)> = all
            .iter()
            .map(|process| (*process, process.supervisors()))
            .collect();
        let supervises = |one: &Process| {
            let mut others = named.iter().filter(|(other, _)| !other.is(one));
            others.any(|(_, above)| above.contains(&one.pid))
        };
        let supervisors: Vec<u32> = all
            .iter()
            .filter(|one| supervises(one))
            .map(|one| one.pid)
            .collect();
        // A process may hide its environment. It is still a descendant of its supervisor, which adopts orphans.
        let below = below(all.to_vec(), &supervisors, |_| false);
        let unattended = named.iter().filter(|(one, above)| {
            let names = supervisors
                .iter()
                .any(|pid| *pid != one.pid && above.contains(pid));
            !names && !below.iter().any(|other| other.is(one))
        });
        let (supervisors, others) = unattended
            .map(|(one, _)| *one)
            .partition(|one| supervisors.contains(&one.pid));
        Self {
            supervisors,
            others,
        }
    }
}

/// Waits a moment for processes that a program left running, and returns those that still run.
#[must_use]
pub fn left_running(target: &mut dyn Target, signals: &Signals) -> Vec<Process> {
    if empties(target, SETTLE, signals) {
        return Vec::new();
    }
    target.members()
}

/// Asks a process to end.
fn ask_first(process: &Process) {
    process.ask(usual_request(process));
}

/// Returns the signal that asks a process to end.
///
/// Bash handles INT while it waits for a program, and goes on with the next line of its script unless the program has died of INT. TERM
/// ends it, or runs its trap.
pub(crate) fn usual_request(process: &Process) -> Signal {
    match process.catches(Signal::INT) && !process.is_bash() {
        true => Signal::INT,
        false => Signal::TERM,
    }
}

/// Kills all processes of a target, and returns those that could not be ended.
pub(crate) fn kill(target: &mut dyn Target, signals: &Signals) -> Vec<Process> {
    let deadline = Instant::now() + KILLED_WITHIN;
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

/// Waits until the target is empty, for `most` at the longest. Returns whether it is empty.
pub(crate) fn empties(target: &mut dyn Target, most: Duration, signals: &Signals) -> bool {
    let deadline = Instant::now() + most;
    loop {
        if target.is_empty() {
            return true;
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return false;
        };
        // Further signals of a supervisor above us are its stages for the whole tree, and not impatience.
        if let Event::Stop(stop) = signals.wait(left.min(TICK))
            && !stop.by_supervisor
        {
            return target.is_empty();
        }
    }
}

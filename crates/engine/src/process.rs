//! Running one agent: a process group of its own, output into files, limits of time and size, signals.
//!
//! Output goes straight into files rather than through pipes: an agent whose engine dies can go on
//! writing and finish its step, which the next call takes in.

mod capture;
pub(crate) mod fork;
mod start;

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpid,
};

use self::capture::Capture;
use crate::AgentOutput;
use crate::signals::{Event, Signals};

/// How long a process group gets between TERM and KILL.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How often limits are looked at while nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// How much space a file of output may take before its beginning is dropped. Half of it is kept, which is more
/// than is read for the answer.
const OUTPUT_CAP: u64 = 128 * 1024 * 1024;

/// What an agent is to the system.
#[derive(Debug)]
pub(crate) enum Program {
    /// A file that is run.
    File(PathBuf),
    /// An adapter that is built in, by its name without `uwf-`.
    BuiltIn(String),
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::BuiltIn(name) => write!(out, "uwf-{name}"),
        }
    }
}

/// What to run, and within which limits.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    /// Plays a built-in adapter with these arguments and returns its exit code.
    pub(crate) play: fn(&str, &[String]) -> i32,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a [(String, String)],
    pub(crate) cwd: &'a Path,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) output: AgentOutput,
}

/// How long an agent may take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// From start to end.
    pub(crate) wall: Option<Duration>,
    /// Without any output.
    pub(crate) idle: Option<Duration>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// On its own.
    Exited(ExitStatus),
    /// It took too long.
    TimedOut(Duration),
    /// It was silent for too long.
    Idle(Duration),
    /// We were told to stop.
    Interrupted(i32),
    /// We were told to stop before the program was started.
    NotStarted(i32),
}

/// Runs the program to its end. `started` is told the process number before anything is waited for.
///
/// Signals are watched from before the start, so that none can leave an agent behind.
pub(crate) fn run<E: From<std::io::Error>>(
    launch: &Launch,
    signals: &Signals,
    started: impl FnOnce(u32) -> Result<(), E>,
) -> Result<Ending, E> {
    signals.watch()?;
    if let Some(signal) = signals.stop() {
        return Ok(Ending::NotStarted(signal));
    }
    let mut stdout = Capture::create(&launch.stdout, OUTPUT_CAP)?;
    let mut stderr = Capture::create(&launch.stderr, OUTPUT_CAP)?;
    let group = start::start(launch, stdout.for_child()?, stderr.for_child()?)?;
    let ending = match started(group.as_raw_pid().unsigned_abs()) {
        Ok(()) => Ok(wait(launch, signals, group, &mut stdout, &mut stderr)),
        Err(error) => Err(error),
    };
    if !matches!(ending, Ok(Ending::Exited(_))) {
        end_group(group, signals);
    } else if !has_succeeded(group) {
        // What a failed agent started must not go on while the next attempt does the same work.
        signal_group(group, Signal::KILL);
    }
    let status = reap(group)?;
    stderr.show_news(launch.output);
    match ending? {
        Ending::Exited(_) => Ok(Ending::Exited(status)),
        other => Ok(other),
    }
}

/// Waits for the process to end and lets its number go.
fn reap(process: Pid) -> std::io::Result<ExitStatus> {
    loop {
        match waitpid(Some(process), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells whether the process has ended. It is left to be reaped, so that its number stays its own until then.
fn has_ended(process: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(process), options), Ok(Some(_)))
}

/// Tells whether the process has ended well. It is left to be reaped.
fn has_succeeded(process: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = waitid(WaitId::Pid(process), options);
    matches!(ended, Ok(Some(status)) if status.exit_status() == Some(0))
}

fn wait(
    launch: &Launch,
    signals: &Signals,
    process: Pid,
    stdout: &mut Capture,
    stderr: &mut Capture,
) -> Ending {
    let begun = Instant::now();
    let mut last_output = begun;
    loop {
        let event = signals.wait(TICK);
        if has_ended(process) {
            return Ending::Exited(ExitStatus::default());
        }
        if let Event::Stop(signal) = event {
            return Ending::Interrupted(signal);
        }
        let grown = [stdout.look(), stderr.look()];
        if grown.contains(&true) {
            last_output = Instant::now();
        }
        stderr.show_news(launch.output);
        if let Some(limit) = launch.limits.wall.filter(|limit| begun.elapsed() >= *limit) {
            return Ending::TimedOut(limit);
        }
        if let Some(limit) = launch
            .limits
            .idle
            .filter(|limit| last_output.elapsed() >= *limit)
        {
            return Ending::Idle(limit);
        }
    }
}

/// Ends a process group that we started: TERM, a time of grace, KILL.
///
/// The leader is not reaped yet, so the group's number cannot belong to anybody else.
fn end_group(group: Pid, signals: &Signals) {
    signal_group(group, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while !has_ended(group) {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            break;
        };
        signals.wait(left.min(TICK));
    }
    signal_group(group, Signal::KILL);
}

fn signal_group(group: Pid, signal: Signal) {
    // A group that is gone is what we want.
    let _ = kill_process_group(group, signal);
}

/// Returns the end of a file as text, at most `limit` bytes of it; a file that cannot be read is empty.
pub(crate) fn tail(path: &Path, limit: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8(read().unwrap_or_default())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

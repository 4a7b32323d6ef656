//! Runs a program from its start to its end: passes it the prompt, reads its output, and ends it at its time limit.
//!
//! The streams are files. So no thread is needed, and a program can finish after its adapter has died: its answer
//! stays.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use uwf_agent_kit::{AdapterError, Supervision};
use uwf_process::{
    EndRequest, HeldSignals, Limits, Output, OutputSeen, Signals, Stop, Tree, WaitEnd,
};

use super::ending::ProgramEnding;
use super::stderr::Stderr;
use super::{Launch, spawn};

/// How a program ended, with its stderr.
pub(crate) struct Ended {
    pub(crate) ending: ProgramEnding,
    /// The beginning and the end of its stderr.
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// Whether this process was told to stop before the program had ended.
    was_stopped: bool,
}

impl Ended {
    /// Tells whether the program ended well by itself, so that its output is complete. One that was told to stop may
    /// end well without finishing.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.ending, ProgramEnding::Exited(status) if status.success())
            && !self.was_stopped
    }

    /// Returns why there is no answer, with the end of stderr; `None` if the program ended well.
    pub(crate) fn problem(&self, program: &str) -> Option<AdapterError> {
        self.ending.problem(program, &self.stderr)
    }
}

/// Whether output was written before we ended the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    InTime,
    /// After the time limit, or after this process was told to stop.
    Late,
}

/// Receives the output piece by piece. It can break off the program.
type Take<'a> = dyn FnMut(&[u8], Timing) -> ControlFlow<()> + 'a;

/// How much disk space is reserved for the output, in bytes, so that a full disk does not cost an answer that is paid
/// for.
const ROOM: u64 = 64 * 1024;

/// Runs a program to its end. Its stdout goes to a file that keeps at least the newest `cap / 2` bytes.
pub(super) fn drive(
    launch: &Launch<'_>,
    stdout: &Path,
    cap: u64,
    take: &mut Take<'_>,
) -> Result<Ended, AdapterError> {
    let broken = |error: io::Error| {
        let program = launch.program;
        AdapterError::failed(format!(
            "the output of `{program}` could not be kept: {error}"
        ))
    };
    let started = Instant::now();
    let mut stdout = Output::create(stdout, cap).map_err(broken)?;
    stdout.reserve(ROOM);
    let mut stderr = Stderr::create(launch.run_dir, launch.masks).map_err(broken)?;
    let streams = streams(launch, &stdout, &stderr).map_err(broken)?;
    let mut pump = |timing: Timing, stderr: &mut Stderr| -> OutputSeen {
        stderr.look();
        let mut seen = OutputSeen::Nothing;
        while let Ok(news) = stdout.news()
            && !news.is_empty()
        {
            if take(&news, timing).is_break() {
                return OutputSeen::Enough;
            }
            seen = OutputSeen::New;
        }
        stdout.look();
        seen
    };
    let limits = Limits {
        wall: launch.timeout,
        idle: None,
    };
    let held = HeldSignals::new().map_err(broken)?;
    if let Some(stop) = held.with(Signals::stop) {
        // The signal came while an earlier program of this agent was ended. Another program would cost money in vain.
        return Ok(Ended {
            ending: ProgramEnding::Stopped(stop.signal),
            stderr: String::new(),
            took: started.elapsed(),
            was_stopped: true,
        });
    }
    let mut tree = spawn(launch, streams)?;
    let ending = held.with(|signals| {
        let ending = tree.wait(signals, limits, &mut || pump(Timing::InTime, &mut stderr));
        conclude(tree, ending, launch.supervision, signals)
    });
    let stop = held.with(Signals::stop);
    drop(held);
    let ending = or_stopped(ending, stop);
    let timing = match ending {
        ProgramEnding::Exited(_) => Timing::InTime,
        ProgramEnding::TimedOut(_) | ProgramEnding::Stopped(_) => Timing::Late,
    };
    let _ = pump(timing, &mut stderr);
    Ok(Ended {
        ending,
        stderr: stderr.text(),
        took: started.elapsed(),
        was_stopped: stop.is_some(),
    })
}

/// Attributes a failed program to the signal that told this process to stop. A signal to the whole tree may end the
/// program before this process has seen the signal.
fn or_stopped(ending: ProgramEnding, stop: Option<Stop>) -> ProgramEnding {
    match (ending, stop) {
        (ProgramEnding::Exited(status), Some(stop)) if !status.success() => {
            ProgramEnding::Stopped(stop.signal)
        }
        (ending, _) => ending,
    }
}

/// Returns stdin, stdout and stderr of a program.
fn streams(launch: &Launch<'_>, stdout: &Output, stderr: &Stderr) -> io::Result<[Stdio; 3]> {
    let stdin = stdin(launch.stdin)?;
    Ok([
        stdin,
        stdout.for_child()?.into(),
        stderr.for_child()?.into(),
    ])
}

/// Runs a program with our own streams to its end.
pub(crate) fn pass_through(
    command: &mut Command,
    supervision: Supervision,
) -> io::Result<ProgramEnding> {
    let held = HeldSignals::new()?;
    let mut tree = Tree::spawn(command)?;
    Ok(held.with(|signals| {
        let ending = tree.wait(signals, Limits::default(), &mut || OutputSeen::Nothing);
        conclude(tree, ending, supervision, signals)
    }))
}

/// Ends the processes that a program left running, unless a supervisor above us ends them when this process ends.
fn conclude(
    mut tree: Tree,
    ending: WaitEnd,
    supervision: Supervision,
    signals: &Signals,
) -> ProgramEnding {
    let (request, ending) = match (ending, tree.status()) {
        (WaitEnd::Stopped(stop), _) if stop.by_supervisor => (
            EndRequest::SentBySupervisor,
            ProgramEnding::Stopped(stop.signal),
        ),
        (WaitEnd::Stopped(stop), _) => (EndRequest::NotSent, ProgramEnding::Stopped(stop.signal)),
        (WaitEnd::TimedOut(limit), _) | (WaitEnd::Idle(limit), _) => {
            (EndRequest::NotSent, ProgramEnding::TimedOut(limit))
        }
        (_, Some(status)) => {
            if status.success() && (supervision.keep_running || uwf_process::is_supervised()) {
                return ProgramEnding::Exited(status);
            }
            (EndRequest::NotSent, ProgramEnding::Exited(status))
        }
        // The caller broke off a program that is still running.
        (_, None) => (
            EndRequest::NotSent,
            ProgramEnding::Stopped(rustix::process::Signal::TERM.as_raw()),
        ),
    };
    // A process that cannot be ended has inherited the thread's lock and keeps the thread busy.
    let _ = tree.end(request, supervision.grace, signals);
    ending
}

/// Returns a file with the prompt as stdin, so that nothing has to be written while the program runs.
fn stdin(prompt: &str) -> io::Result<Stdio> {
    if prompt.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(memfd_create("prompt", MemfdFlags::CLOEXEC)?);
    file.write_all(prompt.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

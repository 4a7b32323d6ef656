//! Running the process of an agent: its output goes into files, limits apply to it, and its descendants end with it.

mod show;

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use uwf_process::{EndRequest, Limits, Output, OutputSeen, Signals, Stop, Tree, WaitEnd};
use uwf_util::mask::Masks;

use crate::attempt::describe;
use crate::describe::signal_name;
use crate::run::observer::Watch;
use show::Shown;

/// The largest size of an output file, in bytes. At this size the first half is dropped; the rest is more than we read
/// for the answer.
const OUTPUT_CAP: u64 = 128 * 1024 * 1024;

/// The program of an agent.
#[derive(Debug)]
pub(crate) enum Program {
    /// An executable file.
    File(PathBuf),
    /// A built-in adapter, by its name without `uwf-`: it runs from the file of this program.
    BuiltIn { name: String, file: PathBuf },
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::BuiltIn { name, .. } => write!(out, "uwf-{name}"),
        }
    }
}

/// The program to start, its surroundings and its limits.
pub(crate) struct LaunchSpec<'a> {
    pub(crate) program: &'a Program,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a [(String, String)],
    /// The variables of our environment that it does not inherit.
    pub(crate) withheld: &'a [&'static str],
    pub(crate) cwd: &'a Path,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    /// The files to which the programs of built-in agents write. Output there counts as activity, too.
    pub(crate) watched: [PathBuf; 2],
    /// The file that exists while a check of the role runs. A check has a time limit of its own, and may be silent.
    pub(crate) checking: PathBuf,
    pub(crate) limits: Limits,
    /// Tells whether the agent is to go on.
    pub(crate) is_wanted: &'a dyn Fn() -> bool,
    /// The time that the agent and its descendants have to end after they were asked to.
    pub(crate) grace: Duration,
    /// Whether processes that a successful agent leaves running may go on.
    pub(crate) keep_running: bool,
    /// Gets what the agent writes to stderr, if somebody wants to see it.
    pub(crate) show_stderr: Option<fn(&str)>,
    /// The secrets that are taken out of it.
    pub(crate) masks: &'a Masks,
    /// Returns the masks for what is shown of processes. It is only called if there are any.
    pub(crate) process_masks: &'a dyn Fn() -> Masks,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct EndedRun {
    pub(crate) ending: RunEnding,
    /// The processes that a successful agent left running, for people.
    pub(crate) left: Vec<String>,
    /// The processes that could not be ended, for people. Usually none.
    pub(crate) survivors: Vec<String>,
    /// Whether everything that the agent had started ended by itself and succeeded. Then the output of its program is
    /// complete.
    pub(crate) ended_well: bool,
    /// The numbers of the processes that ended well after the adapter had died. The adapter's program may be one of them.
    pub(crate) succeeded: Vec<u32>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum RunEnding {
    /// The agent ended by itself.
    Exited(ExitStatus),
    /// The agent had finished its step when it reached a limit of time, and was ended.
    Finished,
    /// It took too long.
    TimedOut(Duration),
    /// It printed nothing for too long.
    Idle(Duration),
    /// Its answer was not wanted any more, and it was ended.
    Unwanted,
    /// We were told to stop.
    Interrupted(i32),
    /// We were told to stop before the program was started.
    NotStarted(i32),
}

impl fmt::Display for RunEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => match status.code() {
                Some(code) => write!(f, "the agent exited with code {code}"),
                None => write!(f, "the agent was ended from outside ({status})"),
            },
            Self::TimedOut(limit) => {
                write!(f, "the agent was ended after its time limit of {limit:?}")
            }
            Self::Idle(limit) => {
                write!(f, "the agent was ended: it printed nothing for {limit:?}")
            }
            Self::Finished => f.write_str("the agent did not end after it had finished its step"),
            Self::Unwanted => {
                f.write_str("the agent was ended: another machine has the thread now")
            }
            Self::Interrupted(signal) | Self::NotStarted(signal) => {
                write!(f, "interrupted by {}", signal_name(*signal))
            }
        }
    }
}

/// Runs the program to its end.
///
/// `started` gets the process number as soon as the program runs. `has_finished` tells whether the agent's step is on
/// record. We watch for signals before we start the program, so that no signal can end us and leave the agent behind.
pub(crate) fn run<E: From<io::Error>>(
    spec: &LaunchSpec,
    signals: &Signals,
    mut watch: Watch<'_>,
    started: impl FnOnce(u32) -> Result<(), E>,
    has_finished: impl Fn() -> bool,
) -> Result<EndedRun, E> {
    signals.watch()?;
    if let Some(stop) = signals.stop() {
        return Ok(EndedRun {
            ending: RunEnding::NotStarted(stop.signal),
            left: Vec::new(),
            survivors: Vec::new(),
            ended_well: true,
            succeeded: Vec::new(),
        });
    }
    let mut stdout = Output::create(&spec.stdout, OUTPUT_CAP)?;
    let stderr = Output::create(&spec.stderr, OUTPUT_CAP)?;
    let mut stderr = Shown::new(stderr, spec.masks, spec.show_stderr);
    let mut command = command(spec);
    command
        .stdin(Stdio::null())
        .stdout(stdout.for_child()?)
        .stderr(stderr.for_child()?);
    let mut tree = Tree::spawn(&mut command)?;
    tracing::debug!(
        tag = "X6B3T9W2",
        pid = tree.leader(),
        "started {} in {}",
        spec.program,
        spec.cwd.display()
    );
    if let Err(error) = started(tree.leader()) {
        let survivors = tree.end(EndRequest::NotSent, spec.grace, signals);
        if survivors.is_empty() {
            return Err(error);
        }
        return Ok(EndedRun {
            ending: RunEnding::NotStarted(Signal::TERM.as_raw()),
            left: Vec::new(),
            survivors: describe(&survivors, spec.process_masks),
            ended_well: false,
            succeeded: Vec::new(),
        });
    }
    let mut programs = 0;
    let ending = tree.wait(signals, spec.limits, &mut || {
        let before = std::mem::replace(&mut programs, total_length(&spec.watched));
        let has_grown =
            stdout.look() | stderr.look() | (programs != before) | spec.checking.exists();
        watch.look(has_grown);
        match (has_grown, (spec.is_wanted)()) {
            (_, false) => OutputSeen::Enough,
            (true, true) => OutputSeen::New,
            (false, true) => OutputSeen::Nothing,
        }
    });
    drop(watch);
    let run = conclude(tree, ending, spec, signals, has_finished);
    stderr.end();
    Ok(run)
}

/// Ends the remaining processes of a run, unless they may go on.
fn conclude(
    mut tree: Tree,
    ending: WaitEnd,
    spec: &LaunchSpec,
    signals: &Signals,
    has_finished: impl Fn() -> bool,
) -> EndedRun {
    let status = tree.status();
    let has_succeeded = status.is_some_and(|status| status.success());
    let left = match has_succeeded {
        true => describe(&tree.left_running(signals), spec.process_masks),
        false => Vec::new(),
    };
    let ending = match (ending, status) {
        (WaitEnd::Stopped(stop), _) if !has_succeeded => {
            return interrupted(tree, stop, spec, signals);
        }
        (_, Some(status)) => RunEnding::Exited(status),
        (WaitEnd::TimedOut(_) | WaitEnd::Idle(_) | WaitEnd::Enough, None) if has_finished() => {
            RunEnding::Finished
        }
        (WaitEnd::TimedOut(limit), None) => RunEnding::TimedOut(limit),
        (WaitEnd::Idle(limit), None) => RunEnding::Idle(limit),
        (WaitEnd::Enough, None) => RunEnding::Unwanted,
        (WaitEnd::Exited | WaitEnd::Stopped(_), None) => {
            unreachable!("a program that succeeded or ended by itself has a status")
        }
    };
    if matches!(&ending, RunEnding::Exited(status) if status.code().is_none()) {
        // A signal ended the adapter, and its program may be ending, too. We wait for it, so that its output counts.
        let _ = tree.left_running(signals);
        // A signal to all processes of a tree may reach us after the adapter.
        if let Some(stop) = signals.stop() {
            return interrupted(tree, stop, spec, signals);
        }
    }
    let ended_well = matches!(ending, RunEnding::Exited(_)) && tree.ended_well_below();
    let survivors = match has_succeeded && spec.keep_running {
        true => Vec::new(),
        false => describe(
            &tree.end(EndRequest::NotSent, spec.grace, signals),
            spec.process_masks,
        ),
    };
    EndedRun {
        ending,
        left,
        survivors,
        ended_well,
        // A process counts that ends well until the moment in which it would be asked to end.
        succeeded: tree.succeeded_orphans(),
    }
}

fn interrupted(mut tree: Tree, stop: Stop, spec: &LaunchSpec, signals: &Signals) -> EndedRun {
    let request = match stop.by_supervisor {
        true => EndRequest::SentBySupervisor,
        false => EndRequest::NotSent,
    };
    let survivors = tree.end(request, spec.grace, signals);
    EndedRun {
        ending: RunEnding::Interrupted(stop.signal),
        left: Vec::new(),
        survivors: describe(&survivors, spec.process_masks),
        ended_well: false,
        // A program that ends well because it was told to stop may have been cut short.
        succeeded: Vec::new(),
    }
}

/// Returns the total length of the files, in bytes. A missing file has length 0.
fn total_length(files: &[PathBuf]) -> u64 {
    let lengths = files
        .iter()
        .filter_map(|file| Some(file.metadata().ok()?.len()));
    lengths.sum()
}

fn command(spec: &LaunchSpec) -> Command {
    let mut command = match spec.program {
        Program::File(path) => Command::new(path),
        Program::BuiltIn { name, file } => {
            let mut command = Command::new(file);
            command.arg0(format!("uwf-{name}"));
            command
        }
    };
    for name in spec.withheld {
        command.env_remove(name);
    }
    command
        .args(spec.args)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(spec.cwd);
    command
}

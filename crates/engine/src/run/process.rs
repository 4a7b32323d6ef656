//! Running one agent: its output into files, its limits, and its end with everything that it started.

mod show;

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use uwf_process::{Asked, Limits, Look, Output, Signals, Stop, Tree, WaitEnd};

use crate::AgentOutput;
use crate::attempt::describe;
use show::Shown;

/// How much space a file of output may take before its beginning is dropped, in bytes. Half of it is kept, which is
/// more than is read for the answer.
const OUTPUT_CAP: u64 = 128 * 1024 * 1024;

/// What an agent is to the system.
#[derive(Debug)]
pub(crate) enum Program {
    /// A file that is run.
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

/// What to run, and within which limits.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a [(String, String)],
    pub(crate) cwd: &'a Path,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    /// Where the programs of built-in agents write their output: it is a sign of life, too.
    pub(crate) watched: [PathBuf; 2],
    pub(crate) limits: Limits,
    /// How long the agent and what it started have to end after they were asked to.
    pub(crate) grace: Duration,
    /// Whether what a successful agent leaves running may go on.
    pub(crate) keep_running: bool,
    pub(crate) output: AgentOutput,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ending: RunEnding,
    /// What a successful agent left running, for people.
    pub(crate) left: Vec<String>,
    /// What could not be ended, for people. Usually nothing.
    pub(crate) survivors: Vec<String>,
    /// Whether all that the agent had started had already ended well. Then what its program printed is complete.
    pub(crate) spared: bool,
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
    /// It was silent for too long.
    Idle(Duration),
    /// We were told to stop.
    Interrupted(i32),
    /// We were told to stop before the program was started.
    NotStarted(i32),
}

/// Runs the program to its end. `started` is told the process number before anything is waited for; `has_finished`
/// tells whether the agent's step is on record.
///
/// Signals are watched from before the start, so none can leave an agent behind.
pub(crate) fn run<E: From<io::Error>>(
    launch: &Launch,
    signals: &Signals,
    started: impl FnOnce(u32) -> Result<(), E>,
    has_finished: impl Fn() -> bool,
) -> Result<Run, E> {
    signals.watch()?;
    if let Some(stop) = signals.stop() {
        return Ok(Run {
            ending: RunEnding::NotStarted(stop.signal),
            left: Vec::new(),
            survivors: Vec::new(),
            spared: true,
        });
    }
    let mut stdout = Output::create(&launch.stdout, OUTPUT_CAP)?;
    let mut stderr = Shown::new(Output::create(&launch.stderr, OUTPUT_CAP)?, launch.output);
    let mut command = command(launch);
    command
        .stdin(Stdio::null())
        .stdout(stdout.for_child()?)
        .stderr(stderr.for_child()?);
    let mut tree = Tree::spawn(&mut command)?;
    tracing::debug!(
        tag = "X6B3T9W2",
        pid = tree.leader(),
        "started {} in {}",
        launch.program,
        launch.cwd.display()
    );
    if let Err(error) = started(tree.leader()) {
        let survivors = tree.end(Asked::NotYet, launch.grace, signals);
        if survivors.is_empty() {
            return Err(error);
        }
        return Ok(Run {
            ending: RunEnding::NotStarted(Signal::TERM.as_raw()),
            left: Vec::new(),
            survivors: describe(&survivors),
            spared: false,
        });
    }
    let mut programs = 0;
    let ending = tree.wait(signals, launch.limits, &mut || {
        let before = std::mem::replace(&mut programs, total_length(&launch.watched));
        match stdout.look() | stderr.look() | (programs != before) {
            true => Look::Grown,
            false => Look::Same,
        }
    });
    let run = conclude(tree, ending, launch, signals, has_finished);
    stderr.look();
    Ok(run)
}

/// Ends what is left of a run, unless it may go on.
fn conclude(
    mut tree: Tree,
    ending: WaitEnd,
    launch: &Launch,
    signals: &Signals,
    has_finished: impl Fn() -> bool,
) -> Run {
    let status = tree.status();
    let has_succeeded = status.is_some_and(|status| status.success());
    let left = match has_succeeded {
        true => describe(&tree.left_running(signals)),
        false => Vec::new(),
    };
    let ending = match (ending, status) {
        (WaitEnd::Stopped(stop), _) if !has_succeeded => {
            return interrupted(tree, stop, launch, signals);
        }
        (_, Some(status)) => RunEnding::Exited(status),
        (WaitEnd::TimedOut(_) | WaitEnd::Idle(_), None) if has_finished() => RunEnding::Finished,
        (WaitEnd::TimedOut(limit), None) => RunEnding::TimedOut(limit),
        (WaitEnd::Idle(limit), None) => RunEnding::Idle(limit),
        (WaitEnd::Exited | WaitEnd::Enough | WaitEnd::Stopped(_), None) => {
            unreachable!(
                "a program that succeeded or ended by itself has a status, and no output is enough"
            )
        }
    };
    if matches!(&ending, RunEnding::Exited(status) if status.code().is_none()) {
        // The program of an adapter that was killed may be about to end.
        let _ = tree.left_running(signals);
    }
    let spared = matches!(ending, RunEnding::Exited(_)) && tree.ended_well_below();
    let survivors = match has_succeeded && launch.keep_running {
        true => Vec::new(),
        false => describe(&tree.end(Asked::NotYet, launch.grace, signals)),
    };
    Run {
        ending,
        left,
        survivors,
        spared,
    }
}

fn interrupted(mut tree: Tree, stop: Stop, launch: &Launch, signals: &Signals) -> Run {
    let asked = match stop.by_supervisor {
        true => Asked::ByOurSupervisor,
        false => Asked::NotYet,
    };
    let survivors = tree.end(asked, launch.grace, signals);
    Run {
        ending: RunEnding::Interrupted(stop.signal),
        left: Vec::new(),
        survivors: describe(&survivors),
        spared: false,
    }
}

/// Returns how long the files are together; one that is not there has no length.
fn total_length(files: &[PathBuf]) -> u64 {
    let lengths = files
        .iter()
        .filter_map(|file| Some(file.metadata().ok()?.len()));
    lengths.sum()
}

fn command(launch: &Launch) -> Command {
    let mut command = match launch.program {
        Program::File(path) => Command::new(path),
        Program::BuiltIn { name, file } => {
            let mut command = Command::new(file);
            command.arg0(format!("uwf-{name}"));
            command
        }
    };
    command
        .args(launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(launch.cwd);
    command
}

//! One attempt of a command or a provider: from its files and secrets to its result.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use uwf_pipeline::course::RunTask;
use uwf_pipeline::{
    CaptureDebug, Capturing, Ended, ErrorKind, Failure, InputMode, Limits, Masks, StepResult,
    result_of,
};
use uwf_process::{Signals, Stop, Tree};

use crate::environment::Variables;
use crate::error::{NotDone, RunError};
use crate::log::{Log, LogWriter};
use crate::prepare::{Prepared, prepare};
use crate::program::{self, Ending, Ran, TimeLimits, Unstarted, Watcher};
use crate::streams::{OutputText, Show, SinkError, Stderr, Stdout, Stream};
use crate::{OutputFile, Workspace};

/// How large the log of the error output may be.
const MAX_STDERR_LOG: u64 = 64 << 20;

/// What is the same for all tasks of a run.
pub struct Surroundings<'a> {
    /// Where the tasks are done.
    pub workspace: &'a Workspace,
    /// Our environment, which programs inherit.
    pub ours: &'a Variables,
    /// The secrets of the run.
    pub masks: &'a Masks,
    /// The signals of this process.
    pub signals: &'a Signals,
    /// The time between the request to end and the kill.
    pub grace: Duration,
}

/// The limited time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    /// All of it.
    pub whole: Duration,
    /// What is left.
    pub left: Duration,
}

impl RunTime {
    /// Returns all of it in milliseconds.
    #[must_use]
    pub fn whole_ms(self) -> u64 {
        u64::try_from(self.whole.as_millis()).unwrap_or(u64::MAX)
    }
}

/// What one attempt needs beside its task.
pub struct AttemptSpec<'a> {
    /// Variables that tell the program about its run. They win over those of the step.
    pub told: &'a Variables,
    /// The log of the output.
    pub stdout_log: PathBuf,
    /// How large it may be.
    pub max_stdout_log: u64,
    /// The log of the error output.
    pub stderr_log: PathBuf,
    /// What goes into the output file.
    pub output_text: OutputText,
    /// The time of the run, if it has a limit.
    pub run_time: Option<RunTime>,
    /// Sees the output at once.
    pub show: Show<'a>,
}

/// What came of an attempt.
#[derive(Debug)]
pub struct Attempt {
    /// How it ended.
    pub end: AttemptEnd,
    /// What is to be known about it.
    pub report: Report,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// With a result, also if the program failed.
    Settled(Box<StepResult>),
    /// This process was told to stop. There is no result.
    Interrupted(Stop),
}

/// What is to be known about an attempt. It has no secrets, but for the file that is the user's own.
#[derive(Debug, Default)]
pub struct Report {
    /// The arguments.
    pub argv: Vec<String>,
    /// How many variables the environment of the program had.
    pub env_count: Option<u64>,
    /// The prompt, if there was one.
    pub prompt: Option<String>,
    /// How the program ended, unless it was refused or interrupted.
    pub ended: Option<Ended>,
    /// How long the program ran.
    pub duration: Duration,
    /// Remarks about the output.
    pub debug: CaptureDebug,
    /// How many bytes were printed.
    pub bytes: u64,
    /// The logs, of the streams that were not empty.
    pub logs: Vec<(Stream, Log)>,
    /// The files that were read.
    pub reads: Vec<String>,
    /// The file that was written.
    pub writes: Option<String>,
    /// The processes that were ended because they kept the output open, and those that could not be ended.
    pub leaked: Vec<String>,
}

/// Makes one attempt.
///
/// # Errors
/// When there is no result because we failed, or the watcher did not want the program to go on. The program was ended then.
pub fn attempt(
    around: &Surroundings<'_>,
    task: &RunTask,
    spec: &AttemptSpec<'_>,
    watcher: &mut Watcher<'_>,
) -> Result<Attempt, RunError> {
    around.signals.watch().map_err(RunError::Signals)?;
    if let Some(stop) = around.signals.stop() {
        let end = AttemptEnd::Interrupted(stop);
        let report = Report::default();
        return Ok(Attempt { end, report });
    }
    let prepared = match prepare(around.workspace, around.ours, task) {
        Ok(prepared) => prepared,
        Err(failure) => return Ok(refused(around, &failure, Report::default())),
    };
    let mut report = Report::of(&prepared, around.masks);
    let output = task.output_file.as_deref();
    let output = output.map(|path| OutputFile::create(around.workspace, path));
    let output = match output.transpose() {
        Ok(output) => output,
        Err(NotDone::Failure(failure)) => return Ok(refused(around, &failure, report)),
        Err(NotDone::Disk(error)) => return Err(error),
    };
    let one = One { around, task, spec };
    let streams = one.streams(output.as_ref())?;
    let tree = match one.start(&prepared, &mut report) {
        Ok(tree) => tree,
        Err(unstarted) => return one.unstarted(unstarted, report),
    };
    let started = Instant::now();
    let ran = program::run(
        tree,
        streams,
        one.limits(),
        (around.signals, around.masks),
        watcher,
    )?;
    let report = Report {
        duration: started.elapsed(),
        ..report
    };
    let attempt = one.end(ran, report)?;
    match output {
        Some(output) if attempt.report.ended.is_some() => placed(around, attempt, output),
        _ => Ok(attempt),
    }
}

/// Returns the attempt of a step that cannot be done.
pub(crate) fn refused(around: &Surroundings<'_>, failure: &Failure, report: Report) -> Attempt {
    let result = StepResult::refused(failure.masked(around.masks));
    let end = AttemptEnd::Settled(Box::new(result));
    Attempt { end, report }
}

/// Gives the output file its name, also after a failure. A step that succeeded fails if that is not possible.
fn placed(
    around: &Surroundings<'_>,
    mut attempt: Attempt,
    output: OutputFile<'_>,
) -> Result<Attempt, RunError> {
    let path = output.path().to_owned();
    let failure = match output.finish() {
        Ok(()) => {
            attempt.report.writes = Some(path);
            return Ok(attempt);
        }
        Err(NotDone::Disk(error)) => return Err(error),
        Err(NotDone::Failure(failure)) => failure.masked(around.masks),
    };
    if let AttemptEnd::Settled(result) = &mut attempt.end {
        match &mut result.error {
            None => {
                **result = StepResult {
                    captured: result.captured.take(),
                    ..StepResult::refused(failure)
                };
            }
            Some(error) => {
                let lost = failure.message.into();
                error.context.insert("output_file".to_owned(), lost);
            }
        }
    }
    Ok(attempt)
}

impl Report {
    fn of(prepared: &Prepared, masks: &Masks) -> Self {
        let text = |prompt: &Vec<u8>| masks.text(&String::from_utf8_lossy(prompt));
        Self {
            argv: prepared.argv.iter().map(|word| masks.text(word)).collect(),
            prompt: prepared.prompt.as_ref().map(text),
            reads: prepared.reads.clone(),
            ..Self::default()
        }
    }

    /// Returns the program that was to be started, without secrets.
    fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }
}

/// One attempt at a program.
struct One<'a> {
    around: &'a Surroundings<'a>,
    task: &'a RunTask,
    spec: &'a AttemptSpec<'a>,
}

impl One<'_> {
    /// Returns the places where the output goes.
    fn streams<'s>(
        &'s self,
        output: Option<&'s OutputFile<'_>>,
    ) -> Result<(Stdout<'s>, Stderr<'s>), RunError> {
        let (spec, masks) = (self.spec, self.around.masks);
        let capturing = Capturing::new(self.task.capture, masks);
        let log = LogWriter::start(&spec.stdout_log, spec.max_stdout_log)?;
        let output = output.map(|output| (output.file(), spec.output_text));
        let stdout = Stdout::new(capturing, output, log, spec.show);
        let log = LogWriter::start(&spec.stderr_log, MAX_STDERR_LOG)?;
        Ok((stdout, Stderr::new(masks.stream(), log, spec.show)))
    }

    /// Starts the program, unless the time of the run is over.
    fn start(&self, prepared: &Prepared, report: &mut Report) -> Result<Tree, Unstarted> {
        if self.limits().run == Some(Duration::ZERO) {
            return Err(Unstarted::Ended(Ended::RunTimedOut));
        }
        let input = prepared.prompt.as_deref();
        let input = input.filter(|_| prepared.mode == InputMode::Stdin);
        let mut start = |program: &OsStr| {
            let mut command = self.command(program, &prepared.argv);
            let started = program::start(&mut command, input);
            report.env_count = Some(command.get_envs().count() as u64);
            started
        };
        if let Some(file) = self.file_of(&prepared.argv[0]) {
            match start(file.as_os_str()) {
                // A script without a first line that names its interpreter: only a search finds the shell for it.
                Err(Unstarted::Ended(Ended::NotExecutable)) => {}
                started => return started,
            }
        }
        start(OsStr::new(&prepared.argv[0]))
    }

    /// Finds the file of a program that is only named. The system would search for it, too, in a copy of this process: that
    /// takes the longer the larger this process is.
    fn file_of(&self, name: &str) -> Option<PathBuf> {
        let told = self.spec.told.iter();
        let variables = told.chain(self.around.ours.iter());
        let path = match self.task.env.get("PATH") {
            Some(path) => OsStr::new(path),
            None => {
                let mut paths = variables.filter(|(name, _)| name == "PATH");
                paths.next()?.1.as_os_str()
            }
        };
        program::find(name, path)
    }

    fn command(&self, program: &OsStr, argv: &[String]) -> Command {
        let mut command = Command::new(program);
        let ours = self.around.ours.iter().cloned();
        let of_step = self.task.env.iter();
        let of_step = of_step.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        command
            .arg0(&argv[0])
            .args(&argv[1..])
            .current_dir(self.around.workspace.path())
            .env_clear()
            .envs(ours)
            .envs(of_step)
            .envs(self.spec.told.iter().cloned());
        command
    }

    fn limits(&self) -> TimeLimits {
        TimeLimits {
            step: self.task.timeout_ms.map(Duration::from_millis),
            run: self.spec.run_time.map(|time| time.left),
            grace: self.around.grace,
        }
    }

    /// Returns how a program ended with what a message says of it.
    fn said<'r>(&self, ended: Ended, report: &'r Report) -> (&'r str, Ended, Limits) {
        let limits = Limits {
            step_ms: self.task.timeout_ms,
            run_ms: self.spec.run_time.map(RunTime::whole_ms),
        };
        (report.program(), ended, limits)
    }

    /// Returns the attempt at a program that was not started.
    fn unstarted(&self, unstarted: Unstarted, mut report: Report) -> Result<Attempt, RunError> {
        let ended = match unstarted {
            Unstarted::Ended(Ended::NotFound) if !self.around.workspace.path().is_dir() => {
                let path = self.around.workspace.path().to_owned();
                return Err(RunError::WorkspaceGone { path });
            }
            Unstarted::Ended(ended) => ended,
            Unstarted::TooLong => return Ok(refused(self.around, &too_long_together(), report)),
            Unstarted::System(error) => return Err(RunError::Start(error)),
        };
        let capturing = Capturing::new(self.task.capture, self.around.masks);
        let (end, _) = capturing.finish(ended.exit_code());
        report.ended = Some(ended);
        let result = result_of(self.said(ended, &report), end, Vec::new(), Vec::new());
        let end = AttemptEnd::Settled(Box::new(result));
        Ok(Attempt { end, report })
    }

    /// Returns the attempt at a program that has ended.
    fn end(&self, ran: Ran<'_>, mut report: Report) -> Result<Attempt, RunError> {
        report.leaked = ran.leaked;
        if let Some(error) = ran.unkept {
            return self.unkept(error, report);
        }
        let exit_code = match ran.ending {
            Ending::Ended(ended) => ended.exit_code(),
            Ending::Interrupted(_) => 0,
            Ending::GivenUp => return Err(RunError::NotWanted),
        };
        let stderr = match ran.stderr.finish() {
            Ok(stderr) => stderr,
            Err(error) => return self.unkept(error, report),
        };
        let (capture, stdout) = match ran.stdout.finish(exit_code) {
            Ok(finished) => finished,
            Err(error) => return self.unkept(error, report),
        };
        let logs = [(Stream::Stdout, stdout.log), (Stream::Stderr, stderr.log)];
        let logs = logs.into_iter();
        report.logs = logs
            .filter_map(|(stream, log)| Some((stream, log?)))
            .collect();
        report.bytes = capture.bytes;
        report.debug = capture.debug.clone();
        let end = match ran.ending {
            Ending::Interrupted(stop) => AttemptEnd::Interrupted(stop),
            Ending::GivenUp => return Err(RunError::NotWanted),
            Ending::Ended(ended) => {
                report.ended = Some(ended);
                let ended = self.said(ended, &report);
                let result = result_of(ended, capture, stdout.tail, stderr.tail);
                AttemptEnd::Settled(Box::new(result))
            }
        };
        Ok(Attempt { end, report })
    }

    /// Returns the attempt at a program whose output could not be kept.
    fn unkept(&self, error: SinkError, report: Report) -> Result<Attempt, RunError> {
        match error {
            SinkError::Log(error) => Err(error.into()),
            SinkError::Output(error) => {
                let path = self.task.output_file.as_deref().unwrap_or_default();
                match NotDone::of("write", path, error) {
                    NotDone::Failure(failure) => Ok(refused(self.around, &failure, report)),
                    NotDone::Disk(error) => Err(error),
                }
            }
        }
    }
}

/// Returns the failure of a program that the system refuses because of all its arguments and variables.
fn too_long_together() -> Failure {
    let message = "the arguments and the environment of the program are too long together";
    Failure::new(ErrorKind::ArgumentTooLong, message).fact("hint", "input_mode: stdin")
}

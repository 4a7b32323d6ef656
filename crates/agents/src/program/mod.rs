//! Runs a program to its end: passes it the prompt, reads its output while it is written, and passes its stderr on.
//!
//! The program runs under the supervisor of `uwf-process`, together with everything that it starts. The adapters
//! interpret its output.

mod dialogue;
mod drive;
mod ending;
mod lines;
mod pipes;
mod stderr;

use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bounded::text;
use uwf_agent_kit::{AdapterError, Supervision};
use uwf_process::Tree;
use uwf_protocol::agent::MAX_ARGUMENT;
use uwf_protocol::failure::FailureClass;
use uwf_storage::RunDir;
use uwf_util::mask::Masks;
use uwf_util::size;

pub(crate) use dialogue::{Dialogue, Heard};
pub(crate) use drive::{Ended, Timing, pass_through};
pub(crate) use ending::ProgramEnding;
pub(crate) use lines::{Line, Lines};
pub(crate) use pipes::{OwnedLine, Pipes, Received};
pub(crate) use stderr::tail;

/// The default limit of an answer, in bytes.
pub(crate) const MAX_OUTPUT: u64 = 256 << 20;

/// What to run, and how.
pub(crate) struct Launch<'a> {
    /// A path, or a name that is looked for on PATH.
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: &'a Path,
    /// Variables in addition to those of our own environment.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) stdin: &'a str,
    /// The hint to the user if the program does not exist.
    pub(crate) install: &'a str,
    pub(crate) timeout: Option<Duration>,
    /// How the program is ended, and whether processes that it leaves running may go on.
    pub(crate) supervision: Supervision,
    /// The folder for the files of its streams.
    pub(crate) run_dir: &'a Path,
    /// The secrets that are taken out of what is kept of its stderr.
    pub(crate) masks: &'a Masks,
    /// Called with the process id as soon as it has started.
    pub(crate) on_start: &'a dyn Fn(u32),
}

/// The output of a program that has ended.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Why the output cannot be used as an answer, if it cannot.
    pub(crate) problem: Option<AdapterError>,
    /// Whether the program ended well by itself.
    pub(crate) is_complete: bool,
}

/// Returns the file with the stdout of a program that prints its answer as a whole.
pub(crate) fn answer_file(run_dir: &Path) -> PathBuf {
    RunDir::at(run_dir.to_owned()).scratch.answer_file()
}

/// Returns the file with the stdout of a program that prints events line by line.
fn events_file(run_dir: &Path) -> PathBuf {
    RunDir::at(run_dir.to_owned()).scratch.events_file()
}

/// The most space that the file of events may take, in bytes. Then its beginning is dropped.
const EVENTS_CAP: u64 = 256 << 20;

/// Runs a program whose stdout is its answer. An answer of more than `max_output` bytes is a problem.
///
/// # Errors
/// When the program cannot be started, or its output cannot be stored.
pub(crate) fn run(launch: &Launch<'_>, max_output: u64) -> Result<Output, AdapterError> {
    let file = answer_file(launch.run_dir);
    let mut size = 0;
    let ended = drive::drive(launch, &file, u64::MAX, &mut |bytes, _| {
        size += bytes.len() as u64;
        if size > max_output {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if size > max_output {
        return Ok(Output {
            stdout: String::new(),
            stderr: ended.stderr,
            problem: Some(
                AdapterError::failed(too_much(launch.program, max_output))
                    .class(FailureClass::BadAnswer),
            ),
            is_complete: false,
        });
    }
    let answer = uwf_durable::read(&file)
        .map_err(|error| AdapterError::failed(error.to_string()))?
        .unwrap_or_default();
    Ok(Output {
        stdout: text(answer),
        problem: ended.problem(launch.program),
        is_complete: ended.is_complete(),
        stderr: ended.stderr,
    })
}

/// Runs a program and reads its stdout line by line while it is written.
///
/// # Errors
/// When the program cannot be started or waited for.
pub(crate) fn stream(
    launch: &Launch<'_>,
    on_line: &mut dyn FnMut(Line<'_>, Timing),
) -> Result<Ended, AdapterError> {
    let file = events_file(launch.run_dir);
    let mut lines = Lines::default();
    let mut last = Timing::InTime;
    let ended = drive::drive(launch, &file, EVENTS_CAP, &mut |bytes, timing| {
        last = timing;
        lines.push(bytes, &mut |line| on_line(line, timing));
        ControlFlow::Continue(())
    })?;
    lines.finish(&mut |line| on_line(line, last));
    Ok(ended)
}

/// Reads the lines of a program that ended after its adapter had died; none if the file cannot be read.
pub(crate) fn earlier_lines(run_dir: &Path, on_line: &mut dyn FnMut(Line<'_>)) {
    let mut lines = Lines::default();
    let events = uwf_durable::read(&events_file(run_dir));
    lines.push(&events.ok().flatten().unwrap_or_default(), on_line);
    lines.finish(on_line);
}

fn spawn(launch: &Launch<'_>, streams: [Stdio; 3]) -> Result<Tree, AdapterError> {
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(launch.program);
    command
        .args(launch.args)
        .envs(launch.variables.iter().copied())
        .current_dir(launch.cwd)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    let tree = Tree::spawn(&mut command).map_err(|error| not_started(launch, &error))?;
    tracing::debug!(
        tag = "S2N7F4J9",
        pid = tree.leader(),
        "started {} in {}",
        launch.program,
        launch.cwd.display()
    );
    (launch.on_start)(tree.leader());
    Ok(tree)
}

fn not_started(launch: &Launch<'_>, error: &io::Error) -> AdapterError {
    let failed = AdapterError::not_started(format!(
        "`{}` could not be started in `{}`: {error}",
        launch.program,
        launch.cwd.display()
    ));
    match error.kind() {
        ErrorKind::NotFound => failed
            .class(FailureClass::NotInstalled)
            .hint(launch.install),
        ErrorKind::PermissionDenied => failed
            .class(FailureClass::NotInstalled)
            .hint("it must be an executable file"),
        _ => failed,
    }
}

/// Returns the message that a program printed more than its limit.
pub(crate) fn too_much(program: &str, max_output: u64) -> String {
    let limit = size::format(max_output);
    format!("`{program}` printed more than {limit}, the limit of `--max-output`")
}

/// Returns the prompt if it can be passed as an argument.
///
/// # Errors
/// When it is too long or has a zero byte.
pub(crate) fn argument(prompt: &str) -> Result<&str, AdapterError> {
    let message = if prompt.len() >= MAX_ARGUMENT {
        "the prompt is too long for an argument"
    } else if prompt.contains('\0') {
        "the prompt has a zero byte, which no argument can hold"
    } else {
        return Ok(prompt);
    };
    Err(AdapterError::not_started(message))
}

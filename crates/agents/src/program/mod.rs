//! Running a program to its end: prompt in, output read while it comes, stderr through to ours.
//!
//! The program runs under the supervisor of `uwf-process`, together with everything that it starts. What its output
//! means is for the adapters.

mod dialogue;
mod drive;
mod ending;
mod lines;
mod stderr;

use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use uwf_agent_kit::{AdapterError, Supervision};
use uwf_process::Tree;
use uwf_protocol::agent::MAX_ARGUMENT;
use uwf_protocol::failure::FailureClass;
use uwf_storage::RunDir;
use uwf_util::size;

pub(crate) use dialogue::{Dialogue, Heard};
pub(crate) use drive::{Ended, Timing, pass_through};
pub(crate) use ending::ProgramEnding;
pub(crate) use lines::Line;
pub(crate) use stderr::tail;

use lines::Lines;

/// How long an answer may be if nothing else is said, in bytes.
pub(crate) const MAX_OUTPUT: u64 = 256 << 20;

/// What to run, and how.
pub(crate) struct Launch<'a> {
    /// A path, or a name that is looked for on PATH.
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: &'a Path,
    /// Variables beside those of our own environment.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) stdin: &'a str,
    /// What the user can do when there is no such program.
    pub(crate) install: &'a str,
    pub(crate) timeout: Option<Duration>,
    /// How the program is ended, and whether what it leaves running may go on.
    pub(crate) supervision: Supervision,
    /// Where its streams are kept in files.
    pub(crate) run_dir: &'a Path,
    /// What is done as soon as it has started, with the number of its process.
    pub(crate) on_start: &'a dyn Fn(u32),
}

/// What a program left.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Why the output cannot be used as an answer, if it cannot.
    pub(crate) problem: Option<AdapterError>,
    /// Whether the program ended well by itself.
    pub(crate) is_complete: bool,
}

/// Returns the file that keeps the stdout of a program which answers as a whole.
pub(crate) fn answer_file(run_dir: &Path) -> PathBuf {
    RunDir::at(run_dir.to_owned()).scratch.answer_file()
}

/// Returns the file that keeps the stdout of a program which tells events line by line.
fn events_file(run_dir: &Path) -> PathBuf {
    RunDir::at(run_dir.to_owned()).scratch.events_file()
}

/// How much space the file of events may take before its beginning is dropped, in bytes.
const EVENTS_CAP: u64 = 256 << 20;

/// Runs a program whose stdout is its answer, up to so many bytes. A longer one is a problem.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub(crate) fn run(launch: &Launch<'_>, max_output: u64) -> Result<Output, AdapterError> {
    let file = answer_file(launch.run_dir);
    let mut size = 0;
    let ended = drive::drive(launch, &file, u64::MAX, &mut |bytes, _| {
        size += bytes.len() as u64;
        match size > max_output {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
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

/// Runs a program whose stdout is read line by line while it comes. A line that no memory should hold is not given
/// whole.
///
/// # Errors
/// When it cannot be started or waited for.
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

/// Reads the lines of a program that ended after its adapter had died. A file that cannot be read has none.
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

/// Says that a program printed more than it may.
pub(crate) fn too_much(program: &str, max_output: u64) -> String {
    let limit = size::format(max_output);
    format!("`{program}` printed more than {limit}, the limit of `--max-output`")
}

/// Returns a prompt that can be an argument.
///
/// # Errors
/// When none can hold it.
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

/// Returns the text; what is not UTF-8 shows as replacement characters.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

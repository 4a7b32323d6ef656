//! Running a program to its end: prompt in, output taken while it comes, stderr through to ours.
//!
//! The program stays in our own process group, so that whoever ends us ends it, too. What its output means is
//! for those who run it.

mod dialogue;
mod drive;
mod ending;
mod group;
mod lines;
mod stderr;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use uwf_agent_kit::AdapterError;
use uwf_protocol::agent::MAX_ARGUMENT;
use uwf_protocol::failure::FailureClass;
use uwf_util::size;

pub(crate) use dialogue::{Dialogue, Heard};
pub(crate) use drive::Ended;
pub(crate) use ending::Ending;
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
}

/// What a program left.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Why this is no answer, if it is none.
    pub(crate) problem: Option<AdapterError>,
}

/// Runs a program whose stdout goes to a file, up to so many bytes. A longer one is a problem.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub(crate) fn run(
    launch: &Launch<'_>,
    stdout_file: &Path,
    max_output: u64,
) -> Result<Output, AdapterError> {
    let broken = |error: io::Error| {
        let file = stdout_file.display();
        AdapterError::failed(format!("the answer could not be kept in `{file}`: {error}"))
    };
    let mut file = File::create(stdout_file).map_err(broken)?;
    let mut size = 0;
    let mut written = Ok(());
    let ended = drive::drive(launch, &mut |bytes| {
        size += bytes.len() as u64;
        written = file.write_all(bytes);
        if size > max_output || written.is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    written.map_err(broken)?;
    if size > max_output {
        return Ok(Output {
            stdout: String::new(),
            stderr: ended.stderr,
            problem: Some(
                AdapterError::failed(too_much(launch.program, max_output))
                    .class(FailureClass::BadAnswer),
            ),
        });
    }
    Ok(Output {
        stdout: text(fs::read(stdout_file).map_err(broken)?),
        problem: ended.problem(launch.program),
        stderr: ended.stderr,
    })
}

/// Runs a program whose stdout is taken line by line while it comes. Nothing of it is kept, and a line that
/// no memory should hold is not given whole.
///
/// # Errors
/// When it cannot be started or waited for.
pub(crate) fn stream(
    launch: &Launch<'_>,
    on_line: &mut dyn FnMut(Line<'_>),
) -> Result<Ended, AdapterError> {
    let mut lines = Lines::default();
    let ended = drive::drive(launch, &mut |bytes| {
        lines.push(bytes, on_line);
        ControlFlow::Continue(())
    })?;
    lines.finish(on_line);
    Ok(ended)
}

fn spawn(launch: &Launch<'_>, stdin: Stdio) -> Result<Child, AdapterError> {
    let spawned = Command::new(launch.program)
        .args(launch.args)
        .envs(launch.variables.iter().copied())
        .current_dir(launch.cwd)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    spawned.map_err(|error| {
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
    })
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

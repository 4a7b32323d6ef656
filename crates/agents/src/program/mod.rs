//! Running a program to its end: prompt in, answer into a file, stderr through to ours.
//!
//! The program stays in our own process group, so that whoever ends us ends it, too.

mod group;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uwf_agent_kit::AdapterError;
use uwf_util::size;

/// How long a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long its output is waited for after it ended: something that it started may hold the pipes.
const DRAIN: Duration = Duration::from_secs(2);
/// How much of stderr is kept, at its beginning and at its end each.
const STDERR_KEPT: usize = 64 * 1024;
/// How many characters of stderr go into a message.
const STDERR_TOLD: usize = 2000;

/// What to run, and how.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: &'a Path,
    pub(crate) stdin: &'a str,
    pub(crate) stdout_file: &'a Path,
    pub(crate) max_output: u64,
    pub(crate) timeout: Option<Duration>,
}

/// What a program left.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Why this is no answer, if it is none.
    pub(crate) problem: Option<String>,
}

/// Runs a program.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub(crate) fn run(launch: &Launch<'_>) -> Result<Output, AdapterError> {
    let file =
        File::create(launch.stdout_file).map_err(|error| broken(launch.stdout_file, &error))?;
    let mut child = spawn(launch)?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");
    let stdin = child.stdin.take();
    let prompt = launch.stdin.to_owned();
    if let Some(mut stdin) = stdin {
        // A program need not read its prompt to the end, so that writing may fail.
        thread::spawn(move || stdin.write_all(prompt.as_bytes()));
    }
    let max_output = launch.max_output;
    let copied = in_background(move || copy_capped(stdout, file, max_output));
    let kept = Arc::new(Mutex::new(Kept::default()));
    let keeper = Arc::clone(&kept);
    let passed_on = in_background(move || pass_on(stderr, &keeper));
    let ending = wait(child, launch.timeout).map_err(|error| broken(launch.stdout_file, &error))?;
    let _ = passed_on.recv_timeout(DRAIN);
    let size = match copied.recv_timeout(DRAIN) {
        Ok(copied) => copied.map_err(|error| broken(launch.stdout_file, &error))?,
        Err(_) => 0,
    };
    let stdout =
        fs::read(launch.stdout_file).map_err(|error| broken(launch.stdout_file, &error))?;
    let stderr = kept.lock().unwrap_or_else(PoisonError::into_inner).text();
    let problem = problem(launch, &ending, size, &stderr);
    Ok(Output {
        stdout: text(stdout),
        stderr,
        problem,
    })
}

fn spawn(launch: &Launch<'_>) -> Result<Child, AdapterError> {
    let stdin = if launch.stdin.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    let spawned = Command::new(launch.program)
        .args(launch.args)
        .current_dir(launch.cwd)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    spawned.map_err(|error| {
        let failed = AdapterError::not_started(format!(
            "`{}` could not be started: {error}",
            launch.program
        ));
        match error.kind() {
            ErrorKind::NotFound => {
                failed.hint("install it, or give its full path after `--` in the agent's `args`")
            }
            ErrorKind::PermissionDenied => failed.hint("it must be an executable file"),
            _ => failed,
        }
    })
}

fn broken(file: &Path, error: &io::Error) -> AdapterError {
    AdapterError::failed(format!(
        "the answer could not be kept in `{}`: {error}",
        file.display()
    ))
}

/// How a program ended.
enum Ending {
    Exited(ExitStatus),
    TimedOut(Duration),
}

/// Waits for the end of a program, and ends it when its time is up.
fn wait(mut child: Child, timeout: Option<Duration>) -> io::Result<Ending> {
    let Some(timeout) = timeout else {
        return child.wait().map(Ending::Exited);
    };
    let pid = Pid::from_child(&child);
    // The descriptor names this very process, whoever gets its number later.
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let exited = in_background(move || child.wait());
    match exited.recv_timeout(timeout) {
        Ok(status) => return status.map(Ending::Exited),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
    for signal in [Signal::TERM, Signal::KILL] {
        if !group::signal_others(signal) {
            let _ = pidfd_send_signal(&process, signal);
        }
        if exited.recv_timeout(GRACE).is_ok() {
            break;
        }
    }
    group::signal_others(Signal::KILL);
    Ok(Ending::TimedOut(timeout))
}

/// Runs work on a thread of its own, which nobody has to wait for, and returns where its result appears.
fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver
}

/// Copies to the file until the end, or until one byte more than the cap: then the pipe is closed. Returns
/// how many bytes were seen.
fn copy_capped(from: impl Read, mut to: File, cap: u64) -> io::Result<u64> {
    io::copy(&mut from.take(cap.saturating_add(1)), &mut to)
}

/// Passes everything on to our own stderr while it comes, and keeps its beginning and its end.
fn pass_on(mut from: impl Read, kept: &Mutex<Kept>) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let _ = io::stderr().write_all(&buffer[..count]);
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(&buffer[..count]);
    }
}

/// The beginning and the end of a stream.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        let room = STDERR_KEPT.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend(head);
        self.tail.extend(tail);
        let surplus = self.tail.len().saturating_sub(STDERR_KEPT);
        self.tail.drain(..surplus);
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        text(bytes)
    }
}

/// Returns the text; what is not UTF-8 shows as replacement characters.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn problem(launch: &Launch<'_>, ending: &Ending, size: u64, stderr: &str) -> Option<String> {
    let program = launch.program;
    if size > launch.max_output {
        let limit = size::format(launch.max_output);
        return Some(format!(
            "`{program}` printed more than {limit}, the limit of `--max-output`"
        ));
    }
    let what = match ending {
        Ending::Exited(status) if status.success() => return None,
        Ending::Exited(status) => match status.code() {
            Some(code) => format!("`{program}` exited with code {code}"),
            None => format!("`{program}` was ended from outside ({status})"),
        },
        Ending::TimedOut(limit) => {
            format!(
                "`{program}` was ended after its time limit of {} s",
                limit.as_secs_f64()
            )
        }
    };
    match tail(stderr) {
        "" => Some(what),
        said => Some(format!("{what}: {said}")),
    }
}

/// Returns the end of a text, cut at a character.
fn tail(text: &str) -> &str {
    let text = text.trim();
    match text.char_indices().rev().nth(STDERR_TOLD - 1) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

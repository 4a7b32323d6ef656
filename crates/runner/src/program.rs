//! One program: it is started, its output is taken while it comes, and it is ended with everything that it started.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Duration;

use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::io::Errno;
use uwf_pipeline::{Ended, Masks};
use uwf_process::{EndRequest, Limits, OutputSeen, Process, Signals, Stop, Target, Tree, WaitEnd};

use crate::drain::drain;
use crate::error::{NotWanted, RunError};
use crate::streams::{SinkError, Stderr, Stdout};

/// How long to wait for the end of the output of a program that has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// How long a program may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeLimits {
    /// The limit of the step.
    pub(crate) step: Option<Duration>,
    /// What is left of the limit of the run.
    pub(crate) run: Option<Duration>,
    /// The time between the request to end and the kill.
    pub(crate) grace: Duration,
}

/// The functions that a running program is watched with.
pub struct Watcher<'a> {
    /// Is told the number of the process as soon as the program runs.
    pub started: &'a mut dyn FnMut(u32) -> Result<(), NotWanted>,
    /// Is called again and again while the program runs.
    pub tick: &'a mut dyn FnMut() -> Result<(), NotWanted>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, or by a limit of time.
    Ended(Ended),
    /// This process was told to stop.
    Interrupted(Stop),
    /// Its output could not be kept, or nobody wanted it any more.
    GivenUp,
}

/// What is left of a program.
pub(crate) struct Ran<'a> {
    pub(crate) ending: Ending,
    pub(crate) stdout: Stdout<'a>,
    pub(crate) stderr: Stderr<'a>,
    /// Why output could not be kept.
    pub(crate) unkept: Option<SinkError>,
    /// The processes that were ended because they kept the output open, and those that could not be ended.
    pub(crate) leaked: Vec<String>,
}

/// How a program is not started.
pub(crate) enum Unstarted {
    /// It cannot be: this is how the step ends.
    Ended(Ended),
    /// All arguments and variables together are too long.
    TooLong,
    /// The system has no room for another process.
    System(io::Error),
}

/// Starts a program. `input` is what it can read; without, it can read nothing.
pub(crate) fn start(command: &mut Command, input: Option<&[u8]>) -> Result<Tree, Unstarted> {
    let stdin = match input {
        None => Stdio::null(),
        Some(input) => readable(input).map_err(Unstarted::System)?,
    };
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Tree::spawn(command).map_err(|error| match why_not(error) {
        Unstarted::Ended(Ended::NotExecutable) if !is_somewhere(command) => {
            Unstarted::Ended(Ended::NotFound)
        }
        why => why,
    })
}

/// Returns the first file of a name in the folders of `PATH` that can be executed; `None` if only the system can tell which
/// one it would take.
pub(crate) fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    for folder in std::env::split_paths(path) {
        if !folder.is_absolute() {
            return None;
        }
        let file = folder.join(name);
        if file.is_file() && access(&file, Access::EXEC_OK).is_ok() {
            return Some(file);
        }
    }
    None
}

/// Tells whether there is a file of the program's name. The system also says that a program cannot be executed if it is in
/// no folder of `PATH`, and one of them cannot be searched.
fn is_somewhere(command: &Command) -> bool {
    let program = Path::new(command.get_program());
    if program.components().nth(1).is_some() {
        return true;
    }
    let mut variables = command.get_envs();
    let path = variables.find(|(name, _)| *name == "PATH");
    let path = path.and_then(|(_, value)| value).unwrap_or_default();
    std::env::split_paths(path).any(|folder| folder.join(program).symlink_metadata().is_ok())
}

/// Returns an input that a program can read or leave: no pipe can fill up.
fn readable(input: &[u8]) -> io::Result<Stdio> {
    let mut file = std::fs::File::from(memfd_create("prompt", MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// Tells what it means that a program could not be started, as a shell does.
fn why_not(error: io::Error) -> Unstarted {
    match (error.kind(), Errno::from_io_error(&error)) {
        (ErrorKind::NotFound, _) => Unstarted::Ended(Ended::NotFound),
        (_, Some(Errno::TOOBIG)) => Unstarted::TooLong,
        (
            _,
            Some(
                Errno::ACCESS
                | Errno::PERM
                | Errno::NOEXEC
                | Errno::NOTDIR
                | Errno::ISDIR
                | Errno::LOOP
                | Errno::NAMETOOLONG
                | Errno::TXTBSY
                | Errno::LIBBAD,
            ),
        ) => Unstarted::Ended(Ended::NotExecutable),
        _ => Unstarted::System(error),
    }
}

/// Watches a program to its end. The masks are for what is shown of its processes.
pub(crate) fn run<'a>(
    mut tree: Tree,
    (mut stdout, mut stderr): (Stdout<'a>, Stderr<'a>),
    limits: TimeLimits,
    (signals, masks): (&Signals, &Masks),
    watcher: &mut Watcher<'_>,
) -> Result<Ran<'a>, RunError> {
    let (stop, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (out, err) = (tree.take_stdout(), tree.take_stderr());
    let (reading, all_read) = channel::<()>();
    let also_reading = reading.clone();
    scope(|scope| {
        let (stop, failed) = (&stop, &failed);
        let out = Builder::new().spawn_scoped(scope, move || {
            let taken = out.map_or(Ok(()), |pipe| drain(pipe, stop, |it| stdout.take(it)));
            failed.fetch_or(taken.is_err(), Ordering::Relaxed);
            drop(reading);
            (stdout, taken)
        });
        let err = Builder::new().spawn_scoped(scope, move || {
            let taken = err.map_or(Ok(()), |pipe| drain(pipe, stop, |it| stderr.take(it)));
            failed.fetch_or(taken.is_err(), Ordering::Relaxed);
            drop(also_reading);
            (stderr, taken)
        });
        let (out, err) = match (out, err) {
            (Ok(out), Ok(err)) => (out, err),
            // Nobody would read what the program prints.
            (Err(error), _) | (_, Err(error)) => {
                terminate(&mut tree, limits, signals);
                stop.store(true, Ordering::Relaxed);
                return Err(RunError::Start(error));
            }
        };
        let wanted = (watcher.started)(tree.leader());
        let ending = match wanted {
            Ok(()) => watch(&mut tree, limits, signals, watcher, failed),
            Err(NotWanted) => WaitEnd::Enough,
        };
        let (ending, left) = conclude(&mut tree, ending, limits, signals);
        let mut leaked = describe(&left, masks);
        leaked.extend(finish_output(&mut tree, &all_read, signals, masks));
        stop.store(true, Ordering::Relaxed);
        let ((stdout, kept_out), (stderr, kept_err)) = (join(out), join(err));
        Ok(Ran {
            ending,
            stdout,
            stderr,
            unkept: kept_out.and(kept_err).err(),
            leaked,
        })
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Waits until the program ends, or has to.
fn watch(
    tree: &mut Tree,
    limits: TimeLimits,
    signals: &Signals,
    watcher: &mut Watcher<'_>,
    failed: &AtomicBool,
) -> WaitEnd {
    let waiting = Limits {
        wall: limits.step.into_iter().chain(limits.run).min(),
        idle: None,
    };
    tree.wait(
        signals,
        waiting,
        &mut || match (failed.load(Ordering::Relaxed), (watcher.tick)()) {
            (false, Ok(())) => OutputSeen::Nothing,
            (true, _) | (_, Err(NotWanted)) => OutputSeen::Enough,
        },
    )
}

/// Ends a program that has not ended by itself. Also returns the processes that could not be ended.
fn conclude(
    tree: &mut Tree,
    end: WaitEnd,
    limits: TimeLimits,
    signals: &Signals,
) -> (Ending, Vec<Process>) {
    match (end, tree.status()) {
        (WaitEnd::Exited, Some(status)) => (Ending::Ended(ended(status)), Vec::new()),
        (WaitEnd::Stopped(stop), _) if stop.by_supervisor => {
            let left = tree.end(EndRequest::SentBySupervisor, limits.grace, signals);
            (Ending::Interrupted(stop), left)
        }
        (WaitEnd::Stopped(stop), _) => {
            let left = tree.end_by(stop.signal, limits.grace, signals);
            (Ending::Interrupted(stop), left)
        }
        (WaitEnd::TimedOut(_) | WaitEnd::Idle(_), _) => {
            let is_of_run = limits
                .run
                .is_some_and(|run| limits.step.is_none_or(|step| run < step));
            let ended = match is_of_run {
                true => Ended::RunTimedOut,
                false => Ended::TimedOut,
            };
            (Ending::Ended(ended), terminate(tree, limits, signals))
        }
        (WaitEnd::Enough | WaitEnd::Exited, _) => {
            (Ending::GivenUp, terminate(tree, limits, signals))
        }
    }
}

/// Returns one line for each process, for people.
fn describe(processes: &[Process], masks: &Masks) -> Vec<String> {
    let lines = processes.iter().map(|process| process.describe(masks));
    lines.collect()
}

fn terminate(tree: &mut Tree, limits: TimeLimits, signals: &Signals) -> Vec<Process> {
    let signal = rustix::process::Signal::TERM.as_raw();
    tree.end_by(signal, limits.grace, signals)
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    }
}

/// Waits until all output of an ended program was read. Processes that keep it open for too long are killed. Returns them.
///
/// What the program left running without its output goes on, as it would in a shell.
fn finish_output(
    tree: &mut Tree,
    all_read: &Receiver<()>,
    signals: &Signals,
    masks: &Masks,
) -> Vec<String> {
    if is_read(all_read) {
        return Vec::new();
    }
    let leaked = describe(&tree.members(), masks);
    let _ = tree.kill(signals);
    is_read(all_read);
    leaked
}

/// Waits a moment until both threads have read all output.
fn is_read(all_read: &Receiver<()>) -> bool {
    use std::sync::mpsc::RecvTimeoutError::Disconnected;
    all_read.recv_timeout(LAST_OUTPUT) == Err(Disconnected)
}

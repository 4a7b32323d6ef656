//! Holding a program from its start to its end: feeding it, taking what it prints, and ending it in time.

use std::io::{self, Read, Write as _};
use std::ops::ControlFlow;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use uwf_agent_kit::AdapterError;

use super::ending::Ending;
use super::stderr::Stderr;
use super::{Launch, group, spawn};

/// How long a program has to end after it was asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long its output is waited for after it ended: something that it started may hold the pipes.
pub(super) const DRAIN: Duration = Duration::from_secs(2);
/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// How many chunks may wait until they are taken. A program that is faster than we are has to wait.
pub(super) const CHUNKS: usize = 16;

/// How a program ended, and what it said about it.
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    /// The beginning and the end of its stderr.
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// Says why there is no answer, with the end of stderr, unless the program ended well.
    pub(crate) fn problem(&self, program: &str) -> Option<AdapterError> {
        self.ending.problem(program, &self.stderr)
    }
}

/// What happens to a program.
pub(super) enum Event {
    Output(Vec<u8>),
    OutputEnded,
    Exited(io::Result<ExitStatus>),
}

/// What takes the output, in pieces as they come; it may say that it wants no more.
type Take<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

/// Runs a program to its end.
pub(super) fn drive(launch: &Launch<'_>, take: &mut Take<'_>) -> Result<Ended, AdapterError> {
    let began = Instant::now();
    let stdin = if launch.stdin.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    let mut child = spawn(launch, stdin)?;
    feed(&mut child, launch.stdin);
    let stderr = Stderr::pass_on(child.stderr.take().expect("stderr is piped"));
    let ending = watch(child, launch.timeout, take).map_err(|error| {
        AdapterError::failed(format!(
            "`{}` could not be waited for: {error}",
            launch.program
        ))
    })?;
    Ok(Ended {
        ending,
        stderr: stderr.end(),
        took: began.elapsed(),
    })
}

fn feed(child: &mut Child, prompt: &str) {
    if let Some(mut stdin) = child.stdin.take() {
        let prompt = prompt.to_owned();
        // A program need not read its prompt to the end, so that writing may fail.
        thread::spawn(move || stdin.write_all(prompt.as_bytes()));
    }
}

/// Waits for the end of a program and of its output, and ends it when its time is up.
fn watch(mut child: Child, timeout: Option<Duration>, take: &mut Take<'_>) -> io::Result<Ending> {
    // The descriptor names this very process, whoever gets its number later.
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let (sender, events) = mpsc::sync_channel(CHUNKS);
    let is_enough = Arc::new(AtomicBool::new(false));
    read_in_background(
        child.stdout.take().expect("stdout is piped"),
        sender.clone(),
        Arc::clone(&is_enough),
    );
    thread::spawn(move || sender.send(Event::Exited(child.wait())));
    let mut signals = [Signal::TERM, Signal::KILL].into_iter();
    let mut exited = None;
    let mut has_output = true;
    let mut until = timeout.map(|timeout| Instant::now() + timeout);
    let mut timed_out = false;
    while exited.is_none() || has_output {
        match next(&events, until) {
            Some(Event::Output(bytes)) => {
                if !is_enough.load(Ordering::Relaxed) && take(&bytes).is_break() {
                    is_enough.store(true, Ordering::Relaxed);
                }
            }
            Some(Event::OutputEnded) => has_output = false,
            Some(Event::Exited(status)) => {
                exited = Some(status?);
                until = Some(Instant::now() + DRAIN);
            }
            None if exited.is_some() => break,
            None => {
                timed_out = true;
                let Some(signal) = signals.next() else { break };
                group::signal(&process, signal);
                until = Some(Instant::now() + GRACE);
            }
        }
    }
    if let Some(limit) = timeout.filter(|_| timed_out) {
        group::signal_others(Signal::KILL);
        return Ok(Ending::TimedOut(limit));
    }
    let status = exited.expect("nothing else ends the wait");
    Ok(Ending::Exited(status))
}

/// Returns what happens next, or nothing when the time is up, however much happens.
pub(super) fn next(events: &Receiver<Event>, until: Option<Instant>) -> Option<Event> {
    let Some(until) = until else {
        return events.recv().ok();
    };
    let left = until.checked_duration_since(Instant::now())?;
    events.recv_timeout(left).ok()
}

/// Reads until the end, or until it is enough: then the pipe is closed, and the program is told so by the
/// kernel.
pub(super) fn read_in_background(
    mut stdout: ChildStdout,
    events: SyncSender<Event>,
    is_enough: Arc<AtomicBool>,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            let is_over = is_enough.load(Ordering::Relaxed);
            if is_over
                || events
                    .send(Event::Output(buffer[..count].to_vec()))
                    .is_err()
            {
                break;
            }
        }
        drop(stdout);
        let _ = events.send(Event::OutputEnded);
    });
}

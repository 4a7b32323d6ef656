//! Talking with a program that waits for more: lines in, lines out, until somebody has heard enough.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use uwf_agent_kit::AdapterError;

use super::drive::{CHUNKS, DRAIN, Event, GRACE, next, read_in_background};
use super::ending::Ending;
use super::lines::{Line, Lines};
use super::stderr::Stderr;
use super::{Launch, group, spawn};

/// A program that runs and can be talked with.
pub(crate) struct Dialogue {
    process: OwnedFd,
    /// What is said here is written by a thread of its own: a program that does not listen blocks nobody.
    stdin: Sender<String>,
    events: Receiver<Event>,
    lines: Lines,
    heard: VecDeque<Heard>,
    exited: Option<ExitStatus>,
    stderr: Stderr,
}

/// What was heard.
pub(crate) enum Heard {
    /// A line, without its end.
    Line(String),
    /// A line that no memory should hold.
    TooLong { bytes: usize },
    /// There will be no more.
    Closed,
    /// Nothing until it was time.
    Nothing,
}

impl Dialogue {
    /// Starts a program. Its stdin stays open, and what `launch` has for it is not used.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(launch: &Launch<'_>) -> Result<Self, AdapterError> {
        let mut child = spawn(launch, std::process::Stdio::piped())?;
        let broken = |error: io::Error| {
            let program = launch.program;
            AdapterError::failed(format!("`{program}` could not be waited for: {error}"))
        };
        // The descriptor names this very process, whoever gets its number later.
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let process = process.map_err(|error| broken(error.into()))?;
        let (sender, events) = mpsc::sync_channel(CHUNKS);
        let stdout = child.stdout.take().expect("stdout is piped");
        read_in_background(stdout, sender.clone(), Arc::new(AtomicBool::new(false)));
        let stderr = Stderr::pass_on(child.stderr.take().expect("stderr is piped"));
        let stdin = write_in_background(&mut child);
        thread::spawn(move || sender.send(Event::Exited(child.wait())));
        Ok(Self {
            process,
            stdin,
            events,
            lines: Lines::default(),
            heard: VecDeque::new(),
            exited: None,
            stderr,
        })
    }

    /// Says a line. Whether the program listens shows in what it answers.
    pub(crate) fn say(&self, mut line: String) {
        line.push('\n');
        let _ = self.stdin.send(line);
    }

    /// Waits for the next line, for ever if there is no time limit.
    pub(crate) fn hear(&mut self, until: Option<Instant>) -> Heard {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            // What outlives the program may hold its pipe, and never write.
            let drained = self.exited.map(|_| Instant::now() + DRAIN);
            let due = [until, drained].into_iter().flatten().min();
            match next(&self.events, due) {
                Some(Event::Output(bytes)) => {
                    let heard = &mut self.heard;
                    self.lines
                        .push(&bytes, &mut |line| heard.push_back(line.into()));
                }
                Some(Event::Exited(status)) => self.exited = status.ok(),
                Some(Event::OutputEnded) => return Heard::Closed,
                None if drained.is_some() && due == drained => return Heard::Closed,
                None => return Heard::Nothing,
            }
        }
    }

    /// Ends the dialogue: closes the program's stdin, gives it time to end on its own, and ends it then.
    /// Returns how it ended and the beginning and end of its stderr.
    pub(crate) fn end(self, patience: Duration) -> (Ending, String) {
        let Self {
            process,
            stdin,
            events,
            mut exited,
            stderr,
            ..
        } = self;
        drop(stdin);
        let mut until = Instant::now() + patience;
        let mut signals = [Signal::TERM, Signal::KILL].into_iter();
        while exited.is_none() {
            match next(&events, Some(until)) {
                Some(Event::Exited(status)) => exited = status.ok(),
                Some(Event::Output(_) | Event::OutputEnded) => {}
                None => {
                    let Some(signal) = signals.next() else { break };
                    group::signal(&process, signal);
                    until = Instant::now() + GRACE;
                }
            }
        }
        let ending = exited.map_or(Ending::TimedOut(patience), Ending::Exited);
        (ending, stderr.end())
    }
}

impl From<Line<'_>> for Heard {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::Whole(text) => Self::Line(text.to_owned()),
            Line::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}

/// Writes what is said, until nobody can say anything any more: then the pipe is closed.
fn write_in_background(child: &mut Child) -> Sender<String> {
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let (sender, said) = mpsc::channel::<String>();
    thread::spawn(move || {
        for line in said {
            if stdin.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
    });
    sender
}

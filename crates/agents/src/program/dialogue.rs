//! A dialogue with a program: lines to its stdin and lines from its stdout, until the caller ends it.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use uwf_agent_kit::AdapterError;
use uwf_process::{EndRequest, HeldSignals, Signals, Tree};

use super::ending::ProgramEnding;
use super::pipes::{OwnedLine, Pipes, Received};
use super::stderr::Stderr;
use super::{Launch, spawn};

/// How long to wait for output after the program has ended: a process that it started may keep the pipe open.
const DRAIN: Duration = Duration::from_secs(2);
/// How often to check the program, its stderr and our signals.
const TICK: Duration = Duration::from_millis(50);

/// A running program with its pipes.
pub(crate) struct Dialogue<'a> {
    launch: &'a Launch<'a>,
    signals: HeldSignals,
    tree: Tree,
    pipes: Pipes,
    /// When the program was seen to have ended.
    ended: Option<Instant>,
    stopped: Option<uwf_process::Stop>,
    stderr: Stderr,
}

/// What the program sent, or why nothing came.
pub(crate) enum Heard {
    /// A line, without its end.
    Line(String),
    /// A line that is too long for the memory.
    TooLong { bytes: usize },
    /// The end of the output.
    Closed,
    /// This process was told to stop.
    Stopped,
    /// Nothing came in time.
    Nothing,
}

impl<'a> Dialogue<'a> {
    /// Starts a program. Its stdin stays open; `launch.stdin` is not used.
    ///
    /// # Errors
    /// When it cannot be started, or this process was told to stop.
    pub(crate) fn start(launch: &'a Launch<'a>) -> Result<Self, AdapterError> {
        let broken = |error: io::Error| {
            let program = launch.program;
            AdapterError::not_started(format!("`{program}` could not be talked with: {error}"))
        };
        let stderr = Stderr::create(launch.run_dir, launch.masks).map_err(broken)?;
        let errors = stderr.for_child().map_err(broken)?.into();
        let signals = HeldSignals::new().map_err(broken)?;
        if let Some(stop) = signals.with(Signals::stop) {
            // The signal came while an earlier program of this agent was ended. Another program would cost money in
            // vain.
            let problem = ProgramEnding::Stopped(stop.signal).problem(launch.program, "");
            return Err(problem.expect("a stop is always a problem"));
        }
        let mut tree = spawn(launch, [Stdio::piped(), Stdio::piped(), errors])?;
        let to = tree.take_stdin().expect("stdin is piped");
        let from = tree.take_stdout().expect("stdout is piped");
        let (pipes, reads_and_writes) = Pipes::new(to, from);
        let mut dialogue = Self {
            launch,
            signals,
            tree,
            pipes,
            ended: None,
            stopped: None,
            stderr,
        };
        match reads_and_writes {
            Ok(()) => Ok(dialogue),
            Err(error) => {
                dialogue.end_tree(EndRequest::NotSent);
                Err(broken(error))
            }
        }
    }

    /// Sends a line to the program. An error is not reported: it shows in the missing answer.
    pub(crate) fn say(&self, line: String) {
        self.pipes.say(line);
    }

    /// Waits for the next line; without a time limit if `until` is `None`.
    pub(crate) fn hear(&mut self, until: Option<Instant>) -> Heard {
        loop {
            if let Some(line) = self.pipes.next_line() {
                return line.into();
            }
            self.check();
            if self.stopped.is_some() {
                return Heard::Stopped;
            }
            match self.pipes.receive(TICK) {
                Received::Bytes(_) => continue,
                Received::Closed => return Heard::Closed,
                Received::Nothing => {}
            }
            // A process that outlives the program may keep its pipe open and never write.
            if self.ended.is_some_and(|ended| ended.elapsed() >= DRAIN) {
                return Heard::Closed;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Heard::Nothing;
            }
        }
    }

    /// Checks the program's stderr, whether it has ended, and whether this process is told to stop.
    fn check(&mut self) {
        self.stderr.look();
        self.stopped = self.signals.with(Signals::stop);
        if self.ended.is_none() && self.tree.status().is_some() {
            self.ended = Some(Instant::now());
        }
    }

    /// Ends the dialogue: closes the program's stdin, waits up to `patience` for its end, and then ends it. Returns how
    /// it ended, and the beginning and the end of its stderr.
    pub(crate) fn end(mut self, patience: Duration) -> (ProgramEnding, String) {
        self.pipes.close_stdin();
        let until = Instant::now() + patience;
        while self.ended.is_none() && self.stopped.is_none() && Instant::now() < until {
            // The pipe is read empty, so that a program that still writes can end.
            self.pipes.discard(TICK);
            self.check();
        }
        let request = match self.stopped {
            Some(stop) if stop.by_supervisor => EndRequest::SentBySupervisor,
            Some(_) | None => EndRequest::NotSent,
        };
        let status = self.tree.status();
        let may_go_on = self.launch.supervision.keep_running || uwf_process::is_supervised();
        if !(may_go_on && status.is_some_and(|status| status.success())) {
            self.end_tree(request);
            // Signals may have arrived while the tree was ended.
            self.stopped = self.signals.with(Signals::stop);
        }
        let ending = match (self.stopped, status) {
            (Some(stop), _) => ProgramEnding::Stopped(stop.signal),
            (None, Some(status)) => ProgramEnding::Exited(status),
            (None, None) => ProgramEnding::TimedOut(patience),
        };
        (ending, self.stderr.text())
    }

    fn end_tree(&mut self, request: EndRequest) {
        let grace = self.launch.supervision.grace;
        // A process that cannot be ended has inherited the thread's lock and keeps the thread busy.
        let tree = &mut self.tree;
        let _ = self
            .signals
            .with(|signals| tree.end(request, grace, signals));
    }
}

impl From<OwnedLine> for Heard {
    fn from(line: OwnedLine) -> Self {
        match line {
            OwnedLine::Whole(text) => Self::Line(text),
            OwnedLine::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}

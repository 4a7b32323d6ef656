//! A dialogue with a program: lines to its stdin and lines from its stdout, until the caller ends it.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use uwf_agent_kit::AdapterError;
use uwf_process::{EndRequest, HeldSignals, Signals, Tree};

use super::ending::ProgramEnding;
use super::lines::{Line, Lines};
use super::stderr::Stderr;
use super::{Launch, spawn};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// How many chunks are buffered. Then a program that writes faster than we read has to wait.
const CHUNKS: usize = 16;
/// How long to wait for output after the program has ended: a process that it started may keep the pipe open.
const DRAIN: Duration = Duration::from_secs(2);
/// How often to check the program, its stderr and our signals.
const TICK: Duration = Duration::from_millis(50);

/// A running program with its pipes.
pub(crate) struct Dialogue<'a> {
    launch: &'a Launch<'a>,
    signals: HeldSignals,
    tree: Tree,
    /// The lines for its stdin. A thread writes them, so that a program which does not read does not block us.
    stdin: Sender<String>,
    output: Receiver<Vec<u8>>,
    lines: Lines,
    heard: VecDeque<Heard>,
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
        let stderr = Stderr::create(launch.run_dir).map_err(broken)?;
        let errors = stderr.for_child().map_err(broken)?.into();
        let signals = HeldSignals::new().map_err(broken)?;
        if let Some(stop) = signals.with(Signals::stop) {
            // The signal came while an earlier program of this agent was ended. Another program would cost money in
            // vain.
            let problem = ProgramEnding::Stopped(stop.signal).problem(launch.program, "");
            return Err(problem.expect("a stop is always a problem"));
        }
        let mut tree = spawn(launch, [Stdio::piped(), Stdio::piped(), errors])?;
        let (stdin, said) = mpsc::channel();
        let (sender, output) = mpsc::sync_channel(CHUNKS);
        let to = tree.take_stdin().expect("stdin is piped");
        let from = tree.take_stdout().expect("stdout is piped");
        let mut dialogue = Self {
            launch,
            signals,
            tree,
            stdin,
            output,
            lines: Lines::default(),
            heard: VecDeque::new(),
            ended: None,
            stopped: None,
            stderr,
        };
        let threads = write_in_background(to, said).and_then(|()| read_in_background(from, sender));
        match threads {
            Ok(()) => Ok(dialogue),
            Err(error) => {
                dialogue.end_tree(EndRequest::NotSent);
                Err(broken(error))
            }
        }
    }

    /// Sends a line to the program. An error is not reported: it shows in the missing answer.
    pub(crate) fn say(&self, mut line: String) {
        line.push('\n');
        let _ = self.stdin.send(line);
    }

    /// Waits for the next line; without a time limit if `until` is `None`.
    pub(crate) fn hear(&mut self, until: Option<Instant>) -> Heard {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            self.check();
            if self.stopped.is_some() {
                return Heard::Stopped;
            }
            match self.output.recv_timeout(TICK) {
                Ok(bytes) => {
                    let heard = &mut self.heard;
                    self.lines
                        .push(&bytes, &mut |line| heard.push_back(line.into()));
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Heard::Closed,
                Err(RecvTimeoutError::Timeout) => {}
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
        drop(std::mem::replace(&mut self.stdin, mpsc::channel().0));
        let until = Instant::now() + patience;
        while self.ended.is_none() && self.stopped.is_none() && Instant::now() < until {
            // The pipe is read empty, so that a program that still writes can end.
            let _ = self.output.recv_timeout(TICK);
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

impl From<Line<'_>> for Heard {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::Whole(text) => Self::Line(text.to_owned()),
            Line::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}

/// Writes the lines until the sender is dropped. Then the pipe is closed.
fn write_in_background(mut stdin: ChildStdin, said: Receiver<String>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        for line in said {
            if stdin.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

/// Reads until the end of the output, or until the receiver is dropped.
fn read_in_background(mut stdout: ChildStdout, output: SyncSender<Vec<u8>>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            if output.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

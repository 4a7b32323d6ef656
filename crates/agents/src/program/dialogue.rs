//! Talking with a program that waits for more: lines in, lines out, until the caller has heard enough.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use uwf_agent_kit::AdapterError;
use uwf_process::{Asked, HeldSignals, Signals, Tree};

use super::ending::ProgramEnding;
use super::lines::{Line, Lines};
use super::stderr::Stderr;
use super::{Launch, spawn};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// How many chunks may wait until they are read. A program that is faster than we are has to wait.
const CHUNKS: usize = 16;
/// How long output is waited for after the program ended: something that it started may hold the pipe.
const DRAIN: Duration = Duration::from_secs(2);
/// How often the program, its stderr and our signals are looked at.
const TICK: Duration = Duration::from_millis(50);

/// A program that runs and can be talked with.
pub(crate) struct Dialogue<'a> {
    launch: &'a Launch<'a>,
    signals: HeldSignals,
    tree: Tree,
    /// What is said here is written by a thread of its own: a program that does not listen blocks nobody.
    stdin: Sender<String>,
    output: Receiver<Vec<u8>>,
    lines: Lines,
    heard: VecDeque<Heard>,
    /// When the program was seen to have ended.
    ended: Option<Instant>,
    stopped: Option<uwf_process::Stop>,
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
    /// This process was told to stop.
    Stopped,
    /// Nothing until it was time.
    Nothing,
}

impl<'a> Dialogue<'a> {
    /// Starts a program. Its stdin stays open, and what `launch` has for it is not used.
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
            // It came while an earlier program of this agent was ended: another one must not be paid for.
            let problem = ProgramEnding::Stopped(stop.signal).problem(launch.program, "");
            return Err(problem.expect("who is told to stop has a problem"));
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
                dialogue.end_tree(Asked::NotYet);
                Err(broken(error))
            }
        }
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
            self.look();
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
            // What outlives the program may hold its pipe and never write.
            if self.ended.is_some_and(|ended| ended.elapsed() >= DRAIN) {
                return Heard::Closed;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Heard::Nothing;
            }
        }
    }

    /// Looks whether the program has ended, what it says on stderr, and whether this process is told to stop.
    fn look(&mut self) {
        self.stderr.look();
        self.stopped = self.signals.with(Signals::stop);
        if self.ended.is_none() && self.tree.status().is_some() {
            self.ended = Some(Instant::now());
        }
    }

    /// Ends the dialogue: closes the program's stdin, gives it time to end by itself, and ends it then.
    /// Returns how it ended and the start and end of its stderr.
    pub(crate) fn end(mut self, patience: Duration) -> (ProgramEnding, String) {
        drop(std::mem::replace(&mut self.stdin, mpsc::channel().0));
        let until = Instant::now() + patience;
        while self.ended.is_none() && self.stopped.is_none() && Instant::now() < until {
            // The pipe is emptied, so that a program that still writes can end.
            let _ = self.output.recv_timeout(TICK);
            self.look();
        }
        let asked = match self.stopped {
            Some(stop) if stop.by_supervisor => Asked::ByOurSupervisor,
            Some(_) | None => Asked::NotYet,
        };
        let status = self.tree.status();
        let may_go_on = self.launch.supervision.keep_running || uwf_process::is_supervised();
        if !(may_go_on && status.is_some_and(|status| status.success())) {
            self.end_tree(asked);
            // Who ends a tree hears the signals that come meanwhile.
            self.stopped = self.signals.with(Signals::stop);
        }
        let ending = match (self.stopped, status) {
            (Some(stop), _) => ProgramEnding::Stopped(stop.signal),
            (None, Some(status)) => ProgramEnding::Exited(status),
            (None, None) => ProgramEnding::TimedOut(patience),
        };
        (ending, self.stderr.text())
    }

    fn end_tree(&mut self, asked: Asked) {
        let grace = self.launch.supervision.grace;
        // What cannot be ended now keeps the thread's lock, which it inherited.
        let tree = &mut self.tree;
        let _ = self.signals.with(|signals| tree.end(asked, grace, signals));
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

/// Reads until the end of the output, or until nobody listens.
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

//! The pipes of a program that is talked with: lines to its stdin and lines from its stdout, each by a thread.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use super::lines::{Line, Lines};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// How many chunks are buffered. Then a program that writes faster than we read has to wait.
const CHUNKS: usize = 16;

/// The pipes to and from a program.
pub(crate) struct Pipes {
    /// The lines for its stdin. A thread writes them, so that a program which does not read does not block us.
    stdin: Option<Sender<String>>,
    output: Receiver<Vec<u8>>,
    lines: Lines,
    complete: VecDeque<OwnedLine>,
}

/// A line of a program's output, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OwnedLine {
    /// The whole line.
    Whole(String),
    /// A line that is too long for the memory.
    TooLong { bytes: usize },
}

/// What has come from a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes. They may have completed lines.
    Bytes(usize),
    /// The end of its output.
    Closed,
    /// Nothing came in time.
    Nothing,
}

impl Pipes {
    /// Starts to read and to write. The error says why that cannot be done; then nothing ever comes.
    pub(crate) fn new(to: ChildStdin, from: ChildStdout) -> (Self, io::Result<()>) {
        let (stdin, said) = mpsc::channel();
        let (sender, output) = mpsc::sync_channel(CHUNKS);
        let threads = write_in_background(to, said).and_then(|()| read_in_background(from, sender));
        let pipes = Self {
            stdin: Some(stdin),
            output,
            lines: Lines::default(),
            complete: VecDeque::new(),
        };
        (pipes, threads)
    }

    /// Sends a line. An error is not reported: it shows in the missing answer.
    pub(crate) fn say(&self, mut line: String) {
        line.push('\n');
        if let Some(stdin) = &self.stdin {
            let _ = stdin.send(line);
        }
    }

    /// Closes the program's stdin when all lines are written.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Returns the next line that is complete, if there is one.
    pub(crate) fn next_line(&mut self) -> Option<OwnedLine> {
        self.complete.pop_front()
    }

    /// Waits for output, for `most` at the longest, and splits it into lines.
    pub(crate) fn receive(&mut self, most: Duration) -> Received {
        match self.output.recv_timeout(most) {
            Ok(bytes) => {
                let complete = &mut self.complete;
                self.lines
                    .push(&bytes, &mut |line| complete.push_back(line.into()));
                Received::Bytes(bytes.len())
            }
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
        }
    }

    /// Drops output, so that a program that still writes can end.
    pub(crate) fn discard(&self, most: Duration) {
        let _ = self.output.recv_timeout(most);
    }
}

impl From<Line<'_>> for OwnedLine {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::Whole(text) => Self::Whole(text.to_owned()),
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

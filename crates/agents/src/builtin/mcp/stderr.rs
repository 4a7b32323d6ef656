//! The stderr of a server: each of its lines goes to ours, with the name of the server before it.

use std::io::{self, Write as _};
use std::process::ChildStderr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use uwf_util::mask::Masks;
use uwf_util::printable::printable;
use uwf_util::text::cut;

use crate::bounded::BoundedBuffer;
use crate::masked_pipe;
use crate::program::{Line, Lines, tail};

/// The size of the beginning and of the end that are kept for messages, in bytes each.
const PART: usize = 4 * 1024;
/// How much of a line is passed on, in characters, and how much of all lines, in bytes.
const MAX_LINE: usize = 1_000;
const MAX_PASSED_ON: usize = 1024 * 1024;

/// How long to wait for the end of the stream of a server that has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// What a server has said on its stderr.
pub(super) struct Stderr {
    kept: Arc<Mutex<BoundedBuffer>>,
    /// Disconnected at the end of the stream.
    end: Receiver<()>,
}

impl Stderr {
    /// Passes the lines on without secrets, in a thread, until the end of the stream.
    pub(super) fn pass_on(server: &str, from: ChildStderr, masks: &Masks) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(BoundedBuffer::new(PART)));
        let mut marked = Marked {
            server: server.to_owned(),
            left: MAX_PASSED_ON,
        };
        let shared = Arc::clone(&kept);
        let (at_end, end) = mpsc::channel();
        let masks = masks.clone();
        thread::Builder::new().spawn(move || {
            let mut lines = Lines::default();
            masked_pipe::read(from, &masks, &mut |bytes| {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(bytes);
                drop(kept);
                lines.push(bytes, &mut |line| marked.pass_on(line));
            });
            lines.finish(&mut |line| marked.pass_on(line));
            drop::<Sender<()>>(at_end);
        })?;
        Ok(Self { kept, end })
    }

    /// Returns the end of what a server said that has ended, as much as fits into a message.
    pub(super) fn tail(&self) -> String {
        let _ = self.end.recv_timeout(DRAIN);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        tail(&kept.text()).to_owned()
    }
}

/// Lines with the name of their server, as many as may be passed on.
struct Marked {
    server: String,
    left: usize,
}

impl Marked {
    fn pass_on(&mut self, line: Line<'_>) {
        if self.left == 0 {
            return;
        }
        let text = match line {
            Line::Whole(text) => printable(&cut(text, MAX_LINE)).into_owned(),
            Line::TooLong { bytes } => format!("[a line of {bytes} bytes]"),
        };
        self.left = self.left.saturating_sub(text.len() + 1);
        let text = match self.left {
            0 => "[what it says from here on is left out]",
            _ => &text,
        };
        // A closed stderr is no error: nobody has to watch.
        let _ = writeln!(io::stderr(), "[{}] {text}", self.server);
    }
}

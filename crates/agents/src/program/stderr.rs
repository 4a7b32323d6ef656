//! What a program says on stderr: passed on while it comes, and its beginning and end kept.

use std::io::{self, Read as _, Write as _};
use std::process::ChildStderr;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::drive::DRAIN;
use crate::kept::Kept;

/// How much is kept, at the beginning and at the end each, in bytes.
const KEPT: usize = 64 * 1024;
/// How many characters go into a message.
const TOLD: usize = 2000;

/// The stderr of a program.
pub(super) struct Stderr {
    kept: Arc<Mutex<Kept>>,
    ended: Receiver<()>,
}

impl Stderr {
    /// Passes everything on to our own stderr while it comes, on a thread of its own.
    pub(super) fn pass_on(mut from: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Kept::new(KEPT)));
        let keeper = Arc::clone(&kept);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                let _ = io::stderr().write_all(&buffer[..count]);
                lock(&keeper).push(&buffer[..count]);
            }
            sender.send(())
        });
        Self { kept, ended }
    }

    /// Returns its beginning and its end. The rest of it is waited for, but not for long.
    pub(super) fn end(self) -> String {
        let _ = self.ended.recv_timeout(DRAIN);
        lock(&self.kept).text()
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the end of what was said, as much as a message can take.
pub(crate) fn tail(text: &str) -> &str {
    let text = text.trim();
    match text.char_indices().rev().nth(TOLD - 1) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

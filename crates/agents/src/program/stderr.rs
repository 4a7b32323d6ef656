//! What a program says on stderr: passed on while it comes, and its beginning and end kept.

use std::io::{self, Read, Write as _};
use std::sync::{Mutex, PoisonError};

use crate::kept::Kept;

/// How much is kept, at the beginning and at the end each, in bytes.
pub(super) const KEPT: usize = 64 * 1024;
/// How many characters go into a message.
const TOLD: usize = 2000;

/// Passes everything on to our own stderr while it comes, and keeps its beginning and its end.
pub(super) fn pass_on(mut from: impl Read, kept: &Mutex<Kept>) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let _ = io::stderr().write_all(&buffer[..count]);
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(&buffer[..count]);
    }
}

/// Returns the end of what was said, as much as a message can take.
pub(crate) fn tail(text: &str) -> &str {
    let text = text.trim();
    match text.char_indices().rev().nth(TOLD - 1) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

//! The one place that writes to stderr.

use std::io::Write;

/// Writes text and a line break to stderr, and ignores failures: the exit code still tells what happened.
pub(crate) fn write(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

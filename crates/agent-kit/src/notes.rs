//! Notes and warnings for people, on stderr. A closed stderr is no error.

use std::io::{self, Write as _};

use uwf_util::printable::labelled;

/// Tells people something.
pub(crate) fn note(text: &str) {
    say("note", text);
}

/// Tells people that something is not as they may expect.
pub(crate) fn warning(text: &str) {
    say("warning", text);
}

fn say(label: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{}", labelled(label, text));
}

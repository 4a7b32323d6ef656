//! The stderr of a program: passed on to ours while it is written, with its beginning and end kept.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use uwf_process::Output;
use uwf_storage::RunDir;
use uwf_util::mask::{MaskStream, Masks};

use crate::bounded::BoundedBuffer;

/// The size of the beginning and of the end that are kept, in bytes each.
const PART: usize = 64 * 1024;
/// How much space the file may take before its beginning is dropped, in bytes.
const CAP: u64 = 16 * 1024 * 1024;
/// The longest end of stderr in a message, in characters.
const TAIL: usize = 2000;

/// The stderr of a program.
pub(super) struct Stderr {
    output: Output,
    /// Takes the secrets out before anything is cut, so that no part of one stays.
    masking: MaskStream,
    buffer: BoundedBuffer,
}

impl Stderr {
    /// Creates the file in the folder of the run.
    pub(super) fn create(run_dir: &Path, masks: &Masks) -> io::Result<Self> {
        let scratch = RunDir::at(run_dir.to_owned()).scratch;
        Ok(Self {
            output: Output::create(&scratch.program_stderr_file(), CAP)?,
            masking: masks.stream(),
            buffer: BoundedBuffer::new(PART),
        })
    }

    pub(super) fn for_child(&self) -> io::Result<File> {
        self.output.for_child()
    }

    /// Passes new output on to our own stderr.
    pub(super) fn look(&mut self) {
        while let Ok(news) = self.output.news()
            && !news.is_empty()
        {
            let _ = io::stderr().write_all(&news);
            let mut masked = Vec::new();
            self.masking.push(&news, &mut masked);
            self.buffer.push(&masked);
        }
        self.output.look();
    }

    /// Returns its beginning and its end, without secrets.
    pub(super) fn text(mut self) -> String {
        self.look();
        let mut masked = Vec::new();
        self.masking.finish(&mut masked);
        self.buffer.push(&masked);
        self.buffer.text()
    }
}

/// Returns the end of a text, as much as fits into a message.
pub(crate) fn tail(text: &str) -> &str {
    let text = text.trim();
    match text.char_indices().rev().nth(TAIL - 1) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_stays_where_the_middle_is_left_out() {
        let secret = "s3cr3t-0123456789abcdef";
        let masks = Masks::of([secret.as_bytes()]);
        for before in [PART - 10, PART] {
            let dir = tempfile::tempdir().unwrap();
            let mut stderr = Stderr::create(dir.path(), &masks).unwrap();
            let mut program = stderr.for_child().unwrap();
            let filler = "x".repeat(before);
            let after = "y".repeat(PART - 10);
            write!(program, "{filler}{secret}{filler}{secret}{after}").unwrap();
            stderr.look();
            let text = stderr.text();
            let kept = text.replace(['x', 'y', '*'], "");
            assert_eq!(kept, "", "{before}");
        }
    }
}

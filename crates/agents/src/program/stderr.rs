//! What a program says on stderr: passed on while it comes, with its start and end kept.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use uwf_process::Output;
use uwf_storage::RunDir;

use crate::bounded::Bounded;

/// How much is kept, at the start and at the end each, in bytes.
const KEPT: usize = 64 * 1024;
/// How much space the file may take before its beginning is dropped, in bytes.
const CAP: u64 = 16 * 1024 * 1024;
/// How many characters go into a message.
const TOLD: usize = 2000;

/// The stderr of a program.
pub(super) struct Stderr {
    output: Output,
    kept: Bounded,
}

impl Stderr {
    /// Makes the file in the folder of the run.
    pub(super) fn create(run_dir: &Path) -> io::Result<Self> {
        let scratch = RunDir::at(run_dir.to_owned()).scratch;
        Ok(Self {
            output: Output::create(&scratch.program_stderr_file(), CAP)?,
            kept: Bounded::new(KEPT),
        })
    }

    pub(super) fn for_child(&self) -> io::Result<File> {
        self.output.for_child()
    }

    /// Passes on to our own stderr what is new.
    pub(super) fn look(&mut self) {
        while let Ok(news) = self.output.news()
            && !news.is_empty()
        {
            let _ = io::stderr().write_all(&news);
            self.kept.push(&news);
        }
        self.output.look();
    }

    /// Returns its start and its end.
    pub(super) fn text(mut self) -> String {
        self.look();
        self.kept.text()
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

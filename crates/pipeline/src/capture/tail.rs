//! The last lines of an output, for errors.

use std::collections::VecDeque;

/// How long a line may be, in bytes; of a longer one, the end is shown.
const MAX_LINE_BYTES: usize = 1024;

/// The last lines of an output that comes in chunks.
#[derive(Debug)]
pub struct Tail {
    max_lines: usize,
    lines: VecDeque<Vec<u8>>,
    /// Whether the last line has its end.
    is_ended: bool,
}

impl Tail {
    /// Keeps so many lines.
    #[must_use]
    pub fn new(max_lines: usize) -> Self {
        Self {
            max_lines,
            lines: VecDeque::new(),
            is_ended: true,
        }
    }

    /// Adds a chunk, from which secrets were removed.
    pub fn push(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.is_ended {
                self.lines.push_back(Vec::new());
            }
            if self.lines.len() > self.max_lines {
                self.lines.pop_front();
            }
            self.is_ended = piece.ends_with(b"\n");
            if let Some(line) = self.lines.back_mut() {
                line.extend_from_slice(piece);
                let excess = line.len().saturating_sub(MAX_LINE_BYTES);
                line.drain(..excess);
            }
        }
    }

    /// Returns the lines without their ends.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.iter().map(|line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            String::from_utf8_lossy(line).into_owned()
        });
        lines.collect()
    }
}

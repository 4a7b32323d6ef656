//! The first lines of an output.

use super::{decoded, without_part_of_character};

/// How many lines are kept.
const MAX_LINES: usize = 10_000;
/// How many bytes all kept lines may have together.
const MAX_BYTES: usize = 8 << 20;

/// The first lines of an output.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<String>,
    /// The line that has no end yet.
    open: Vec<u8>,
    /// How many more bytes may be kept.
    room: usize,
    is_cut: bool,
    is_valid: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            open: Vec::new(),
            room: MAX_BYTES,
            is_cut: false,
            is_valid: true,
        }
    }
}

impl Lines {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.is_cut |= self.lines.len() >= MAX_LINES;
            if self.is_cut {
                return;
            }
            match piece.strip_suffix(b"\n") {
                Some(rest) => {
                    self.extend(rest);
                    if self.open.ends_with(b"\r") {
                        self.open.pop();
                    }
                    self.keep();
                }
                None => self.extend(piece),
            }
        }
    }

    /// Adds to the open line. Two bytes more than fit are enough to know that it does not fit, even without a carriage return.
    fn extend(&mut self, piece: &[u8]) {
        let most = (self.room + 2).saturating_sub(self.open.len());
        self.open.extend_from_slice(&piece[..piece.len().min(most)]);
    }

    /// Keeps the open line. One that does not fit is left out, because half a line is a wrong one; only the first line is cut.
    fn keep(&mut self) {
        let open = std::mem::take(&mut self.open);
        let mut kept = &open[..];
        if open.len() > self.room {
            self.is_cut = true;
            if !self.lines.is_empty() {
                return;
            }
            kept = without_part_of_character(&open[..self.room]);
        }
        self.room -= kept.len();
        let (line, is_valid) = decoded(kept);
        self.is_valid &= is_valid;
        self.lines.push(line);
    }

    /// Returns the lines, whether there were more, and whether all of them could be decoded.
    pub(super) fn finish(mut self) -> (Vec<String>, bool, bool) {
        if !self.open.is_empty() {
            self.keep();
        }
        (self.lines, self.is_cut, self.is_valid)
    }
}

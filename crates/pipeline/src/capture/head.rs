//! The beginning of an output as text.

use super::{decoded, without_part_of_character};

/// How much of an output is kept as text.
const MAX_BYTES: usize = 8192;

/// The beginning of an output.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Head {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        let room = MAX_BYTES - self.bytes.len();
        self.is_cut |= chunk.len() > room;
        self.bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
    }

    /// Returns the text, whether there was more, and whether all of it could be decoded.
    pub(super) fn finish(self) -> (String, bool, bool) {
        let kept = if self.is_cut {
            without_part_of_character(&self.bytes)
        } else {
            &self.bytes
        };
        let (text, is_valid) = decoded(kept);
        (text, self.is_cut, is_valid)
    }
}

//! A bounded buffer: the beginning and the end of a stream, with its middle left out.

use std::collections::VecDeque;

/// The longest text of a turn, in bytes.
pub(crate) const TURN_TEXT: usize = 64 * 1024;

/// The beginning and the end of a stream.
pub(crate) struct BoundedBuffer {
    /// The size of each part, in bytes.
    each: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl BoundedBuffer {
    /// Returns a buffer for `each` bytes at the beginning and as many at the end.
    pub(crate) fn new(each: usize) -> Self {
        Self {
            each,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.each.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend(head);
        self.tail.extend(tail);
        let surplus = self.tail.len().saturating_sub(self.each);
        self.tail.drain(..surplus);
        self.dropped += surplus as u64;
    }

    /// Returns both parts as one text.
    pub(crate) fn text(&self) -> String {
        text(self.head.iter().chain(&self.tail).copied().collect())
    }

    /// Returns both parts, with a mark in between if something was dropped.
    pub(crate) fn text_with_gap(&self) -> String {
        if self.dropped == 0 {
            return self.text();
        }
        let tail = self.tail.iter().copied().collect();
        format!(
            "{}\n[… {} bytes left out …]\n{}",
            text(self.head.clone()),
            self.dropped,
            text(tail)
        )
    }
}

/// Converts bytes to text. Invalid UTF-8 becomes replacement characters.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_and_the_gap_is_marked() {
        let mut buffer = BoundedBuffer::new(4);
        buffer.push(b"abcdef");
        assert_eq!(buffer.text_with_gap(), "abcdef");
        buffer.push(b"ghijkl");
        assert_eq!(buffer.text(), "abcdijkl");
        assert_eq!(buffer.text_with_gap(), "abcd\n[… 4 bytes left out …]\nijkl");
    }
}

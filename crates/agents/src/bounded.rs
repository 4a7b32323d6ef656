//! The beginning and the end of a stream that may be longer than what is kept of it.

use std::collections::VecDeque;

use crate::program::text;

/// What is kept.
pub(crate) struct Bounded {
    /// How many bytes are kept at the beginning and at the end each.
    each: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Bounded {
    /// Keeps so many bytes at the beginning, and so many at the end.
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

    /// Returns what was kept as one text.
    pub(crate) fn text(&self) -> String {
        text(self.head.iter().chain(&self.tail).copied().collect())
    }

    /// Returns what was kept, with a mark where something was dropped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_and_the_gap_is_marked() {
        let mut kept = Bounded::new(4);
        kept.push(b"abcdef");
        assert_eq!(kept.text_with_gap(), "abcdef");
        kept.push(b"ghijkl");
        assert_eq!(kept.text(), "abcdijkl");
        assert_eq!(kept.text_with_gap(), "abcd\n[… 4 bytes left out …]\nijkl");
    }
}

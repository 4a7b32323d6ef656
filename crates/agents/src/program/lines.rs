//! Putting lines together from pieces that end anywhere.

/// The longest line that is given whole, in bytes.
const LONGEST: usize = 16 << 20;

/// A line of a program's output, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The line; what is not UTF-8 shows as replacement characters.
    Whole(&'a str),
    /// A line that is too long to be held in memory.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
}

/// The line that has begun.
#[derive(Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// How much of the line was thrown away, because it is too long already.
    dropped: usize,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    self.extend(end);
                    self.complete(on_line);
                }
                None => self.extend(piece),
            }
        }
    }

    /// Gives the last line, if it has no end.
    pub(super) fn finish(mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.begun.is_empty() || self.dropped > 0 {
            self.complete(on_line);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.begun.len() + bytes.len() > LONGEST {
            self.dropped += self.begun.len() + bytes.len();
            self.begun = Vec::new();
        } else {
            self.begun.extend(bytes);
        }
    }

    fn complete(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if self.dropped > 0 {
            on_line(Line::TooLong {
                bytes: self.dropped,
            });
        } else {
            let text = String::from_utf8_lossy(&self.begun);
            on_line(Line::Whole(text.strip_suffix('\r').unwrap_or(&text)));
        }
        self.dropped = 0;
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut on_line = |line: Line<'_>| {
            seen.push(match line {
                Line::Whole(text) => text.to_owned(),
                Line::TooLong { bytes } => format!("too long: {bytes}"),
            });
        };
        let mut lines = Lines::default();
        for piece in pieces {
            lines.push(piece, &mut on_line);
        }
        lines.finish(&mut on_line);
        seen
    }

    #[test]
    fn lines_are_whole_wherever_the_pieces_end() {
        assert_eq!(
            lines(&[b"on", b"e\ntwo\r\n\nth", b"ree"]),
            ["one", "two", "", "three"]
        );
        assert_eq!(lines(&[b"a\n"]), ["a"]);
        assert_eq!(lines(&[]), Vec::<String>::new());
        // A character may be cut by a piece, and need not be one at all.
        assert_eq!(lines(&[b"\xc3", b"\xa4\n\xff"]), ["ä", "\u{fffd}"]);
    }

    #[test]
    fn a_line_above_the_limit_is_only_counted() {
        let piece = vec![b'x'; LONGEST / 2];
        let long = lines(&[&piece, &piece, b"yz\nnext\n", &piece, &piece, b"!\n"]);
        assert_eq!(
            long,
            [
                format!("too long: {}", LONGEST + 2),
                "next".to_owned(),
                format!("too long: {}", LONGEST + 1)
            ]
        );
        let whole = lines(&[&piece, &piece, b"\n"]);
        assert_eq!(whole[0].len(), LONGEST);
    }
}

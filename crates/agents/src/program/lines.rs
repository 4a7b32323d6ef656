//! Assembles lines from pieces that can end anywhere.

/// The longest line that is passed on, in bytes.
const MAX_LINE: usize = 16 << 20;

/// A line of a program's output, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The whole line. Invalid UTF-8 becomes replacement characters.
    Whole(&'a str),
    /// A line that is too long for the memory.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
}

/// The assembler, with the line that is not complete yet.
#[derive(Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    /// How many bytes of the line were dropped because it is too long.
    dropped: usize,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
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

    /// Passes on the last line, if it has no line end.
    pub(crate) fn finish(mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.line.is_empty() || self.dropped > 0 {
            self.complete(on_line);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.line.len() + bytes.len() > MAX_LINE {
            self.dropped += self.line.len() + bytes.len();
            self.line = Vec::new();
        } else {
            self.line.extend(bytes);
        }
    }

    fn complete(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if self.dropped > 0 {
            on_line(Line::TooLong {
                bytes: self.dropped,
            });
        } else {
            let text = String::from_utf8_lossy(&self.line);
            on_line(Line::Whole(text.strip_suffix('\r').unwrap_or(&text)));
        }
        self.dropped = 0;
        self.line.clear();
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
        let piece = vec![b'x'; MAX_LINE / 2];
        let long = lines(&[&piece, &piece, b"yz\nnext\n", &piece, &piece, b"!\n"]);
        assert_eq!(
            long,
            [
                format!("too long: {}", MAX_LINE + 2),
                "next".to_owned(),
                format!("too long: {}", MAX_LINE + 1)
            ]
        );
        let whole = lines(&[&piece, &piece, b"\n"]);
        assert_eq!(whole[0].len(), MAX_LINE);
    }
}

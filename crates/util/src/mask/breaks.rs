//! Breaks: ends of lines within a form that was broken into lines, also where an encoder wrote them in another text.

/// The longest break that is found, in bytes.
const MAX_BREAK: usize = 64;

/// How often the sign of an encoder may be encoded itself.
const MAX_NESTED: usize = 8;

/// Ends of lines that can be cut into two, as most programs write them.
pub(super) const LINE_ENDS: [&str; 14] = [
    "\\n", "\\r", "\\\\n", "\\u000a", "\\u000A", "\\u000d", "\\u000D", "\\x0a", "\\x0d", "%0A",
    "%0D", "&#10;", "&#13;", "&#xA;",
];

/// Whether a place is within a break already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InBreak {
    No,
    Perhaps,
}

/// The end of a break.
pub(super) struct End {
    /// Its place; the beginning of the break if there is none.
    pub(super) at: usize,
    /// Whether it could end beyond the text.
    pub(super) is_open: bool,
}

/// The bytes with which a break may begin.
pub(super) const FIRST: [u8; 5] = *b"\n\r\\%&";

/// Tells whether a break may begin with this byte.
pub(super) fn is_first(byte: u8) -> bool {
    FIRST.contains(&byte)
}

/// Returns where a break ends that begins at a place. It is ends of lines, each with the blanks of the next line.
pub(super) fn end(text: &[u8], start: usize, in_break: InBreak) -> End {
    let mut at = start;
    while at - start < MAX_BREAK {
        let rest = &text[at..];
        let may_be_blank = at > start || in_break == InBreak::Perhaps;
        at += match rest {
            [b' ' | b'\t', ..] if may_be_blank => 1,
            [byte, ..] if is_first(*byte) => match line_end(rest) {
                Some(0) => break,
                Some(length) => length,
                None => return End { at, is_open: true },
            },
            _ => break,
        };
    }
    End { at, is_open: false }
}

/// Returns the length of the end of a line with which a text begins; 0 if it begins with none, `None` if more of the text must be known.
fn line_end(text: &[u8]) -> Option<usize> {
    let repeated = |what: &[u8], at: usize| {
        let again = text[at..].chunks(what.len()).take(MAX_NESTED);
        at + what.len() * again.take_while(|chunk| *chunk == what).count()
    };
    let (sign, ends): (usize, &[&[u8]]) = match text {
        [b'\n' | b'\r', ..] => return Some(1),
        [b'\\', ..] => (
            repeated(b"\\", 0),
            &[b"n", b"r", b"\n", b"\r", b"u000a", b"u000d", b"x0a", b"x0d"],
        ),
        [b'%', ..] => (repeated(b"25", 1), &[b"0a", b"0d", b"5cn", b"5cr"]),
        [b'&', ..] => (repeated(b"amp;", 1), &[b"#10;", b"#13;", b"#xa;", b"#xd;"]),
        _ => return Some(0),
    };
    let rest = &text[sign..];
    let begins =
        |end: &&&[u8]| rest.len() >= end.len() && rest[..end.len()].eq_ignore_ascii_case(end);
    if let Some(end) = ends.iter().find(begins) {
        return Some(sign + end.len());
    }
    let is_cut =
        |end: &&[u8]| rest.len() < end.len() && end[..rest.len()].eq_ignore_ascii_case(rest);
    let could_be_nested = [&b"25"[..], b"amp;"].iter().any(is_cut);
    match ends.iter().any(is_cut) || could_be_nested {
        true => None,
        false => Some(0),
    }
}

//! Shortens texts for display: to one line, and to a number of characters.

use std::borrow::Cow;

/// Returns the text with every run of blanks, line ends and control characters as one blank.
#[must_use]
pub fn one_line(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_gap).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns the first `max_chars` characters of a text, with `…` if anything was cut off.
#[must_use]
pub fn cut(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Returns the first `max_chars` characters of a text on one line, with `…` if anything was cut off.
#[must_use]
pub fn cut_line(text: &str, max_chars: usize) -> String {
    cut(&one_line(text), max_chars).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_single_blanks_and_no_control_characters() {
        assert_eq!(one_line(" a\t b\n\n\u{1b}c "), "a b c");
        assert_eq!(one_line("\n"), "");
    }

    #[test]
    fn what_is_cut_off_is_marked() {
        assert_eq!(cut("äbc", 3), "äbc");
        assert_eq!(cut("äbcd", 3), "äbc…");
        assert_eq!(cut_line("ä b\nc", 3), "ä b…");
    }
}

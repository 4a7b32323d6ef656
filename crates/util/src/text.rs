//! Texts for display: on one line, cut to a number of characters, and numbers of things.

use std::borrow::Cow;
use std::fmt::Display;

use crate::size;

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

/// Returns the beginning and the end of a text, about `limit` bytes in all, with a mark between them that says how much
/// is left out.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 4);
    let missing = size::format((tail - head) as u64);
    format!(
        "{}\n[… {missing} left out …]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// Returns a number of things: `1 step`, `2 steps`. For nouns whose plural adds `s`.
#[must_use]
pub fn counted<N: Copy + Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        assert_eq!(shorten("short", 5), "short");
        let long = "ä".repeat(4096);
        let short = shorten(&long, 1024);
        assert!(short.len() < 1100, "{}", short.len());
        assert!(short.starts_with("äää"));
        assert!(short.contains("[… 7.0 KiB left out …]"), "{short}");
        assert!(short.ends_with("äää"));
    }

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

    #[test]
    fn only_one_thing_has_no_plural() {
        let shown = [0_usize, 1, 2].map(|count| counted(count, "step"));
        assert_eq!(shown, ["0 steps", "1 step", "2 steps"]);
    }
}

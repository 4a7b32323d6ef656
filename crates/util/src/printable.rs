//! Text that a terminal shows and does not obey: models and agents write what they like, escape sequences too.

use std::borrow::Cow;

/// Returns the text with its control characters spelled out, but for line ends and tabs.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if obeyed(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(
            printable("a\u{1b}[2J\tb\r\n\u{9b}31mc"),
            "a\\u{1b}[2J\tb\\r\n\\u{9b}31mc"
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        assert!(matches!(printable("ä\n\t日本 🎉"), Cow::Borrowed(_)));
    }
}

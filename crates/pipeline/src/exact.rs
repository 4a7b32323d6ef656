//! JSON whose integers stay what they are, however long.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::{Error, Value};

/// Reads one JSON value. An integer of more than 64 bits, which no number here can hold, becomes a text with its digits.
///
/// # Errors
/// When the text is not one JSON value.
pub fn exact_json(text: &str) -> Result<Value, Error> {
    match with_long_integers_quoted(text) {
        Cow::Borrowed(text) => serde_json::from_str(text),
        Cow::Owned(quoted) => {
            // Quotes could make JSON of what was none, such as a number as a key.
            serde_json::from_str::<IgnoredAny>(text)?;
            serde_json::from_str(&quoted)
        }
    }
}

/// Tells whether a text is a decimal integer that needs more than 64 bits.
pub(crate) fn is_long_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

fn with_long_integers_quoted(text: &str) -> Cow<'_, str> {
    let mut quoted = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(text, at);
                if is_long_integer(&text[at..end]) {
                    quoted.push_str(&text[copied..at]);
                    quoted.extend(["\"", &text[at..end], "\""]);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(&text[copied..]);
    Cow::Owned(quoted)
}

/// Returns where the string ends that begins at a place.
fn end_of_string(text: &str, start: usize) -> usize {
    let mut is_escaped = false;
    let end = text.as_bytes()[start + 1..].iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |length| start + 1 + length + 1)
}

/// Returns where the number ends that begins at a place.
fn end_of_number(text: &str, start: usize) -> usize {
    let belongs = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let rest = text.as_bytes()[start..].iter();
    start + rest.take_while(|byte| belongs(byte)).count()
}

//! The forms in which a program could print a secret: as it is, or encoded.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// How many characters of base64 must belong to the secret alone, so that finding them is no chance.
const MIN_BASE64_CHARS: usize = 4;

/// Returns all forms of a secret. Some may be the same.
pub(super) fn of(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    forms.extend(base64_forms(secret).map(String::into_bytes));
    forms.extend(url_forms(secret).map(String::into_bytes));
    if let Ok(text) = std::str::from_utf8(secret) {
        forms.extend(json_forms(text).map(String::into_bytes));
    }
    forms
}

/// Returns the base64 of the secret alone, and what it is in the base64 of a longer text: the characters that no byte before
/// or after it changes, for each of the three ways in which it can be aligned. A character at either end that also belongs to
/// the neighbour stays; it tells at most four bits.
fn base64_forms(secret: &[u8]) -> impl Iterator<Item = String> {
    [&STANDARD, &URL_SAFE].into_iter().flat_map(move |engine| {
        let aligned = (0..3_usize).filter_map(move |before| {
            let mut bytes = vec![0; before];
            bytes.extend_from_slice(secret);
            let encoded = engine.encode(&bytes);
            let start = (before * 8).div_ceil(6);
            let end = bytes.len() * 8 / 6;
            let is_long = end >= start + MIN_BASE64_CHARS;
            is_long.then(|| encoded[start..end].to_owned())
        });
        std::iter::once(engine.encode(secret)).chain(aligned)
    })
}

/// Returns the percent-encoded forms: with large and small digits, and with `+` for a blank.
fn url_forms(secret: &[u8]) -> impl Iterator<Item = String> {
    let encode = |digits: &[u8; 16], blank: &str| {
        let mut encoded = String::new();
        for byte in secret {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    encoded.push(char::from(*byte));
                }
                b' ' => encoded.push_str(blank),
                byte => {
                    let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                    encoded.extend(['%', char::from(digits[high]), char::from(digits[low])]);
                }
            }
        }
        encoded
    };
    [
        encode(b"0123456789ABCDEF", "%20"),
        encode(b"0123456789abcdef", "%20"),
        encode(b"0123456789ABCDEF", "+"),
    ]
    .into_iter()
}

/// Returns the forms within a string of JSON: with and without escaped slashes, and as ASCII only.
fn json_forms(secret: &str) -> impl Iterator<Item = String> {
    let quoted = Value::from(secret).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let slashes = escaped.replace('/', "\\/");
    let ascii = ascii(&escaped);
    [escaped, slashes, ascii].into_iter()
}

fn ascii(text: &str) -> String {
    let mut ascii = String::new();
    let mut units = [0; 2];
    for c in text.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

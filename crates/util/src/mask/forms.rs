//! The forms in which a program could print a secret: as it is, or encoded.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE};
use serde_json::Value;

use super::MIN_BYTES;

/// How many characters of base64 must belong to the secret alone, so that finding them is no chance.
const MIN_BASE64_CHARS: usize = 4;

/// How many characters of base64 programs put into a line: those of PEM, and those of MIME and of the program `base64`.
const LINES: [usize; 2] = [64, 76];

/// What ends a line, also within a string of JSON.
const LINE_ENDS: [&str; 3] = ["\n", "\r\n", "\\n"];

/// The longest base64 of a secret that is also looked for with ends of lines in it, in characters: each place of the first end
/// is a form of its own.
const MAX_WRAPPED: usize = 4096;

/// How long a line of a secret must be to be a secret by itself, in bytes.
const MIN_LINE: usize = 12;

/// What the first and the last line of a key in PEM begin with. They are no secret.
const PEM_BORDER: &[u8] = b"-----";

/// Returns all forms of a secret: as it is, without the blanks around it, with the ends of lines of Windows, and of its lines if it has
/// several, because programs trim, indent and quote what they print. Some may be the same.
pub(super) fn of(secret: &[u8]) -> Vec<Vec<u8>> {
    let trimmed = secret.trim_ascii();
    let lines: Vec<&[u8]> = trimmed
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .collect();
    let mut forms = of_whole(secret);
    if trimmed != secret && trimmed.len() >= MIN_BYTES {
        forms.extend(of_whole(trimmed));
    }
    if lines.len() > 1 {
        forms.extend(of_whole(&lines.join(&b"\r\n"[..])));
        let is_secret = |line: &&[u8]| line.len() >= MIN_LINE && !line.starts_with(PEM_BORDER);
        let lines = lines.into_iter().map(<[u8]>::trim_ascii);
        forms.extend(lines.filter(is_secret).flat_map(of_line));
    }
    forms
}

fn of_whole(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = of_line(secret);
    forms.extend(base64_forms(secret).map(String::into_bytes));
    forms.extend(wrapped_forms(secret).map(String::into_bytes));
    forms
}

fn of_line(line: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![line.to_vec()];
    forms.extend(url_forms(line).map(String::into_bytes));
    if let Ok(text) = std::str::from_utf8(line) {
        forms.extend(json_forms(text).map(String::into_bytes));
        forms.extend(html_forms(text).map(String::into_bytes));
    }
    forms
}

/// Returns the base64 of the secret alone, and what it is in the base64 of a longer text: the characters that no byte before
/// or after it changes, for each of the three ways in which it can be aligned. A character at either end that also belongs to
/// the neighbour stays; it tells at most four bits.
fn base64_forms(secret: &[u8]) -> impl Iterator<Item = String> {
    [&STANDARD, &URL_SAFE].into_iter().flat_map(move |engine| {
        std::iter::once(engine.encode(secret)).chain(aligned_forms(engine, secret))
    })
}

fn aligned_forms(engine: &GeneralPurpose, secret: &[u8]) -> impl Iterator<Item = String> {
    (0..3_usize).filter_map(move |before| {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret);
        let encoded = engine.encode(&bytes);
        let start = (before * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        let is_long = end >= start + MIN_BASE64_CHARS;
        is_long.then(|| encoded[start..end].to_owned())
    })
}

/// Returns the same forms where the base64 is broken into lines, for each place where the first line may end.
fn wrapped_forms(secret: &[u8]) -> impl Iterator<Item = String> {
    let aligned = aligned_forms(&STANDARD, secret);
    aligned
        .filter(|form| form.len() <= MAX_WRAPPED)
        .flat_map(|form| {
            LINES.into_iter().flat_map(move |line| {
                let form = form.clone();
                let firsts = 1..form.len().min(line + 1);
                firsts.flat_map(move |first| {
                    let form = form.clone();
                    LINE_ENDS.map(move |end| wrapped(&form, first, line, end))
                })
            })
        })
}

/// Returns a text in lines of this length, of which the first one has only `first` characters. All are ASCII.
fn wrapped(text: &str, first: usize, line: usize, end: &str) -> String {
    let (mut wrapped, mut rest) = (text[..first].to_owned(), &text[first..]);
    while !rest.is_empty() {
        let (next, after) = rest.split_at(line.min(rest.len()));
        wrapped.push_str(end);
        wrapped.push_str(next);
        rest = after;
    }
    wrapped
}

/// The characters beside letters and digits that encoders leave as they are, from those of RFC 3986 to those of whole
/// addresses.
const LEFT: [&[u8]; 5] = [
    b"-_.~",
    b"-_.~/",
    b"*-._",
    b"-_.~!*'()",
    b"-_.~!*'();,/?:@&=+$#",
];

/// Returns the percent-encoded forms: with large and small digits, and with `+` for a blank.
fn url_forms(secret: &[u8]) -> impl Iterator<Item = String> {
    LEFT.into_iter().flat_map(move |left| {
        [
            url_form(secret, left, "0123456789ABCDEF", "%20"),
            url_form(secret, left, "0123456789abcdef", "%20"),
            url_form(secret, left, "0123456789ABCDEF", "+"),
            url_form(secret, left, "0123456789abcdef", "+"),
        ]
    })
}

fn url_form(secret: &[u8], left: &[u8], digits: &str, blank: &str) -> String {
    let digit = |digit: u8| char::from(digits.as_bytes()[usize::from(digit)]);
    let mut encoded = String::new();
    for byte in secret {
        match byte {
            b' ' => encoded.push_str(blank),
            byte if byte.is_ascii_alphanumeric() || left.contains(byte) => {
                encoded.push(char::from(*byte));
            }
            byte => encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
    encoded
}

/// Returns the forms within a string of JSON: with and without escaped slashes, with the characters of HTML escaped, as
/// ASCII only, and within JSON that is itself a string of JSON.
fn json_forms(secret: &str) -> impl Iterator<Item = String> {
    let escaped = escaped(secret);
    let slashes = escaped.replace('/', "\\/");
    let twice = [self::escaped(&escaped), self::escaped(&slashes)];
    [escaped, slashes]
        .into_iter()
        .chain(twice)
        .flat_map(|form| {
            let no_html = |c: char| matches!(c, '<' | '>' | '&');
            let html = units(&form, no_html, false);
            let ascii = [false, true].map(|large| units(&form, |c| !c.is_ascii(), large));
            let both =
                [false, true].map(|large| units(&form, |c| no_html(c) || !c.is_ascii(), large));
            [form, html].into_iter().chain(ascii).chain(both)
        })
}

/// Returns a text as it stands within a string of JSON.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the forms within a page of HTML, with each of the ways to write an apostrophe.
fn html_forms(secret: &str) -> impl Iterator<Item = String> {
    let escaped = secret
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let quoted = escaped.replace('"', "&quot;");
    let apostrophes = ["&#39;", "&#x27;", "&apos;"].map(|written| quoted.replace('\'', written));
    [escaped, quoted].into_iter().chain(apostrophes)
}

/// Returns a text with some characters as the units of UTF-16 that JSON writes, with large or small digits.
fn units(text: &str, is_escaped: impl Fn(char) -> bool, large: bool) -> String {
    let mut escaped = String::new();
    let mut units = [0; 2];
    for c in text.chars() {
        if !is_escaped(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            escaped.push_str(&match large {
                false => format!("\\u{unit:04x}"),
                true => format!("\\u{unit:04X}"),
            });
        }
    }
    escaped
}

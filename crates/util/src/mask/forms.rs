//! The forms in which a program could print a secret: as it is, in lines, and in base64.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::MIN_BYTES;
use super::form::{Breaks, Form};
use super::ways::{self, Ways};

/// How many characters of base64 must belong to the secret alone, so that finding them is no chance.
const MIN_BASE64_CHARS: usize = 4;

/// How long a line of a secret must be to be a secret by itself, in bytes.
const MIN_LINE: usize = 12;

/// What the first and the last line of a key in PEM begin with. They are no secret.
const PEM_BORDER: &[u8] = b"-----";

/// Returns all forms of a secret: as it is, without the blanks around it and around the ends of its lines, and of its lines if it has
/// several, because programs trim, indent and quote what they print. Some may be the same.
pub(super) fn of(secret: &[u8]) -> Vec<Form> {
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
        forms.push(plain_form(&lines.join(&b'\n')));
        forms.extend(base64_forms(&lines.join(&b"\r\n"[..])));
        let is_secret = |line: &&[u8]| line.len() >= MIN_LINE && !line.starts_with(PEM_BORDER);
        let lines = lines.into_iter().map(<[u8]>::trim_ascii);
        forms.extend(lines.filter(is_secret).map(plain_form));
    }
    forms
}

fn of_whole(secret: &[u8]) -> Vec<Form> {
    let plain = std::iter::once(plain_form(secret));
    plain.chain(base64_forms(secret)).collect()
}

/// Returns the form of the characters as they are.
fn plain_form(secret: &[u8]) -> Form {
    let mut characters = Vec::with_capacity(secret.len());
    for chunk in secret.utf8_chunks() {
        // Each way to end a line is one of all.
        let text = chunk.valid().replace("\r\n", "\n");
        characters.extend(text.chars().map(ways::of));
        characters.extend(chunk.invalid().iter().copied().map(ways::of_byte));
    }
    Form::new(characters, Breaks::Never)
}

/// Returns the base64 of the secret alone, and what it is in the base64 of a longer text: the characters that no byte before
/// or after it changes, for each of the three ways in which it can be aligned. A character at either end that also belongs to
/// the neighbour stays; it tells at most four bits.
fn base64_forms(secret: &[u8]) -> impl Iterator<Item = Form> {
    let aligned = (0..3_usize).filter_map(move |before| {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret);
        let encoded = STANDARD.encode(&bytes);
        let start = (before * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        let is_long = end >= start + MIN_BASE64_CHARS;
        is_long.then(|| encoded[start..end].to_owned())
    });
    let texts = std::iter::once(STANDARD.encode(secret)).chain(aligned);
    let form = |text: String| Form::new(text.chars().map(of_base64).collect(), Breaks::Anywhere);
    texts.map(form)
}

/// Returns the ways to write a character of base64, in both alphabets.
fn of_base64(c: char) -> Ways {
    static PLUS: LazyLock<Ways> = LazyLock::new(|| ways::of_any(&['+', '-']));
    static SLASH: LazyLock<Ways> = LazyLock::new(|| ways::of_any(&['/', '_']));
    match c {
        '+' => PLUS.clone(),
        '/' => SLASH.clone(),
        c => ways::of(c),
    }
}

//! The ways in which programs write one character of a secret: as it is, or encoded. Encoders work character by character. So the
//! ways to write a secret are the ways to write its characters, one after the other, and mixtures need no list of their own.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The ways to write one character, each once.
pub(super) type Ways = Arc<[Vec<u8>]>;

/// Writes a character as it stands in a string of some language.
type Encoder = fn(char) -> String;

/// The encoders that write backslashes. Texts are often nested in them: JSON in JSON in JSON.
const BACKSLASHES: [Encoder; 6] = [
    json,
    json_with_slashes,
    |c| json_with_units(c, Digits::Small),
    |c| json_with_units(c, Digits::Large),
    repr,
    repr_of_bytes,
];

/// The other encoders.
const OTHERS: [Encoder; 6] = [
    |c| percent(c, Digits::Small),
    |c| percent(c, Digits::Large),
    form,
    html,
    html_with_numbers,
    html_with_large_numbers,
];

/// How the digits above nine are written.
#[derive(Clone, Copy)]
enum Digits {
    Small,
    Large,
}

/// Returns the ways to write a character: encoded by up to two encoders, or three times with backslashes.
pub(super) fn of(c: char) -> Ways {
    static ASCII: [OnceLock<Ways>; 128] = [const { OnceLock::new() }; 128];
    match ASCII.get(c as usize) {
        Some(known) => known.get_or_init(|| composed(c)).clone(),
        None => composed(c),
    }
}

/// Returns the ways to write a byte that is not text.
pub(super) fn of_byte(byte: u8) -> Ways {
    let escaped = format!("\\x{byte:02x}");
    let encoded = [format!("%{byte:02x}"), format!("%{byte:02X}")];
    let nested = [&encoded[0], &encoded[1]].map(|once| once.replace('%', "%25"));
    let texts = [escaped.replace('\\', "\\\\"), escaped];
    let texts = texts.into_iter().chain(encoded).chain(nested);
    let texts: BTreeSet<Vec<u8>> = texts.map(String::into_bytes).collect();
    std::iter::once(vec![byte]).chain(texts).collect()
}

/// Returns the ways to write any of these characters.
pub(super) fn of_any(characters: &[char]) -> Ways {
    let all = characters.iter().flat_map(|c| of(*c).to_vec());
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

fn composed(c: char) -> Ways {
    let plain = BTreeSet::from(match c {
        // What prints a text may end its lines as Windows does.
        '\n' => ["\n".to_owned(), "\r\n".to_owned()],
        c => [c.to_string(), c.to_string()],
    });
    let once = encoded(&plain, &BACKSLASHES);
    let twice = encoded(&once, &BACKSLASHES);
    let mut all = encoded(&twice, &BACKSLASHES);
    let any = &encoded(&plain, &OTHERS) | &once;
    all.extend(encoded(&any, &BACKSLASHES));
    all.extend(encoded(&any, &OTHERS));
    all.extend([plain, any, twice].into_iter().flatten());
    all.into_iter().map(String::into_bytes).collect()
}

/// Returns what each of the encoders makes of each of the texts.
fn encoded(texts: &BTreeSet<String>, encoders: &[Encoder]) -> BTreeSet<String> {
    let encode = |text: &String| -> Vec<String> {
        let encoded = encoders.iter();
        encoded
            .map(|encoder| text.chars().map(encoder).collect())
            .collect()
    };
    texts.iter().flat_map(encode).collect()
}

/// As every encoder of JSON has to.
fn json(c: char) -> String {
    match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        c if c < ' ' => units(c, Digits::Small),
        c => c.to_string(),
    }
}

fn json_with_slashes(c: char) -> String {
    match c {
        '/' => "\\/".to_owned(),
        c => json(c),
    }
}

/// As encoders of JSON do that write ASCII only, or escape what has a meaning in HTML.
fn json_with_units(c: char, digits: Digits) -> String {
    match c {
        '"' | '\'' | '<' | '>' | '&' | '+' | '=' | '/' | '`' | '\u{7f}'.. => units(c, digits),
        '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => json(c),
        c if c < ' ' => units(c, digits),
        c => json(c),
    }
}

/// Returns a character as the units of UTF-16 that JSON writes.
fn units(c: char, digits: Digits) -> String {
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    let written = units.map(|unit| match digits {
        Digits::Small => format!("\\u{unit:04x}"),
        Digits::Large => format!("\\u{unit:04X}"),
    });
    written.collect()
}

/// As Python shows a string between apostrophes, in ASCII.
fn repr(c: char) -> String {
    match (c, u32::from(c)) {
        ('\'', _) => "\\'".to_owned(),
        ('\\' | '\n' | '\r' | '\t', _) => json(c),
        (' '..='~', _) => c.to_string(),
        (_, number @ ..0x100) => format!("\\x{number:02x}"),
        (_, number @ ..0x1_0000) => format!("\\u{number:04x}"),
        (_, number) => format!("\\U{number:08x}"),
    }
}

/// As Python shows bytes.
fn repr_of_bytes(c: char) -> String {
    match c.is_ascii() {
        true => repr(c),
        false => bytes_of(c, |byte| format!("\\x{byte:02x}")),
    }
}

/// Percent-encoded. Encoders differ in what they leave as it is, but none encodes more.
fn percent(c: char, digits: Digits) -> String {
    match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c.to_string(),
        c => bytes_of(c, |byte| match digits {
            Digits::Small => format!("%{byte:02x}"),
            Digits::Large => format!("%{byte:02X}"),
        }),
    }
}

/// As forms of HTML are sent.
fn form(c: char) -> String {
    match c {
        ' ' => "+".to_owned(),
        c => percent(c, Digits::Large),
    }
}

fn bytes_of(c: char, written: impl Fn(u8) -> String) -> String {
    c.to_string().bytes().map(written).collect()
}

/// As it stands in a page.
fn html(c: char) -> String {
    match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        c => c.to_string(),
    }
}

fn html_with_numbers(c: char) -> String {
    match c {
        '"' | '\n' | '\r' | '\t' | '\u{80}'.. => format!("&#{};", u32::from(c)),
        '\'' => "&#x27;".to_owned(),
        c => html(c),
    }
}

fn html_with_large_numbers(c: char) -> String {
    match c {
        '"' | '\n' | '\r' | '\t' | '\u{80}'.. => format!("&#x{:X};", u32::from(c)),
        '\'' => "&apos;".to_owned(),
        c => html(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_characters_have_the_ways_of_all_encoders_and_plain_ones_have_one() {
        let check = |c: char, ways: &[&str]| {
            let all = of(c);
            for way in ways {
                assert!(all.iter().any(|one| one == way.as_bytes()), "{c}: {way}");
            }
            assert!(all.len() < 250, "{c} has {} ways", all.len());
        };
        check(
            '"',
            &[
                "\"",
                "\\\"",
                "\\\\\\\"",
                "\\\\\\\\\\\\\\\"",
                "%22",
                "%2522",
                "%5C%22",
            ],
        );
        check(
            'ü',
            &[
                "ü",
                "\\u00fc",
                "\\\\\\\\u00FC",
                "\\xfc",
                "\\\\xc3\\\\xbc",
                "%25C3%25BC",
            ],
        );
        check('😀', &["\\ud83d\\ude00", "\\U0001f600", "&#128512;"]);
        check(
            '\n',
            &[
                "\n",
                "\r\n",
                "\\n",
                "\\r\\n",
                "\\\\\\\\n",
                "%0D%0A",
                "&#10;",
            ],
        );
        check(' ', &[" ", "+", "%20", "%2520", "%2B"]);
        assert!(
            ('a'..='z')
                .chain('0'..='9')
                .chain("-_.".chars())
                .all(|c| of(c).len() == 1)
        );
    }
}

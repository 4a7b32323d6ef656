//! Encoded secrets: what encoders make of a secret is masked, also where encoders work on what others wrote, where lines are broken,
//! and where the text is cut.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use uwf_util::mask::Masks;

type Encoder = fn(&str) -> String;

/// The encoders of one string in another one, with backslashes.
const STRINGS: [Encoder; 4] = [json, ascii_json, html_json, repr];

/// All encoders that write character by character.
const ALL: [Encoder; 7] = [json, ascii_json, html_json, repr, percent, form, html];

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a text is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

fn ascii_json(text: &str) -> String {
    replaced(&json(text), |c| !c.is_ascii())
}

fn html_json(text: &str) -> String {
    replaced(&json(text).replace('/', "\\/"), |c| "<>&'".contains(c))
}

/// Writes some characters as the units of JSON.
fn replaced(text: &str, is_unit: impl Fn(char) -> bool) -> String {
    let write = |c: char| match is_unit(c) {
        false => c.to_string(),
        true => {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        }
    };
    text.chars().map(write).collect()
}

/// As `ascii()` of Python, without the quotes.
fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let write = |c: char| match (c, u32::from(c)) {
        (c, _) if c == quote || c == '\\' => format!("\\{c}"),
        ('\n', _) => "\\n".to_owned(),
        (' '..='~', _) => c.to_string(),
        (_, number @ ..0x100) => format!("\\x{number:02x}"),
        (_, number @ ..0x1_0000) => format!("\\u{number:04x}"),
        (_, number) => format!("\\U{number:08x}"),
    };
    text.chars().map(write).collect()
}

fn percent(text: &str) -> String {
    let write = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(write).collect()
}

fn form(text: &str) -> String {
    percent(text).replace("%20", "+")
}

fn html(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

fn secret() -> impl Strategy<Value = String> {
    "[a-z0-9][a-zA-Z0-9 \"'\\\\/+=<>&%üß€😀\n-]{6,30}[a-z0-9]"
}

/// Returns a text in lines of some width. The next lines are indented.
fn lines(text: &str, (width, end, indent): (usize, &str, usize)) -> String {
    let lines = text.as_bytes().chunks(width);
    let lines: Vec<&str> = lines
        .map(|line| std::str::from_utf8(line).expect("base64 is text"))
        .collect();
    lines.join(&format!("{end}{}", " ".repeat(indent)))
}

/// Masks a stream that comes in chunks of some size.
fn streamed(masks: &Masks, text: &str, size: usize) -> String {
    let (mut stream, mut masked) = (masks.stream(), Vec::new());
    for chunk in text.as_bytes().chunks(size) {
        stream.push(chunk, &mut masked);
    }
    stream.finish(&mut masked);
    String::from_utf8(masked).expect("no character is cut")
}

proptest! {
    #[test]
    fn what_two_encoders_make_of_a_secret_is_masked(
        secret in secret(),
        encoders in vec(select(&ALL[..]), 0..3),
        size in 1..50_usize,
    ) {
        let masks = Masks::of([secret.as_bytes()]);
        let encoded = encoders.iter().fold(secret, |text, encode| encode(&text));
        prop_assert_eq!(streamed(&masks, &format!("[{encoded}]"), size), "[***]", "{}", encoded);
    }

    #[test]
    fn what_three_strings_within_each_other_make_of_a_secret_is_masked(
        secret in secret(),
        encoders in vec(select(&STRINGS[..]), 3),
        size in 1..50_usize,
    ) {
        let masks = Masks::of([secret.as_bytes()]);
        let encoded = encoders.iter().fold(secret, |text, encode| encode(&text));
        prop_assert_eq!(streamed(&masks, &format!("[{encoded}]"), size), "[***]", "{}", encoded);
    }

    #[test]
    fn base64_is_masked_whatever_its_lines_are(
        secret in "[ -~]{10,60}",
        before in "[a-z]{0,20}",
        layout in (1..90_usize, select(&["\n", "\r\n", "\\n", "\\\\r\\\\n", "\\\n", "%0A"][..]), 0..5_usize),
        size in 1..50_usize,
    ) {
        let masks = Masks::of([secret.as_bytes()]);
        for encoded in [STANDARD.encode(format!("{before}{secret}")), URL_SAFE_NO_PAD.encode(format!("{before}{secret}"))] {
            let text = lines(&encoded, layout);
            let masked = streamed(&masks, &text, size);
            prop_assert_eq!(&masked, &masks.text(&text));
            let (kept, rest) = masked.split_once("***").unwrap();
            // At either end, one character of base64 may belong to the neighbour, too.
            prop_assert!(kept.len() <= lines(&STANDARD.encode(before.as_bytes()), layout).len() + 12, "{} {}", text, masked);
            let is_padding = |c: char| !c.is_ascii_alphanumeric() || "nr0A".contains(c);
            prop_assert!(rest.trim_matches(is_padding).len() <= 1, "{} {}", text, masked);
        }
    }

    #[test]
    fn a_text_without_secrets_stays(
        secrets in vec("[0-9 \"'/+%]{12,30}", 1..4),
        text in "[a-zA-Z\\\\\n\r %&+;=<\"'/u-]{0,400}",
        size in 1..50_usize,
    ) {
        let masks = Masks::of(secrets.iter().map(String::as_bytes));
        prop_assert_eq!(streamed(&masks, &text, size), text);
    }

    #[test]
    fn of_a_secret_that_was_cut_nothing_stays(
        secret in secret(),
        encoders in vec(select(&ALL[..]), 0..3),
        width in 1..40_usize,
        cut in 0..=100_usize,
    ) {
        let masks = Masks::of([secret.as_bytes()]);
        let coded = lines(&STANDARD.encode(&secret), (width, "\n", 2));
        let encoded = encoders.iter().fold(secret, |text, encode| encode(&text));
        for form in [encoded.as_bytes(), coded.as_bytes()] {
            let at = form.len() * cut / 100;
            prop_assert_eq!(after_cut(&masks, form, at), expected(form, at), "{} at {}", encoded, at);
        }
    }
}

/// Returns what is shown where a stream begins at this place of a secret.
fn after_cut(masks: &Masks, secret: &[u8], at: usize) -> String {
    let mut shown = Vec::new();
    let mut stream = masks.stream();
    stream.push_after_cut(&[&secret[at..], b" |"].concat(), &mut shown);
    stream.finish(&mut shown);
    String::from_utf8(shown).expect("no character is cut")
}

fn expected(secret: &[u8], at: usize) -> &'static str {
    match at == secret.len() {
        true => " |",
        false => "*** |",
    }
}

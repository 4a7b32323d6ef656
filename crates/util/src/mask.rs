//! Secrets become `***`, in texts, in data and in streams of bytes.

mod forms;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::{Map, Value};

/// What stands in the place of a secret.
pub const STARS: &str = "***";
/// How long a secret must be to be masked: a shorter one would mask half of every text.
const MIN_BYTES: usize = 4;

/// How many bytes of a form are searched for. The rest is compared where they are found.
const MAX_BEGINNING: usize = 8;

/// Secrets, in every form in which they could be printed. A clone shares the forms.
#[derive(Clone)]
pub struct Masks {
    forms: Arc<Forms>,
}

/// The forms of all secrets.
struct Forms {
    /// The forms by their first byte, the longest first.
    by_first: Vec<Vec<Vec<u8>>>,
    /// Finds the beginnings of forms; `None` without secrets.
    beginnings: Option<AhoCorasick>,
}

/// What is known about a position of a stream.
enum Found {
    /// No secret starts here.
    Nothing,
    /// A secret ends at this position.
    Until(usize),
    /// Only what follows can tell.
    Unknown,
}

/// Whether more bytes follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Follows,
    Ended,
}

impl Masks {
    /// Returns the masks for the values of secrets. Those that are too short are left out.
    #[must_use]
    pub fn of<'s>(secrets: impl IntoIterator<Item = &'s [u8]>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| is_maskable(secret));
        let mut forms: Vec<Vec<u8>> = secrets.flat_map(forms::of).collect();
        forms.sort_by(|first, second| second.len().cmp(&first.len()).then(first.cmp(second)));
        forms.dedup();
        let beginnings = (!forms.is_empty()).then(|| beginnings(&forms));
        let mut by_first = vec![Vec::new(); 256];
        for form in forms {
            by_first[usize::from(form[0])].push(form);
        }
        Self {
            forms: Arc::new(Forms {
                by_first,
                beginnings,
            }),
        }
    }

    /// Tells whether there is no secret to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.beginnings.is_none()
    }

    /// Returns the length of the longest form, in bytes.
    #[must_use]
    pub fn longest_form(&self) -> usize {
        let forms = self.forms.by_first.iter();
        forms.flatten().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns a text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut masked = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        stream.push(text.as_bytes(), &mut masked);
        stream.finish(&mut masked);
        // A secret may begin within a character.
        String::from_utf8_lossy(&masked).into_owned()
    }

    /// Returns data without secrets. A number that shows one becomes a text.
    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        match value {
            _ if self.is_empty() => value.clone(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(_) => {
                let text = value.to_string();
                if self.text(&text) == text {
                    value.clone()
                } else {
                    Value::String(STARS.to_owned())
                }
            }
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(members) => Value::Object(self.members(members)),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// Returns the members of an object without secrets.
    #[must_use]
    pub fn members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let members = members.iter();
        let members = members.map(|(key, value)| (self.text(key), self.json(value)));
        members.collect()
    }

    /// Starts the masking of a stream.
    #[must_use]
    pub fn stream(&self) -> MaskStream {
        MaskStream {
            forms: Arc::clone(&self.forms),
            held: Vec::new(),
            covered: 0,
            has_found: false,
        }
    }
}

impl PartialEq for Masks {
    fn eq(&self, other: &Self) -> bool {
        self.forms.by_first == other.forms.by_first
    }
}

impl Default for Masks {
    /// Returns the masks for no secret.
    fn default() -> Self {
        Self::of([])
    }
}

impl fmt::Debug for Masks {
    /// Shows no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.forms.fmt(f)
    }
}

impl fmt::Debug for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.by_first.iter().map(Vec::len).sum::<usize>();
        write!(f, "Masks({forms} forms)")
    }
}

impl Forms {
    /// Tells how far the longest form reaches that starts at a position.
    fn longest(&self, bytes: &[u8], start: usize, rest: Rest) -> Found {
        let here = &bytes[start..];
        for form in &self.by_first[usize::from(here[0])] {
            if here.starts_with(form) {
                return Found::Until(start + form.len());
            }
            if rest == Rest::Follows && form.starts_with(here) {
                return Found::Unknown;
            }
        }
        Found::Nothing
    }
}

/// Returns what finds the beginnings of forms. They are short, so that it is small whatever the secrets are.
fn beginnings(forms: &[Vec<u8>]) -> AhoCorasick {
    let beginnings = forms
        .iter()
        .map(|form| &form[..form.len().min(MAX_BEGINNING)]);
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostFirst)
        .build(beginnings.collect::<BTreeSet<_>>())
        .expect("the secrets have less than 2^31 beginnings")
}

/// Returns the next position, from `at` on, at which a form may start. Everything before it starts none.
fn next_start(beginnings: &AhoCorasick, bytes: &[u8], at: usize, rest: Rest) -> usize {
    let found = beginnings.find(&bytes[at..]);
    let found = found.map_or(bytes.len(), |found| at + found.start());
    match rest {
        Rest::Ended => found,
        // The last bytes may be less than a beginning.
        Rest::Follows => found.min(at.max(bytes.len().saturating_sub(MAX_BEGINNING - 1))),
    }
}

/// Tells whether the value of a secret is long enough to be masked.
#[must_use]
pub fn is_maskable(secret: &[u8]) -> bool {
    secret.len() >= MIN_BYTES
}

/// The masking of a stream that comes in chunks. It keeps back what could be the beginning of a secret, which is less than
/// the longest form.
pub struct MaskStream {
    forms: Arc<Forms>,
    held: Vec<u8>,
    /// How many of the held bytes, from the first on, belong to a secret whose stars are written already.
    covered: usize,
    /// Whether a secret was found.
    has_found: bool,
}

impl fmt::Debug for MaskStream {
    /// Shows no part of a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaskStream({:?})", self.forms)
    }
}

impl MaskStream {
    /// Adds a chunk, and appends to `masked` what can be shown of the stream.
    pub fn push(&mut self, chunk: &[u8], masked: &mut Vec<u8>) {
        let forms = Arc::clone(&self.forms);
        let Some(beginnings) = &forms.beginnings else {
            masked.extend_from_slice(chunk);
            return;
        };
        if self.held.is_empty() {
            let shown = self.show(beginnings, chunk, Rest::Follows, masked);
            self.held.extend_from_slice(&chunk[shown..]);
            return;
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(chunk);
        let shown = self.show(beginnings, &bytes, Rest::Follows, masked);
        bytes.drain(..shown);
        self.held = bytes;
    }

    /// Tells whether a secret was found so far. A secret at the end that could be the beginning of a longer one is found only when
    /// the stream is finished.
    #[must_use]
    pub fn has_found(&self) -> bool {
        self.has_found
    }

    /// Ends the stream, and appends what was kept back. Returns whether a secret was found in the whole stream.
    pub fn finish(mut self, masked: &mut Vec<u8>) -> bool {
        let held = std::mem::take(&mut self.held);
        let forms = Arc::clone(&self.forms);
        if let Some(beginnings) = &forms.beginnings {
            self.show(beginnings, &held, Rest::Ended, masked);
        }
        self.has_found
    }

    /// Appends the bytes without secrets; those that overlap have their stars once. Returns how many of the bytes were used.
    fn show(
        &mut self,
        beginnings: &AhoCorasick,
        bytes: &[u8],
        rest: Rest,
        masked: &mut Vec<u8>,
    ) -> usize {
        // Where the secrets end that were found so far. What follows is not shown yet.
        let mut covered = self.covered;
        let mut at = 0;
        loop {
            at = next_start(beginnings, bytes, at, rest);
            if at == bytes.len() {
                break;
            }
            match self.forms.longest(bytes, at, rest) {
                Found::Nothing => at += 1,
                Found::Until(end) => {
                    self.has_found = true;
                    if at >= covered {
                        masked.extend_from_slice(&bytes[covered..at]);
                        masked.extend_from_slice(STARS.as_bytes());
                    }
                    covered = covered.max(end);
                    at += 1;
                }
                Found::Unknown => break,
            }
        }
        if at > covered {
            masked.extend_from_slice(&bytes[covered..at]);
        }
        self.covered = covered.saturating_sub(at);
        at
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masks(secrets: &[&str]) -> Masks {
        Masks::of(secrets.iter().map(|secret| secret.as_bytes()))
    }

    #[test]
    fn a_secret_is_masked_in_every_form() {
        let masks = masks(&["s3cr3t va/\"ue"]);
        let check = |text: &str, expected: &str| assert_eq!(masks.text(text), expected);
        check("a s3cr3t va/\"ue b", "a *** b");
        check(
            "s3cr3t%20va%2F%22ue s3cr3t%20va%2f%22ue s3cr3t+va%2F%22ue",
            "*** *** ***",
        );
        check(
            r#"{"t":"s3cr3t va/\"ue"} s3cr3t va\/\"ue"#,
            r#"{"t":"***"} ***"#,
        );
        check("s3cr3t", "s3cr3t");
    }

    #[test]
    fn the_lines_of_a_secret_are_masked_each_by_itself() {
        let key = "-----BEGIN KEY-----\nMIIEabcdefghijklmnop\nQRSTUVWXYZ0123456789\nab==\n-----END KEY-----";
        let masks = masks(&[key]);
        let check = |text: &str, expected: &str| assert_eq!(masks.text(text), expected);
        check(key, STARS);
        check(
            "text: |\n  -----BEGIN KEY-----\n  MIIEabcdefghijklmnop\n  QRSTUVWXYZ0123456789\n",
            "text: |\n  -----BEGIN KEY-----\n  ***\n  ***\n",
        );
        check("> QRSTUVWXYZ0123456789\r\n", "> ***\r\n");
        check("-----BEGIN KEY-----", "-----BEGIN KEY-----");
        check("ab==", "ab==");
    }

    #[test]
    fn what_programs_make_of_a_secret_of_several_lines_is_masked() {
        let masks = masks(&["one\ntwo\nthree \"3\"\n"]);
        for printed in [
            "one\ntwo\nthree \"3\"",
            "one\r\ntwo\r\nthree \"3\"",
            r#"one\ntwo\nthree \"3\""#,
            r#"one\r\ntwo\r\nthree \"3\""#,
            r#"one\\ntwo\\nthree \\\"3\\\""#,
        ] {
            assert_eq!(masks.text(&format!("[{printed}]")), "[***]", "{printed}");
        }
    }

    #[test]
    fn the_forms_of_pages_are_masked() {
        let masks = masks(&["a<b>&\"c'd"]);
        for page in [
            "a&lt;b&gt;&amp;\"c'd",
            "a&lt;b&gt;&amp;&quot;c'd",
            "a&lt;b&gt;&amp;&quot;c&#39;d",
            "a&lt;b&gt;&amp;&quot;c&#x27;d",
        ] {
            assert_eq!(masks.text(page), STARS, "{page}");
        }
    }

    #[test]
    fn base64_is_found_wherever_the_secret_stands_in_it() {
        let masks = masks(&["s3cr3tvalue"]);
        for (encoded, expected) in [
            // printf s3cr3tvalue | base64
            ("czNjcjN0dmFsdWU=", "***"),
            // echo s3cr3tvalue | base64
            ("czNjcjN0dmFsdWUK", "***UK"),
            // printf u:s3cr3tvalue | base64: the first characters also belong to `u:`
            ("dTpzM2NyM3R2YWx1ZQ==", "dTp***Q=="),
            // printf me:s3cr3tvalue | base64
            ("bWU6czNjcjN0dmFsdWU=", "bWU6***"),
        ] {
            assert_eq!(masks.text(encoded), expected);
        }
    }

    #[test]
    fn a_secret_is_masked_across_chunks_wherever_they_are_cut() {
        let masks = masks(&["s3cr3tvalue", "s3cr3tvalue-long", "abab"]);
        let text = "x s3cr3tvalue y s3cr3tvalue-lon s3cr3tvalue-long ababab s3cr3t";
        let expected = "x *** y ***-lon *** *** s3cr3t";
        assert_eq!(masks.text(text), expected);
        for size in 1..text.len() {
            let mut stream = masks.stream();
            let mut masked = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                stream.push(chunk, &mut masked);
            }
            stream.finish(&mut masked);
            assert_eq!(
                String::from_utf8(masked).unwrap(),
                expected,
                "chunks of {size}"
            );
        }
    }

    #[test]
    fn secrets_that_overlap_are_masked_together() {
        assert_eq!(masks(&["abcd", "cdef", "efgh"]).text("xabcdefghx"), "x***x");
    }

    #[test]
    fn secrets_that_overlap_for_ever_are_not_kept_back() {
        let masks = masks(&["aaaaaaaaaaaa"]);
        let mut stream = masks.stream();
        let mut masked = Vec::new();
        for _ in 0..1000 {
            stream.push(&[b'a'; 1000], &mut masked);
            assert!(stream.held.len() < 12);
        }
        stream.push(b"b", &mut masked);
        stream.finish(&mut masked);
        assert_eq!(masked, b"***b");
    }

    #[test]
    fn nothing_is_kept_back_that_cannot_become_a_secret() {
        let masks = masks(&["s3cr3tvalue"]);
        let mut stream = masks.stream();
        let mut masked = Vec::new();
        stream.push(b"done\n", &mut masked);
        assert_eq!(masked, b"done\n");
        stream.push(b"s3cr", &mut masked);
        assert_eq!(masked, b"done\n");
        stream.push(b"x", &mut masked);
        assert_eq!(masked, b"done\ns3crx");
    }

    #[test]
    fn a_debug_text_shows_no_secret() {
        let masks = masks(&["s3cr3tvalue"]);
        let mut stream = masks.stream();
        stream.push(b"s3cr3t", &mut Vec::new());
        let text = format!("{masks:?} {stream:?}");
        assert!(!text.contains("s3cr"), "{text}");
    }

    #[test]
    fn short_secrets_and_none_mask_nothing() {
        assert_eq!(masks(&["abc", ""]).text("abc abc"), "abc abc");
        assert!(is_maskable(b"abcd") && !is_maskable(b"abc"));
    }

    #[test]
    fn data_is_masked_in_strings_keys_and_numbers() {
        let masks = masks(&["12345", "tok\"en"]);
        let value = json!({"tok\"en": [1, 9_123_456, true, null, {"a": "x tok\"en"}], "n": 1.5});
        let expected = json!({"***": [1, "***", true, null, {"a": "x ***"}], "n": 1.5});
        assert_eq!(masks.json(&value), expected);
    }
}

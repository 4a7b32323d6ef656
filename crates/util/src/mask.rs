//! Secrets become `***`, in texts, in data and in streams of bytes.

mod breaks;
mod form;
mod forms;
mod search;
mod ways;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use form::{Form, Places};
use search::Search;

/// What stands in the place of a secret.
pub const STARS: &str = "***";
/// How long a secret must be to be masked: a shorter one would mask half of every text.
const MIN_BYTES: usize = 4;

/// Secrets, in every form in which they could be printed. A clone shares the forms.
#[derive(Clone)]
pub struct Masks {
    forms: Arc<Forms>,
}

/// The forms of all secrets.
struct Forms {
    forms: Vec<Form>,
    /// The numbers of the forms that may begin with a byte, for each byte.
    by_first: Vec<Vec<usize>>,
    /// Finds where forms may begin; `None` without secrets.
    search: Option<Search>,
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
        Self::of_forms(secrets.flat_map(forms::of).collect())
    }

    fn of_forms(mut forms: Vec<Form>) -> Self {
        forms.sort_unstable();
        forms.dedup();
        let search = Search::of(&forms);
        let mut by_first = vec![Vec::new(); 256];
        for (number, form) in forms.iter().enumerate() {
            for byte in form.first_bytes().collect::<BTreeSet<_>>() {
                by_first[usize::from(byte)].push(number);
            }
        }
        Self {
            forms: Arc::new(Forms {
                forms,
                by_first,
                search,
            }),
        }
    }

    /// Returns the masks for the secrets of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (_, true) => self.clone(),
            (true, false) => other.clone(),
            (false, false) => Self::of_forms([&self.forms.forms[..], &other.forms.forms].concat()),
        }
    }

    /// Tells whether there is no secret to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.search.is_none()
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

    /// Returns a text without secrets whose beginning was cut off, perhaps within one.
    #[must_use]
    pub fn text_after_cut(&self, text: &str) -> String {
        let mut masked = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        stream.push_after_cut(text.as_bytes(), &mut masked);
        stream.finish(&mut masked);
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
            places: Places::default(),
            covered: 0,
            has_found: false,
        }
    }
}

impl PartialEq for Masks {
    fn eq(&self, other: &Self) -> bool {
        self.forms.forms == other.forms.forms
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
        write!(f, "Masks({} forms)", self.forms.len())
    }
}

impl Forms {
    /// Tells how far the longest form reaches that starts at a position.
    fn longest(&self, bytes: &[u8], start: usize, rest: Rest, places: &mut Places) -> Found {
        let here = &bytes[start..];
        let mut longest = None;
        for number in &self.by_first[usize::from(here[0])] {
            let reach = self.forms[*number].reach(here, places);
            if reach.is_open && rest == Rest::Follows {
                return Found::Unknown;
            }
            longest = longest.max(reach.end);
        }
        longest.map_or(Found::Nothing, |end| Found::Until(start + end))
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
    places: Places,
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
        let Some(search) = &forms.search else {
            masked.extend_from_slice(chunk);
            return;
        };
        if self.held.is_empty() {
            let shown = self.show(search, chunk, Rest::Follows, masked);
            self.held.extend_from_slice(&chunk[shown..]);
            return;
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(chunk);
        let shown = self.show(search, &bytes, Rest::Follows, masked);
        bytes.drain(..shown);
        self.held = bytes;
    }

    /// Adds the first chunk of a stream whose beginning was cut off, perhaps within a secret. The chunk must be longer than what can
    /// be left of one.
    pub fn push_after_cut(&mut self, chunk: &[u8], masked: &mut Vec<u8>) {
        let forms = Arc::clone(&self.forms);
        let rests = forms.forms.iter();
        let rests = rests.map(|form| form.rest_after_cut(chunk, &mut self.places));
        self.covered = rests.max().unwrap_or(0);
        if self.covered > 0 {
            self.has_found = true;
            masked.extend_from_slice(STARS.as_bytes());
        }
        self.push(chunk, masked);
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
        if let Some(search) = &forms.search {
            self.show(search, &held, Rest::Ended, masked);
        }
        self.has_found
    }

    /// Appends the bytes without secrets; those that overlap have their stars once. Returns how many of the bytes were used.
    fn show(&mut self, search: &Search, bytes: &[u8], rest: Rest, masked: &mut Vec<u8>) -> usize {
        // Where the secrets end that were found so far. What follows is not shown yet.
        let mut covered = self.covered;
        let mut at = 0;
        loop {
            at = search.next(bytes, at, rest);
            if at == bytes.len() {
                break;
            }
            match self.forms.longest(bytes, at, rest, &mut self.places) {
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
mod tests;

//! What people call a thread: a name of its own, and labels that many threads may share.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{ThreadId, id_prefix, text_forms};

/// How many characters a name has at most.
const LONGEST_NAME: usize = 64;
/// How many characters the key or the value of a label has at most.
const LONGEST_LABEL: usize = 63;
/// How many labels a thread has at most.
const MOST_LABELS: usize = 64;

/// Why a text is not a name or a label, or why a thread cannot have it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// The text cannot be a name.
    #[error("`{text}` cannot be the name of a thread: {problem}{}", question(.near.as_deref()))]
    Name {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
        /// A name that is like it.
        near: Option<String>,
    },
    /// The text is not a label.
    #[error("`{text}` is not a label: {problem}")]
    Label {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No name can be like the text.
    #[error("`{text}` is not like the name of a thread: {problem}")]
    Pattern {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The thread would have too many labels.
    #[error("thread `{thread}` would have {count} labels; {MOST_LABELS} are the most")]
    TooMany {
        /// The thread.
        thread: ThreadId,
        /// How many labels it would have.
        count: usize,
    },
}

fn question(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The name of a thread. It cannot be mistaken for an id, the beginning of an id or a hash, `@`, `-`, or an option, and
/// contains nothing that begins a place in a thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        match problem_of_name(text) {
            None => Ok(Self(text.to_owned())),
            Some(problem) => Err(NamingError::Name {
                text: text.to_owned(),
                problem,
                near: near_name(text),
            }),
        }
    }
}

/// Returns why a text cannot be a name.
fn problem_of_name(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if text.chars().count() > LONGEST_NAME {
        Some("it is longer than 64 characters")
    } else if text.contains(['~', '@', '/']) {
        Some("`~`, `@` and `/` stand for a place in a thread")
    } else if !text.chars().all(is_of_name) {
        Some("letters, digits, `-`, `_` and `.` are allowed")
    } else if !text.starts_with(char::is_alphanumeric) {
        Some("it does not begin with a letter or a digit")
    } else if id_prefix(text).is_some() {
        Some("it could be the beginning of an id or a hash")
    } else {
        None
    }
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || "-_.".contains(character)
}

/// Returns a name that is like a text: what is not allowed becomes `-`, and a text that could be the beginning of a hash
/// gets a number.
fn near_name(text: &str) -> Option<String> {
    let replaced = text.replace(|character| !is_of_name(character), "-");
    let words = replaced.split('-').filter(|word| !word.is_empty());
    let mut near = words.collect::<Vec<_>>().join("-");
    if id_prefix(&near).is_some() {
        near.push_str("-1");
    }
    problem_of_name(&near).is_none().then_some(near)
}

/// The key of a label.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelKey(String);

impl LabelKey {
    /// Returns the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_label(key: &str, label: &str) -> Result<Self, NamingError> {
        let problem = if key.is_empty() {
            "the key before `=` is missing"
        } else if key.len() > LONGEST_LABEL {
            "the key is longer than 63 characters"
        } else if !is_word(key, b"-_./") {
            "a key has letters, digits, `-`, `_`, `.` and `/`, and begins and ends with a letter or a digit"
        } else {
            return Ok(Self(key.to_owned()));
        };
        Err(not_a_label(label, problem))
    }
}

impl FromStr for LabelKey {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        Self::of_label(text, text)
    }
}

/// The value of a label. It may be empty.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelValue(String);

impl LabelValue {
    /// Returns the value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_label(value: &str, label: &str) -> Result<Self, NamingError> {
        let problem = if value.len() > LONGEST_LABEL {
            "the value is longer than 63 characters"
        } else if !value.is_empty() && !is_word(value, b"-_.") {
            "a value has letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit"
        } else {
            return Ok(Self(value.to_owned()));
        };
        Err(not_a_label(label, problem))
    }
}

impl FromStr for LabelValue {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        Self::of_label(text, text)
    }
}

/// Tells whether a text has only ASCII letters, digits and these marks, and no mark at its ends.
fn is_word(text: &str, marks: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || marks.contains(byte))
}

fn not_a_label(text: &str, problem: &'static str) -> NamingError {
    NamingError::Label {
        text: text.to_owned(),
        problem,
    }
}

/// The labels of a thread.
pub type Labels = BTreeMap<LabelKey, LabelValue>;

/// One label: `team=web`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its key.
    pub key: LabelKey,
    /// Its value.
    pub value: LabelValue,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl FromStr for Label {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(not_a_label(text, "`key=value` is expected"));
        };
        Ok(Self {
            key: LabelKey::of_label(key, text)?,
            value: LabelValue::of_label(value, text)?,
        })
    }
}

/// What happens to a label: `team=web` sets it, `team-` removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelChange {
    /// The label is set, in place of an earlier value.
    Set(Label),
    /// The label with this key is removed, if there is one.
    Remove(LabelKey),
}

impl FromStr for LabelChange {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        if text.contains('=') {
            return text.parse().map(Self::Set);
        }
        let Some(key) = text.strip_suffix('-') else {
            return Err(not_a_label(
                text,
                "`key=value` sets a label, `key-` removes it",
            ));
        };
        LabelKey::of_label(key, text).map(Self::Remove)
    }
}

/// Which labels are looked for: `team=web` is one label, `team` is any label with this key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSelector {
    /// The key.
    pub key: LabelKey,
    /// The value; `None` if every value will do.
    pub value: Option<LabelValue>,
}

impl LabelSelector {
    /// Tells whether one of the labels is looked for.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        match (labels.get(&self.key), &self.value) {
            (Some(found), Some(value)) => found == value,
            (found, None) => found.is_some(),
            (None, Some(_)) => false,
        }
    }
}

impl FromStr for LabelSelector {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        if text.contains('=') {
            let Label { key, value } = text.parse()?;
            return Ok(Self {
                key,
                value: Some(value),
            });
        }
        let key = LabelKey::of_label(text, text)?;
        Ok(Self { key, value: None })
    }
}

/// Which names are looked for: `fix-42` is one name, `fix-*` is every name that begins so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(String);

impl NamePattern {
    /// Tells whether a name is looked for. `*` stands for any characters, `?` for one.
    #[must_use]
    pub fn selects(&self, name: &Name) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.as_str().chars().collect();
        matches_all(&pattern, &name)
    }
}

/// Tells whether a pattern describes a whole text.
fn matches_all(pattern: &[char], text: &[char]) -> bool {
    // `matched[n]` tells whether the pattern, as far as it was read, describes the first n characters.
    let mut matched = vec![false; text.len() + 1];
    matched[0] = true;
    for part in pattern {
        let mut next = vec![false; text.len() + 1];
        next[0] = *part == '*' && matched[0];
        for (index, character) in text.iter().enumerate() {
            next[index + 1] = match part {
                '*' => matched[index + 1] || next[index],
                '?' => matched[index],
                other => matched[index] && other == character,
            };
        }
        matched = next;
    }
    matched[text.len()]
}

impl FromStr for NamePattern {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        let plain = text.replace(['*', '?'], "");
        let problem = if text.is_empty() {
            "it is empty"
        } else if plain.contains(['~', '@', '/']) {
            "`~`, `@` and `/` stand for a place in a thread"
        } else if plain.chars().all(is_of_name) {
            return Ok(Self(text.to_owned()));
        } else {
            "letters, digits, `-`, `_` and `.` are allowed, `*` for any of them, and `?` for one"
        };
        Err(NamingError::Pattern {
            text: text.to_owned(),
            problem,
        })
    }
}

/// What people call a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    /// Its name.
    #[serde(default)]
    pub name: Option<Name>,
    /// Its labels.
    #[serde(default)]
    pub labels: Labels,
}

impl Naming {
    /// Tells whether there is neither a name nor a label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.labels.is_empty()
    }

    /// Sets and removes labels of a thread, in this order.
    ///
    /// # Errors
    /// [`NamingError::TooMany`].
    pub fn change(&mut self, thread: ThreadId, changes: &[LabelChange]) -> Result<(), NamingError> {
        for change in changes {
            match change {
                LabelChange::Set(label) => {
                    self.labels.insert(label.key.clone(), label.value.clone());
                }
                LabelChange::Remove(key) => {
                    self.labels.remove(key);
                }
            }
        }
        match self.labels.len() {
            count if count > MOST_LABELS => Err(NamingError::TooMany { thread, count }),
            _ => Ok(()),
        }
    }
}

text_forms!(Name);
text_forms!(LabelKey);
text_forms!(LabelValue);

#[cfg(test)]
mod tests;

//! The tree of a YAML document. Each value knows where and how it was written.

use serde_json::{Map, Number, Value};

use crate::scalar;

/// A place in one of the files that were read; all zero if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The index of the file in the order of reading; 0 for a single text.
    pub file: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A value and where it starts.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it starts.
    pub at: At,
    /// What it is.
    pub data: Data,
    /// The source text of a boolean, a number, a null or a merge key: it may have been meant as a string.
    pub written: Option<Box<str>>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Data {
    /// Nothing: `null`, `~`, or no value at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that JSON has.
    Number(Number),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping; its keys are unique.
    Map(Vec<(Key, Node)>),
    /// A value that could not be read. It was reported, and is accepted everywhere, so that it causes no further problem.
    Broken,
}

/// A key of a mapping and where it was written.
#[derive(Debug, Clone)]
pub struct Key {
    /// Where it starts.
    pub at: At,
    /// What it says.
    pub text: String,
}

impl At {
    /// Returns the place of the first character of a file.
    #[must_use]
    pub fn start_of(file: usize) -> Self {
        Self {
            file,
            line: 1,
            column: 1,
        }
    }
}

impl Node {
    /// Returns a value without its source text.
    #[must_use]
    pub fn new(at: At, data: Data) -> Self {
        Self {
            at,
            data,
            written: None,
        }
    }

    /// Returns the text of a string, or the source text of another scalar.
    #[must_use]
    pub fn as_written(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => self.written.as_deref(),
        }
    }

    /// Returns the kind of the value with its article, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::Text(_) => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
            Data::Broken => "unreadable",
        }
    }

    /// Returns the source text of an integer that has more than 64 bits. The number of the node is only near it.
    #[must_use]
    pub fn long_integer(&self) -> Option<&str> {
        match &self.data {
            Data::Number(number) if number.is_f64() => self.written.as_deref(),
            _ => None,
        }
        .filter(|written| scalar::is_integer(written))
    }

    /// Tells whether this is `null`, or no value at all.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// Tells whether this is a string.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.data, Data::Text(_))
    }

    /// Returns the value of a key, if this is a mapping that has it.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(key, value)| (key, value))
    }

    /// Returns the value without places.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null | Data::Broken => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => Value::Number(number.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Self::to_json).collect(),
            Data::Map(entries) => {
                let members = entries
                    .iter()
                    .map(|(key, value)| (key.text.clone(), value.to_json()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns how many levels of collections this value has: 0 for a scalar.
    #[must_use]
    pub fn height(&self) -> usize {
        let tallest = match &self.data {
            Data::List(items) => items.iter().map(Self::height).max(),
            Data::Map(entries) => entries.iter().map(|(_, value)| value.height()).max(),
            _ => return 0,
        };
        1 + tallest.unwrap_or(0)
    }

    /// Returns roughly how many bytes of memory the value takes. It limits copies.
    #[must_use]
    pub fn cost(&self) -> usize {
        let inside = match &self.data {
            Data::Text(text) => text.len(),
            Data::List(items) => items.iter().map(Self::cost).sum(),
            Data::Map(entries) => entries
                .iter()
                .map(|(key, value)| key.text.len() + value.cost())
                .sum(),
            _ => 0,
        };
        let written = self.written.as_deref().map_or(0, str::len);
        size_of::<Self>() + inside + written
    }
}

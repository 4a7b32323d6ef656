//! The tree that a YAML document is read into: values that know where they were written.

use serde_json::{Map, Number, Value};

/// A place in one of the files that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    /// The index of the file in the order of reading.
    pub(super) file: usize,
    /// The line, from 1.
    pub(super) line: usize,
    /// The column in characters, from 1.
    pub(super) column: usize,
}

/// A value and where it starts.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) data: Data,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// Keys are unique.
    Map(Vec<(Key, Node)>),
    /// Something that could not be read and was reported; it fits everywhere, so that nothing else is said
    /// about it.
    Broken,
}

/// A key of a mapping and where it was written.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) at: At,
    pub(super) text: String,
}

impl Node {
    /// Returns the kind of the value with its article, for messages.
    pub(super) fn kind(&self) -> &'static str {
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

    /// Tells whether this is a string.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.data, Data::Text(_))
    }

    /// Returns the value of a key, if this is a mapping that has it.
    pub(super) fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(key, value)| (key, value))
    }

    /// Returns the value without places.
    pub(super) fn to_json(&self) -> Value {
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

    /// Returns how many levels of collections there are from here down: 0 for a scalar.
    pub(super) fn height(&self) -> usize {
        let tallest = match &self.data {
            Data::List(items) => items.iter().map(Self::height).max(),
            Data::Map(entries) => entries.iter().map(|(_, value)| value.height()).max(),
            _ => return 0,
        };
        1 + tallest.unwrap_or(0)
    }

    /// Returns roughly how many bytes of memory the value takes, so that copies can be limited.
    pub(super) fn cost(&self) -> usize {
        let inside = match &self.data {
            Data::Text(text) => text.len(),
            Data::List(items) => items.iter().map(Self::cost).sum(),
            Data::Map(entries) => entries
                .iter()
                .map(|(key, value)| key.text.len() + value.cost())
                .sum(),
            _ => 0,
        };
        size_of::<Self>() + inside
    }
}

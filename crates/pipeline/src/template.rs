//! Texts with variables: `${name}` stands for a value, `$$` for a dollar sign.

mod parse;
mod reference;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use parse::NameError;
pub use reference::{Reference, RunField, StepField};
pub(crate) use reference::{is_identifier, parts};

/// A text whose variables were understood. It is stored as its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A text that stays as it is.
    Text(String),
    /// A variable.
    Name {
        /// What stands between the braces, without blanks around it.
        written: String,
        /// What it names.
        reference: Reference,
    },
}

impl Template {
    /// Reads a text with variables.
    ///
    /// # Errors
    /// Everything that is wrong with its variables.
    pub fn parse(source: &str) -> Result<Self, Vec<NameError>> {
        let pieces = parse::pieces(source)?;
        Ok(Self {
            source: source.to_owned(),
            pieces,
        })
    }

    /// Returns the text as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the pieces in their order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns what the variables name, in their order.
    pub(crate) fn references(&self) -> impl Iterator<Item = (&str, &Reference)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Name { written, reference } => Some((&**written, reference)),
        })
    }

    /// Returns the text with another text for each variable.
    pub(crate) fn with_names_as(&self, stand_in: &str) -> String {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => &**text,
            Piece::Name { .. } => stand_in,
        });
        texts.collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Self::parse(&source).map_err(|errors| de::Error::custom(&errors[0]))
    }
}

//! The errors of templates, with their places.

use super::{MAX_DEPTH, MAX_LENGTH, MAX_PARTS, Position};

/// Why a template cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (at {position} of the template)")]
pub struct ParseError {
    /// Where it stands.
    pub position: Position,
    /// What it is.
    pub kind: ParseErrorKind,
}

/// The ways in which a template can be malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// A tag has no end.
    #[error("a tag that is not closed with `{close}`")]
    OpenTag {
        /// The delimiter that is missing.
        close: String,
    },
    /// A tag has no name in it.
    #[error("a tag without a name")]
    NoName,
    /// A section has no end.
    #[error("a section `{name}` that is not closed")]
    OpenSection {
        /// The section's name.
        name: String,
    },
    /// The end of a section that is not open.
    #[error("an end of the section `{name}`, which is not open")]
    StrayEnd {
        /// The name in the tag.
        name: String,
    },
    /// Sections that overlap.
    #[error("an end of the section `{found}` while `{open}` is open")]
    CrossedEnd {
        /// The section that is open.
        open: String,
        /// The name in the tag.
        found: String,
    },
    /// A change of delimiters that does not name two.
    #[error("a change of delimiters that does not have the form `{{{{=<% %>=}}}}`")]
    Delimiters,
    /// A filter of the Liquid language.
    #[error("a Liquid filter `{tag}`, while templates are plain mustache")]
    Liquid {
        /// What the tag says.
        tag: String,
    },
    /// Sections are nested too deeply.
    #[error("more than {MAX_DEPTH} sections inside each other")]
    TooDeep,
}

/// Why a template cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A variable has no value.
    #[error("{}", missing(.variable, *.position, .suggestion.as_deref()))]
    Missing {
        /// The name in the template.
        variable: String,
        /// Where it stands in the template.
        position: Position,
        /// The nearest existing name.
        suggestion: Option<String>,
    },
    /// The result is longer than an instruction can reasonably be.
    #[error("the result is larger than {MAX_LENGTH} bytes or {MAX_PARTS} parts")]
    TooLarge,
}

/// Why a template cannot be parsed or filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It is malformed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It could not be filled in.
    #[error(transparent)]
    Render(#[from] RenderError),
}

fn missing(variable: &str, position: Position, suggestion: Option<&str>) -> String {
    let text = format!("the answer has no `{variable}` (at {position} of the template)");
    match suggestion {
        Some(name) => format!("{text}; did you mean `{name}`?"),
        None => text,
    }
}

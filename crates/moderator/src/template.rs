//! The templates of edges: mustache without partials and without HTML escaping, strict about names.
//!
//! Taking a template apart is in `parse`, printing a value in `text`; here are the types, the errors and
//! the filling in.

mod parse;
mod text;

use std::fmt;

use serde_json::Value;
use uwf_util::suggest;

pub use parse::parse;
pub use text::text_of;

/// How deep sections may nest.
const MAX_DEPTH: usize = 64;

/// How long a result may be, in bytes.
const MAX_LENGTH: usize = 16 * 1024 * 1024;

/// How many parts may be printed for one result; nested sections over lists multiply.
const MAX_PARTS: u32 = 1_000_000;

/// A place in a template: line and column count characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column in the line.
    pub column: usize,
}

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template<'t> {
    source: &'t str,
    parts: Vec<Part<'t>>,
}

/// One part of a template, in the order of printing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    /// Printed as it is.
    Text(&'t str),
    /// A value that is looked up and printed.
    Variable(Name<'t>),
    /// A body that depends on a value.
    Section {
        name: Name<'t>,
        when: When,
        body: Vec<Part<'t>>,
    },
    /// The inclusion of another template, which prints nothing.
    Partial(Name<'t>),
}

/// When the body of a section is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// `{{#name}}`: once per item of a list, else once if the value is true.
    Present,
    /// `{{^name}}`: once if the value is false, empty or missing.
    Absent,
}

/// A name in a template and where it stands, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name<'t> {
    pub(crate) text: &'t str,
    pub(crate) offset: usize,
}

/// Says what is malformed in a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at {position}")]
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
    #[error("the section `{name}` is not closed")]
    OpenSection {
        /// The section's name.
        name: String,
    },
    /// The end of a section that was not begun.
    #[error("the end of the section `{name}`, which is not open")]
    StrayEnd {
        /// The name in the tag.
        name: String,
    },
    /// Sections that overlap.
    #[error("the end of the section `{found}`, while `{open}` is still open")]
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
    #[error("the Liquid filter `{tag}`; templates are plain mustache and have no filters")]
    Liquid {
        /// What the tag says.
        tag: String,
    },
    /// Too many sections inside each other.
    #[error("sections nest deeper than {MAX_DEPTH}")]
    TooDeep,
}

/// Says why a template could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A variable has no value.
    #[error("{}", missing(.variable, *.position, .suggestion.as_deref()))]
    Missing {
        /// The name in the template.
        variable: String,
        /// Where it stands in the template.
        position: Position,
        /// A name that exists and looks like it.
        suggestion: Option<String>,
    },
    /// The result is longer than an instruction can reasonably be.
    #[error("the result is larger than {MAX_LENGTH} bytes or {MAX_PARTS} parts")]
    TooLarge,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

fn missing(variable: &str, position: Position, suggestion: Option<&str>) -> String {
    let text = format!("the answer has no `{variable}` (at {position} of the template)");
    match suggestion {
        Some(name) => format!("{text}; did you mean `{name}`?"),
        None => text,
    }
}

/// Parses a template and fills it in from one view.
///
/// # Errors
/// When the template is malformed, or names a variable that the view lacks.
pub fn render(source: &str, view: &Value) -> Result<String, Failure> {
    Ok(parse(source)?.render(&[view])?)
}

/// Either way in which a template can fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It is malformed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It could not be filled in.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl<'t> Template<'t> {
    /// Fills the template in. Names are looked up in the last view first, then in those before it.
    ///
    /// A variable must have a value; `null` prints nothing, lists and objects print as JSON. A section
    /// over a name without a value is skipped, which is how a template says "if present".
    ///
    /// # Errors
    /// When a variable has no value, or the result grows beyond all reason.
    pub fn render(&self, views: &[&Value]) -> Result<String, RenderError> {
        let mut rendering = Rendering {
            source: self.source,
            views: views.to_vec(),
            out: String::new(),
            parts_left: MAX_PARTS,
        };
        rendering.parts(&self.parts)?;
        Ok(rendering.out)
    }

    /// Returns the parts, for checks.
    pub(crate) fn parts(&self) -> &[Part<'t>] {
        &self.parts
    }

    /// Returns where a byte of the source stands.
    pub(crate) fn position(&self, offset: usize) -> Position {
        position_of(self.source, offset)
    }
}

/// Returns the line and the column of a byte.
fn position_of(source: &str, offset: usize) -> Position {
    let before = &source[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// A result that is being put together.
struct Rendering<'a> {
    source: &'a str,
    views: Vec<&'a Value>,
    out: String,
    parts_left: u32,
}

impl<'a> Rendering<'a> {
    fn parts(&mut self, parts: &[Part<'_>]) -> Result<(), RenderError> {
        for part in parts {
            self.count_part()?;
            match part {
                Part::Text(text) => self.out.push_str(text),
                Part::Variable(name) => match self.lookup(name.text) {
                    Some(value) => text::push(&mut self.out, value),
                    None => return Err(self.missing(*name)),
                },
                Part::Section { name, when, body } => self.section(*name, *when, body)?,
                Part::Partial(_) => {}
            }
        }
        Ok(())
    }

    fn count_part(&mut self) -> Result<(), RenderError> {
        if self.parts_left == 0 || self.out.len() > MAX_LENGTH {
            return Err(RenderError::TooLarge);
        }
        self.parts_left -= 1;
        Ok(())
    }

    fn section(
        &mut self,
        name: Name<'_>,
        when: When,
        body: &[Part<'_>],
    ) -> Result<(), RenderError> {
        let value = self.lookup(name.text).filter(|value| is_true(value));
        match (value, when) {
            (None, When::Present) | (Some(_), When::Absent) => Ok(()),
            // A plain `true` says nothing about what to look at, so `.` stays what it was.
            (None, When::Absent) | (Some(Value::Bool(_)), When::Present) => self.parts(body),
            (Some(Value::Array(items)), When::Present) => {
                for item in items {
                    self.count_part()?;
                    self.inside(item, body)?;
                }
                Ok(())
            }
            (Some(value), When::Present) => self.inside(value, body),
        }
    }

    fn inside(&mut self, view: &'a Value, body: &[Part<'_>]) -> Result<(), RenderError> {
        self.views.push(view);
        let result = self.parts(body);
        self.views.pop();
        result
    }

    /// Returns the value of a name: the first word is looked up from the innermost view outwards, what
    /// follows a dot only inside of what was found.
    fn lookup(&self, name: &str) -> Option<&'a Value> {
        if name == "." {
            return self.views.last().copied();
        }
        let mut words = name.split('.');
        let first = words.next()?;
        let found = self.views.iter().rev().find_map(|view| view.get(first))?;
        words.try_fold(found, member)
    }

    fn missing(&self, name: Name<'_>) -> RenderError {
        let first = name.text.split('.').next().unwrap_or_default();
        let known = self.views.iter().rev().filter_map(|view| view.as_object());
        let known = known.flat_map(|object| object.keys().map(String::as_str));
        RenderError::Missing {
            variable: name.text.to_owned(),
            position: position_of(self.source, name.offset),
            suggestion: suggest::nearest(first, known.filter(|key| *key != first))
                .map(str::to_owned),
        }
    }
}

/// Returns what a value holds under a word: a key of an object, or a position in a list.
fn member<'a>(value: &'a Value, word: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(word),
        Value::Array(items) => items.get(word.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Tells whether a section over the value is printed: false are `null`, `false`, 0, and what is empty.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

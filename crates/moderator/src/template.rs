//! The templates of edges: mustache without partials and without HTML escaping. A variable without a value is an error.
//!
//! `parse` parses a template, and `text` prints a value. This module has the types, and fills templates in.

mod error;
mod parse;
mod text;

use std::fmt;

use serde_json::Value;
use uwf_util::suggest;

pub use error::{Failure, ParseError, ParseErrorKind, RenderError};
pub use parse::parse;
pub use text::text_of;

/// How deep sections may nest.
const MAX_DEPTH: usize = 64;

/// How long a result may be, in bytes.
const MAX_LENGTH: usize = 16 * 1024 * 1024;

/// How many parts may be printed for one result: nested sections over lists multiply.
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

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Parses a template and fills it in from one view.
///
/// # Errors
/// When the template is malformed, or names a variable that the view lacks.
pub fn render(source: &str, view: &Value) -> Result<String, Failure> {
    Ok(parse(source)?.render(&[view])?)
}

impl<'t> Template<'t> {
    /// Fills the template in. Names are looked up in the last view first, then in those before it.
    ///
    /// A variable must have a value; `null` prints nothing, lists and objects print as JSON. A section
    /// over a name without a value is skipped, which is how a template says "if present".
    ///
    /// # Errors
    /// When a variable has no value, or the result is too large.
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

    /// Returns all names, for checks: those of variables and sections, also inside of sections.
    pub(crate) fn names(&self) -> Vec<&'t str> {
        let mut names = Vec::new();
        let mut left: Vec<&Part<'t>> = self.parts.iter().collect();
        while let Some(part) = left.pop() {
            match part {
                Part::Text(_) => {}
                Part::Variable(name) | Part::Partial(name) => names.push(name.text),
                Part::Section { name, body, .. } => {
                    names.push(name.text);
                    left.extend(body);
                }
            }
        }
        names
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
            // A plain `true` is no view to look names up in, so `.` stays what it was.
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

    /// Returns the value of a name. The first word is looked up from the innermost view outwards; each word after a dot is
    /// looked up in the value before it.
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

/// Returns a member of a value: by the key of an object, or by the position in a list.
fn member<'a>(value: &'a Value, word: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(word),
        Value::Array(items) => items.get(word.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Tells whether a section over the value is printed: not for `null`, `false`, 0, an empty text or an empty list.
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

//! Reading a template: where its variables are, and what is wrong with them.

use std::fmt;

use super::Piece;
use super::reference::{Reference, StepField, in_quotes, values_of};

/// Why a variable cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// A `${` has no `}`.
    Unclosed,
    /// There is nothing between the braces.
    Empty,
    /// What is between the braces is not a name.
    Malformed(String),
    /// The name reads the environment.
    Env(String),
    /// The name begins with a word that no namespace has. The second text is the nearest one.
    Namespace(String, Option<&'static str>),
    /// The namespace has no such value. The second text is the nearest one.
    Field(String, Option<&'static str>),
    /// The value of a step has no parts.
    Part(String, StepField),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => f.write_str("`${` is never closed"),
            Self::Empty => f.write_str("`${}` names nothing"),
            Self::Malformed(name) => write!(f, "`${{{name}}}` is not a variable"),
            Self::Env(name) => {
                write!(
                    f,
                    "`${{{name}}}` reads the environment, which variables cannot"
                )
            }
            Self::Namespace(name, _) => write!(f, "`${{{name}}}` names nothing that there is"),
            Self::Field(name, _) | Self::Part(name, _) => {
                write!(f, "there is no value `${{{name}}}`")
            }
        }
    }
}

impl NameError {
    /// Returns what was probably meant, or how to write it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Malformed(name) | Self::Field(name, _) if in_quotes(name).is_some() => {
                let quoted = in_quotes(name).unwrap_or_default();
                format!("put a name with blanks or dots in quotes: `${{{quoted}}}`")
            }
            Self::Unclosed | Self::Empty | Self::Malformed(_) => {
                "write `$${` for a `${` that is no variable".to_owned()
            }
            Self::Env(_) => {
                "declare the variable under `secrets`; the program finds it in its environment"
                    .to_owned()
            }
            Self::Namespace(_, Some(near)) | Self::Field(_, Some(near)) => {
                format!("did you mean `{near}`?")
            }
            Self::Namespace(_, None) => {
                "variables begin with `run`, `loop`, `steps` or `context`".to_owned()
            }
            Self::Field(name, None) => values_of(name),
            Self::Part(name, field) => no_parts(name, *field),
        }
    }
}

/// Says how to get at a part of a value, or that it has none.
fn no_parts(name: &str, field: StepField) -> String {
    let how = match field {
        StepField::Output => "give the step `output_capture: json`".to_owned(),
        StepField::Lines => {
            "give the step `output_capture: json`, or let a loop go through `lines` with `items_from`".to_owned()
        }
        _ => {
            let end = format!(".{}.", field.name());
            let whole = name.rfind(&end).map_or(name, |at| &name[..at + end.len() - 1]);
            format!("write `${{{whole}}}`")
        }
    };
    format!("only `json` has parts: {how}")
}

/// Splits a text into its pieces.
///
/// # Errors
/// Everything that is wrong with its variables.
pub(super) fn pieces(source: &str) -> Result<Vec<Piece>, Vec<NameError>> {
    let mut pieces = Pieces::default();
    let mut rest = source;
    while let Some(dollar) = rest.find('$') {
        pieces.text.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(after) = after.strip_prefix('$') {
            pieces.text.push('$');
            rest = after;
        } else if let Some(inside) = after.strip_prefix('{') {
            let Some(end) = closing_brace(inside) else {
                pieces.errors.push(NameError::Unclosed);
                return Err(pieces.errors);
            };
            pieces.name(inside[..end].trim());
            rest = &inside[end + 1..];
        } else {
            pieces.text.push('$');
            rest = after;
        }
    }
    pieces.text.push_str(rest);
    pieces.finish()
}

#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
    /// The text since the last variable.
    text: String,
    errors: Vec<NameError>,
}

impl Pieces {
    fn name(&mut self, written: &str) {
        self.end_text();
        match Reference::parse(written) {
            Ok(reference) => self.list.push(Piece::Name {
                written: written.to_owned(),
                reference,
            }),
            Err(error) => self.errors.push(error),
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.list.push(Piece::Text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Result<Vec<Piece>, Vec<NameError>> {
        self.end_text();
        if self.errors.is_empty() {
            Ok(self.list)
        } else {
            Err(self.errors)
        }
    }
}

/// Returns where the brace is that closes a variable: the first one that is not in quotes.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut is_quoted = false;
    let found = inside.char_indices().find(|(_, c)| {
        is_quoted ^= *c == '"';
        *c == '}' && !is_quoted
    });
    // A quotation mark that is never closed is a mistake in the name, which ends at the first brace.
    found.map(|(at, _)| at).or_else(|| inside.find('}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        match pieces(source) {
            Ok(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Name { written, .. } => format!("<{written}>"),
                })
                .collect(),
            Err(errors) => format!("{errors:?}"),
        }
    }

    #[test]
    fn dollars_are_literal_unless_a_brace_or_a_dollar_follows() {
        let check = |source: &str, expected: &str| assert_eq!(shown(source), expected);
        check("$HOME $(cmd) $ x$", "$HOME $(cmd) $ x$");
        check("$$ $$$$", "$ $$");
        check("$${x} $$${context.a}", "${x} $<context.a>");
        check("a${item}b${ loop.index }", "a<item>b<loop.index>");
        check("${steps.\"a }b\".output}}", "<steps.\"a }b\".output>}");
        check("", "");
    }

    #[test]
    fn every_mistake_in_a_text_is_named() {
        let check = |source: &str, expected: &str| assert_eq!(shown(source), expected);
        check("a ${item", "[Unclosed]");
        check("${} ${ }", "[Empty, Empty]");
        check(
            "${env.HOME} ${x y}",
            r#"[Env("env.HOME"), Malformed("x y")]"#,
        );
        check("${steps.\"a.output}", r#"[Malformed("steps.\"a.output")]"#);
    }
}

//! The context of a run, from all its sources: that of the workflow, that of a file, and single values. Later ones win.

use std::fmt;

use serde_json::{Map, Value};

use crate::exact_json;

/// Says why a context cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextError {
    /// A single value is not `key=value`.
    NoPair(String),
    /// The file is no JSON.
    NotJson(String),
    /// The file is JSON, but no object.
    NoObject,
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPair(text) => write!(f, "`{text}` is not a key, `=` and a value"),
            Self::NotJson(why) => write!(f, "the context is not JSON: {why}"),
            Self::NoObject => f.write_str("the context is not one JSON object"),
        }
    }
}

impl std::error::Error for ContextError {}

/// Reads a single value: the text after the first `=` is a string.
///
/// # Errors
/// When there is no `=`, or nothing before it.
pub fn context_value(text: &str) -> Result<(String, String), ContextError> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(ContextError::NoPair(text.to_owned())),
    }
}

/// Reads the context of a file.
///
/// # Errors
/// When the text is not one JSON object.
pub fn context_file(text: &str) -> Result<Map<String, Value>, ContextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match exact_json(text) {
        Ok(Value::Object(context)) => Ok(context),
        Ok(_) => Err(ContextError::NoObject),
        Err(error) => Err(ContextError::NotJson(error.to_string())),
    }
}

/// Returns the context of a run.
#[must_use]
pub fn merged_context(
    workflow: &Map<String, Value>,
    file: Map<String, Value>,
    values: impl IntoIterator<Item = (String, String)>,
) -> Map<String, Value> {
    let mut context = workflow.clone();
    context.extend(file);
    let values = values.into_iter();
    context.extend(values.map(|(key, value)| (key, Value::String(value))));
    context
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn later_sources_win_and_keep_their_types() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let workflow = object(json!({"a": "wf", "b": 1, "o": {"x": [1.0]}}));
        let file = context_file("\u{feff} {\"a\": \"file\", \"c\": [true]}").unwrap();
        let values = ["a=cli=x", "d="].map(|text| context_value(text).unwrap());
        let merged = merged_context(&workflow, file, values);
        let expected = json!({"a": "cli=x", "b": 1, "o": {"x": [1.0]}, "c": [true], "d": ""});
        assert_eq!(json!(merged), expected);
    }

    #[test]
    fn what_is_no_context_is_refused() {
        for text in ["a", "=b", ""] {
            assert_eq!(
                context_value(text),
                Err(ContextError::NoPair(text.to_owned()))
            );
        }
        assert_eq!(context_file("[1]"), Err(ContextError::NoObject));
        assert!(matches!(context_file("{"), Err(ContextError::NotJson(_))));
        assert!(matches!(
            context_file("{} {}"),
            Err(ContextError::NotJson(_))
        ));
    }
}

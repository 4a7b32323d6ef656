//! The check of a schema before it is used. It is stricter than the schema of schemas.

use serde_json::Value;
use uwf_util::suggest::nearest;

use crate::Validator;
use crate::keywords::{KEYWORDS, MAX_DEPTH, TYPE_NAMES, ValueForm};
use crate::references::escaped;

/// Why a schema is not accepted, with the place.
///
/// Places are JSON pointers; the empty one is the schema itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Something else than an object where a schema must be.
    #[error("{} must be a schema, an object, and is {found}", place(at))]
    NotAnObject {
        /// Where it is.
        at: String,
        /// What is there, as in `a string`.
        found: &'static str,
    },
    /// A keyword that is not on the list.
    #[error("{} has the keyword `{keyword}`, which is not supported{}", place(at), appended(hint.as_deref()))]
    UnknownKeyword {
        /// The schema that has it.
        at: String,
        /// The keyword.
        keyword: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// A keyword with a value of another form than it must have.
    #[error("{} must be {expected}, and is {found}", place(at))]
    WrongForm {
        /// The value of the keyword.
        at: String,
        /// The keyword.
        keyword: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A type that does not exist.
    #[error("{} names the type `{name}`, which does not exist{}", place(at), appended(hint.as_deref()))]
    UnknownType {
        /// Where it is named.
        at: String,
        /// The name.
        name: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// All keywords are known, but the schema cannot be compiled, for example because of a broken pattern.
    #[error("{} cannot be used: {message}", place(at))]
    Unusable {
        /// Where the problem is.
        at: String,
        /// What it is.
        message: String,
    },
    /// The schema is nested too deep.
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl SchemaError {
    /// Returns the JSON pointer of the place in the schema; empty is the schema itself.
    #[must_use]
    pub fn pointer(&self) -> &str {
        match self {
            Self::NotAnObject { at, .. }
            | Self::UnknownKeyword { at, .. }
            | Self::WrongForm { at, .. }
            | Self::UnknownType { at, .. }
            | Self::Unusable { at, .. } => at,
            Self::TooDeep => "",
        }
    }
}

/// Checks that a schema is accepted and can be compiled.
///
/// # Errors
/// The first [`SchemaError`] found.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    if !is_within(schema, MAX_DEPTH) {
        return Err(SchemaError::TooDeep);
    }
    check_schema(schema, "")?;
    Validator::new(schema).map(drop)
}

/// Tells whether arrays and objects are nested no deeper than `levels`.
fn is_within(value: &Value, levels: usize) -> bool {
    let fits = |inner: &Value| is_within(inner, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(fits),
        Value::Object(members) => levels > 0 && members.values().all(fits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn check_schema(schema: &Value, at: &str) -> Result<(), SchemaError> {
    let Value::Object(members) = schema else {
        return Err(SchemaError::NotAnObject {
            at: at.to_owned(),
            found: kind_of(schema),
        });
    };
    for (key, value) in members {
        let Some((keyword, form)) = KEYWORDS.iter().find(|(keyword, _)| keyword == key) else {
            return Err(SchemaError::UnknownKeyword {
                at: at.to_owned(),
                keyword: key.clone(),
                hint: keyword_hint(key),
            });
        };
        check_form(keyword, *form, value, &child(at, key))?;
    }
    Ok(())
}

fn check_form(
    keyword: &'static str,
    form: ValueForm,
    value: &Value,
    at: &str,
) -> Result<(), SchemaError> {
    let wrong = |expected| SchemaError::WrongForm {
        at: at.to_owned(),
        keyword,
        expected,
        found: kind_of(value),
    };
    match (form, value) {
        (ValueForm::Any, _)
        | (ValueForm::Text, Value::String(_))
        | (ValueForm::Number, Value::Number(_))
        | (ValueForm::Boolean | ValueForm::BooleanOrSchema, Value::Bool(_))
        | (ValueForm::List, Value::Array(_)) => Ok(()),
        (ValueForm::Schema | ValueForm::BooleanOrSchema, _) => check_schema(value, at),
        (ValueForm::SchemaMap, Value::Object(schemas)) => schemas
            .iter()
            .try_for_each(|(key, schema)| check_schema(schema, &child(at, key))),
        (ValueForm::NonEmptySchemaList | ValueForm::NonEmptyList, Value::Array(items))
            if items.is_empty() =>
        {
            Err(wrong("a list that is not empty"))
        }
        (ValueForm::NonEmptyList, Value::Array(_)) => Ok(()),
        (ValueForm::NonEmptySchemaList | ValueForm::SchemaList, Value::Array(schemas)) => schemas
            .iter()
            .enumerate()
            .try_for_each(|(index, schema)| check_schema(schema, &format!("{at}/{index}"))),
        (ValueForm::Texts, Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
        (ValueForm::Type, Value::String(name)) => check_type(name, at),
        (ValueForm::Type, Value::Array(names)) if names.iter().all(Value::is_string) => names
            .iter()
            .filter_map(Value::as_str)
            .try_for_each(|name| check_type(name, at)),
        (ValueForm::Text, _) => Err(wrong("a text")),
        (ValueForm::Number, _) => Err(wrong("a number")),
        (ValueForm::Boolean, _) => Err(wrong("true or false")),
        (ValueForm::SchemaMap, _) => Err(wrong("an object of schemas")),
        (ValueForm::SchemaList | ValueForm::NonEmptySchemaList, _) => {
            Err(wrong("a list of schemas"))
        }
        (ValueForm::List | ValueForm::NonEmptyList, _) => Err(wrong("a list")),
        (ValueForm::Texts, _) => Err(wrong("a list of texts")),
        (ValueForm::Type, _) => Err(wrong("the name of a type or a list of them")),
    }
}

fn check_type(name: &str, at: &str) -> Result<(), SchemaError> {
    if TYPE_NAMES.contains(&name) {
        return Ok(());
    }
    Err(SchemaError::UnknownType {
        at: at.to_owned(),
        name: name.to_owned(),
        hint: did_you_mean(name, TYPE_NAMES),
    })
}

fn keyword_hint(keyword: &str) -> Option<String> {
    let instead = match keyword {
        "$ref" | "$defs" | "definitions" => "schemas cannot refer to others, write it out in place",
        "$schema" | "$id" => "leave it out",
        "nullable" => "add `null` to the list of types instead",
        _ => return did_you_mean(keyword, KEYWORDS.map(|(keyword, _)| keyword)),
    };
    Some(instead.to_owned())
}

fn did_you_mean<const N: usize>(word: &str, known: [&'static str; N]) -> Option<String> {
    nearest(word, known).map(|known| format!("did you mean `{known}`?"))
}

/// Returns the JSON pointer of a member.
fn child(at: &str, key: &str) -> String {
    format!("{at}/{}", escaped(key))
}

/// Returns what kind of value it is, with its article.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn place(at: &str) -> String {
    if at.is_empty() {
        return "the schema".to_owned();
    }
    format!("`{at}`")
}

fn appended(hint: Option<&str>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

//! Explains what is wrong with a value, so that a person or a model can correct it.
//!
//! Messages say what the value must be, and never repeat a long value.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;
use uwf_util::text::cut;

use crate::check::kind_of;
use crate::references::REF_FORMAT;

/// How many characters of a value a message shows.
const SHOWN: usize = 80;
/// How many errors are explained at most.
const MAX_ERRORS: usize = 50;
/// How many choices a message lists.
const LISTED: usize = 12;

/// One place where a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer of the place in the value; empty for the value itself.
    pub path: String,
    /// What is wrong there, as a sentence without a subject: "must be …", "lacks the key …".
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "`{}` {}", self.path, self.message)
    }
}

/// Returns what the errors of a validator mean, for the first fifty errors.
pub fn explain<'e>(errors: impl Iterator<Item = ValidationError<'e>>) -> Vec<Violation> {
    let errors = errors.take(MAX_ERRORS);
    errors.flat_map(|error| violations(&error)).collect()
}

/// Returns what one error of the validator means. An error of alternatives is explained by the errors in them.
fn violations(error: &ValidationError<'_>) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(path, context),
        Kind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|key| violation(path, format!("has the key `{key}`, which is not allowed")))
            .collect(),
        _ => vec![violation(path, message(error))],
    }
}

/// Explains a value that fits none of several alternatives.
fn alternatives(path: &str, context: &[Vec<ValidationError<'static>>]) -> Vec<Violation> {
    if let Some(choice) = choice(path, context) {
        return vec![choice];
    }
    // If the fixed values and the type of exactly one alternative agree, that one was meant.
    let mut meant = context
        .iter()
        .filter(|errors| distinction(path, errors).is_none());
    if let (Some(errors), None) = (meant.next(), meant.next()) {
        return errors.iter().flat_map(violations).collect();
    }
    let explained: Vec<Vec<Violation>> = context
        .iter()
        .map(|errors| errors.iter().flat_map(violations).collect())
        .collect();
    let common = common(&explained);
    if !common.is_empty() {
        return common;
    }
    let firsts = explained.iter().filter_map(|violations| violations.first());
    let listed: Vec<String> = firsts.take(LISTED).map(Violation::to_string).collect();
    let count = context.len();
    let message = format!(
        "fits none of {count} alternatives: {}",
        listed.join(", or ")
    );
    vec![violation(path, message)]
}

/// Returns a single violation if all alternatives are told apart by the same place, such as the value of a key.
fn choice(path: &str, context: &[Vec<ValidationError<'static>>]) -> Option<Violation> {
    let distinctions: Option<Vec<&ValidationError<'_>>> = context
        .iter()
        .map(|errors| distinction(path, errors))
        .collect();
    let distinctions = distinctions?;
    let first = distinctions.first()?;
    let place = first.instance_path().as_str();
    if distinctions
        .iter()
        .any(|other| other.instance_path().as_str() != place)
    {
        return None;
    }
    let mut expected: Vec<String> = distinctions
        .iter()
        .flat_map(|error| expected(error))
        .collect();
    expected.dedup();
    Some(violation(place, must_be(expected, first.instance())))
}

/// Returns the error that shows that this alternative was not meant.
fn distinction<'a>(
    path: &str,
    errors: &'a [ValidationError<'static>],
) -> Option<&'a ValidationError<'static>> {
    errors.iter().find(|error| match error.kind() {
        Kind::Constant { .. } | Kind::Enum { .. } => true,
        Kind::Type { .. } => error.instance_path().as_str() == path,
        _ => false,
    })
}

/// Returns the violations that occur in every list.
fn common(lists: &[Vec<Violation>]) -> Vec<Violation> {
    let Some((first, others)) = lists.split_first() else {
        return Vec::new();
    };
    let everywhere = |violation: &&Violation| others.iter().all(|list| list.contains(violation));
    first.iter().filter(everywhere).cloned().collect()
}

fn message(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } => {
            must_be(expected(error), error.instance())
        }
        Kind::Required { property } => {
            format!("lacks the key `{}`", property.as_str().unwrap_or_default())
        }
        Kind::Format { format } if format == REF_FORMAT => {
            "must be the hash of a node, 13 upper-case characters of Crockford Base32".to_owned()
        }
        Kind::Format { format } => format!("must have the format `{format}`"),
        Kind::Pattern { pattern } => format!("must match the pattern `{pattern}`"),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "cannot be compared with the pattern of the schema in reasonable time".to_owned()
        }
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::UniqueItems => "must not have an item twice".to_owned(),
        Kind::Contains => "lacks an item that fits `contains`".to_owned(),
        Kind::MinProperties { limit } => format!("must have at least {limit} keys"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} keys"),
        Kind::PropertyNames { error } => format!("has a key that {}", message(error)),
        Kind::Not { schema } => format!("must not fit {}", cut(&schema.to_string(), SHOWN)),
        Kind::OneOfMultipleValid { .. } => "fits more than one of the alternatives".to_owned(),
        _ => cut(&error.masked_with("the value").to_string(), SHOWN).into_owned(),
    }
}

/// Returns what the value may be, for an error about a type, a constant or a list of values.
fn expected(error: &ValidationError<'_>) -> Vec<String> {
    match error.kind() {
        Kind::Type {
            kind: TypeKind::Single(name),
        } => vec![type_name(*name).to_owned()],
        Kind::Type {
            kind: TypeKind::Multiple(names),
        } => names
            .iter()
            .map(|name| type_name(name).to_owned())
            .collect(),
        Kind::Constant { expected_value } => vec![shown(expected_value)],
        Kind::Enum { options } => options
            .as_array()
            .map(|options| options.iter().map(shown).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn must_be(mut expected: Vec<String>, found: &Value) -> String {
    let more = expected.len().saturating_sub(LISTED);
    expected.truncate(LISTED);
    if more > 0 {
        expected.push(format!("one of {more} others"));
    }
    let found = match found {
        Value::Array(_) | Value::Object(_) => kind_of(found).to_owned(),
        scalar => shown(scalar),
    };
    format!("must be {}, and is {found}", expected.join(" or "))
}

fn type_name(name: JsonType) -> &'static str {
    match name {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_string(), SHOWN).into_owned()
}

fn violation(path: &str, message: String) -> Violation {
    Violation {
        path: path.to_owned(),
        message,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Validator;

    fn check(schema: &serde_json::Value, value: &serde_json::Value, expected: &[&str]) {
        let validator = Validator::new(schema).unwrap();
        let violations = validator.validate(value).unwrap_err();
        let found: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn violations_say_where_and_what_must_be() {
        let schema = json!({
            "type": "object",
            "properties": { "a/b": { "type": "array", "items": { "type": "integer", "minimum": 3 } } },
            "required": ["a/b"],
            "additionalProperties": false,
        });
        check(&schema, &json!([]), &["must be an object, and is an array"]);
        check(&schema, &json!({}), &["lacks the key `a/b`"]);
        check(
            &schema,
            &json!({ "a/b": [4, "x"] }),
            &["`/a~1b/1` must be an integer, and is \"x\""],
        );
        check(
            &schema,
            &json!({ "a/b": [2] }),
            &["`/a~1b/0` must be at least 3"],
        );
        check(
            &schema,
            &json!({ "a/b": [], "c": 1, "d": 2 }),
            &[
                "has the key `c`, which is not allowed",
                "has the key `d`, which is not allowed",
            ],
        );
    }

    #[test]
    fn hashes_are_recognised_by_their_form() {
        let schema = json!({ "format": "ocas_ref" });
        let message = "must be the hash of a node, 13 upper-case characters of Crockford Base32";
        check(&schema, &json!("cts5p6rd8hmcs"), &[message]);
        assert!(
            Validator::new(&schema)
                .unwrap()
                .validate(&json!("CTS5P6RD8HMCS"))
                .is_ok()
        );
    }

    #[test]
    fn the_alternative_that_was_meant_is_explained() {
        let variant = |status: &str, key: &str| {
            json!({
                "properties": { "$status": { "const": status }, (key): { "type": "string" } },
                "required": ["$status", key],
            })
        };
        let schema = json!({
            "type": "object",
            "oneOf": [variant("approved", "summary"), variant("rejected", "reason")],
        });
        check(
            &schema,
            &json!({ "$status": "approved" }),
            &["lacks the key `summary`"],
        );
        check(
            &schema,
            &json!({ "$status": "rejected", "reason": 5 }),
            &["`/reason` must be a string, and is 5"],
        );
        check(
            &schema,
            &json!({ "$status": "maybe" }),
            &["`/$status` must be \"approved\" or \"rejected\", and is \"maybe\""],
        );
        check(&schema, &json!({}), &["lacks the key `$status`"]);
    }

    #[test]
    fn alternatives_of_type_are_listed() {
        let schema = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        check(&schema, &json!(5), &["must be a string or null, and is 5"]);
        let schema = json!({ "anyOf": [{ "minLength": 3 }, { "pattern": "^x" }] });
        check(
            &schema,
            &json!("ab"),
            &[
                "fits none of 2 alternatives: must have at least 3 characters, or must match the pattern `^x`",
            ],
        );
    }

    #[test]
    fn long_values_are_not_repeated() {
        let schema = json!({ "type": "integer" });
        let violations = Validator::new(&schema)
            .unwrap()
            .validate(&json!("x".repeat(1_000_000)))
            .unwrap_err();
        assert!(violations[0].message.len() < 200, "{}", violations[0]);
    }
}

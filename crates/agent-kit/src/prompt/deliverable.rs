//! The first section of a prompt: an example of the answer that the role's schema asks for.
//!
//! The example has stand-ins, such as `<string>` in place of a value and [`REPORT`] in place of the report.
//! [`crate::extract`] refuses an answer that repeats one of them.

use std::fmt::Write as _;

use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_schema::{Field, REF_FORMAT, Schema, fields, items, parts, values, variants};

/// How many levels of nested objects the example shows. Deeper ones are shown as `<object>`.
const DEPTH: usize = 4;

/// The stand-in for the report.
pub(crate) const REPORT: &str = "<your report in Markdown>";

/// Returns the section for a role's schema. It ends with a line feed.
#[must_use]
pub fn deliverable(schema: &Value) -> String {
    let mut text = String::from(
        "## Deliverable\n\n\
         Begin your answer with a YAML block between two lines that are exactly `---`. \
         Write your report in Markdown after it.\n",
    );
    let schema = Schema::new(schema);
    match variants(schema, STATUS_FIELD) {
        Some((discriminant, variants)) => {
            text.push_str("Use exactly one of the following forms, depending on the outcome.\n");
            for variant in &variants {
                let _ = write!(text, "\n### `{discriminant}: {}`\n\n", plain(variant.value));
                push_form(&mut text, &variant.fields);
            }
        }
        None => {
            text.push('\n');
            push_form(&mut text, &fields(&[schema], STATUS_FIELD));
        }
    }
    text.push_str(CLOSING);
    text
}

/// Returns the stand-ins for values in the examples of a schema.
pub(crate) fn stand_ins(schema: &Value) -> Vec<String> {
    let schema = Schema::new(schema);
    let forms = match variants(schema, STATUS_FIELD) {
        Some((_, variants)) => variants.into_iter().map(|variant| variant.fields).collect(),
        None => vec![fields(&[schema], STATUS_FIELD)],
    };
    let mut found = Vec::new();
    for field in forms.iter().flatten() {
        Example::of_field(field).collect_stand_ins(&mut found, 0);
    }
    found
}

const CLOSING: &str = "\n\
    Give these fields and no others.\n\
    Write valid YAML: quote a text that contains `: ` or ` #`, and write a text of several lines as a `|` block.\n\
    If you need a decision by a person, answer with `$status: $SUSPEND` and a `reason` that asks your question.\n\n\
    Do only the work of your own role. Other roles continue from there.\n";

fn push_form(text: &mut String, fields: &[Field<'_>]) {
    text.push_str("```\n---\n");
    for field in fields {
        push_example(text, field, 0);
    }
    let _ = write!(text, "---\n\n{REPORT}\n```\n\n");
    if fields.is_empty() {
        text.push_str("Any fields are allowed in the block.\n");
        return;
    }
    text.push_str("Fields:\n");
    for field in fields {
        push_entry(text, field);
    }
}

/// Adds the lines of one field to the example.
fn push_example(text: &mut String, field: &Field<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    let example = Example::of_field(field);
    let comment = if field.required { "  # required" } else { "" };
    let _ = match &example {
        Example::List(of) => {
            let item = Example::of(of);
            match item.nested(depth) {
                Some(nested) => {
                    let _ = writeln!(text, "{indent}{}:{comment}\n{indent}  -", field.name);
                    nested
                        .iter()
                        .for_each(|field| push_example(text, field, depth + 2));
                    return;
                }
                None => writeln!(
                    text,
                    "{indent}{}:{comment}\n{indent}  - {}",
                    field.name,
                    item.placeholder()
                ),
            }
        }
        _ => match example.nested(depth) {
            Some(nested) => {
                let _ = writeln!(text, "{indent}{}:{comment}", field.name);
                nested
                    .iter()
                    .for_each(|field| push_example(text, field, depth + 1));
                return;
            }
            None => writeln!(
                text,
                "{indent}{}: {}{comment}",
                field.name,
                example.placeholder()
            ),
        },
    };
}

/// Adds the list item of one field: its name, whether it is required, and what the schema says about it.
fn push_entry(text: &mut String, field: &Field<'_>) {
    let _ = write!(text, "  - `{}`", field.name);
    if field.required {
        text.push_str(" (required)");
    }
    let mut notes: Vec<String> = Vec::new();
    for part in parts(&field.schemas) {
        for note in limits(part).into_iter().chain(description(part)) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, ": {}", notes.join("; "));
    }
    text.push('\n');
}

fn description(schema: Schema<'_>) -> Option<String> {
    Some(schema.text("description")?.trim().replace('\n', " "))
}

/// Describes the limits of length, range and pattern in a schema.
fn limits(schema: Schema<'_>) -> Vec<String> {
    const LIMITS: [(&str, &str); 7] = [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "characters at least"),
        ("maxLength", "characters at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("pattern", "matches"),
    ];
    let limit = |(key, words): &(&str, &str)| {
        let value = schema.get(key)?;
        Some(match value.as_str() {
            Some(text) => format!("{words} `{text}`"),
            None => format!("{words} {value}"),
        })
    };
    LIMITS.iter().filter_map(limit).collect()
}

/// What the example shows for a field.
enum Example<'a> {
    /// The one value that is allowed.
    Fixed(&'a Value),
    /// One of several values.
    Choice(Vec<&'a Value>),
    Bool,
    /// A stand-in such as `<string>`.
    Named(&'static str),
    List(Vec<Schema<'a>>),
    Object(Vec<Field<'a>>),
}

impl<'a> Example<'a> {
    fn of_field(field: &Field<'a>) -> Self {
        match field.fixed {
            Some(value) => Self::Fixed(value),
            None => Self::of(&field.schemas),
        }
    }

    /// Chooses the most specific part of the schemas. `null` beside another type is ignored.
    fn of(schemas: &[Schema<'a>]) -> Self {
        let parts = parts(schemas);
        let values = values(&parts);
        match values[..] {
            [] => {}
            [value] => return Self::Fixed(value),
            _ => return Self::Choice(values),
        }
        let found = parts.iter().find_map(|part| kind(*part));
        match found.unwrap_or("value") {
            "boolean" => Self::Bool,
            "array" => Self::List(items(&parts)),
            "object" => Self::Object(fields(schemas, STATUS_FIELD)),
            "number" | "integer" => Self::Named("<number>"),
            "hash" => Self::Named("<hash>"),
            "string" => Self::Named("<string>"),
            _ => Self::Named("<value>"),
        }
    }

    /// Returns what the example shows on one line: the only allowed value, or a stand-in.
    fn placeholder(&self) -> String {
        match self {
            Self::Fixed(value) => plain(value),
            Self::Choice(values) => {
                let values: Vec<String> = values.iter().copied().map(plain).collect();
                format!("<{}>", values.join(" | "))
            }
            Self::Bool => "<true | false>".to_owned(),
            Self::Named(name) => (*name).to_owned(),
            Self::List(_) => "<list>".to_owned(),
            Self::Object(_) => "<object>".to_owned(),
        }
    }

    /// Adds the stand-ins for this value and for the values in it.
    fn collect_stand_ins(&self, found: &mut Vec<String>, depth: usize) {
        if !matches!(self, Self::Fixed(_)) {
            found.push(self.placeholder());
        }
        match self {
            Self::List(of) if depth < DEPTH => Self::of(of).collect_stand_ins(found, depth + 1),
            Self::Object(fields) if depth < DEPTH => {
                let examples = fields.iter().map(Self::of_field);
                examples.for_each(|example| example.collect_stand_ins(found, depth + 1));
            }
            _ => {}
        }
    }

    /// Returns the fields of an object that the example shows field by field.
    fn nested(&self, depth: usize) -> Option<&[Field<'a>]> {
        match self {
            Self::Object(fields) if !fields.is_empty() && depth < DEPTH => Some(fields),
            _ => None,
        }
    }
}

/// Returns the one type that a schema names beside `null`, or `value` for several.
fn kind(schema: Schema<'_>) -> Option<&str> {
    if schema.text("format") == Some(REF_FORMAT) {
        return Some("hash");
    }
    let names = schema.types().unwrap_or_default();
    let mut others = names.iter().copied().filter(|name| *name != "null");
    match (others.next(), others.next()) {
        (Some(one), None) => Some(one),
        (Some(_), Some(_)) => Some("value"),
        (None, _) => schema.get("properties").map(|_| "object"),
    }
}

/// Returns a value as YAML on one line, quoted only where it must be.
fn plain(value: &Value) -> String {
    let Some(text) = value.as_str() else {
        return value.to_string();
    };
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '/' | '.' | ' ');
    let starts_well = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
    let word = text.to_ascii_lowercase();
    let is_word_of_yaml = matches!(
        word.as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off"
    );
    if starts_well && text.chars().all(is_safe) && text == text.trim() && !is_word_of_yaml {
        text.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without `&`"
)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the lines between the fences of the first example.
    fn example(schema: Value) -> String {
        let text = deliverable(&schema);
        text.split("---\n").nth(1).unwrap().to_owned()
    }

    #[test]
    fn a_flat_schema_is_shown_with_its_types() {
        let schema = json!({
            "properties": {
                "n": { "type": "integer", "minimum": 1 },
                "b": { "type": "boolean" },
                "plan": { "type": "string", "description": "The plan." },
                "$status": { "enum": ["ok", "bad"] },
                "kind": { "const": "fix" },
                "answer": { "const": "yes" },
                "ref": { "type": "string", "format": "ocas_ref" },
                "note": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
                "files": { "type": "array", "items": { "type": "string" } },
                "tests": { "items": { "properties": { "name": { "type": "string" } } }, "type": "array" },
                "meta": { "type": "object", "properties": { "size": { "type": "number" } }, "required": ["size"] },
                "any": {},
            },
            "required": ["$status", "plan"],
        });
        assert_eq!(
            example(schema),
            "\
$status: <ok | bad>  # required
n: <number>
b: <true | false>
plan: <string>  # required
kind: fix
answer: \"yes\"
ref: <hash>
note: <string>
files:
  - <string>
tests:
  -
    name: <string>
meta:
  size: <number>  # required
any: <value>
"
        );
    }

    #[test]
    fn a_field_is_listed_with_what_is_asked_of_it() {
        let text = deliverable(&json!({
            "properties": { "n": { "type": "integer", "minimum": 1 }, "plan": { "description": "The\nplan." } },
            "required": ["plan"],
        }));
        assert!(
            text.contains("\n  - `n`: at least 1\n  - `plan` (required): The plan.\n"),
            "{text}"
        );
    }

    #[test]
    fn variants_are_shown_one_by_one_with_their_literal_value() {
        let text = deliverable(&json!({ "oneOf": [
            { "properties": { "branch": { "type": "string" }, "$status": { "const": "done" } },
              "required": ["$status", "branch"] },
            { "properties": { "$status": { "const": "failed" }, "reason": { "type": "string" } } },
        ] }));
        let done = "### `$status: done`\n\n```\n---\n$status: done  # required\nbranch: <string>  # required\n---\n";
        assert!(text.contains(done), "{text}");
        assert!(
            text.contains(
                "### `$status: failed`\n\n```\n---\n$status: failed\nreason: <string>\n---\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_variant_shows_its_own_value_and_what_the_schema_says_of_all() {
        let text = deliverable(&json!({
            "properties": { "$status": { "enum": ["done", "failed"], "description": "How it went." } },
            "allOf": [{ "properties": { "note": { "type": "string" } }, "required": ["note"] }],
            "oneOf": [
                { "properties": { "$status": { "const": "done" } }, "required": ["$status"] },
                { "properties": { "$status": { "const": "failed" } }, "required": ["$status"] },
            ],
        }));
        for status in ["done", "failed"] {
            let shown =
                format!("---\n$status: {status}  # required\nnote: <string>  # required\n---\n");
            assert!(text.contains(&shown), "{text}");
        }
        assert!(
            text.contains("`$status` (required): How it went."),
            "{text}"
        );
    }

    #[test]
    fn a_schema_without_fields_is_shown_as_an_empty_block() {
        let text = deliverable(&json!({ "type": "object" }));
        assert!(
            text.contains("```\n---\n---\n\n<your report in Markdown>\n```\n"),
            "{text}"
        );
        assert!(text.contains("Any fields"), "{text}");
    }
}

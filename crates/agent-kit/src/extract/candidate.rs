//! Converts the fields of a front matter block to the types that a role's schema asks for.
//!
//! A scalar is converted only if its text has one reading that the schema allows. The validator then checks the result.

use serde_json::{Map, Number, Value};
use uwf_protocol::answer::STATUS_FIELD;
use uwf_schema::{Field, Members, Schema, fields, item, parts};

use super::yaml::{Yaml, is_exact};

/// The data of an answer, and the names of the fields that the schema does not know.
pub(super) struct Candidate {
    pub(super) output: Value,
    pub(super) unknown: Vec<String>,
}

/// Picks the fields that the schema knows and converts them. All fields are picked if the schema names none, or
/// describes additional ones.
pub(super) fn pick(block: Vec<(String, Yaml)>, schema: &Value) -> Candidate {
    let known = Known::by(schema);
    let mut coercion = Coercion::default();
    let mut output = Map::new();
    let mut unknown = Vec::new();
    for (name, node) in block {
        if known.takes(&name) {
            let value = coercion.member(node, &known.parts, &name);
            output.insert(name, value);
        } else {
            unknown.push(name);
        }
    }
    Candidate {
        output: Value::Object(output),
        unknown,
    }
}

/// Drops the fields that [`pick`] would drop.
pub(super) fn drop_unknown(output: &mut Value, schema: &Value) {
    let known = Known::by(schema);
    if let Value::Object(map) = output {
        map.retain(|name, _| known.takes(name));
    }
}

/// Which fields a schema knows.
struct Known<'s> {
    parts: Vec<Schema<'s>>,
    fields: Vec<Field<'s>>,
    takes_all: bool,
}

impl<'s> Known<'s> {
    fn by(schema: &'s Value) -> Self {
        let parts = parts(&[Schema::new(schema)]);
        let fields = fields(&[Schema::new(schema)], STATUS_FIELD);
        Self {
            takes_all: fields.is_empty() || parts.iter().any(says_what_others_may_be),
            parts,
            fields,
        }
    }

    fn takes(&self, name: &str) -> bool {
        self.takes_all || self.fields.iter().any(|field| field.name == name)
    }
}

fn says_what_others_may_be(part: &Schema<'_>) -> bool {
    let others = part.get("additionalProperties");
    others.is_some_and(|others| *others != Value::Bool(false))
        || part.get("patternProperties").is_some()
}

/// Converts values to the types of their schemas.
#[derive(Default)]
struct Coercion {
    members: Members,
}

impl Coercion {
    fn value(&mut self, node: Yaml, schemas: &[Schema<'_>]) -> Value {
        let parts = parts(schemas);
        match node {
            Yaml::Scalar { value, text } => scalar(value, text, Wanted::by(&parts)),
            Yaml::List(list) => {
                let list = list.into_iter().enumerate();
                list.map(|(index, node)| self.value(node, &item(&parts, index)))
                    .collect()
            }
            Yaml::Map(nested) => {
                let nested = nested.into_iter().map(|(name, node)| {
                    let value = self.member(node, &parts, &name);
                    (name, value)
                });
                Value::Object(nested.collect())
            }
        }
    }

    fn member(&mut self, node: Yaml, parts: &[Schema<'_>], name: &str) -> Value {
        let schemas = self.members.of(parts, name);
        self.value(node, &schemas)
    }
}

/// Which kinds of scalars the schemas of a field allow.
#[derive(Clone, Copy, Default)]
struct Wanted {
    string: bool,
    number: bool,
    bool: bool,
}

impl Wanted {
    fn by(parts: &[Schema<'_>]) -> Self {
        let mut wanted = Self::default();
        for part in parts {
            match part.types() {
                Some(names) => names.into_iter().for_each(|name| wanted.add_type(name)),
                None => {
                    let values = part.values().into_iter().flatten();
                    values.for_each(|value| wanted.add_kind_of(value));
                }
            }
        }
        wanted
    }

    fn add_type(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "number" | "integer" => self.number = true,
            "boolean" => self.bool = true,
            _ => {}
        }
    }

    fn add_kind_of(&mut self, value: &Value) {
        self.string |= value.is_string();
        self.number |= value.is_number();
        self.bool |= value.is_boolean();
    }
}

/// Returns the value as YAML reads it if the schema allows its kind or says nothing; else the only other reading that
/// the schema allows.
fn scalar(value: Value, text: String, wanted: Wanted) -> Value {
    match value {
        Value::Bool(_) if wanted.string && !wanted.bool => Value::String(text),
        Value::Number(_) if wanted.string && !wanted.number => Value::String(text),
        // Where no number is wanted, digits stay text if a number would lose some of them.
        Value::Number(number) if !wanted.number && !is_exact(&number) => Value::String(text),
        Value::String(_) if !wanted.string => from_text(text, wanted),
        value => value,
    }
}

/// Returns the integers in a value that a node cannot store exactly: numbers of nodes are doubles.
pub(super) fn inexact(value: &Value) -> Vec<&Number> {
    match value {
        Value::Number(number) if !is_exact(number) => vec![number],
        Value::Array(items) => items.iter().flat_map(inexact).collect(),
        Value::Object(fields) => fields.values().flat_map(inexact).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Converts a text where the schema allows no text.
fn from_text(text: String, wanted: Wanted) -> Value {
    let trimmed = text.trim();
    match trimmed {
        "true" if wanted.bool => return Value::Bool(true),
        "false" if wanted.bool => return Value::Bool(false),
        _ => {}
    }
    if wanted.number
        && let Some(number) = decimal(trimmed)
    {
        return Value::Number(number);
    }
    Value::String(text)
}

/// Reads a decimal number as people write it, with or without leading zeros.
fn decimal(text: &str) -> Option<Number> {
    if !text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    let integer = text.parse::<i64>().ok().map(Number::from);
    integer.or_else(|| Number::from_f64(text.parse().ok()?))
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without `&`"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(block: &str, schema: Value, output: Value) {
        let Yaml::Map(fields) = Yaml::parse(block, 0).unwrap() else {
            panic!("{block}")
        };
        assert_eq!(pick(fields, &schema).output, output, "{block} for {schema}");
    }

    fn one(schema: Value) -> Value {
        json!({ "properties": { "a": schema } })
    }

    #[test]
    fn a_string_stays_what_was_written() {
        let check = |text: &str| {
            check(
                &format!("a: {text}\n"),
                one(json!({ "type": "string" })),
                json!({ "a": text }),
            );
        };
        check("0123456789012");
        check("12E4567890123");
        check("1.50");
        check("true");
        check(".nan");
        check("2026-06-03");
    }

    #[test]
    fn text_becomes_a_number_or_a_truth_value_where_nothing_else_fits() {
        check(
            "a: '5'\n",
            one(json!({ "type": "integer" })),
            json!({ "a": 5 }),
        );
        check(
            "a: 017\n",
            one(json!({ "type": "number" })),
            json!({ "a": 17 }),
        );
        check(
            "a: 'true'\n",
            one(json!({ "type": "boolean" })),
            json!({ "a": true }),
        );
        check(
            "a: yes\n",
            one(json!({ "type": "boolean" })),
            json!({ "a": "yes" }),
        );
        check(
            "a: five\n",
            one(json!({ "type": "number" })),
            json!({ "a": "five" }),
        );
    }

    #[test]
    fn a_value_that_the_schema_allows_is_not_converted() {
        check(
            "a: 5\n",
            one(json!({ "type": ["string", "number"] })),
            json!({ "a": 5 }),
        );
        check(
            "a: '5'\n",
            one(json!({ "type": ["string", "number"] })),
            json!({ "a": "5" }),
        );
        check("a: 5\n", one(json!({})), json!({ "a": 5 }));
        check(
            "a:\n",
            one(json!({ "type": "string" })),
            json!({ "a": null }),
        );
    }

    #[test]
    fn constants_lists_nested_fields_and_variants_say_what_they_want() {
        check("a: 5\n", one(json!({ "const": "5" })), json!({ "a": "5" }));
        check(
            "a: 5\n",
            one(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })),
            json!({ "a": "5" }),
        );
        check(
            "a: [1, x]\n",
            one(json!({ "items": { "type": "string" } })),
            json!({ "a": ["1", "x"] }),
        );
        check(
            "a: { b: 1, c: 2 }\n",
            one(json!({ "properties": { "b": { "type": "string" } } })),
            json!({ "a": { "b": "1", "c": 2 } }),
        );
        check(
            "a: 5\n",
            json!({ "oneOf": [one(json!({ "type": "string" })), {}] }),
            json!({ "a": "5" }),
        );
    }

    #[test]
    fn unknown_fields_are_dropped_unless_the_schema_is_open() {
        check("a: 1\nb: 2\n", one(json!({})), json!({ "a": 1 }));
        check(
            "a: 1\nb: 2\n",
            json!({ "type": "object" }),
            json!({ "a": 1, "b": 2 }),
        );
        let open = json!({ "properties": { "a": {} }, "additionalProperties": true });
        check("a: 1\nb: 2\n", open, json!({ "a": 1, "b": 2 }));
    }

    #[test]
    fn other_fields_become_what_the_schema_wants_of_them() {
        let open = json!({
            "properties": { "a": {} },
            "patternProperties": { "^n": { "type": "integer" } },
            "additionalProperties": { "type": "string" },
        });
        check(
            "a: 1\nn1: '2'\ncommit: 0123456789012\n",
            open,
            json!({ "a": 1, "n1": 2, "commit": "0123456789012" }),
        );
    }
}

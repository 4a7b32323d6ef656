//! Finds the references in a value: the places whose schema has the format `ocas_ref`.

use serde_json::Value;
use uwf_util::base32;

use crate::walk::{Members, Schema, item, parts_and_tests};

/// The format of a string that is the hash of a node.
pub const REF_FORMAT: &str = "ocas_ref";

/// Tells whether a text has the form of a hash: 13 upper-case digits of Crockford Base32.
#[must_use]
pub fn is_hash(text: &str) -> bool {
    text.len() == base32::U64_DIGITS && text.bytes().all(base32::is_digit)
}

/// A hash in a value, at a place that the schema has for references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'v> {
    /// The JSON pointer of the place.
    pub place: String,
    /// The hash: see [`is_hash`].
    pub hash: &'v str,
}

/// Returns the references in a value, in order of appearance.
///
/// A place is a reference if it holds a hash, and any part of the schema that may apply to it has the format. It is not
/// decided which alternative or condition applies.
#[must_use]
pub fn references<'v>(schema: &Value, value: &'v Value) -> Vec<Reference<'v>> {
    let mut collector = Collector::default();
    collector.visit(&[Schema::new(schema)], value);
    collector.found
}

#[derive(Default)]
struct Collector<'v> {
    found: Vec<Reference<'v>>,
    place: String,
    members: Members,
}

impl<'v> Collector<'v> {
    /// Visits a value and the values in it, with the schemas that describe the value.
    fn visit(&mut self, schemas: &[Schema<'_>], value: &'v Value) {
        if schemas.is_empty() {
            return;
        }
        let parts = parts_and_tests(schemas);
        match value {
            Value::String(text) => {
                let is_ref = |part: &Schema<'_>| part.text("format") == Some(REF_FORMAT);
                if is_hash(text) && parts.iter().any(is_ref) {
                    self.found.push(Reference {
                        place: self.place.clone(),
                        hash: text,
                    });
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    let mut schemas = item(&parts, index);
                    schemas.extend(parts.iter().filter_map(|part| part.schema("contains")));
                    self.descend(&index.to_string(), &schemas, value);
                }
            }
            Value::Object(object) => {
                for (name, member) in object {
                    let schemas = self.members.of(&parts, name);
                    self.descend(&escaped(name), &schemas, member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn descend(&mut self, word: &str, schemas: &[Schema<'_>], value: &'v Value) {
        let outer = self.place.len();
        self.place.push('/');
        self.place.push_str(word);
        self.visit(schemas, value);
        self.place.truncate(outer);
    }
}

/// Returns a word of a JSON pointer.
pub(crate) fn escaped(word: &str) -> String {
    word.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: &str = "7VQ43ZSJTEWA7";
    const B: &str = "BEAZQGKVXMZT8";
    const C: &str = "B26JM4PBHPAFK";

    fn check(schema: &Value, payload: &Value, expected: &[&str]) {
        let found = references(schema, payload);
        for one in &found {
            assert_eq!(payload.pointer(&one.place).unwrap(), one.hash);
        }
        let found: Vec<&str> = found.iter().map(|one| one.hash).collect();
        assert_eq!(found, expected, "{schema}");
    }

    fn reference() -> Value {
        json!({ "type": "string", "format": "ocas_ref" })
    }

    #[test]
    fn references_are_found_under_every_keyword() {
        let object = json!({ "k": A });
        check(&reference(), &json!(A), &[A]);
        check(
            &json!({ "properties": { "k": reference() } }),
            &object,
            &[A],
        );
        check(
            &json!({ "additionalProperties": reference() }),
            &object,
            &[A],
        );
        check(
            &json!({ "patternProperties": { "^k$": reference() } }),
            &object,
            &[A],
        );
        check(&json!({ "items": reference() }), &json!([A, B]), &[A, B]);
        check(&json!({ "contains": reference() }), &json!([A]), &[A]);
        check(
            &json!({ "prefixItems": [{}, reference()] }),
            &json!([A, B, C]),
            &[B],
        );
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let schema = json!({ (keyword): [{ "type": "null" }, reference()] });
            check(&schema, &json!(A), &[A]);
        }
        for keyword in ["if", "then", "else", "not"] {
            check(&json!({ (keyword): reference() }), &json!(A), &[A]);
        }
    }

    #[test]
    fn other_places_hold_no_references() {
        let object = json!({ "k": A });
        check(&json!({}), &object, &[]);
        check(&json!({ "type": "string" }), &json!(A), &[]);
        check(&reference(), &json!("not a hash"), &[]);
        check(
            &json!({ "patternProperties": { "^x": reference() } }),
            &object,
            &[],
        );
        let schema = json!({ "properties": { "k": {} }, "additionalProperties": reference() });
        check(&schema, &object, &[]);
    }

    #[test]
    fn references_come_in_order_of_appearance() {
        let schema = json!({
            "properties": { "a": reference(), "b": { "items": reference() } },
            "additionalProperties": { "anyOf": [reference(), { "type": "null" }] },
        });
        let payload = json!({ "z/~": C, "b": [B, C, B], "a": A, "n": null });
        check(&schema, &payload, &[C, B, C, B, A]);
    }

    #[test]
    fn references_are_found_behind_a_ref_of_the_schema() {
        let schema = json!({
            "definitions": { "node": reference() },
            "properties": { "k": { "$ref": "#/definitions/node" }, "inner": { "$ref": "#" } },
        });
        let payload = json!({ "k": A, "inner": { "k": B, "inner": { "k": C } } });
        check(&schema, &payload, &[A, B, C]);
    }

    #[test]
    fn only_upper_case_crockford_is_a_hash() {
        let check = |text: &str, ok: bool| assert_eq!(is_hash(text), ok, "{text}");
        check("ZZZZZZZZZZZZZ", true);
        check("cts5p6rd8hmcs", false);
        check("CTS5P6RD8HMC", false);
        check("CTS5P6RD8HMCU", false);
        check("", false);
    }
}

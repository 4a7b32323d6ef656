//! Where the references of a payload are: at the places whose schema has the format `ocas_ref`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use uwf_protocol::ids::CasRef;

use super::{REF_FORMAT, Validator};

/// Returns the references in a payload, in order of appearance, each once.
///
/// Alternatives and conditions are not decided: a place is a reference if any part of the schema that may
/// speak of it says so, and if it holds a hash.
#[must_use]
pub fn refs_in(schema: &Value, payload: &Value) -> Vec<CasRef> {
    let mut collector = Collector::default();
    collector.visit(&[schema], payload);
    collector.found
}

#[derive(Default)]
struct Collector {
    found: Vec<CasRef>,
    seen: HashSet<CasRef>,
    /// The compiled patterns of `patternProperties`; `None` for one that cannot be used.
    patterns: HashMap<String, Option<Validator>>,
}

impl Collector {
    /// Visits a value of which all these schemas speak.
    fn visit(&mut self, schemas: &[&Value], value: &Value) {
        let mut parts = Vec::new();
        for schema in schemas {
            flatten(schema, &mut parts);
        }
        match value {
            Value::String(text) => {
                let is_ref = |part: &&Map<String, Value>| {
                    part.get("format").and_then(Value::as_str) == Some(REF_FORMAT)
                };
                if parts.iter().any(is_ref) {
                    self.add(text);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let schemas: Vec<&Value> =
                        parts.iter().flat_map(|part| of_item(part, index)).collect();
                    self.descend(&schemas, item);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let mut schemas = Vec::new();
                    for part in &parts {
                        self.of_member(part, key, &mut schemas);
                    }
                    self.descend(&schemas, member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn descend(&mut self, schemas: &[&Value], value: &Value) {
        if !schemas.is_empty() {
            self.visit(schemas, value);
        }
    }

    fn add(&mut self, text: &str) {
        if let Ok(hash) = text.parse()
            && self.seen.insert(hash)
        {
            self.found.push(hash);
        }
    }

    /// Adds the schemas that speak of a member of an object.
    fn of_member<'a>(
        &mut self,
        part: &'a Map<String, Value>,
        key: &str,
        schemas: &mut Vec<&'a Value>,
    ) {
        let before = schemas.len();
        schemas.extend(part.get("properties").and_then(|schemas| schemas.get(key)));
        if let Some(Value::Object(patterns)) = part.get("patternProperties") {
            for (pattern, schema) in patterns {
                if self.matches(pattern, key) {
                    schemas.push(schema);
                }
            }
        }
        if schemas.len() == before {
            schemas.extend(part.get("additionalProperties"));
        }
    }

    /// Tells whether a key matches a pattern, as the validator understands patterns.
    fn matches(&mut self, pattern: &str, key: &str) -> bool {
        let compile = || Validator::new(&serde_json::json!({ "pattern": pattern })).ok();
        let validator = self
            .patterns
            .entry(pattern.to_owned())
            .or_insert_with(compile);
        validator
            .as_ref()
            .is_some_and(|validator| validator.validate(&Value::from(key)).is_ok())
    }
}

/// Adds the schema and all those that speak of the same value as it does.
fn flatten<'a>(schema: &'a Value, parts: &mut Vec<&'a Map<String, Value>>) {
    let Value::Object(part) = schema else {
        return;
    };
    parts.push(part);
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let alternatives = part.get(keyword).and_then(Value::as_array);
        for schema in alternatives.into_iter().flatten() {
            flatten(schema, parts);
        }
    }
    for keyword in ["if", "then", "else", "not"] {
        if let Some(schema) = part.get(keyword) {
            flatten(schema, parts);
        }
    }
}

/// Returns the schemas that speak of an item of an array.
fn of_item(part: &Map<String, Value>, index: usize) -> impl Iterator<Item = &Value> {
    let own = part
        .get("prefixItems")
        .and_then(|schemas| schemas.get(index));
    own.into_iter()
        .chain(part.get("items"))
        .chain(part.get("contains"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: &str = "7VQ43ZSJTEWA7";
    const B: &str = "BEAZQGKVXMZT8";
    const C: &str = "B26JM4PBHPAFK";

    fn check(schema: &Value, payload: &Value, expected: &[&str]) {
        let found = refs_in(schema, payload);
        let found: Vec<&str> = found.iter().map(CasRef::as_str).collect();
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
    fn references_come_in_order_of_appearance_and_once() {
        let schema = json!({
            "properties": { "a": reference(), "b": { "items": reference() } },
            "additionalProperties": { "anyOf": [reference(), { "type": "null" }] },
        });
        let payload = json!({ "z": C, "b": [B, C, B], "a": A, "n": null });
        check(&schema, &payload, &[C, B, A]);
    }
}

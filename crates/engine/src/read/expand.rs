//! A node with what it refers to in the place of the references.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;
use uwf_cas_fs::{Node, Store, StoreError};
use uwf_protocol::ids::CasRef;

/// How deep references are followed. Deeper ones stay hashes.
const MAX_DEPTH: usize = 32;
/// How many references are followed in all, because few nodes can refer to each other in very many ways.
const MAX_NODES: usize = 20_000;

/// Returns the payload with every reference that its schema names replaced by the payload of the node, and
/// so on down. What is not in the store, or lies too deep, stays a hash.
pub(crate) fn expand(store: &Store, node: Node) -> Result<Value, StoreError> {
    let mut expansion = Expansion {
        store,
        schemas: HashMap::new(),
        left: MAX_NODES,
    };
    expansion.node(node, 0)
}

struct Expansion<'a> {
    store: &'a Store,
    /// The schemas that were read; `None` for those that are not in the store.
    schemas: HashMap<CasRef, Option<Rc<Value>>>,
    left: usize,
}

impl Expansion<'_> {
    fn node(&mut self, node: Node, depth: usize) -> Result<Value, StoreError> {
        let mut payload = node.payload;
        if let Some(schema) = self.schema(node.type_hash)? {
            self.value(&[&schema], &mut payload, depth)?;
        }
        Ok(payload)
    }

    fn schema(&mut self, hash: CasRef) -> Result<Option<Rc<Value>>, StoreError> {
        if let Some(known) = self.schemas.get(&hash) {
            return Ok(known.clone());
        }
        let found = self.store.find(hash)?.map(|node| Rc::new(node.payload));
        self.schemas.insert(hash, found.clone());
        Ok(found)
    }

    /// Expands a value to which all of these schemas apply.
    fn value(
        &mut self,
        schemas: &[&Value],
        value: &mut Value,
        depth: usize,
    ) -> Result<(), StoreError> {
        let mut all = Vec::new();
        for schema in schemas {
            flatten(schema, &mut all);
        }
        match value {
            Value::String(text) if all.iter().any(|schema| is_reference(schema)) => {
                if let Some(expanded) = self.reference(text, depth)? {
                    *value = expanded;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(&of_item(&all, index), item, depth)?;
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut() {
                    self.value(&of_field(&all, key), field, depth)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    fn reference(&mut self, text: &str, depth: usize) -> Result<Option<Value>, StoreError> {
        let Ok(hash) = text.parse::<CasRef>() else {
            return Ok(None);
        };
        if depth == MAX_DEPTH || self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let node = self.store.need(hash)?;
        Ok(Some(self.node(node, depth + 1)?))
    }
}

fn is_reference(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some("ocas_ref")
}

/// Adds the schema and those that it combines.
fn flatten<'s>(schema: &'s Value, all: &mut Vec<&'s Value>) {
    all.push(schema);
    let lists = ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array());
    let branches = ["if", "then", "else"]
        .iter()
        .filter_map(|key| schema.get(key));
    for inner in lists.flatten().chain(branches) {
        flatten(inner, all);
    }
}

fn of_field<'s>(schemas: &[&'s Value], key: &str) -> Vec<&'s Value> {
    let of_one = |schema: &&'s Value| {
        let named = schema
            .get("properties")
            .and_then(|properties| properties.get(key));
        named.or_else(|| schema.get("additionalProperties"))
    };
    schemas.iter().filter_map(of_one).collect()
}

fn of_item<'s>(schemas: &[&'s Value], index: usize) -> Vec<&'s Value> {
    let of_one = |schema: &&'s Value| {
        let by_place = schema.get("prefixItems").and_then(|items| items.get(index));
        let items = || match schema.get("items") {
            Some(Value::Array(by_place)) => by_place.get(index),
            items => items,
        };
        by_place.or_else(items)
    };
    schemas.iter().filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uwf_protocol::schemas;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("cas"));
        store.create(0).unwrap();
        (dir, store)
    }

    fn text(store: &Store, text: &str) -> CasRef {
        store.put(schemas::TEXT, &json!(text), 0).unwrap()
    }

    fn expanded(store: &Store, schema: &Value, payload: &Value) -> Value {
        let schema = store.put_schema(schema, 0).unwrap();
        let hash = store.put(schema, payload, 0).unwrap();
        expand(store, store.get(hash).unwrap()).unwrap()
    }

    fn reference() -> Value {
        json!({ "type": "string", "format": "ocas_ref" })
    }

    #[test]
    fn references_are_replaced_wherever_the_schema_has_them() {
        let (_dir, store) = store();
        let hello = text(&store, "hello");
        let schema = json!({ "type": "object", "properties": {
            "direct": reference(),
            "maybe": { "anyOf": [reference(), { "type": "null" }] },
            "list": { "type": "array", "items": reference() },
            "map": { "type": "object", "additionalProperties": reference() },
            "plain": { "type": "string" },
        }});
        let payload = json!({
            "direct": hello, "maybe": hello, "list": [hello, hello], "map": { "x": hello },
            "plain": hello, "unknown": hello,
        });
        let expected = json!({
            "direct": "hello", "maybe": "hello", "list": ["hello", "hello"], "map": { "x": "hello" },
            "plain": hello, "unknown": hello,
        });
        assert_eq!(expanded(&store, &schema, &payload), expected);
    }

    #[test]
    fn a_node_that_is_lost_is_an_error_and_what_is_no_hash_stays() {
        let (_dir, store) = store();
        let schema = json!({ "type": "array", "items": reference() });
        let payload = json!(["no hash"]);
        assert_eq!(expanded(&store, &schema, &payload), payload);
        let schema = store.put_schema(&schema, 0).unwrap();
        let lost = store.put(schema, &json!(["0123456789ABC"]), 0).unwrap();
        let error = expand(&store, store.get(lost).unwrap()).unwrap_err();
        assert!(matches!(error, StoreError::Lost { .. }), "{error}");
    }

    #[test]
    fn nodes_that_refer_to_each_other_in_very_many_ways_are_expanded_in_part() {
        let (_dir, store) = store();
        let schema = json!({ "type": "array", "items": reference() });
        let schema_hash = store.put_schema(&schema, 0).unwrap();
        let mut hash = text(&store, "end");
        for _ in 0..40 {
            hash = store.put(schema_hash, &json!([hash, hash]), 0).unwrap();
        }
        let value = expand(&store, store.get(hash).unwrap()).unwrap();
        assert!(value.to_string().len() < MAX_NODES * 40);
    }
}

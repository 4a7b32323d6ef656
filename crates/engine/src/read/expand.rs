//! Expanding a node: its references are replaced by the nodes that they name.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;
use uwf_cas_fs::{Node, Store, StoreError};
use uwf_protocol::ids::CasRef;
use uwf_schema::references;

/// How deep references are followed. Deeper ones stay hashes.
const MAX_DEPTH: usize = 32;
/// How many references are followed in all: a few nodes that refer to each other can expand to very many.
const MAX_NODES: usize = 20_000;

/// Returns the payload of a node. Every reference that its schema names is replaced by the expanded payload of that node.
/// A reference that lies too deep stays a hash.
///
/// # Errors
/// When a node that is referred to is not in the store.
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
            self.replace(&schema, &mut payload, depth)?;
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

    /// Replaces the references in a payload.
    fn replace(
        &mut self,
        schema: &Value,
        payload: &mut Value,
        depth: usize,
    ) -> Result<(), StoreError> {
        let found = references(schema, payload).into_iter();
        let found = found.map(|one| (one.place, one.hash.to_owned()));
        for (place, hash) in found.collect::<Vec<_>>() {
            if let Some(expanded) = self.reference(&hash, depth)?
                && let Some(value) = payload.pointer_mut(&place)
            {
                *value = expanded;
            }
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
            "named": { "type": "object", "patternProperties": { "^a/": reference() }, "additionalProperties": {} },
            "some": { "type": "array", "contains": reference() },
        }});
        let payload = json!({
            "direct": hello, "maybe": hello, "list": [hello, hello], "map": { "x": hello },
            "plain": hello, "unknown": hello, "named": { "a/b": hello, "c": hello }, "some": [hello],
        });
        let expected = json!({
            "direct": "hello", "maybe": "hello", "list": ["hello", "hello"], "map": { "x": "hello" },
            "plain": hello, "unknown": hello, "named": { "a/b": "hello", "c": hello }, "some": ["hello"],
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

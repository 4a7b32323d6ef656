//! Nodes that travel between stores.

use std::fs;

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::raw_node::RawNode;
use uwf_protocol::schemas::{META, TEXT};

use crate::properties::json;
use crate::support::{
    COLLIDING, NOW, file, fixture_text, hash, names, reference_store, store, unhex,
};

/// A store with a node that refers to another one, and both as they travel, the child first.
fn sent() -> (tempfile::TempDir, Store, [RawNode; 3]) {
    let (dir, store) = store();
    let schema = json!({ "type": "object", "properties": { "of": { "type": "string", "format": "ocas_ref" } } });
    let schema = store.put_schema(&schema, NOW).unwrap();
    let child = store.put(TEXT, &json!("child"), NOW + 1).unwrap();
    let parent = store
        .put(schema, &json!({ "of": child, "n": 1.5 }), NOW + 2)
        .unwrap();
    let raw = [schema, child, parent].map(|hash| store.raw(hash).unwrap());
    (dir, store, raw)
}

#[test]
fn an_imported_node_is_the_same_node() {
    let (_here, from, raw) = sent();
    let (_there, to) = store();
    let [schema, child, parent] = &raw;
    assert_eq!(schema.type_hash, META);
    assert_eq!(child.timestamp_ms, NOW + 1);
    let refs = raw.each_ref().map(|node| from.linked(node.hash).unwrap());
    let refs = refs.map(|linked| linked.refs);
    assert_eq!(refs, [vec![], vec![], vec![child.hash]]);
    for _ in 0..2 {
        to.import(&raw, NOW + 9).unwrap();
    }
    for node in &raw {
        let files = [&from, &to].map(|store| fs::read(file(store, node.hash)).unwrap());
        assert_eq!(files[0], files[1]);
        assert_eq!(to.raw(node.hash).unwrap(), *node);
    }
    assert_eq!(to.of_type(schema.hash).unwrap(), [parent.hash]);
}

#[test]
fn every_node_of_a_store_can_travel() {
    let (_here, from) = reference_store();
    let there = tempfile::tempdir().unwrap();
    let to = Store::open(there.path());
    let all = from.all().unwrap();
    let raw: Vec<RawNode> = all.iter().map(|hash| from.raw(*hash).unwrap()).collect();
    to.import(&raw, NOW).unwrap();
    assert_eq!(to.all().unwrap(), all);
    for hash in all {
        assert_eq!(to.get(hash).unwrap(), from.get(hash).unwrap());
        assert_eq!(to.refs(hash).unwrap(), from.refs(hash).unwrap());
    }
}

#[test]
fn a_node_with_a_wrong_hash_is_not_imported() {
    let (_here, _from, [schema, child, parent]) = sent();
    let (_there, to) = store();
    let before = to.all().unwrap();
    let changed = |change: &dyn Fn(&mut RawNode)| {
        let mut node = parent.clone();
        change(&mut node);
        node
    };
    let bad = [
        changed(&|node| node.hash = child.hash),
        changed(&|node| node.type_hash = TEXT),
        changed(&|node| node.payload[0] ^= 1),
        changed(&|node| node.payload.push(0)),
        changed(&|node| node.payload.clear()),
        changed(&|node| node.payload.truncate(node.payload.len() - 1)),
    ];
    for node in bad {
        let nodes = [schema.clone(), child.clone(), node];
        let refused = to.import(&nodes, NOW).unwrap_err();
        assert!(
            matches!(&refused, StoreError::NotTheNode { hash, .. } if *hash == nodes[2].hash),
            "{refused}"
        );
        assert_eq!(to.all().unwrap(), before);
    }
}

#[test]
fn an_imported_node_that_is_there_already_keeps_its_time_and_becomes_young() {
    let (_here, _from, [schema, child, parent]) = sent();
    let (_there, to) = store();
    let nodes = [schema, child, parent];
    to.import(&nodes, NOW).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let path = file(&to, nodes[1].hash);
    fs::File::open(&path).unwrap().set_modified(old).unwrap();
    let later = RawNode {
        timestamp_ms: 7,
        ..nodes[1].clone()
    };
    to.import(&[later], NOW).unwrap();
    assert_eq!(to.get(nodes[1].hash).unwrap().timestamp_ms, NOW + 1);
    let used = to.used_ms(nodes[1].hash).unwrap().unwrap();
    assert!(used > 1000, "{used}");
}

/// A node that the reference program is known to have written, as it travels.
fn of_vector(line: &str) -> Option<RawNode> {
    // JavaScript has infinite numbers and JSON does not: no node of ours has one.
    let vector: Value = serde_json::from_str(line).ok()?;
    let hash = hash(vector["hash"].as_str().unwrap());
    Some(RawNode {
        hash,
        type_hash: vector["type"].as_str().map_or(hash, self::hash),
        payload: unhex(vector["cbor_hex"].as_str().unwrap()),
        timestamp_ms: NOW,
    })
}

#[test]
fn every_node_that_the_reference_is_known_to_write_can_travel_with_one_commit() {
    let (_dir, store) = store();
    let text = fixture_text("cas.jsonl");
    let nodes: Vec<RawNode> = text.lines().filter_map(of_vector).collect();
    assert_eq!(nodes.len(), 412);
    let mut batch = store.batch();
    for node in &nodes {
        assert_eq!(batch.put_raw(node, NOW).unwrap(), node.hash);
    }
    batch.commit().unwrap();
    for node in &nodes {
        assert_eq!(store.raw(node.hash).unwrap(), *node);
    }
}

#[test]
fn a_node_with_another_time_is_the_same_node_and_one_with_another_content_is_a_collision() {
    let (_here, from) = store();
    let (_there, other) = store();
    let one = from.put(TEXT, &json!(COLLIDING[0]), NOW).unwrap();
    let two = other.put(TEXT, &json!(COLLIDING[1]), NOW).unwrap();
    assert_eq!(one, two, "the texts were chosen so");
    let (one, two) = (from.raw(one).unwrap(), other.raw(two).unwrap());
    let later = RawNode {
        timestamp_ms: NOW + 5,
        ..one.clone()
    };

    let mut batch = from.batch();
    batch.put_raw(&later, NOW).unwrap();
    batch.put_raw(&one, NOW).unwrap();
    let refused = batch.put_raw(&two, NOW).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Collision { hash, .. } if *hash == one.hash),
        "{refused}"
    );
    batch.commit().unwrap();
    assert_eq!(from.raw(one.hash).unwrap(), one);
    let refused = from.import(&[later, two], NOW).unwrap_err();
    assert!(matches!(refused, StoreError::Collision { .. }), "{refused}");
    assert_eq!(from.raw(one.hash).unwrap(), one);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_node_arrives_as_it_was_and_a_changed_one_does_not(
        payload in json(),
        stamp in -(1_i64 << 53) + 1..1 << 53,
        at in any::<usize>(),
        by in 1..=255_u8,
    ) {
        let ((_here, from), (_there, to)) = (store(), store());
        let hash = from.put(TEXT, &payload, stamp).unwrap();
        let node = from.raw(hash).unwrap();
        let before = names(to.dir());

        let mut changed = node.clone();
        let at = at % changed.payload.len();
        changed.payload[at] ^= by;
        let refused = to.import(&[changed], NOW);
        let is_refused = matches!(refused, Err(StoreError::NotTheNode { .. }));
        prop_assert!(is_refused, "{:?}", refused);
        prop_assert_eq!(names(to.dir()), before);

        let mut batch = to.batch();
        batch.put_raw(&node, NOW).unwrap();
        batch.commit().unwrap();
        prop_assert_eq!(to.raw(hash).unwrap(), node);
        let files = [&from, &to].map(|store| fs::read(file(store, hash)).unwrap());
        prop_assert_eq!(&files[0], &files[1]);
    }
}

//! Nodes in and out: what is written, what is not, and what can be reached from what.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{COLLIDING, NOW, file, hash, names, store};
use serde_json::json;
use uwf_cas_fs::cbor::EncodeError;
use uwf_cas_fs::{Store, StoreError, hash_of};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::{DETAIL, META, STEP_NODE, TEXT};

#[test]
fn opening_touches_nothing_and_a_new_store_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("a/b/cas"));
    assert!(names(dir.path()).is_empty());
    assert!(store.all().unwrap().is_empty());
    assert!(matches!(
        store.get(TEXT),
        Err(StoreError::NotFound { hash: TEXT })
    ));
    store.create(NOW).unwrap();
    let mode = |path: &str| {
        fs::metadata(dir.path().join(path))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode("a") & 0o777, 0o700);
    assert_eq!(mode("a/b/cas") & 0o777, 0o700);
}

#[test]
fn creating_again_writes_only_what_is_missing() {
    let (_dir, store) = store();
    let nodes = store.all().unwrap();
    let step_node = fs::read(file(&store, STEP_NODE)).unwrap();
    fs::remove_file(file(&store, DETAIL)).unwrap();
    store.create(NOW + 1).unwrap();
    assert_eq!(store.all().unwrap(), nodes);
    assert_eq!(fs::read(file(&store, STEP_NODE)).unwrap(), step_node);
    assert_eq!(store.get(DETAIL).unwrap().timestamp_ms, NOW + 1);
}

#[test]
fn a_node_that_is_put_again_keeps_its_file() {
    let (_dir, store) = store();
    let first = store.put(TEXT, &json!("hello"), NOW).unwrap();
    assert_eq!(first, hash("95ST8MZ0QTKP9"));
    let before = fs::metadata(file(&store, first))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(store.put(TEXT, &json!("hello"), NOW + 5).unwrap(), first);
    assert_eq!(
        store.put_volatile(TEXT, &json!("hello"), NOW + 5).unwrap(),
        first
    );
    let after = fs::metadata(file(&store, first))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
    assert_eq!(store.get(first).unwrap().timestamp_ms, NOW);
    let index = fs::read_to_string(store.dir().join("_index").join(TEXT.as_str())).unwrap();
    assert_eq!(index, "95ST8MZ0QTKP9\n");
}

#[test]
fn a_batch_stores_nothing_before_its_commit_and_everything_then() {
    let (_dir, store) = store();
    let before = names(store.dir());
    let mut dropped = store.batch();
    dropped.put(TEXT, &json!("lost"), NOW).unwrap();
    drop(dropped);
    assert_eq!(names(store.dir()), before);

    let mut batch = store.batch();
    let hashes: Vec<_> = (0..200)
        .map(|number| {
            batch
                .put(TEXT, &json!(format!("text {}", number % 150)), NOW)
                .unwrap()
        })
        .collect();
    assert!(!store.has(hashes[0]).unwrap());
    batch.commit().unwrap();
    for (number, hash) in hashes.into_iter().enumerate() {
        assert_eq!(
            store.get(hash).unwrap().payload,
            format!("text {}", number % 150)
        );
    }
    assert_eq!(names(store.dir()).len(), before.len() + 150);
    store.batch().commit().unwrap();
}

#[test]
fn a_collision_is_an_error_and_overwrites_nothing() {
    let (_dir, store) = store();
    let [one, other] = COLLIDING.map(|text| json!(text));
    let hash = hash_of(Some(TEXT), &one).unwrap();
    assert_eq!(hash_of(Some(TEXT), &other).unwrap(), hash);

    let mut batch = store.batch();
    batch.put(TEXT, &one, NOW).unwrap();
    let refused = batch.put(TEXT, &other, NOW).unwrap_err();
    assert!(matches!(refused, StoreError::Collision { .. }), "{refused}");
    batch.commit().unwrap();

    let refused = store.put(TEXT, &other, NOW).unwrap_err();
    assert!(
        refused.to_string().starts_with("hash collision: "),
        "{refused}"
    );
    assert_eq!(store.get(hash).unwrap().payload, one);
}

#[test]
fn a_collision_with_a_node_of_another_process_is_an_error_too() {
    let (_dir, store) = store();
    let mut batch = store.batch();
    batch.put(TEXT, &json!(COLLIDING[0]), NOW).unwrap();
    let hash = store.put(TEXT, &json!(COLLIDING[1]), NOW).unwrap();
    let refused = batch.commit().unwrap_err();
    assert!(matches!(refused, StoreError::Collision { .. }), "{refused}");
    assert_eq!(store.get(hash).unwrap().payload, COLLIDING[1]);
    assert!(
        names(store.dir())
            .iter()
            .all(|name| !uwf_durable::is_temporary(name))
    );
}

#[test]
fn nodes_in_the_nested_directory_are_read_and_not_written_again() {
    let (_dir, store) = store();
    let text = store.put(TEXT, &json!("hello"), NOW).unwrap();
    let nested = store.dir().join("nodes");
    fs::create_dir(&nested).unwrap();
    fs::rename(file(&store, text), nested.join(format!("{text}.bin"))).unwrap();
    assert_eq!(store.get(text).unwrap().payload, "hello");
    assert!(store.has(text).unwrap());
    assert!(store.all().unwrap().contains(&text));
    assert_eq!(store.of_type(TEXT).unwrap(), [text]);
    store.put(TEXT, &json!("hello"), NOW).unwrap();
    store.sync(&[text, META]).unwrap();
    assert!(!file(&store, text).exists());
}

#[test]
fn syncing_a_node_that_is_not_there_is_an_error() {
    let (_dir, store) = store();
    let missing = hash("ZZZZZZZZZZZZZ");
    let refused = store.sync(&[TEXT, missing]).unwrap_err();
    assert!(
        matches!(refused, StoreError::NotFound { hash } if hash == missing),
        "{refused}"
    );
}

#[test]
fn a_payload_that_is_too_deep_is_refused() {
    let (_dir, store) = store();
    let deep = (0..257).fold(json!(1), |inner, _| json!([inner]));
    let refused = store.put(TEXT, &deep, NOW).unwrap_err();
    assert!(matches!(refused, StoreError::Encode(EncodeError::TooDeep)));
}

#[test]
fn a_walk_is_breadth_first_and_skips_missing_nodes() {
    let (_dir, store) = store();
    let link = json!({
        "properties": { "to": { "type": "array", "items": { "type": "string", "format": "ocas_ref" } } },
    });
    let link = store.put_schema(&link, NOW).unwrap();
    let node = |name: &str, to: &[&str]| {
        store
            .put(link, &json!({ "name": name, "to": to }), NOW)
            .unwrap()
    };
    let missing = "ZZZZZZZZZZZZZ";
    let leaf = node("leaf", &[]);
    let left = node("left", &[leaf.as_str(), missing]);
    let right = node("right", &[left.as_str(), leaf.as_str(), META.as_str()]);
    let root = node("root", &[right.as_str(), left.as_str(), right.as_str()]);

    assert_eq!(store.refs(root).unwrap(), [right, left]);
    assert_eq!(store.walk(root).unwrap(), [root, right, left, leaf, META]);
    assert_eq!(store.walk(hash(missing)).unwrap(), []);
    assert_eq!(store.refs(META).unwrap(), []);
    assert_eq!(store.refs(STEP_NODE).unwrap(), []);
    let refused = store.refs(hash(missing)).unwrap_err();
    assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
}

/// The bytes of a file with this payload, and its hash.
fn foreign(type_hash: CasRef, payload: &[u8]) -> (CasRef, Vec<u8>) {
    let named = [type_hash.as_str().as_bytes(), payload].concat();
    let hash = CasRef::from_u64(xxhash_rust::xxh64::xxh64(&named, 0));
    let type_text = type_hash.as_str().as_bytes();
    let file = [
        &b"\xa3dtypem"[..],
        type_text,
        b"gpayload",
        payload,
        b"itimestamp\x00",
    ];
    (hash, file.concat())
}

#[test]
fn a_node_of_another_encoder_is_verified_over_its_own_bytes() {
    let (_dir, store) = store();
    let number = store.put_schema(&json!({ "type": "number" }), NOW).unwrap();
    let object = store.put_schema(&json!({ "type": "object" }), NOW).unwrap();
    let cases: [(CasRef, &[u8], serde_json::Value); 4] = [
        (number, b"\xf9\x38\x00", json!(0.5)),
        (number, b"\xfa\x3f\x00\x00\x00", json!(0.5)),
        (number, b"\x18\x05", json!(5)),
        (
            object,
            b"\xbf\x61b\x01\x61a\xf9\x3c\x00\xff",
            json!({ "b": 1, "a": 1 }),
        ),
    ];
    for (type_hash, payload, value) in cases {
        let (hash, bytes) = foreign(type_hash, payload);
        fs::write(store.dir().join(format!("{hash}.bin")), &bytes).unwrap();
        assert_eq!(store.get(hash).unwrap().payload, value);
        let verified = store.verify(&[hash]).unwrap();
        assert_eq!(verified[0].verdict, uwf_cas_fs::Verdict::Ok);
        // What we write stays what it was.
        let ours = store.put(type_hash, &value, NOW).unwrap();
        assert_ne!(ours, hash);
        assert_eq!(store.get(hash).unwrap().payload, value);
        assert_eq!(
            fs::read(store.dir().join(format!("{hash}.bin"))).unwrap(),
            bytes
        );
    }
}

//! Nodes that hold bytes.

use std::io::{self, Read};

use serde_json::json;
use uwf_cas_fs::{BytesError, PART_BYTES, Store};
use uwf_protocol::schemas;

use crate::support::NOW;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("cas"));
    store.create(NOW).unwrap();
    (dir, store)
}

/// Returns so many bytes, of which neighbouring parts differ.
fn sample(size: usize) -> Vec<u8> {
    (0..size)
        .map(|index| (index * 31 + index / PART_BYTES) as u8)
        .collect()
}

#[test]
fn bytes_of_any_length_come_back_as_they_were() {
    let (_dir, store) = store();
    for size in [
        0,
        1,
        2,
        3,
        PART_BYTES - 1,
        PART_BYTES,
        PART_BYTES + 1,
        2 * PART_BYTES + 7,
    ] {
        let bytes = sample(size);
        let hash = store.put_bytes(&mut bytes.as_slice(), NOW).unwrap();
        assert_eq!(store.put_bytes(&mut bytes.as_slice(), NOW).unwrap(), hash);
        let mut back = Vec::new();
        assert_eq!(store.write_bytes(hash, &mut back).unwrap(), size as u64);
        assert!(back == bytes, "{size} bytes");
        let node = store.get(hash).unwrap();
        store.validate(node.type_hash, &node.payload).unwrap();
        let parts = size.div_ceil(PART_BYTES);
        assert_eq!(store.refs(hash).unwrap().len(), parts, "{size} bytes");
    }
}

#[test]
fn what_does_not_hold_bytes_is_named() {
    let (_dir, store) = store();
    let text = store.put(schemas::TEXT, &json!("aGk="), NOW).unwrap();
    let not_base64 = store.put(schemas::TEXT, &json!("no base64!"), NOW).unwrap();
    let list = |size: u64, part| {
        let payload = json!({ "size": size, "parts": [part] });
        store.put(schemas::BYTES, &payload, NOW).unwrap()
    };
    for (hash, named) in [
        (text, text),
        (list(3, not_base64), not_base64),
        (list(9, text), list(9, text)),
    ] {
        let error = store.write_bytes(hash, &mut io::sink()).unwrap_err();
        assert!(
            matches!(error, BytesError::NotBytes { hash, .. } if hash == named),
            "{error}"
        );
    }
}

#[test]
fn a_source_that_fails_leaves_no_node_that_lists_parts() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("the cable is out"));
            }
            let size = buffer.len().min(self.0);
            self.0 -= size;
            buffer[..size].fill(7);
            Ok(size)
        }
    }
    let (_dir, store) = store();
    let error = store
        .put_bytes(&mut Broken(PART_BYTES + 5), NOW)
        .unwrap_err();
    assert!(matches!(error, BytesError::Io(_)), "{error}");
    let of_type = |hash| store.get(hash).unwrap().type_hash == schemas::BYTES;
    assert!(!store.all().unwrap().into_iter().any(of_type));
}

//! Bytes of nodes: whatever lies in the store, reading it comes to an end, and what is read is written as it was.

use uwf_cas_fs::{Store, StoreError, cbor, hash_of};
use uwf_protocol::ids::CasRef;

/// Takes the bytes as a payload, and as the file of a node.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    check_payload(data);
    check_file(data);
}

fn check_payload(data: &[u8]) {
    let Ok(value) = cbor::decode(data) else {
        return;
    };
    let encoded = cbor::encode(&value).expect("what was decoded can be encoded");
    let again = cbor::decode(&encoded).expect("what was encoded can be decoded");
    assert_eq!(again, value);
    let same = cbor::encode(&again).expect("what was decoded can be encoded");
    assert_eq!(same, encoded, "one value has one encoding");
    hash_of(None, &value).expect("what can be encoded has a hash");
}

/// Puts the bytes into the place of a node. They are refused, or are the node of that hash.
fn check_file(data: &[u8]) {
    thread_local! {
        static FOLDER: tempfile::TempDir = crate::folder();
    }
    let hash = CasRef::from_u64(1);
    FOLDER.with(|folder| {
        let file = folder.path().join(format!("{hash}.bin"));
        std::fs::write(file, data).expect("the folder is ours");
        match Store::open(folder.path()).find(hash) {
            Err(StoreError::Damaged { .. }) => {}
            other => panic!("bytes of another hash are {other:?}"),
        }
    });
}

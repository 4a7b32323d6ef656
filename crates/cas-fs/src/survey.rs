//! What is in a store, by the look of its files: their number, types, sizes and times. The nodes are not read in full.

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;
use crate::node::TYPE_BYTES;
use crate::store::Store;
use crate::{disk, gc, node};

/// A node by the look of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// The node.
    pub hash: CasRef,
    /// The type that its file names; `None` if the file is damaged or cannot be read.
    pub type_hash: Option<CasRef>,
    /// How much space it takes, in bytes.
    pub bytes: u64,
    /// When it was written or put again the last time, in milliseconds since 1970.
    pub used_ms: i64,
}

/// Looks at every node.
pub(crate) fn survey(store: &Store) -> Result<Vec<Surveyed>, StoreError> {
    let mut found = Vec::new();
    for hash in store.all()? {
        // A node that was removed meanwhile is not in the store.
        let Some(file) = gc::look_at(store, hash)? else {
            continue;
        };
        let start = disk::read_start(store.dir(), hash, TYPE_BYTES)
            .ok()
            .flatten();
        found.push(Surveyed {
            hash,
            type_hash: start.and_then(|start| node::peek_type(&start.bytes)),
            bytes: file.bytes,
            used_ms: file.used_ms,
        });
    }
    Ok(found)
}

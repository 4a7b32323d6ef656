//! Nodes that hold bytes which are no text, such as an image or the output of a program.
//!
//! The payloads of the store are JSON, so bytes are texts in base64, in parts of a fixed size under a node that lists
//! them. Writing and reading keep one part in memory, however long the whole is. Any reader of the store that knows base64
//! can put the parts together.

use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::{self, BYTES, BYTES_PART, META};

use crate::error::StoreError;
use crate::store::Store;

/// How many bytes a part has; only the last one may have fewer. It is a multiple of three, so that only the last part is
/// padded.
pub const PART_BYTES: usize = 768 * 1024;

/// Why bytes could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BytesError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the bytes come from, or where they go, failed.
    #[error("cannot read or write the bytes: {0}")]
    Io(#[from] io::Error),
    /// The node, or one of its parts, holds something else.
    #[error("node `{hash}` does not hold bytes: {problem}")]
    NotBytes {
        /// The node.
        hash: CasRef,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The payload of a [`BYTES`] node.
#[derive(Deserialize)]
struct Listed {
    size: u64,
    parts: Vec<CasRef>,
}

/// Stores everything that the source gives, durably.
pub(crate) fn put(store: &Store, source: &mut dyn Read, now_ms: i64) -> Result<CasRef, BytesError> {
    let mut stored = vec![
        store.put_volatile(META, &schemas::bytes_part(), now_ms)?,
        store.put_volatile(META, &schemas::bytes(), now_ms)?,
    ];
    let mut size = 0_u64;
    let mut parts = Vec::new();
    let mut part = Vec::with_capacity(PART_BYTES);
    loop {
        part.clear();
        source.take(PART_BYTES as u64).read_to_end(&mut part)?;
        if part.is_empty() {
            break;
        }
        size += part.len() as u64;
        parts.push(store.put_volatile(BYTES_PART, &json!(STANDARD.encode(&part)), now_ms)?);
    }
    let list = json!({ "size": size, "parts": parts });
    let hash = store.put_volatile(BYTES, &list, now_ms)?;
    stored.extend(parts);
    stored.push(hash);
    stored.sort_unstable();
    stored.dedup();
    store.sync(&stored)?;
    Ok(hash)
}

/// Writes the bytes of a node and returns how many they are.
pub(crate) fn write(store: &Store, hash: CasRef, out: &mut dyn Write) -> Result<u64, BytesError> {
    let node = store.get(hash)?;
    let not_bytes = |hash, problem| BytesError::NotBytes { hash, problem };
    if node.type_hash != BYTES {
        return Err(not_bytes(hash, "it has another type"));
    }
    let list: Listed = serde_json::from_value(node.payload)
        .map_err(|_| not_bytes(hash, "it has no list of parts"))?;
    let mut size = 0_u64;
    for part in list.parts {
        let text = store.need(part)?.payload;
        let text = text.as_str().ok_or(not_bytes(part, "it is no text"))?;
        let bytes = STANDARD.decode(text);
        let bytes = bytes.map_err(|_| not_bytes(part, "its text is not base64"))?;
        size += bytes.len() as u64;
        out.write_all(&bytes)?;
    }
    if size != list.size {
        return Err(not_bytes(hash, "its parts have another size than it says"));
    }
    Ok(size)
}

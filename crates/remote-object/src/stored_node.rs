//! A node as an object: a line of JSON about it, and then its payload.

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_remote::{RemoteError, digest};

/// The first line of the object.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(rename = "type")]
    type_hash: CasRef,
    stamp: i64,
    refs: Vec<CasRef>,
    digest: String,
}

/// Returns the content of the object for a node.
pub(crate) fn content(node: &LinkedNode) -> Result<Vec<u8>, RemoteError> {
    let head = Head {
        type_hash: node.node.type_hash,
        stamp: node.node.timestamp_ms,
        refs: node.refs.clone(),
        digest: hex(&digest(&node.node)),
    };
    let head = serde_json::to_vec(&head);
    let mut content = head.map_err(|problem| RemoteError::Broken(problem.to_string()))?;
    content.push(b'\n');
    content.extend_from_slice(&node.node.payload);
    Ok(content)
}

/// Returns the node in an object. Fails if it does not have the digest that was stored with it.
pub(crate) fn node(hash: CasRef, content: &[u8]) -> Result<LinkedNode, RemoteError> {
    let damaged = || RemoteError::Broken(format!("the node {hash} is damaged there"));
    let end = content.iter().position(|byte| *byte == b'\n');
    let (head, payload) = content.split_at(end.ok_or_else(damaged)?);
    let head: Head = serde_json::from_slice(head).map_err(|_| damaged())?;
    let node = RawNode {
        hash,
        type_hash: head.type_hash,
        payload: payload[1..].to_vec(),
        timestamp_ms: head.stamp,
    };
    if hex(&digest(&node)) != head.digest {
        return Err(damaged());
    }
    Ok(LinkedNode {
        node,
        refs: head.refs,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> LinkedNode {
        LinkedNode {
            node: RawNode {
                hash: CasRef::from_u64(1),
                type_hash: CasRef::from_u64(2),
                payload: b"\n{}\n\xff".to_vec(),
                timestamp_ms: -5,
            },
            refs: vec![CasRef::from_u64(3)],
        }
    }

    #[test]
    fn a_node_is_read_as_it_was_written() {
        let content = content(&example()).expect("it can be written");
        assert_eq!(node(example().node.hash, &content), Ok(example()));
    }

    #[test]
    fn a_byte_that_changed_is_noticed() {
        let whole = content(&example()).expect("it can be written");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let read = node(example().node.hash, &changed);
            let is_same = read
                .as_ref()
                .is_ok_and(|read| read.node.is_same(&example().node));
            assert!(
                is_same || matches!(read, Err(RemoteError::Broken(_))),
                "{at}"
            );
        }
        assert!(node(example().node.hash, b"").is_err());
    }
}

//! Errors of the store. There is a variant for each thing that a caller can do about an error.

use std::path::PathBuf;

use uwf_durable::{FileError, FileKind};
use uwf_protocol::ids::CasRef;
use uwf_schema::{SchemaError, Violation};

use crate::cbor::{DecodeError, EncodeError};

/// Why a call of the store failed. The sources of an error say more.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No node has this hash.
    #[error("node `{hash}` is not in the store")]
    NotFound {
        /// The hash that was asked for.
        hash: CasRef,
    },
    /// A node that another node or a thread needs is not in the store.
    #[error("node `{hash}` is needed, and is not in the store")]
    Lost {
        /// The hash of the node.
        hash: CasRef,
    },
    /// The file of a node does not contain that node. Putting the node again repairs it.
    #[error("node `{hash}` is damaged: {reason} (file `{}`)", path.display())]
    Damaged {
        /// The hash that was asked for.
        hash: CasRef,
        /// The file that holds something else.
        path: PathBuf,
        /// What is wrong with the file.
        reason: Damage,
    },
    /// A node of another store does not have the hash that it came with.
    #[error("what was handed in as node `{hash}` is not that node: {reason}")]
    NotTheNode {
        /// The hash that it came with.
        hash: CasRef,
        /// What is wrong with it.
        reason: Damage,
    },
    /// Another, valid node has the hash already. It stays as it is.
    #[error("hash collision: another node is stored as `{hash}` already, nothing was written (file `{}`)", path.display())]
    Collision {
        /// The hash that both nodes have.
        hash: CasRef,
        /// The file of the node that was there first.
        path: PathBuf,
    },
    /// The payload does not fit its schema.
    #[error(
        "the payload does not fit schema `{type_hash}`: {}",
        listed(violations)
    )]
    Invalid {
        /// The hash of the schema.
        type_hash: CasRef,
        /// Everything that does not fit; never empty.
        violations: Vec<Violation>,
    },
    /// A payload that was to be stored as a schema is not a valid one.
    #[error("this is not a schema that the store accepts")]
    NotASchema(#[from] SchemaError),
    /// The node that types a payload is not a usable schema.
    #[error("node `{hash}` cannot be used as a schema")]
    UnusableSchema {
        /// The hash of the node.
        hash: CasRef,
        /// Why it cannot be used.
        source: SchemaError,
    },
    /// Nodes that are in use are missing or damaged. We do not know what they refer to, so we cannot tell what is garbage.
    #[error("nothing was removed, for {}", broken(nodes))]
    Broken {
        /// The nodes; never empty.
        nodes: Vec<BrokenNode>,
    },
    /// The payload has no encoding.
    #[error("the payload cannot be stored")]
    Encode(#[from] EncodeError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl StoreError {
    /// Tells whether the cause is a full disk.
    #[must_use]
    pub fn is_of_full_disk(&self) -> bool {
        uwf_durable::is_of_full_disk(self)
    }
}

/// A node that is in use and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenNode {
    /// The node.
    pub hash: CasRef,
    /// What is wrong, as the rest of a sentence about it: "is not in the store".
    pub problem: String,
    /// What refers to it, such as "the head of thread …".
    pub used_by: String,
    /// The root from which it is reached.
    pub needed_by: String,
}

/// What is wrong with a file that should hold a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The bytes are not those of a node.
    #[error("it is not a node: {0}")]
    Malformed(#[from] DecodeError),
    /// Something else is where the file should be.
    #[error("it is {0}, not a regular file")]
    NotRegular(FileKind),
    /// The file is larger than the reader allows.
    #[error("it has {bytes} bytes, and at most {largest} are read")]
    TooLarge {
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        largest: usize,
    },
    /// The bytes are those of another node.
    #[error("its content has the hash `{found}`")]
    OtherHash {
        /// The hash of what is in the file.
        found: CasRef,
    },
}

/// How many broken nodes a message names.
const NAMED: usize = 5;

fn broken(nodes: &[BrokenNode]) -> String {
    let name = |node: &BrokenNode| {
        let BrokenNode {
            hash,
            problem,
            used_by,
            needed_by: _,
        } = node;
        format!("`{hash}`, which is {used_by}, {problem}")
    };
    let mut named: Vec<String> = nodes.iter().take(NAMED).map(name).collect();
    if nodes.len() > NAMED {
        named.push(format!("and {} more", nodes.len() - NAMED));
    }
    named.join("; ")
}

/// Returns the violations as one line.
pub(crate) fn listed(violations: &[Violation]) -> String {
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    lines.join("; ")
}

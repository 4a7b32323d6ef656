//! The content-addressed store on a filesystem: immutable nodes, named by the hash of their content.
//!
//! A node is a JSON payload, the hash of the schema that types it, and the time when it was first stored.
//! This crate knows the bytes (deterministic CBOR), the names (XXH64), the files, and the references
//! between nodes. `uwf_schema` knows what a schema means. This crate does not know what a workflow or a step is, and it
//! keeps no mutable state except a type index, which is a cache.

pub mod cbor;

mod batch;
mod bootstrap;
mod bytes;
mod disk;
mod error;
mod gc;
mod graph;
mod hold;
mod index;
mod mark;
mod needs;
mod node;
mod order;
mod quarantine;
mod raw;
mod referrers;
mod store;
mod survey;
mod verify;

pub use batch::Batch;
pub use bytes::{BytesError, PART_BYTES};
pub use error::{BrokenNode, Damage, StoreError};
pub use gc::{Collect, Collected, Garbage, Roots};
pub use hold::Hold;
pub use needs::Unreadable;
pub use node::{Node, hash_of};
pub use quarantine::DamagedFile;
pub use raw::{RawRefs, file_of_raw, raw_of_file};
pub use referrers::Referrers;
pub use store::Store;
pub use survey::Surveyed;
pub use verify::{Verdict, Verified};

//! The content-addressed store on a filesystem: immutable nodes, named by the hash of what they say.
//!
//! A node is a JSON payload, the hash of the schema that types it, and the time when it was first stored.
//! This crate knows the bytes (deterministic CBOR), the names (XXH64), the files, the schemas and the
//! references between nodes. It does not know what a workflow or a step is, and it keeps no mutable state
//! except a type index, which is a cache.

pub mod cbor;
pub mod schema;

mod batch;
mod bootstrap;
mod disk;
mod error;
mod graph;
mod index;
mod node;
mod store;
mod verify;

pub use batch::Batch;
pub use error::{Damage, StoreError};
pub use node::{Node, hash_of};
pub use store::Store;
pub use verify::{Verdict, Verified};

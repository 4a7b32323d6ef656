//! What a JSON Schema means: which schemas are accepted, whether a value fits one and why not, and what a schema says
//! about the parts of a value.
//!
//! The dialect is draft-07 with a closed list of keywords and without references between schemas, plus the
//! format `ocas_ref` for the hash of a node. Unknown formats and `prefixItems` are annotations.
//!
//! All readers of a schema use one walker ([`Schema`], [`parts`], [`Members`]). This crate does not know what a role or
//! a node is.

mod check;
mod explain;
mod fields;
mod keywords;
mod references;
mod shape;
mod validate;
mod walk;

pub use check::{SchemaError, check};
pub use explain::{Violation, explain};
pub use fields::{Field, Variant, fields, values, variants};
pub use keywords::{MAX_DEPTH, TYPE_NAMES, meta_schema};
pub use references::{REF_FORMAT, Reference, is_hash, references};
pub use shape::{Presence, Shape, Texts};
pub use validate::Validator;
pub use walk::{Members, Schema, item, items, parts};

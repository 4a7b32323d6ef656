//! JSON Schemas: which ones the store accepts, whether a payload fits one, and where its references are.
//!
//! The dialect is draft-07 with a closed list of keywords and without references between schemas, plus the
//! format `ocas_ref` for the hash of a node. Formats that nobody knows and `prefixItems` are annotations.

mod check;
mod explain;
mod keywords;
mod refs;
mod validate;

use std::fmt;

pub use check::{SchemaError, check};
pub use keywords::meta_schema;
pub use refs::refs_in;
pub use validate::Validator;

pub(crate) use keywords::TYPE_NAMES;

/// The format of a string that is the hash of a node.
const REF_FORMAT: &str = "ocas_ref";

/// One place where a payload does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer of the place in the payload; empty for the payload itself.
    pub path: String,
    /// What is wrong there, as a sentence without a subject: "must be …", "lacks the key …".
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "`{}` {}", self.path, self.message)
    }
}

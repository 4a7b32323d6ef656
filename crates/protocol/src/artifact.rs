//! Artefacts: the files that an agent leaves in a folder of its attempt, and that its step keeps.

use serde::{Deserialize, Serialize};

use crate::ids::CasRef;

/// How many files a step keeps.
pub const MAX_FILES: usize = 1000;

/// How large a file may be, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// How large all files of a step may be together, in bytes.
pub const MAX_BYTES: u64 = 1 << 30;

/// A file that an agent left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Where it was in the folder, with `/` between names.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The node that holds its bytes; `None` if it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<CasRef>,
    /// Why it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

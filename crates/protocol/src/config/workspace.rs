//! Where the agents of threads work, as far as the config says it.

use serde::{Deserialize, Serialize};

use crate::workspace::WorkspaceMode;

/// Where the agents of threads work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Workspace {
    /// The mode of threads whose workflow does not say one. If absent, they work in their folder, and no thread waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkspaceMode>,
    /// The folder for the worktrees; one below the root if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

impl Workspace {
    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

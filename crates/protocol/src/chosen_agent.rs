//! The record of the agent that was chosen for an attempt.

use serde::{Deserialize, Serialize};

use crate::permissions::Permissions;

/// How the agent of an attempt was chosen. The answer of its program is used by attempts with the same command only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChosenAgent {
    /// What the command line said with `--agent`, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What it said with `--permissions`, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions_option: Option<Permissions>,
    /// What the agent was allowed to do, if anything says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The program and its arguments, without secrets, thread and role.
    pub command: Vec<String>,
}

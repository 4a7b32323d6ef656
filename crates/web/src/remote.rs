//! The threads at the remote, and which machine has the lease of each. A command asks the remote, because only the command line
//! knows how to connect to it.

use serde::{Deserialize, Serialize};
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::asked::Asked;
use crate::order::Order;
use crate::trouble::{Refusal, Trouble};

/// The words of the command.
pub(crate) const COMMAND: [&str; 3] = ["thread", "list", "--remote"];

/// A thread at the remote, as the command prints it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoteThread {
    pub(crate) thread: ThreadId,
    pub(crate) workflow: CasRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workflow_name: Option<String>,
    pub(crate) head: CasRef,
    pub(crate) status: HeadStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// Whether it is shared under this root, too.
    pub(crate) here: bool,
    /// Whether a finished step of it waits under this root to be shared.
    pub(crate) waiting: bool,
    /// The machine that owns its lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<String>,
    /// How long the lease lasts from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_ms: Option<u64>,
}

/// Asks the remote for the threads that have not ended.
///
/// # Errors
/// When no remote is configured, or it does not answer.
pub(crate) fn ask(asked: &Asked) -> Result<Vec<RemoteThread>, Trouble> {
    let carried = (asked.app.carry)(asked.site(), &Order::quick(&COMMAND));
    let carried = carried.map_err(Refusal::of_command)?;
    let threads = serde_json::from_value(carried.printed);
    Ok(threads.map_err(|_| Refusal::bug())?)
}

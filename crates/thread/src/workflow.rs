//! Reading the workflow that a thread is pinned to.

use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_stored;

use crate::ThreadError;

/// Reads a stored workflow, of any of its forms.
///
/// # Errors
/// When the node is something else, or cannot be read.
pub fn read_workflow(store: &Store, hash: CasRef) -> Result<Workflow, ThreadError> {
    let node = store.need(hash)?;
    let found = node.type_hash;
    workflow_stored::from_payload(found, &node.payload).map_err(|source| ThreadError::Workflow {
        hash,
        found,
        source,
    })
}

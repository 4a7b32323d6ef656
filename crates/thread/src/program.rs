//! Reading the program that a thread is pinned to.

use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_protocol::program::Program;

use crate::ThreadError;

/// Reads a stored program, of any language and form.
///
/// # Errors
/// When the node is something else, or cannot be read.
pub fn read_program(store: &Store, hash: CasRef) -> Result<Program, ThreadError> {
    let node = store.need(hash)?;
    let found = node.type_hash;
    Program::from_node(found, &node.payload).map_err(|source| ThreadError::Workflow {
        hash,
        found,
        source,
    })
}

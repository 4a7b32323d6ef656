//! Finds and sends nodes that are missing or damaged at a remote, if this machine has them whole.

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::Remote;

use super::nodes;
use crate::{EngineError, Site};

/// Returns those of the asked nodes that are whole here.
#[must_use]
pub fn whole_nodes(site: &Site, asked: &[CasRef]) -> Vec<LinkedNode> {
    let found = asked
        .iter()
        .filter_map(|node| site.store.linked(*node).ok());
    found.collect()
}

/// Sends nodes that a remote lacks, as far as they are here with all that they need. Returns how many were sent. The count includes
/// needed nodes that the remote lacked, too.
///
/// # Errors
/// When the remote does not answer, or refuses the nodes.
pub fn send_lost(
    site: &Site,
    remote: &mut dyn Remote,
    lost: &[CasRef],
) -> Result<usize, EngineError> {
    let mut sent = 0;
    for node in lost {
        // A node is skipped if something that it needs is missing or damaged here.
        if let Ok(needed) = site.store.needed(&[*node]) {
            sent += nodes::send(site, remote, &needed)?;
        }
    }
    Ok(sent)
}

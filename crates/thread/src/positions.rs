//! The steps of a chain by their numbers. The chain leads backwards only, so they are found by walking it; positions that
//! were recorded before save reading the steps that they cover.

use uwf_cas_fs::Store;
use uwf_protocol::chain::ChainPositions;
use uwf_protocol::ids::CasRef;

use crate::{ThreadError, steps};

/// The positions of all steps up to a head.
#[derive(Debug, PartialEq, Eq)]
pub struct Positions {
    /// The steps by their numbers.
    pub steps: ChainPositions,
    /// How many steps had to be read for it.
    pub read: usize,
}

/// Returns the positions of all steps up to a head. Steps that the recorded positions cover are not read.
///
/// # Errors
/// When a node of the chain cannot be read.
pub fn positions(
    store: &Store,
    recorded: ChainPositions,
    head: CasRef,
) -> Result<Positions, ThreadError> {
    let mut newest_first = Vec::new();
    let mut covered = 0;
    for step in steps(store, head) {
        let step = step?;
        if let Some(number) = recorded.number_of_new(step.hash) {
            covered = number;
            break;
        }
        newest_first.push((step.hash, step.node.role));
    }
    let read = newest_first.len();
    let mut steps = recorded;
    steps.continue_after(covered, newest_first.into_iter().rev());
    Ok(Positions { steps, read })
}

//! How a thread here relates to the same thread in a bundle.

use std::collections::HashSet;

use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_storage::ReplacedStep;
use uwf_thread::{Head, steps};

use crate::EngineError;

/// Where a thread stands here, seen from a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// At the head of the bundle.
    Same,
    /// The bundle goes on from here.
    Behind,
    /// It went on from the head of the bundle.
    Ahead,
    /// It went on here and in the bundle.
    Diverged,
}

/// A thread on one side, here or in the bundle: its head, and its steps that were done again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) head: CasRef,
    pub(crate) replaced: &'a [ReplacedStep],
}

/// Compares the two sides of a thread. The chains of both are in the store.
pub(crate) fn relation(
    store: &Store,
    here: Side<'_>,
    there: Side<'_>,
) -> Result<Relation, EngineError> {
    if here.head == there.head {
        return Ok(Relation::Same);
    }
    let behind = covers(&chain(store, there.head)?, there.replaced, here.head);
    let ahead = covers(&chain(store, here.head)?, here.replaced, there.head);
    Ok(match (behind, ahead) {
        (true, false) => Relation::Behind,
        (false, true) => Relation::Ahead,
        (false, false) => Relation::Diverged,
        (true, true) => by_records(here.replaced, there.replaced),
    })
}

/// Tells whether one side of a thread had a head once. Its chain is in the store.
pub(crate) fn had(store: &Store, side: Side<'_>, head: CasRef) -> Result<bool, EngineError> {
    Ok(covers(&chain(store, side.head)?, side.replaced, head))
}

/// Compares two sides by their records. A thread that was migrated and back had both heads more than once: the side with
/// the longer history is the later one.
fn by_records(here: &[ReplacedStep], there: &[ReplacedStep]) -> Relation {
    let knows_all = |all: &[ReplacedStep], some: &[ReplacedStep]| {
        let key = |step: &ReplacedStep| (step.replaced, step.by);
        some.iter()
            .all(|one| all.iter().any(|other| key(other) == key(one)))
    };
    match (knows_all(there, here), knows_all(here, there)) {
        (true, false) => Relation::Behind,
        (false, true) => Relation::Ahead,
        (true, true) | (false, false) => Relation::Diverged,
    }
}

/// Returns all nodes that were heads on the way to this one, as far as the chain tells.
fn chain(store: &Store, head: CasRef) -> Result<HashSet<CasRef>, EngineError> {
    let mut nodes = HashSet::from([Head::read(store, head)?.start()]);
    for step in steps(store, head) {
        nodes.insert(step?.hash);
    }
    Ok(nodes)
}

/// Tells whether a thread with this chain had the head once: the head is in the chain, or it was replaced by a step that
/// the thread had.
fn covers(chain: &HashSet<CasRef>, replaced: &[ReplacedStep], head: CasRef) -> bool {
    let mut queue = vec![head];
    let mut seen = HashSet::new();
    while let Some(head) = queue.pop() {
        if chain.contains(&head) {
            return true;
        }
        if seen.insert(head) {
            let later = replaced.iter().filter(|step| step.replaced == head);
            queue.extend(later.map(|step| step.by));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> CasRef {
        CasRef::from_u64(number)
    }

    fn replaced(steps: &[(u64, u64)]) -> Vec<ReplacedStep> {
        let step = |(replaced, by): &(u64, u64)| ReplacedStep {
            replaced: node(*replaced),
            by: node(*by),
            in_thread: "01J7K9Z000000000000000000A".parse().unwrap(),
            replaced_at: 0,
            workflow: None,
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn a_thread_that_was_migrated_and_back_is_where_its_longer_history_is() {
        let check = |here: &[(u64, u64)], there: &[(u64, u64)], expected: Relation| {
            assert_eq!(by_records(&replaced(here), &replaced(there)), expected);
        };
        check(&[(1, 2), (2, 1)], &[(1, 2)], Relation::Ahead);
        check(&[(1, 2)], &[(1, 2), (2, 1)], Relation::Behind);
        check(&[(1, 2), (2, 1)], &[(1, 3), (3, 1)], Relation::Diverged);
    }

    #[test]
    fn a_replaced_step_is_behind_the_step_that_took_its_place() {
        let check = |chain: &[u64], steps: &[(u64, u64)], head: u64, expected: bool| {
            let chain: HashSet<CasRef> = chain.iter().copied().map(node).collect();
            assert_eq!(covers(&chain, &replaced(steps), node(head)), expected);
        };
        check(&[1, 2], &[], 2, true);
        check(&[1, 2], &[], 3, false);
        check(&[1, 4], &[(2, 3), (3, 4)], 2, true);
        check(&[1, 4], &[(2, 3)], 2, false);
        // A record may claim anything; the search ends.
        check(&[1], &[(2, 3), (3, 2)], 2, false);
    }
}

//! Finding a step by its place in a thread, without walking its whole chain each time.

use uwf_cas_fs::Store;
use uwf_protocol::chain::ChainPositions;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_thread::{Head, positions, steps, summarize};

use super::NameError;
use super::parse::StepPlace;
use crate::Site;

/// From how many steps on reading them costs more than reading and writing their positions.
const MANY: usize = 64;

/// Returns the node at a place of the thread that ends at a head; `None` if it has no such step.
pub(super) fn step_at(
    site: &Site,
    thread: ThreadId,
    head: CasRef,
    place: &StepPlace,
) -> Result<Option<CasRef>, NameError> {
    let store = &site.store;
    match place {
        StepPlace::Back(0) => Ok(Some(head)),
        StepPlace::Number(0) => Ok(Some(Head::read(store, head)?.start())),
        StepPlace::Back(back) if *back < MANY => few_back(store, head, *back),
        StepPlace::Back(back) => {
            let steps = numbered(site, thread, head)?;
            match steps.count().checked_sub(*back) {
                // Before the first step is the start.
                Some(0) => Ok(Some(Head::read(store, head)?.start())),
                Some(number) => Ok(steps.get(number)),
                None => Ok(None),
            }
        }
        StepPlace::Number(number) => Ok(numbered(site, thread, head)?.get(*number)),
        StepPlace::LastOf(role) => last_of(site, thread, head, role),
    }
}

fn few_back(store: &Store, head: CasRef, back: usize) -> Result<Option<CasRef>, NameError> {
    let mut count = 0;
    for step in steps(store, head).take(back + 1) {
        let step = step?;
        if count == back {
            return Ok(Some(step.hash));
        }
        count += 1;
    }
    let start = Head::read(store, head)?.start();
    Ok((count == back).then_some(start))
}

/// Returns the steps of a thread by their numbers. Those that were found before are recorded, so only newer ones are read.
fn numbered(site: &Site, thread: ThreadId, head: CasRef) -> Result<ChainPositions, NameError> {
    let run = site.root.run(thread);
    let recorded = run.ledger.chain_positions().unwrap_or_default();
    let found = positions(&site.store, recorded, head)?;
    // Only threads that exist have a folder. Without the record, the next call reads the steps again.
    if found.read >= MANY && run.exists() {
        let _ = run.ledger.write_chain_positions(&found.steps);
    }
    Ok(found.steps)
}

/// Returns the last step of a role. The summary that the last step left knows it of all steps before.
fn last_of(
    site: &Site,
    thread: ThreadId,
    head: CasRef,
    role: &RoleName,
) -> Result<Option<CasRef>, NameError> {
    let store = &site.store;
    if let Some(recorded) = site.root.run(thread).ledger.chain_summary() {
        let summary = summarize(store, Some(&recorded), head)?;
        return Ok(summary.visits.get(role).map(|visits| visits.last));
    }
    // No step was done since the thread was made by a fork, or by hand.
    for step in steps(store, head).take(MANY) {
        let step = step?;
        if step.node.role == *role {
            return Ok(Some(step.hash));
        }
    }
    Ok(numbered(site, thread, head)?.last_of(role))
}

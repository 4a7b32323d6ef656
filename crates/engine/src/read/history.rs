//! The chain of a thread with the times at which its nodes were stored.

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_storage::Reason;
use uwf_thread::{Stored, read_start, steps, summarize};

use crate::read::visit_story;
use crate::{EngineError, Site, thread};

/// The chain of a thread, active or ended: the whole one, or its newest steps.
pub(crate) struct History {
    pub(crate) head: CasRef,
    pub(crate) start_hash: CasRef,
    pub(crate) start: StartNode,
    /// When the thread began, in milliseconds since 1970.
    pub(crate) started_ms: i64,
    /// Oldest first.
    pub(crate) steps: Vec<Stored<StepNode>>,
    /// The summary of the whole chain, if earlier steps were not read.
    pub(crate) summary: Option<ChainSummary>,
    /// How it ended, if it did.
    pub(crate) ended: Option<Reason>,
}

impl History {
    /// Reads the chain of a thread.
    pub(crate) fn read(site: &Site, id: ThreadId) -> Result<Self, EngineError> {
        Self::newest(site, id, usize::MAX)
    }

    /// Reads the newest steps of a thread, at most so many.
    pub(crate) fn newest(site: &Site, id: ThreadId, most: usize) -> Result<Self, EngineError> {
        let place = thread::find(site, id)?;
        let (head, ended) = (place.head(), place.end().map(|record| record.reason));
        let newest_first = steps(&site.store, head).take(most);
        let mut steps = newest_first.collect::<Result<Vec<_>, _>>()?;
        steps.reverse();
        let start_hash = steps.first().map_or(head, |first| first.node.start);
        let start = read_start(&site.store, start_hash)?;
        let id_ms = id.time_ms(site.env.now_ms());
        let first = steps.first();
        let first_ms = first.map(|first| first.timestamp_ms);
        let started_ms = started_ms(id_ms, start.timestamp_ms, first_ms);
        let summary = match first {
            Some(first) if first.node.prev.is_some() => {
                let recorded = site.root.run(id).ledger.chain_summary();
                Some(summarize(&site.store, recorded.as_ref(), head)?)
            }
            Some(_) | None => None,
        };
        Ok(Self {
            head,
            start_hash,
            start: start.node,
            started_ms,
            steps,
            summary,
            ended,
        })
    }

    /// Returns how many steps the chain has before those that were read.
    pub(crate) fn hidden(&self) -> u64 {
        let all = self.summary.as_ref().map_or(0, |summary| summary.steps);
        all.saturating_sub(self.steps.len() as u64)
    }
}

impl History {
    /// Reads the data of each answer.
    pub(crate) fn outputs(&self, store: &Store) -> Result<Vec<Value>, StoreError> {
        let steps = self.steps.iter();
        steps
            .map(|step| visit_story::output(store, &step.node))
            .collect()
    }

    /// Returns who answered what.
    pub(crate) fn answers<'h>(&'h self, outputs: &'h [Value]) -> Vec<(&'h RoleName, &'h Value)> {
        let roles = self.steps.iter().map(|step| &step.node.role);
        roles.zip(outputs).collect()
    }
}

/// Returns when a thread began.
///
/// The thread's id has the time. The time of the start node may be that of another thread, since threads with the same task
/// share one start node. Only a fork's id is too young: the thread that it came from has older steps, so the start node
/// counts.
fn started_ms(id_ms: Option<i64>, node_ms: i64, first_step_ms: Option<i64>) -> i64 {
    match id_ms {
        Some(id_ms) if first_step_ms.is_none_or(|first| id_ms <= first) => id_ms,
        Some(_) | None => node_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_began_when_its_id_was_made() {
        assert_eq!(started_ms(Some(50), 10, None), 50);
        assert_eq!(started_ms(Some(50), 10, Some(60)), 50);
    }

    #[test]
    fn a_fork_began_when_the_thread_it_came_from_did() {
        assert_eq!(started_ms(Some(90), 10, Some(60)), 10);
        assert_eq!(started_ms(None, 10, None), 10);
    }
}

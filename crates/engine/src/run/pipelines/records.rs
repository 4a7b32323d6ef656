//! The records of a run beside its chain: its sums, and where it stands. They are caches, so that nobody has to read a long
//! chain to list the run. An error in writing one is no error: the chain tells the same.

use std::time::{Duration, Instant};

use serde::Deserialize;
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::Usage;
use uwf_storage::Ledger;
use uwf_thread::{summarize, used_up_to};

use crate::pipelines::route::standing;
use crate::run::pipelines::commit::NewStep;
use crate::{EngineError, Site};

/// The shortest time between two writings while the run goes on.
const LEAST: Duration = Duration::from_millis(200);

/// The records of a run that a process works on.
pub(super) struct Records<'a> {
    ledger: &'a Ledger,
    summary: ChainSummary,
    used: Used,
    written: Instant,
}

impl<'a> Records<'a> {
    /// Returns the records of a run at a head.
    pub(super) fn at(site: &Site, ledger: &'a Ledger, head: CasRef) -> Result<Self, EngineError> {
        let (summary, usage) = (ledger.chain_summary(), ledger.chain_usage());
        Ok(Self {
            ledger,
            summary: summarize(&site.store, summary.as_ref(), head)?,
            used: used_up_to(&site.store, usage.as_ref(), head)?.used,
            written: Instant::now(),
        })
    }

    /// Counts the step that follows the newest one. What a child thread used up for it is what the child did.
    pub(super) fn add(&mut self, step: &NewStep, hash: CasRef) {
        self.summary.push(hash, &step.role.without_indices());
        let played = step.detail.played.as_ref();
        match played.and_then(|played| Used::deserialize(&played.used).ok()) {
            Some(by_child) => self.used.add_all(&by_child),
            None => {
                let usage = Usage::of_visit(&step.agent, &step.detail.attempts);
                self.used.add(Some(&usage), Some(step.duration_ms));
            }
        }
    }

    /// Writes the sums if this was not done for a while. The head has moved to the newest step.
    pub(super) fn write_if_due(&mut self) {
        if self.written.elapsed() >= LEAST {
            self.write();
        }
    }

    /// Writes the sums, and where the run stands. The head has moved to the newest step.
    pub(super) fn write_last(&mut self, next: &uwf_pipeline::Route) {
        self.write();
        if let Some(standing) = standing(self.summary.head, next) {
            let _ = self.ledger.write_run_standing(&standing);
        }
    }

    fn write(&mut self) {
        let _ = self.ledger.write_chain_summary(&self.summary);
        let _ = self.ledger.write_chain_usage(&ChainUsage {
            head: self.summary.head,
            used: self.used.clone(),
        });
        self.written = Instant::now();
    }
}

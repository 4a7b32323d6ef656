//! Removed threads that come back by an import. What they had used up counts, also if the bundle knows less of it.

use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::run::ThreadRecord;
use uwf_storage::{ReturnedThread, RunDir, State};

use super::manifest::Travelling;
use crate::read::removed_cost::beyond_chain;
use crate::{EngineError, Site};

/// Records what of a removed thread is missing in a bundle, before the thread is added from it with this record.
pub(crate) fn record_missing(
    site: &Site,
    one: &Travelling,
    record: &ThreadRecord,
) -> Result<(), EngineError> {
    let state = State::new(&site.root);
    let Some(removed) = state.removed(one.thread)? else {
        return Ok(());
    };
    let Some(missing) = beyond_chain(site, &removed, one.head) else {
        return Ok(());
    };
    let mut of_attempts = record.dropped.clone();
    for attempt in &record.attempts {
        of_attempts.add_attempt(attempt);
    }
    let used = missing.used.beyond(&of_attempts);
    if used != Used::default() {
        state.record_returned(&ReturnedThread {
            returned: one.thread,
            removed_at: removed.removed_at,
            missing: used,
            steps: missing.steps,
        })?;
    }
    Ok(())
}

/// A thread that came back with less than it had used up, before a later bundle brings more attempts of it. Steps that it
/// brings are known by their digests.
pub(crate) struct Returned {
    record: ReturnedThread,
    head: CasRef,
    of_attempts: Used,
}

impl Returned {
    /// Returns the thread, if it came back with less.
    pub(crate) fn find(
        site: &Site,
        one: &Travelling,
        run: &RunDir,
    ) -> Result<Option<Self>, EngineError> {
        let mut returned = State::new(&site.root).history()?.returned.into_iter();
        let found = returned.find(|known| known.returned == one.thread);
        Ok(found.map(|record| Self {
            record,
            head: one.head,
            of_attempts: run.ledger.used_by_attempts(one.head),
        }))
    }

    /// Takes the attempts that a bundle has brought out of what is missing. If we are killed before, they count twice and
    /// are not lost.
    pub(crate) fn record_brought(self, site: &Site, run: &RunDir) -> Result<(), EngineError> {
        let brought = run
            .ledger
            .used_by_attempts(self.head)
            .beyond(&self.of_attempts);
        let missing = self.record.missing.beyond(&brought);
        if missing != self.record.missing {
            let record = ReturnedThread {
                missing,
                ..self.record
            };
            State::new(&site.root).record_returned(&record)?;
        }
        Ok(())
    }
}

//! The record of a conversation whose answer was accepted and whose checks run: another attempt goes on from it.

use uwf_protocol::nodes::{Extraction, Usage};
use uwf_protocol::run::{Answered, Said};
use uwf_storage::RunDir;

use super::{Conversation, Exchange, sum};
use crate::adapter::Task;
use crate::extract::Extracted;

/// The times of an earlier attempt whose agent died while the checks ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// When the work on the answer began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// How long was worked until the answer was accepted, in milliseconds.
    pub worked_ms: i64,
}

impl From<Said> for Exchange {
    /// The data of the answer is on record, too, so nobody reads it again.
    fn from(said: Said) -> Self {
        Self {
            message: said.message,
            heard: said.text.clone(),
            text: said.text,
            turns: said.turns,
        }
    }
}

impl Conversation {
    /// Goes on from the record of an answer that was accepted, if it is one to the same task. The usage of its attempts is
    /// included.
    pub(crate) fn restore(
        &mut self,
        answered: Answered,
        task: &Task,
    ) -> Option<(Extracted, Extraction)> {
        let place = (
            answered.head,
            answered.replaces,
            &answered.role,
            &answered.agent,
        );
        let is_here = place == (task.head, task.replaces, &task.role, &task.agent);
        let is_same = answered.prompt == task.masks.text(&task.prompt);
        if !is_here || !is_same || answered.exchanges.is_empty() {
            return None;
        }
        // The attempts of an agent that was started by hand are not on record.
        let next = RunDir::at(task.run_dir.clone()).ledger.next_attempt();
        let is_on_record = answered.attempts.iter().all(|attempt| *attempt < next);
        let usage = sum(self.usage.take(), answered.usage.clone());
        *self = Self {
            scratch: self.scratch.take(),
            masks: std::mem::take(&mut self.masks),
            restored: Some(Restored {
                started_at_ms: answered.started_at_ms,
                worked_ms: answered.worked_ms,
            }),
            known: answered.exchanges.len(),
            exchanges: answered.exchanges.into_iter().map(Exchange::from).collect(),
            session_id: answered.session_id,
            model: answered.model,
            usage,
            earlier_attempts: answered.attempts,
            used_earlier: answered.usage.filter(|_| is_on_record),
            refused: answered.refused,
            ..Self::default()
        };
        self.record_usage();
        let extracted = Extracted {
            type_hash: answered.type_hash,
            output: answered.output,
            body: answered.body,
        };
        Some((extracted, answered.extraction))
    }

    /// Returns the record that the conversation goes on from, if it does.
    #[must_use]
    pub fn restored(&self) -> Option<Restored> {
        self.restored
    }

    /// Returns what this attempt used up itself, without what earlier attempts have on record. If nothing was said since then, it
    /// used no model, also if nobody knows what the earlier ones used up.
    pub(crate) fn own_usage(&self) -> Option<Usage> {
        match (&self.usage, &self.used_earlier) {
            (Some(usage), Some(earlier)) => Some(usage.beyond(earlier)),
            (None, _) if self.is_taken_over() => Some(Usage::nothing()),
            (usage, _) => usage.clone(),
        }
    }

    /// Tells whether all that was said is from earlier attempts.
    fn is_taken_over(&self) -> bool {
        !self.earlier_attempts.is_empty() && !self.has_news()
    }

    /// Tells the answer of an earlier attempt what it used up: the attempt could not tell it itself. An attempt without a record
    /// leaves its usage to this one.
    pub(super) fn settle_usage_of(&mut self, attempt: u64, run: &RunDir) {
        self.earlier_attempts = vec![attempt];
        if let Some(usage) = &self.usage
            && let Ok(true) = run.ledger.record_usage(attempt, usage)
        {
            self.used_earlier = Some(usage.clone());
        }
    }

    /// Records that the agent is asked again. What that uses up is unknown until it answers.
    pub(super) fn record_asking(&self) {
        if let Some(scratch) = &self.scratch
            && self.is_taken_over()
            && self.usage == self.used_earlier
        {
            let _ = scratch.clear_usage();
        }
    }

    /// Records what this attempt used up itself: it may be ended before it can tell.
    pub(crate) fn record_usage(&self) {
        if let (Some(scratch), Some(usage)) = (&self.scratch, self.own_usage()) {
            let _ = scratch.write_usage(&usage);
        }
    }

    /// Tells whether something was said that no record has.
    pub(crate) fn has_news(&self) -> bool {
        self.exchanges.len() > self.known
    }

    /// Returns what was said, oldest first and without secrets.
    pub(crate) fn said(&self) -> Vec<Said> {
        let said = self.exchanges.iter().map(|exchange| Said {
            message: exchange.message.clone(),
            text: exchange.text.clone(),
            turns: exchange.turns.clone(),
        });
        said.collect()
    }

    /// Returns the tools whose calls were refused, one entry for each call.
    pub(crate) fn refused(&self) -> &[String] {
        &self.refused
    }
}

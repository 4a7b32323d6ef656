//! The record of a conversation whose answer was accepted and whose checks run: another attempt goes on from it.

use uwf_protocol::nodes::Extraction;
use uwf_protocol::run::{Answered, Said};

use super::{Conversation, Exchange};
use crate::adapter::Task;
use crate::extract::Extracted;

/// What an earlier attempt had reached whose agent died while the checks ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// When that attempt began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When its answer was accepted.
    pub answered_at_ms: i64,
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
    /// Goes on from the record of an answer that was accepted, if it is one to the same task. The usage of its attempt is
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
        *self = Self {
            scratch: self.scratch.take(),
            masks: std::mem::take(&mut self.masks),
            restored: Some(Restored {
                started_at_ms: answered.started_at_ms,
                answered_at_ms: answered.answered_at_ms,
            }),
            known: answered.exchanges.len(),
            exchanges: answered.exchanges.into_iter().map(Exchange::from).collect(),
            session_id: answered.session_id,
            model: answered.model,
            usage: answered.usage,
            answer_of: Some(answered.attempt),
            refused: answered.refused,
            ..Self::default()
        };
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

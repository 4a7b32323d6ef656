//! What a call records about a conversation that has ended: when it was, its session, and how it failed.

use uwf_cas_fs::StoreError;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::RefusedCalls;
use uwf_protocol::run::KitFailure;
use uwf_protocol::schemas;
use uwf_storage::{Sessions, StorageError};

use super::Service;
use super::failure::hint_of;
use crate::adapter::Task;
use crate::conversation::{Conversation, Unfinished};
use crate::{persist, prompt};

impl Service<'_> {
    /// Returns when the work on a finished step began, and when it was done.
    pub(super) fn times(
        &self,
        conversation: &Conversation,
        started_at_ms: i64,
        now_ms: i64,
    ) -> (i64, i64) {
        if let Some(restored) = conversation.restored() {
            // The time in which nobody worked does not count, and the clock may have been set back.
            let took = restored.worked_ms.max(0) + (now_ms - started_at_ms).max(0);
            let started = restored.started_at_ms.min(now_ms);
            return (started, (started + took).min(now_ms));
        }
        let earlier = conversation.earlier_attempts.first();
        let earlier = earlier.and_then(|it| self.times_of(*it, now_ms));
        earlier.unwrap_or((started_at_ms, now_ms))
    }

    /// Returns when an earlier attempt started, and when its program last printed something.
    fn times_of(&self, attempt: u64, now_ms: i64) -> Option<(i64, i64)> {
        let mut attempts = self.run.ledger.attempts().into_iter();
        let attempt = attempts.find(|one| one.number == attempt)?;
        let printed_ms = self.run.scratch.program_output_ms()?;
        // The clock may have been set back since then.
        let started_ms = attempt.started_at_ms.min(now_ms);
        Some((started_ms, printed_ms.max(started_ms).min(now_ms)))
    }

    /// Stores the last answer and the turns, and writes the failure record for the engine. All are best effort: the exit code
    /// alone says that the call failed. On a full disk, the answer and the record get the reserved space. The turns do not:
    /// there may be so many that none would be left for the record.
    pub(super) fn record_failure(
        &self,
        task: &Task,
        conversation: &Conversation,
        source: &Unfinished,
        now_ms: i64,
    ) -> Option<CasRef> {
        let Self {
            root, store, run, ..
        } = self;
        let mut answer = conversation.answer().to_owned();
        if let Unfinished::ChecksFailed { failed, .. } = source {
            answer = format!("{answer}\n\n{}", prompt::said_by_checks(failed, usize::MAX));
        }
        let raw = Some(answer)
            .filter(|answer| !answer.is_empty())
            .and_then(|answer| {
                let put = || store.put_volatile(schemas::TEXT, &answer.clone().into(), now_ms);
                root.with_room(StoreError::is_of_full_disk, put).ok()
            });
        let turns = conversation.turns();
        let turns = turns
            .iter()
            .filter_map(|turn| persist::put_turn(store, turn, now_ms).ok())
            .collect();
        let class = conversation.class_of(source);
        if let Some(session) = &conversation.session_id
            && class != FailureClass::ContextTooLong
        {
            let _ = run
                .sessions
                .write_started(&task.started_session(session.clone()));
        }
        let feedback = Some(source.feedback()).filter(|feedback| *feedback != source.to_string());
        let failure = KitFailure {
            phase: source.phase(),
            class: Some(class),
            error: self.masks.text(&source.to_string()),
            hint: hint_of(
                source,
                raw,
                RefusedCalls::note(&conversation.refused_calls()),
            )
            .map(|hint| self.masks.text(&hint)),
            feedback,
            session_id: conversation.session_id.clone(),
            retry_after_ms: source.try_again().map(|when| when.from_now_ms(now_ms)),
            usage: conversation.own_usage(),
            raw,
            turns,
        };
        let write = || run.scratch.write_failure(&failure);
        let _ = root.with_room(StorageError::is_of_full_disk, write);
        raw
    }
}

/// Records the session of a conversation that has ended, or forgets it if it cannot be continued.
pub(super) fn remember(
    sessions: &Sessions,
    task: &Task,
    conversation: &Conversation,
    error: Option<&Unfinished>,
) {
    let class = error.map(|error| conversation.class_of(error));
    if class == Some(FailureClass::ContextTooLong) {
        // The session stays too long for the model, whatever is said next.
        let _ = sessions.forget(&task.role, Some(&task.agent));
    } else if let Some(session) = &conversation.session_id
        && task.session.as_ref() != Some(session)
    {
        // Best effort: without the record the next visit starts a new session; an error here would cost this step.
        let _ = sessions.remember(&task.role, &task.agent, session);
    }
}

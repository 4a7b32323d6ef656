//! Answers that wait: a program finished after its engine and its adapter had died, and no step has its answer yet.

use std::path::PathBuf;

use serde::Serialize;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::Launched;
use uwf_storage::RunDir;

use crate::EngineError;
use crate::thread::Thread;

/// The answer of a program that no step has yet: engine and adapter died before they could use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingAnswer {
    /// The role that answered.
    pub role: RoleName,
    /// The step that the answer replaces, if that step was being done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// What the program was told with `-p`. The answer is one to these words only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl WaitingAnswer {
    /// Returns the answer that waits at the head of a thread, as far as its files tell. The next attempt at the same place
    /// uses it, if it is complete.
    pub(crate) fn at(run: &RunDir, head: CasRef) -> Option<Self> {
        let launched = run.scratch.launched()?;
        let has_content = |file: &PathBuf| file.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let is_here = launched.replaces.unwrap_or(launched.head) == head;
        let outputs = [run.scratch.answer_file(), run.scratch.events_file()];
        if !is_here || !outputs.iter().any(has_content) {
            return None;
        }
        Some(Self {
            words: words_of(run, &launched),
            role: launched.role,
            replaces: launched.replaces,
        })
    }

    /// Returns the error of a call that would drop the answer.
    pub(crate) fn refuse(self, thread: ThreadId) -> EngineError {
        EngineError::AnswerWaits {
            thread,
            answer: self,
        }
    }
}

/// Returns what the program was told: the lease record of its attempt says it, or the record of the attempt.
fn words_of(run: &RunDir, launched: &Launched) -> Option<String> {
    let record = run.lease.read_record();
    match record.filter(|record| launched.mark.is_some() && record.attempt == launched.mark) {
        Some(record) => record.words,
        None => {
            let attempts = run.ledger.attempts().into_iter();
            let mut own = attempts.filter(|attempt| launched.attempt == Some(attempt.number));
            own.next()?.words
        }
    }
}

/// Fails if this call would drop an answer that waits: because it belongs to another place than the one that this call works
/// at, or because its program was told other words.
pub(crate) fn refuse_to_drop_an_answer(
    run: &RunDir,
    thread: &Thread,
    words: Option<&str>,
) -> Result<(), EngineError> {
    match WaitingAnswer::at(run, thread.expected_head()) {
        Some(answer) if (answer.replaces, answer.words.as_deref()) != (thread.replaces, words) => {
            Err(answer.refuse(thread.id))
        }
        Some(_) | None => Ok(()),
    }
}

//! Finished steps that are in no chain of their thread: they were paid for, and count as failed attempts.

use uwf_protocol::ids::CasRef;
use uwf_protocol::run::{Attempt, Pending};
use uwf_storage::RunDir;
use uwf_thread::{read_step, usage_of};

use crate::{EngineError, Site};

/// A finished step that does not follow the head of its thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Astray {
    pub(crate) step: CasRef,
    /// The head that it follows.
    pub(crate) head: CasRef,
    /// The step whose place it was to take, if one was done again.
    pub(crate) replaces: Option<CasRef>,
}

/// Why a finished step does not follow the head of its thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Why {
    /// The thread has another head.
    HeadMoved,
    /// The thread has ended.
    ThreadEnded,
}

impl Astray {
    pub(crate) fn of(pending: &Pending) -> Self {
        Self {
            step: pending.step,
            head: pending.head,
            replaces: pending.replaces,
        }
    }

    /// Counts what the step used up as that of a failed attempt: it was paid for, and no chain of this thread counts it. The attempts
    /// whose answer it uses are counted in it.
    pub(crate) fn count(self, site: &Site, run: &RunDir, why: Why) -> Result<(), EngineError> {
        // A step that was refused before is counted, and is a failed attempt of its own answer.
        let mut attempts = run.ledger.attempts().into_iter();
        if attempts.any(|attempt| attempt.kept == Some(self.step)) {
            return Ok(());
        }
        let store = &site.store;
        let Ok(node) = read_step(store, self.step).map(|step| step.node) else {
            return Ok(());
        };
        let Ok(Some(usage)) = usage_of(store, &node) else {
            return Ok(());
        };
        if let Some(pending) = run.outbox.read_pending()?.filter(|it| it.step == self.step) {
            run.ledger.count_in_step(&pending)?;
        }
        let (step, now_ms) = (self.step, site.env.now_ms());
        Ok(run.ledger.count_kept(&Attempt {
            replaces: self.replaces,
            agent: node.agent,
            error: match why {
                Why::HeadMoved => "the head had moved when it was finished; its step is kept",
                Why::ThreadEnded => "the thread had ended when it was finished; its step is kept",
            }
            .to_owned(),
            hint: Some(format!("`uwf thread fork {step}` goes on from it")),
            usage: Some(usage),
            kept: Some(step),
            started_at_ms: node.started_at_ms.unwrap_or(now_ms),
            ended_at_ms: node.completed_at_ms.unwrap_or(now_ms),
            ..Attempt::of(self.head, node.role)
        })?)
    }
}

//! Refused steps: a finished step that does not follow the head of its thread was paid for. It is kept, and the person is told.

use uwf_cas_fs::StoreError;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::{Pending, RefusedStep};
use uwf_storage::RunDir;
use uwf_thread::{ThreadError, read_step, steps, with_output};

use crate::astray::{Astray, Why};
use crate::run::answer;
use crate::run::shared::is_or_was_head_there;
use crate::thread::Thread;
use crate::{EngineError, Runner, tags};

/// What is known of a step that is refused.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    /// It is durable. The role may be unknown.
    Whole(Option<RoleName>),
    /// It cannot be read now.
    Unreadable,
}

impl Astray {
    /// Keeps the step: it is recorded as refused, and its pending record is removed.
    pub(crate) fn keep(self, runner: &Runner, run: &RunDir) -> Result<(), EngineError> {
        let Self {
            step,
            head,
            replaces,
        } = self;
        Ok(run.outbox.refuse(&RefusedStep {
            step,
            head,
            replaces,
            at_ms: runner.site.env.now_ms(),
        })?)
    }

    /// Keeps the step, which an earlier call finished, and tells the person.
    pub(crate) fn keep_and_tell(
        self,
        runner: &Runner,
        run: &RunDir,
        found: &Found,
    ) -> Result<(), EngineError> {
        self.keep(runner, run)?;
        self.tell(runner, found);
        Ok(())
    }

    /// Tells the person that the step, which an earlier call finished, is kept.
    fn tell(self, runner: &Runner, found: &Found) {
        let Self { step, head, .. } = self;
        let by = match found {
            Found::Whole(Some(role)) => format!(" of `{role}`"),
            Found::Whole(None) | Found::Unreadable => String::new(),
        };
        let kept = match found {
            Found::Whole(_) => format!(
                "it is kept; `uwf step read {step}` shows it, and `uwf thread fork {step}` goes on from it"
            ),
            Found::Unreadable => format!(
                "it cannot be read, and its record is kept; `uwf cas verify` tells what is damaged, and once that is repaired, `uwf step read {step}` shows it"
            ),
        };
        (runner.notice)(&format!(
            "step `{step}`{by}, which an earlier call finished, follows `{head}` and is not in the thread: {kept}"
        ));
    }
}

/// Logs that a finished step is not committed.
pub(crate) fn log(runner: &Runner, thread: ThreadId, step: CasRef) {
    let message = format!("step={step}");
    let site = &runner.site;
    site.log_line(tags::PENDING_REFUSED, &message, Some(thread), None);
}

/// Tells whether a node is not there. One that is damaged is there, and may be repaired.
pub(crate) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound { .. } | StoreError::Lost { .. })
}

/// Refuses a finished step that does not follow the thread's head, and tells the person. Returns the step if it is kept.
pub(crate) fn refuse(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    pending: &Pending,
) -> Result<Option<CasRef>, EngineError> {
    let found = keep_beside(runner, run, thread, pending, Why::HeadMoved)?;
    Ok(found.map(|found| {
        Astray::of(pending).tell(runner, &found);
        pending.step
    }))
}

/// Keeps a finished step beside its thread, and removes its pending record. Unless the thread has the step already, here or at the
/// remote, or the step is gone, it is counted and recorded as refused. Its nodes are made durable first, if they can be read. Returns
/// what is known of a step that is kept.
///
/// # Errors
/// When the thread is shared and the remote does not answer. Then the record stays as it was.
pub(crate) fn keep_beside(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    pending: &Pending,
    why: Why,
) -> Result<Option<Found>, EngineError> {
    let store = &runner.site.store;
    let mut is_in_thread = false;
    for step in steps(store, thread.head) {
        if step?.hash == pending.step {
            is_in_thread = true;
            break;
        }
    }
    // The call that finished it may have been killed when the remote had it, and others may have done it again since.
    is_in_thread = is_in_thread || is_or_was_head_there(runner, thread.id, pending.step)?;
    let step = read_step(store, pending.step).and_then(|step| Ok(with_output(store, step)?));
    let found = match step {
        Ok(step) if !is_in_thread => {
            store.sync(&answer::closure(store, &step)?)?;
            Found::Whole(Some(step.node.role))
        }
        Err(ThreadError::Store(error)) if !is_gone(&error) => Found::Unreadable,
        Ok(_) | Err(_) => {
            if is_in_thread && !thread.is_run() {
                run.lease.clear_record()?;
            }
            run.outbox.clear_pending()?;
            return Ok(None);
        }
    };
    let astray = Astray::of(pending);
    if !thread.is_run() {
        astray.count(&runner.site, run, why)?;
        // If it outlived the pending record, it would be that of a lost attempt.
        run.lease.clear_record()?;
    }
    astray.keep(runner, run)?;
    Ok(Some(found))
}

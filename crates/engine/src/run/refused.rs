//! Refused steps: a finished step that does not follow the head of its thread was paid for. It is kept, and the person is told.

use uwf_cas_fs::StoreError;
use uwf_protocol::ids::RoleName;
use uwf_protocol::run::{Pending, RefusedStep};
use uwf_storage::RunDir;
use uwf_thread::{ThreadError, read_step, steps, with_output};

use crate::run::answer;
use crate::thread::Thread;
use crate::{EngineError, Runner};

/// Refuses a finished step that does not follow the thread's head, and removes its pending record. Unless the thread has it
/// already, its nodes are synced and it is recorded as refused.
pub(crate) fn refuse(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    pending: &Pending,
) -> Result<(), EngineError> {
    let store = &runner.site.store;
    let mut is_in_thread = false;
    for step in steps(store, thread.head) {
        if step?.hash == pending.step {
            is_in_thread = true;
            break;
        }
    }
    let step = read_step(store, pending.step).and_then(|step| Ok(with_output(store, step)?));
    let role = match step {
        Ok(step) if !is_in_thread => {
            store.sync(&answer::closure(store, &step)?)?;
            Some(step.node.role)
        }
        // The step is there, but cannot be read: somebody may repair it.
        Err(ThreadError::Store(error)) if !matches!(error, StoreError::Lost { .. }) => None,
        Ok(_) | Err(_) => return Ok(run.outbox.clear_pending()?),
    };
    run.outbox.refuse(&RefusedStep {
        step: pending.step,
        head: pending.head,
        replaces: pending.replaces,
        at_ms: runner.site.env.now_ms(),
    })?;
    tell(runner, pending, role.as_ref());
    Ok(())
}

/// Tells the person of a step that an earlier call finished and this one has refused.
pub(crate) fn tell(runner: &Runner, pending: &Pending, role: Option<&RoleName>) {
    let Pending { step, head, .. } = pending;
    let by = role.map_or_else(String::new, |role| format!(" of `{role}`"));
    (runner.notice)(&format!(
        "step `{step}`{by}, which an earlier call finished, follows `{head}` and is not in the thread: it is kept; `uwf step read {step}` shows it, and `uwf thread fork {step}` goes on from it"
    ));
}

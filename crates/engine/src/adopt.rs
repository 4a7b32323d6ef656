//! Taking in a step that an agent finished after the engine that started it had died.

use uwf_cas_fs::StoreError;
use uwf_moderator::{Entry, Route, enter};
use uwf_protocol::ids::RoleName;
use uwf_storage::RunDir;

use crate::answer::{self, Refusal};
use crate::commit::{commit, report};
use crate::thread::Thread;
use crate::view::report::{StepReport, Taken};
use crate::{Engine, EngineError, chain, limits, tags};

/// What became of looking for a finished step.
pub(crate) enum Adoption {
    /// There was one, and it is in the thread now.
    Taken(Box<StepReport>),
    /// There is none: the thread is as it was.
    Nothing(Box<Thread>),
}

/// Takes the finished step in that the run's record names, if it follows the head and is what the graph
/// asks for there. A record of anything else is removed; one that cannot be read now is kept.
pub(crate) fn adopt(
    engine: &Engine,
    run: &RunDir,
    thread: Thread,
) -> Result<Adoption, EngineError> {
    let Some(pending) = run.read_pending()? else {
        return Ok(Adoption::Nothing(Box::new(thread)));
    };
    let expected = expected_role(&thread).filter(|_| pending.head == thread.head);
    let checked = expected.map(|role| answer::check(&engine.store, &thread, &role, pending.step));
    let step = match checked {
        Some(Ok(step)) => step,
        Some(Err(Refusal::Store(error))) if !is_gone(&error) => return Err(error.into()),
        Some(Err(_)) | None => {
            let message = format!("step={}", pending.step);
            engine.log(&thread, tags::PENDING_REFUSED, &message);
            run.clear_pending()?;
            return Ok(Adoption::Nothing(Box::new(thread)));
        }
    };
    let summary = chain::summary(&engine.store, run, thread.start_hash, thread.head)?;
    engine.log(&thread, tags::ADOPTED, &format!("step={}", pending.step));
    let committed = commit(engine, run, thread, &summary, step)?;
    // Whoever is on record there did this step.
    run.clear_holder()?;
    let config = limits::of_config(engine);
    let report = report(engine, run, committed, Taken::Adopted, &config);
    Ok(Adoption::Taken(Box::new(report)))
}

/// Returns who can have been at work at the thread's head: the role that is next, the one that was
/// answered, or the one through which an ended thread was entered again.
fn expected_role(thread: &Thread) -> Option<RoleName> {
    match thread.route().ok()? {
        Route::To(assignment) => Some(assignment.role),
        Route::Suspend { role, .. } => Some(role),
        Route::End => {
            let (workflow, start) = (&thread.workflow, &thread.start);
            match enter(workflow, start, &thread.steps, Entry::Resume) {
                Ok(Route::To(assignment)) => Some(assignment.role),
                Ok(Route::Suspend { .. } | Route::End) | Err(_) => None,
            }
        }
    }
}

/// Tells whether a node of the step is no longer there as it was, which no waiting mends.
fn is_gone(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotFound { .. } | StoreError::Damaged { .. }
    )
}

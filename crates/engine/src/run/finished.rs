//! A finished step that waits here: it becomes part of its thread, and no agent is started.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_thread::Head;

use crate::children::{has_children, parent_at};
use crate::pipelines::chain::is_run;
use crate::read::report::StepReport;
use crate::run::adopt::{Adoption, adopt};
use crate::run::hooks;
use crate::run::owned::{OwnedRun, with_thread_and_lease};
use crate::run::pipelines::adopt::adopt as adopt_steps;
use crate::sharing::{has_on_its_way, waiting_step, waiting_threads};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner};

/// What became of a finished step that waited here.
pub(crate) enum Waited {
    /// There was none, or the remote had it already.
    Nothing,
    /// It is the head now. This was the head before.
    Committed(CasRef),
    /// Others have gone on with the thread or ended it, so this step is kept beside it.
    Kept(CasRef),
}

/// Commits the finished step of a thread that waits here, if there is one. A shared thread has it at the remote, too. If another
/// machine has gone on instead, the step is kept beside the thread, and the person is told.
///
/// # Errors
/// When the thread is busy here or elsewhere. Then the step waits as before.
pub(crate) fn commit_waiting_step(runner: &Runner, id: ThreadId) -> Result<Waited, EngineError> {
    let Some(step) = waiting_step(&runner.site, id)? else {
        return Ok(Waited::Nothing);
    };
    let head = || Ok::<_, EngineError>(thread::find(&runner.site, id)?.head());
    let mut before = step;
    let committed = with_thread_and_lease(runner, id, |run| {
        // What the remote has of the thread is here by now.
        before = head()?;
        commit(runner, run, id)
    });
    // Hooks are told when the thread is free.
    let committed = match committed {
        Ok(None) => Ok(()),
        Ok(Some(report)) => hooks::after(runner, id, Ok(report)).map(drop),
        Err(error) => hooks::after(runner, id, Err(error)).map(drop),
    };
    match committed {
        // It has ended at the remote, and the step is kept beside it.
        Ok(()) | Err(EngineError::Ended { .. } | EngineError::Unrouted { .. }) => {}
        Err(error) => {
            if waiting_step(&runner.site, id)?.is_none() {
                return Err(error);
            }
            (runner.notice)(&format!(
                "step `{step}` of thread `{id}` is finished and waits here; nothing of it is lost, and `uwf push {id}` shares it, or keeps it beside the thread"
            ));
            return Err(error);
        }
    }
    let head = head()?;
    if !has_on_its_way(&runner.site, head, step)? {
        return Ok(Waited::Kept(step));
    }
    Ok(match before != step && head == step {
        true => Waited::Committed(before),
        false => Waited::Nothing,
    })
}

/// Commits the finished steps of children of a thread that wait here: the thread has gone on elsewhere, so perhaps nobody steps these
/// children any more. What cannot be committed now waits, and the person is told.
pub(crate) fn commit_waiting_steps_of_children(
    runner: &Runner,
    id: ThreadId,
) -> Result<(), EngineError> {
    let site = &runner.site;
    let parent = Thread::load(&site.store, id, thread::find(site, id)?.head())?;
    if !parent.is_run() && !has_children(&parent.program) {
        return Ok(());
    }
    for thread in waiting_threads(site)? {
        let head = thread::find(site, thread)?.head();
        let parent = parent_at(site, thread, head)?;
        if parent.is_some_and(|parent| parent.thread == id) {
            match commit_waiting_step(runner, thread) {
                // It is kept beside the child, and only the error says so.
                Err(error) if waiting_step(site, thread)?.is_none() => {
                    (runner.notice)(&error.to_string());
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Commits what waits. Returns the report of the step, for the hooks; those of runs have none.
fn commit(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
) -> Result<Option<StepReport>, EngineError> {
    let store = &runner.site.store;
    let head = thread::active_head(&runner.site, id)?;
    if is_run(store, head)? {
        let start = Head::read(store, head)?.start();
        let shared = run.shared.as_ref();
        adopt_steps(runner, (run, shared), (id, start, head))?;
        return Ok(None);
    }
    Ok(match adopt(runner, run, Thread::load(store, id, head)?)? {
        Adoption::Committed(report) => Some(*report),
        Adoption::Nothing(_) => None,
    })
}

//! A shared thread that has ended at the remote ends here, too.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::ThreadId;
use uwf_remote::Remote;
use uwf_storage::{RunDir, State};

use crate::pipelines::chain::is_run;
use crate::run::finished::commit_waiting_steps_of_children;
use crate::run::owned::with_thread;
use crate::run::pipelines::adopt::refuse_pending;
use crate::run::pipelines::open::end_program;
use crate::run::refused::refuse;
use crate::sharing::family::there;
use crate::sharing::fetch::bring_end;
use crate::thread::{self, Thread};
use crate::{EngineError, Runner};

/// Ends a thread here, if it has ended at the remote. A finished step that waits here is kept beside the thread.
///
/// # Errors
/// When the remote does not answer, or a process of this machine works on the thread.
pub(crate) fn take_end(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    let found = there(remote, id, None)?;
    if found.is_none_or(|found| found.listed.status != HeadStatus::Ended) {
        return Ok(());
    }
    with_thread(runner, id, |run| end_here(runner, run, remote, id))
}

/// Ends a thread here that has ended at the remote while this machine worked on it, and says so.
pub(super) fn follow_end(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    let found = there(remote, id, None)?;
    let has_ended = found.is_some_and(|found| found.listed.status == HeadStatus::Ended);
    if has_ended
        && State::new(&runner.site.root).head(id)?.is_some()
        && let Err(ended) = end_here(runner, run, remote, id)
    {
        (runner.notice)(&format!("another machine was faster: {ended}"));
    }
    Ok(())
}

/// Ends a thread here that has ended at the remote. Returns the error that says how it has ended.
pub(super) fn ended_there(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> EngineError {
    match end_here(runner, run, remote, id) {
        Err(error) => error,
        Ok(()) => thread::busy(id, None),
    }
}

/// Ends a thread here with the steps that we do not have yet. The program of a lost attempt works for nothing, so it is ended, too. The
/// error says how the thread has ended.
fn end_here(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    bring_end(&runner.site, run, remote, id)?;
    let head = thread::find(&runner.site, id)?.head();
    if is_run(&runner.site.store, head)?
        && let Some(record) = run.lease.read_record()
    {
        end_program(runner, run, (id, head), &record)?;
    }
    keep_waiting_step(runner, run, id)?;
    commit_waiting_steps_of_children(runner, id)?;
    thread::active_head(&runner.site, id).map(drop)
}

/// Keeps a finished step that waits here, if one does: the thread has ended without it.
pub(crate) fn keep_waiting_step(
    runner: &Runner,
    run: &RunDir,
    id: ThreadId,
) -> Result<(), EngineError> {
    let Some(pending) = run.outbox.read_pending()? else {
        return Ok(());
    };
    let site = &runner.site;
    let head = thread::find(site, id)?.head();
    if is_run(&site.store, head)? {
        return refuse_pending(runner, run, (id, head), &pending);
    }
    let thread = Thread::load(&site.store, id, head)?;
    refuse(runner, run, &thread, &pending)
}

//! Ends a shared thread here that has ended at the remote.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::Remote;
use uwf_storage::{HistoryRecord, Located, RunDir, State};

use crate::describe::describe_reason;
use crate::pipelines::chain::is_run;
use crate::run::finished::commit_waiting_steps_of_children;
use crate::run::owned::with_thread;
use crate::run::pipelines::adopt::refuse_pending;
use crate::run::pipelines::ended::show_end;
use crate::run::pipelines::open::{end_program, lost_attempt};
use crate::run::refused::refuse;
use crate::sharing::family::there;
use crate::sharing::fetch::bring_end;
use crate::sharing::tell_without_lease;
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, lost_run};

/// Ends a thread here, if it has ended at the remote. A finished step that waits here is kept beside the thread.
///
/// # Errors
/// When the remote does not answer, or a process of this machine works on the thread.
pub(crate) fn take_end(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    match has_ended(remote, id)? {
        true => with_thread(runner, id, |run| end_here(runner, run, remote, id)).map(drop),
        false => Ok(()),
    }
}

/// Ends a thread here that has ended at the remote while this machine worked on it, and says so. Returns the error that says how it has
/// ended.
pub(super) fn follow_end(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<Option<EngineError>, EngineError> {
    let is_active = State::new(&runner.site.root).head(id)?.is_some();
    if !is_active || !has_ended(remote, id)? {
        return Ok(None);
    }
    let ended = end_here(runner, run, remote, id)?;
    (runner.notice)(&format!(
        "thread `{id}` has ended on another machine ({})",
        describe_reason(ended.reason)
    ));
    Ok(Some(of(&ended)))
}

/// Ends a thread here that has ended at the remote. Returns the error that says how it has ended.
pub(super) fn end_as_there(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> EngineError {
    match end_here(runner, run, remote, id) {
        Ok(ended) => of(&ended),
        Err(error) => error,
    }
}

/// Tells whether a thread has ended at the remote.
pub(crate) fn has_ended(remote: &mut dyn Remote, id: ThreadId) -> Result<bool, EngineError> {
    let found = there(remote, id, None)?;
    Ok(found.is_some_and(|found| found.listed.status == HeadStatus::Ended))
}

/// Returns the error of a call on a thread that has ended.
fn of(ended: &HistoryRecord) -> EngineError {
    EngineError::Ended {
        thread: ended.thread,
        reason: ended.reason,
    }
}

/// Brings the last steps of a thread, ends it here, settles what it has left, and tells the other machines what that used up.
fn end_here(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<HistoryRecord, EngineError> {
    let site = &runner.site;
    bring_end(site, run, remote, id)?;
    let before = run.ledger.export();
    settle_ended(runner, run, id)?;
    let known = run.ledger.export();
    if known != before
        && let Some(record) = site.root.shared(id).read()?
    {
        // Nobody takes a lease of the thread any more. If this fails, `push` tells it.
        let _ = tell_without_lease(remote, id, &record, &known);
    }
    match thread::find(site, id)? {
        Located::Archived(record) => Ok(record),
        // Another command of this machine has moved the head meanwhile.
        Located::Active(_) => Err(thread::busy(id, None)),
    }
}

/// Ends the program of a lost attempt at a step of a run. What a settled step has left running goes on.
fn end_lost_program(runner: &Runner, run: &RunDir, id: ThreadId) -> Result<(), EngineError> {
    let site = &runner.site;
    let head = thread::find(site, id)?.head();
    if is_run(&site.store, head)?
        && let Some(record) = lost_attempt(runner, run, head)?
    {
        end_program(runner, run, (id, head), &record)?;
        run.lease.clear_record()?;
    }
    Ok(())
}

/// Settles what a thread has left here that has ended: a lost attempt and its program, finished steps that wait, and the picture of
/// a run. If `fetch` has brought the end, or a call was killed after it, the next call does this.
pub(super) fn settle_ended(runner: &Runner, run: &RunDir, id: ThreadId) -> Result<(), EngineError> {
    end_lost_program(runner, run, id)?;
    keep_waiting_step(runner, run, id)?;
    let head = thread::find(&runner.site, id)?.head();
    lost_run::record_at(&runner.site, run, id, head)?;
    commit_waiting_steps_of_children(runner, id)?;
    if let Err(error) = show_end(runner, id) {
        (runner.notice)(&format!(
            "the files of the run do not show its end: {error}"
        ));
    }
    Ok(())
}

/// Keeps a finished step that waits here beside the thread, which has ended without it. Returns the step if it is kept.
pub(crate) fn keep_waiting_step(
    runner: &Runner,
    run: &RunDir,
    id: ThreadId,
) -> Result<Option<CasRef>, EngineError> {
    let Some(pending) = run.outbox.read_pending()? else {
        return Ok(None);
    };
    let site = &runner.site;
    let head = thread::find(site, id)?.head();
    match is_run(&site.store, head)? {
        true => refuse_pending(runner, run, (id, head), &pending),
        false => refuse(runner, run, &Thread::load(&site.store, id, head)?, &pending),
    }
}

//! Removing the folders of runs. The chain of a run stays, and a run that could go on is ended.

use std::io;
use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Archived, HistoryRecord, Located, Reason, RunRoot, State};
use uwf_thread::Head;

use super::adopt::adopt;
use super::open::{end_lost, lost_attempt};
use crate::pipelines::chain::{self, is_run};
use crate::pipelines::folder::root_of;
use crate::run::kill::{FinishedBelow, end_children, kill};
use crate::run::shared::ended::keep_waiting_step;
use crate::sharing::records::record_of;
use crate::thread::find;
use crate::{EngineError, Runner, tags};

/// What became of the folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    /// It was removed, and its run had ended before.
    Removed,
    /// It was removed, and its run was ended, with its children. What these had finished and no engine had committed is told.
    RemovedAndEnded(Vec<FinishedBelow>),
    /// A process works on the run, so nothing was done.
    InUse,
    /// It is a copy: the folder of the run is this one. Nothing was done.
    Copy(PathBuf),
}

/// Removes the folder of a run that nobody works on, and ends the run as a person who kills its thread does.
///
/// The thread is archived first: a call that is killed in between leaves a folder that the next one removes.
///
/// # Errors
/// When the thread is unknown or no run, or something cannot be written or removed.
pub fn clean_run(
    runner: &Runner,
    thread: ThreadId,
    folder: &RunRoot,
) -> Result<Cleaned, EngineError> {
    let site = &runner.site;
    let head = find(site, thread)?.head();
    if let Some(original) = original(runner, thread, head, folder)? {
        return Ok(Cleaned::Copy(original));
    }
    let run = site.root.run(thread);
    let Some(mut lock) = run.lease.acquire_if_free()? else {
        return Ok(Cleaned::InUse);
    };
    let mut ended = None;
    if let Located::Active(_) = find(site, thread)?
        && record_of(site, thread, runner.remotes)?.is_some()
    {
        // It ends for all machines.
        lock.release()?;
        ended = Some(kill(runner, thread)?.finished_below);
        lock = match run.lease.acquire_if_free()? {
            Some(lock) => lock,
            None => return Ok(Cleaned::InUse),
        };
    }
    // The process that had the lock may have moved the head.
    let cleaned = match find(site, thread)? {
        Located::Archived(_) => {
            keep_waiting_step(runner, &run, thread)?;
            ended.map_or(Cleaned::Removed, Cleaned::RemovedAndEnded)
        }
        Located::Active(head) => {
            let start = Head::read(&site.store, head)?.start();
            let lost = lost_attempt(runner, &run, head)?;
            let head = adopt(runner, (&run, None), (thread, start, head))?;
            end_lost(runner, &run, (thread, head), lost)?;
            run.lease.clear_record()?;
            // If this call is killed, the next one finds the run active.
            let finished = end_children(runner, thread, head)?;
            end(runner, thread, head)?;
            Cleaned::RemovedAndEnded(finished)
        }
    };
    folder.remove()?;
    lock.release()?;
    Ok(cleaned)
}

/// Returns the folder of a run, if this one is only a copy of it.
fn original(
    runner: &Runner,
    thread: ThreadId,
    head: CasRef,
    folder: &RunRoot,
) -> Result<Option<PathBuf>, EngineError> {
    let store = &runner.site.store;
    if !is_run(store, head)? {
        return Err(crate::PipelineError::NoRun(thread).into());
    }
    let opened = chain::begun_at(store, (thread, head))?;
    let own = root_of(opened.start.cwd.as_deref(), &opened.run, thread);
    let failed = |source| EngineError::Io {
        action: format!("look at `{}`", own.path().display()),
        source,
    };
    let real = match own.path().canonicalize() {
        // The workspace was moved, and its runs with it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        real => real.map_err(failed)?,
    };
    let here = folder.path().canonicalize().map_err(failed)?;
    Ok((real != here).then_some(real))
}

/// Archives a thread as cancelled.
fn end(runner: &Runner, thread: ThreadId, head: CasRef) -> Result<(), EngineError> {
    let site = &runner.site;
    let start = chain::begun_at(&site.store, (thread, head))?.start;
    let record = HistoryRecord {
        thread,
        workflow: start.workflow,
        head,
        completed_at: site.env.now_ms(),
        reason: Reason::Cancelled,
    };
    match State::new(&site.root).archive(&record)? {
        Archived::Done | Archived::NotActive => {}
        Archived::HeadIs(_) => return Err(crate::thread::busy(thread, None)),
    }
    site.log_line(tags::KILLED, "cleaned", Some(thread), None);
    Ok(())
}

//! Owning a thread: while this process has its lock, no other process works on it. `docs/architecture.md` proves that,
//! under "The lock of a thread".

use std::cell::RefCell;
use std::ops::Deref;

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{LockAttempt, RunDir, State, ThreadLock};

use crate::pause::refuse_if_paused;
use crate::run::finished::commit_waiting_steps_of_children;
use crate::run::leftovers::end_leftovers;
use crate::run::shared::SharedThread;
use crate::sharing::error::SharingError;
use crate::thread::{self, ThreadAt};
use crate::{EngineError, Runner, printed, tags};

/// The run directory of a thread whose lock this process has.
pub(crate) struct OwnedRun {
    run: RunDir,
    lock: RefCell<ThreadLock>,
    /// The leftovers of an earlier attempt that were ended, for people, until they are part of a report.
    pub(crate) ended: RefCell<Vec<String>>,
    /// The lease of the remote, if the thread is shared and this call does a step.
    pub(crate) shared: Option<SharedThread>,
}

impl Deref for OwnedRun {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.run
    }
}

impl OwnedRun {
    /// Lets the programs that this process starts from now on keep the lock.
    pub(crate) fn share_lock(&self) -> Result<(), EngineError> {
        Ok(self.lock.borrow_mut().inherit_on_exec()?)
    }

    /// Takes the lock away from the processes that the agent left running.
    pub(crate) fn renew_lock(&self) -> Result<(), EngineError> {
        Ok(self.lock.borrow_mut().renew()?)
    }

    fn acquire(runner: &Runner, id: ThreadId) -> Result<Self, EngineError> {
        let run = runner.site.root.run(id);
        if !run.exists() {
            // Only threads that exist get a folder.
            thread::find(&runner.site, id)?;
            run.create()?;
        }
        let busy = || thread::busy(id, run.lease.read_record());
        let (lock, ended) = match run.lease.acquire()? {
            LockAttempt::Lock(lock) => (lock, Vec::new()),
            LockAttempt::Orphaned(orphaned) => {
                end_leftovers(runner, &run, id, orphaned)?.ok_or_else(busy)?
            }
            LockAttempt::Busy => return Err(busy()),
        };
        if run.lease.read_record().is_some()
            && let Some(place) = State::new(&runner.site.root).find(id)?
        {
            printed::take_up(&runner.site, &run, place.head())?;
        }
        Ok(Self {
            run,
            lock: RefCell::new(lock),
            ended: RefCell::new(ended),
            shared: None,
        })
    }

    /// Releases the lock. The operation is over, so an error is only logged.
    fn release(self, runner: &Runner, id: ThreadId) {
        if self.run.lease.read_record().is_some() {
            // Processes of an attempt may live. They keep the lock, and their end releases it.
            return;
        }
        // The last attempt has ended. Its artefacts are nodes now, or it failed and they are of no use.
        let _ = self.run.scratch.remove_artifacts();
        if let Err(error) = self.lock.into_inner().release() {
            runner.site.log_line(
                tags::LOCK_NOT_RELEASED,
                &runner.site.loggable(&error),
                Some(id),
                None,
            );
        }
    }
}

/// Runs an operation that starts an agent while this process owns the thread, and has its lease if it is shared. Fails as
/// [`with_thread`], if a person paused the thread, if another machine works on it, and if it has another head than the caller saw.
pub(crate) fn with_thread_to_step<T>(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    operate: impl FnOnce(&OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let at: ThreadAt = at.into();
    let id = at.id;
    owning(runner, id, |run| {
        refuse_if_paused(&runner.site, run, id)?;
        with_lease(runner, id, run, |run| {
            // The head is compared after the remote's steps have come, and before children are touched.
            at.refuse_other(thread::find(&runner.site, id)?.head())?;
            if let Some(shared) = &run.shared {
                commit_waiting_steps_of_children(runner, id)?;
                shared.bring_family(runner, run, id)?;
            }
            operate(run)
        })
    })
}

/// Runs an operation that starts no agent while this process owns the thread, and has its lease if it is shared. Fails as
/// [`with_thread`], and if another machine works on it.
pub(crate) fn with_thread_and_lease<T>(
    runner: &Runner,
    id: ThreadId,
    operate: impl FnOnce(&OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    owning(runner, id, |run| with_lease(runner, id, run, operate))
}

/// Runs an operation under the lease of the thread, if it is shared.
fn with_lease<T>(
    runner: &Runner,
    id: ThreadId,
    run: &mut OwnedRun,
    operate: impl FnOnce(&OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    run.shared = SharedThread::enter(runner, run, id)?;
    let result = operate(run);
    let Some(shared) = run.shared.take() else {
        return result;
    };
    let has_shared_step = shared.has_shared_step();
    let Some(ended) = shared.leave(runner, run) else {
        return result;
    };
    match result {
        Ok(_) if !has_shared_step => Err(ended),
        Err(error) if is_due_to_end(&error) => {
            if let Some(attempt) = error.attempt() {
                (runner.notice)(&attempt.which());
            }
            Err(ended)
        }
        result => result,
    }
}

/// Tells whether work may have failed only because the thread has ended on another machine. Then the call says that the thread has ended.
fn is_due_to_end(error: &EngineError) -> bool {
    match error {
        EngineError::TakenOver(_) => true,
        EngineError::Sharing(problem) => matches!(**problem, SharingError::TakenOver(_)),
        EngineError::Child(_) => {
            matches!(error.exit(), Exit::Busy | Exit::Ended) && error.kept_step().is_none()
        }
        _ => false,
    }
}

/// Runs an operation while this process owns the thread. Fails with *busy* if another process works on it.
pub(crate) fn with_thread<T>(
    runner: &Runner,
    id: ThreadId,
    operate: impl FnOnce(&OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    owning(runner, id, |run| operate(run))
}

fn owning<T>(
    runner: &Runner,
    id: ThreadId,
    operate: impl FnOnce(&mut OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let operated = OwnedRun::acquire(runner, id).and_then(|mut owned| {
        runner.site.note_use(id);
        // The root may have been moved since the thread was created, so it is listed again.
        let result = runner.site.enlist().and_then(|()| operate(&mut owned));
        owned.release(runner, id);
        result
    });
    if let Err(error) = &operated {
        runner.site.log_refusal(id, error);
    }
    operated
}

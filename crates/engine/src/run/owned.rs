//! A thread that this process works on: nobody else does meanwhile. `docs/architecture.md` has the argument, under "The
//! lock of a thread".

use std::cell::RefCell;
use std::ops::Deref;

use uwf_process::is_alive;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{Acquired, RunDir, ThreadLock};

use crate::run::adopt::end_leftovers;
use crate::{EngineError, Runner, tags, thread};

/// The run of a thread whose lock is ours.
pub(crate) struct OwnedRun {
    run: RunDir,
    lock: RefCell<ThreadLock>,
    /// What an earlier attempt had left running, for people, until a report tells it.
    pub(crate) ended: RefCell<Vec<String>>,
}

impl Deref for OwnedRun {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.run
    }
}

impl OwnedRun {
    /// Takes the lock away from what the agent left running.
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
        let busy = || {
            let record = run.lease.read_record();
            EngineError::Busy {
                thread: id,
                orphaned: record.as_ref().is_some_and(|it| !is_alive(&it.engine)),
                lease: record.map(Box::new),
            }
        };
        let (mut lock, ended) = match run.lease.acquire()? {
            Acquired::Lock(lock) => (lock, Vec::new()),
            Acquired::Orphaned(orphaned) => {
                end_leftovers(runner, &run, id, orphaned)?.ok_or_else(busy)?
            }
            Acquired::Busy => return Err(busy()),
        };
        lock.inherit_on_exec()?;
        Ok(Self {
            run,
            lock: RefCell::new(lock),
            ended: RefCell::new(ended),
        })
    }

    /// Gives the lock up. What was done is done, whether that fails or not.
    fn give_up(self, runner: &Runner, id: ThreadId) {
        if self.run.lease.read_record().is_some() {
            // Something of an attempt may live: only its end may free the thread.
            return;
        }
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

/// Runs an operation on a thread that nobody else works on meanwhile; one that somebody works on is busy.
pub(crate) fn with_thread<T>(
    runner: &Runner,
    id: ThreadId,
    operate: impl FnOnce(&OwnedRun) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let operated = OwnedRun::acquire(runner, id).and_then(|owned| {
        // The root may have been moved since it made the thread.
        let result = runner.site.enlist().and_then(|()| operate(&owned));
        owned.give_up(runner, id);
        result
    });
    if let Err(error) = &operated {
        runner.site.log_refusal(id, error);
    }
    operated
}

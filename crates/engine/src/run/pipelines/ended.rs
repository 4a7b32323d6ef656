//! The picture of a run that has ended, where the process that worked on the run did not write it.

use std::path::Path;

use uwf_pipeline::StepError;
use uwf_pipeline::state::RunStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Located, Reason, RunRoot, ThreadLock};

use super::open::{need_picture, show};
use super::picture::{Picture, cancelled};
use super::wish::LostPicture;
use crate::pipelines::chain;
use crate::pipelines::folder::run_root;
use crate::pipelines::secrets::masks;
use crate::thread::find;
use crate::{EngineError, Runner};

/// A run that has ended.
pub(super) struct EndedRun<'a> {
    runner: &'a Runner,
    pub(super) thread: ThreadId,
    head: CasRef,
    opened: chain::Opened,
    pub(super) run_id: String,
    pub(super) root: RunRoot,
}

impl<'a> EndedRun<'a> {
    /// Reads where the chain of a run begins.
    pub(super) fn open(
        runner: &'a Runner,
        thread: ThreadId,
        head: CasRef,
    ) -> Result<Self, EngineError> {
        let opened = chain::open(&runner.site.store, (thread, head))?;
        let begun = opened.begun();
        let run_id = chain::id_of(&begun.run, thread);
        let cwd = begun.start.cwd.clone().unwrap_or_default();
        Ok(Self {
            root: run_root(Path::new(&cwd), &begun.run.state_dir, &run_id),
            runner,
            thread,
            head,
            opened,
            run_id,
        })
    }

    /// Returns the program that the run began with.
    pub(super) fn workflow(&self) -> CasRef {
        self.opened.begun().start.workflow
    }

    /// Takes the lock of the run and removes what a process has left that was killed while it wrote. `None` if another process
    /// works on the run, or its folder is gone.
    pub(super) fn lock(&self) -> Result<Option<ThreadLock>, EngineError> {
        let lease = self.runner.site.root.run(self.thread).lease;
        let lock = lease.acquire_if_free()?;
        if lock.is_none() || !self.root.path().is_dir() {
            return Ok(None);
        }
        self.root.remove_drafts()?;
        Ok(lock)
    }

    /// Writes the picture again from the chain. The caller has the lock.
    pub(super) fn show(
        self,
        status: RunStatus,
        error: Option<StepError>,
    ) -> Result<(), EngineError> {
        let site = &self.runner.site;
        let masks = masks(&self.opened, None, site.env.variables());
        let run = self.opened.begun().run.clone();
        let of_run = (self.thread, self.run_id.as_str(), &run);
        let checksum = self.opened.checksum();
        let mut picture = Picture::new(&site.env, &self.root, &masks, of_run, &checksum, self.head);
        let chain = self.opened.fold(&site.store, self.thread, &mut |seen| {
            show(&site.store, &mut picture, seen)
        })?;
        picture.write_durably(&chain.course, status, error)
    }
}

/// Shows that a person ended the run, unless the thread is no run, or another process works on it.
pub(crate) fn show_cancelled(runner: &Runner, id: ThreadId) -> Result<(), EngineError> {
    let run = runner.site.root.run(id);
    if !run.exists() {
        return Ok(());
    }
    match run.lease.acquire_if_free()? {
        Some(_lock) => show_end(runner, id),
        None => Ok(()),
    }
}

/// Shows how a run has ended, unless the thread is no run, or its folder is not here. The caller has the lock.
pub(crate) fn show_end(runner: &Runner, id: ThreadId) -> Result<(), EngineError> {
    let Located::Archived(record) = find(&runner.site, id)? else {
        return Ok(());
    };
    if chain::is_run(&runner.site.store, record.head)? {
        let run = EndedRun::open(runner, id, record.head)?;
        if !run.root.path().is_dir() {
            return Ok(());
        }
        let is_there = run.root.state_file().symlink_metadata().is_ok();
        // Nothing goes on with the run, so nobody could repair it: only a picture that is missing is made again.
        let lost = match is_there {
            true => LostPicture::Refused,
            false => LostPicture::MadeAgain,
        };
        need_picture((&run.root, id), lost)?;
        run.root.remove_drafts()?;
        match record.reason {
            Reason::Completed => run.show(RunStatus::Completed, None)?,
            Reason::Cancelled => run.show(RunStatus::Failed, Some(cancelled()))?,
        }
    }
    Ok(())
}

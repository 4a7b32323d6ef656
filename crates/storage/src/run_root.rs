//! The folder of a run of a pipeline, `<state dir>/<run id>`: pictures and logs for people and scripts. The run itself is a
//! thread; everything here but the logs can be made again from it.

mod aside;

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::{Draft, Durability, FileLock};
use uwf_protocol::ids::ThreadId;

pub use self::aside::MovedAside;
use crate::{Root, StorageError};

const STATE: &str = "state.json";
const THREAD: &str = "thread";
const WORKFLOW: &str = "workflow.yaml";
const LOGS: &str = "logs";
const CLAIMS: &str = "claims";
/// Is there and locked while a process makes the run.
const MAKING: &str = ".making";

/// How much of the picture is written at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes a text in parts to the function that it gets.
pub type WriteParts<'a> = dyn Fn(&mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> + 'a;

/// The folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRoot {
    path: PathBuf,
}

/// Where the thread of a run is: the way from the folder to the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPlace {
    /// The thread.
    pub thread: ThreadId,
    /// The root that has it.
    pub root: PathBuf,
}

impl RunRoot {
    /// Returns the folder of this path.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the names in the folder of all runs; none if it is not there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn names(folder: &Path) -> Result<Vec<String>, StorageError> {
        Ok(uwf_durable::names(folder)?)
    }

    /// Tells whether a folder is that of a run: it has the way to a thread, by a root that is one.
    #[must_use]
    pub fn is_at(folder: &Path) -> bool {
        let place = || Self::at(folder.to_owned()).thread();
        folder.join(THREAD).is_file()
            && place().is_some_and(|place| Root::at(place.root).has_state())
    }

    /// Returns the folder. Callers show it to people.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the picture of the run.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// Returns the log of what the engine did.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.path.join(LOGS).join("orchestrator.log")
    }

    /// Returns the place of the archive that has no other.
    #[must_use]
    pub fn archive_file(&self) -> PathBuf {
        self.path.join("processed.zip")
    }

    /// Returns the file that says which step has claimed which task.
    #[must_use]
    pub fn claims_file(&self) -> PathBuf {
        self.path.join(CLAIMS)
    }

    /// Returns a log of a step, by its name without a folder.
    #[must_use]
    pub fn log(&self, name: &str) -> PathBuf {
        self.path.join(LOGS).join(name)
    }

    /// Returns the content of a log; `None` if it cannot be read.
    #[must_use]
    pub fn read_log(path: &Path) -> Option<Vec<u8>> {
        uwf_durable::read(path).ok().flatten()
    }

    /// Writes a file among the logs.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_log(&self, name: &str, text: &[u8]) -> Result<(), StorageError> {
        uwf_durable::refuse_link(&self.path.join(LOGS))?;
        Ok(uwf_durable::overwrite(&self.log(name), text)?)
    }

    /// Makes logs durable, with their names. They are named by their paths in the folder; one that is gone is left out.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn sync_logs(&self, logs: &[String]) -> Result<(), StorageError> {
        for log in logs {
            match uwf_durable::sync_file(&self.path.join(log)) {
                Err(error) if error.is_not_found() => {}
                synced => synced?,
            }
        }
        if !logs.is_empty() {
            uwf_durable::sync_dir(&self.path.join(LOGS))?;
        }
        Ok(())
    }

    /// Makes the folder with the folder of its logs, durably. Fails if something else is in its place: what is written through a
    /// link would be elsewhere.
    ///
    /// # Errors
    /// [`StorageError::Io`], as of every call that writes.
    pub fn create(&self) -> Result<(), StorageError> {
        let logs = self.path.join(LOGS);
        for path in [&self.path, &logs] {
            uwf_durable::refuse_link(path)?;
            if path.exists() && !path.is_dir() {
                return Err(StorageError::NoFolder { path: path.clone() });
            }
        }
        Ok(uwf_durable::create_dir(&logs)?)
    }

    /// Makes the folder like [`create`](Self::create), for this caller alone, until the lock is dropped; `None` if something
    /// is in its place already, or another process makes it. What a process left that died before it had made the thread
    /// is taken over: `is_made` tells whether there is a thread.
    ///
    /// # Errors
    /// See [`create`](Self::create), and those of `is_made`.
    pub fn create_new(
        &self,
        is_made: &dyn Fn(&ThreadPlace) -> Result<bool, StorageError>,
    ) -> Result<Option<FileLock>, StorageError> {
        let is_new = uwf_durable::create_new_dir(&self.path)?.is_some();
        if !is_new && !self.is_unfinished(is_made)? {
            return Ok(None);
        }
        let Some(lock) = FileLock::try_acquire(&self.path.join(MAKING))? else {
            return Ok(None);
        };
        // Another process may have made it meanwhile.
        if !self.is_unfinished(is_made)? {
            return Ok(None);
        }
        self.create()?;
        Ok(Some(lock))
    }

    /// Tells whether a process that died has left the folder before it had made the thread.
    fn is_unfinished(
        &self,
        is_made: &dyn Fn(&ThreadPlace) -> Result<bool, StorageError>,
    ) -> Result<bool, StorageError> {
        if !self.is_bare()? {
            return Ok(false);
        }
        Ok(match self.thread() {
            Some(place) => !is_made(&place)?,
            None => true,
        })
    }

    /// Tells whether the folder has nothing but what a process makes before it makes the thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_bare(&self) -> Result<bool, StorageError> {
        let ours = [MAKING, LOGS, WORKFLOW, THREAD];
        let is_ours =
            |name: &String| ours.contains(&name.as_str()) || uwf_durable::is_temporary(name);
        Ok(!self.path.is_symlink()
            && self.path.is_dir()
            && uwf_durable::names(&self.path)?.iter().all(is_ours)
            && uwf_durable::names(&self.path.join(LOGS))?.is_empty())
    }

    /// Ends the making of the folder: its thread is there.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn finish_making(&self, lock: FileLock) -> Result<(), StorageError> {
        uwf_durable::remove(&self.path.join(MAKING))?;
        drop(lock);
        Ok(())
    }

    /// Removes the drafts of a process that died. The caller is the only one that works on the run.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn remove_drafts(&self) -> Result<(), StorageError> {
        for draft in self.drafts()? {
            uwf_durable::remove(&draft)?;
        }
        Ok(())
    }

    /// Returns the drafts in the folder: those of a process that is at work, or of one that died.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn drafts(&self) -> Result<Vec<PathBuf>, StorageError> {
        let mut drafts = Vec::new();
        for folder in [&self.path, &self.path.join(LOGS)] {
            // Nothing of ours is behind a link.
            if folder.is_symlink() || !folder.is_dir() {
                continue;
            }
            let names = uwf_durable::names(folder)?.into_iter();
            let ours = names.filter(|name| uwf_durable::is_temporary(name) || name == MAKING);
            drafts.extend(ours.map(|name| folder.join(name)));
        }
        Ok(drafts)
    }

    /// Removes the folder with everything in it. No link is followed. The record of its thread is the last to go: a folder
    /// that a killed process has removed in part is still that of a run.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn remove(&self) -> Result<(), StorageError> {
        for name in uwf_durable::names(&self.path)? {
            let path = self.path.join(&name);
            match name.as_str() {
                THREAD => {}
                _ if path.is_dir() && !path.is_symlink() => uwf_durable::remove_tree(&path)?,
                _ => uwf_durable::remove(&path)?,
            }
        }
        Ok(uwf_durable::remove_tree(&self.path)?)
    }

    /// Writes what never changes: where the thread is, and a copy of the workflow file.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_origin(&self, place: &ThreadPlace, workflow: &[u8]) -> Result<(), StorageError> {
        let text = serde_json::to_string(place).expect("it is plain data") + "\n";
        let durable = Durability::Durable;
        uwf_durable::replace(&self.path.join(WORKFLOW), workflow, durable)?;
        Ok(uwf_durable::replace(
            &self.path.join(THREAD),
            text.as_bytes(),
            durable,
        )?)
    }

    /// Returns where the thread is; `None` if the record is not there or cannot be understood.
    #[must_use]
    pub fn thread(&self) -> Option<ThreadPlace> {
        let content = uwf_durable::read(&self.path.join(THREAD)).ok()??;
        serde_json::from_slice(&content).ok()
    }

    /// Tells whether a link is in place of the record of the thread.
    #[must_use]
    pub fn is_record_linked(&self) -> bool {
        self.path.join(THREAD).is_symlink()
    }

    /// Returns the text of the picture; `None` if it is not there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn read_state(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(uwf_durable::read(&self.state_file())?)
    }

    /// Replaces the picture: readers see the old one or the new one. After a power cut there may be an older one.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_state(&self, write: &WriteParts<'_>) -> Result<(), StorageError> {
        Ok(self.draft_of_state(write)?.replace(&self.state_file())?)
    }

    /// Replaces the picture durably.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_state_durably(&self, write: &WriteParts<'_>) -> Result<(), StorageError> {
        let draft = self.draft_of_state(write)?;
        Ok(draft.replace_durably(&self.state_file())?)
    }

    pub(crate) fn draft_of_state(&self, write: &WriteParts<'_>) -> Result<Draft, StorageError> {
        uwf_durable::refuse_link(&self.path)?;
        let path = self.state_file();
        let draft = Draft::beside(&path, b"")?;
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, draft.file());
        let written = write(&mut |part| file.write_all(part.as_bytes()));
        let written = written.and_then(|()| file.flush());
        written.map_err(StorageError::io("write", &path))?;
        drop(file);
        Ok(draft)
    }
}

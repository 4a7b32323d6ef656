//! Which step of a run has claimed which task: one line for each claim, in the folder of the run. An attempt that is killed leaves
//! its tasks claimed. From these lines the next attempt knows that they are its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uwf_durable::{FileError, FileLock, append_line, read};
use uwf_pipeline::{ErrorKind, Failure};

use crate::workspace::Entry;

/// An attempt of a step that claims tasks.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// The file with the claims of the run.
    pub file: PathBuf,
    /// What the attempt is for: an entry of a step. The attempts after it have the same.
    pub entry: String,
    /// The attempt. No other one has its name.
    pub attempt: String,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct ClaimLine {
    entry: String,
    attempt: String,
    /// Where the task waited.
    from: String,
    /// Which file it is: a file that is moved within its filesystem stays the same one.
    device: u64,
    inode: u64,
}

/// The claims of a run. As long as this value lives, no other process of the run claims anything.
pub(crate) struct Claims<'a> {
    claimant: &'a Claimant,
    /// The newest claim of each file.
    newest: BTreeMap<(u64, u64), ClaimLine>,
    _lock: FileLock,
}

impl Claimant {
    /// Waits until no other process of the run claims a task, and reads what was claimed.
    pub(crate) fn claims(&self) -> Result<Claims<'_>, Failure> {
        let lock = FileLock::acquire(&self.file).map_err(|error| self.failure(&error))?;
        let bytes = read(&self.file).map_err(|error| self.failure(&error))?;
        let mut newest = BTreeMap::new();
        // A line that is no claim is a part of one: the machine went off while it was written, so nothing was moved.
        let lines = bytes
            .as_deref()
            .unwrap_or_default()
            .split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| serde_json::from_slice::<ClaimLine>(line).ok()) {
            newest.insert((line.device, line.inode), line);
        }
        Ok(Claims {
            claimant: self,
            newest,
            _lock: lock,
        })
    }

    fn failure(&self, error: &FileError) -> Failure {
        let message = format!("a claim cannot be put on record: {error}");
        Failure::new(ErrorKind::PathError, message).fact("path", self.file.display().to_string())
    }
}

impl Claims<'_> {
    /// Returns where a claimed task had waited, if an earlier attempt of the same step has claimed it.
    pub(crate) fn of_earlier_attempt(&self, task: &Entry) -> Option<&str> {
        let line = self.newest.get(&task.identity())?;
        let is_left = line.entry == self.claimant.entry && line.attempt != self.claimant.attempt;
        is_left.then_some(line.from.as_str())
    }

    /// Records durably that this attempt claims a task. A claim that is on record already needs no second line.
    pub(crate) fn add(&self, task: &Entry, from: &str) -> Result<(), Failure> {
        let (device, inode) = task.identity();
        let is_known = self.newest.get(&(device, inode)).is_some_and(|line| {
            (&line.entry, &line.attempt) == (&self.claimant.entry, &self.claimant.attempt)
                && line.from == from
        });
        if is_known {
            return Ok(());
        }
        let line = ClaimLine {
            entry: self.claimant.entry.clone(),
            attempt: self.claimant.attempt.clone(),
            from: from.to_owned(),
            device,
            inode,
        };
        serde_json::to_string(&line)
            .map_err(|error| FileError::io("append to", &self.claimant.file)(error.into()))
            .and_then(|line| append_line(&self.claimant.file, &line))
            .map_err(|error| self.claimant.failure(&error))
    }
}

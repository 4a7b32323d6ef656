//! The files of the running attempt: the output of the agent and its program, what the agent's kit reports to the engine,
//! and the turns that people can follow. The next attempt overwrites them.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use uwf_durable::{Durability, Piece};
use uwf_protocol::nodes::Usage;
use uwf_protocol::run::{Answered, KitFailure, Launched, RunningCheck};
use uwf_util::mask::Masks;

use super::records::Records;
use crate::StorageError;
use crate::growing::GrowingFile;

const FAILURE: &str = "failure.json";
const LIVE: &str = "live.jsonl";
const LAUNCHED: &str = "launched.json";
const USAGE: &str = "usage.json";
const ANSWERED: &str = "answered.json";
const CHECK: &str = "check.json";

/// Tells whether a file of this name is something that an agent says while it works.
pub(crate) fn is_output(name: &OsStr) -> bool {
    let said = [
        "stdout",
        "stderr",
        "answer",
        "events",
        "program-stderr",
        LIVE,
        USAGE,
    ];
    said.iter().any(|one| name == *one)
}

/// The files of the attempt that runs, or ran last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    records: Records,
}

impl Scratch {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the file that gets the agent's stdout. Its path leaves this crate since the agent itself writes there.
    #[must_use]
    pub fn stdout_file(&self) -> PathBuf {
        self.records.file("stdout")
    }

    /// Returns the file that gets the agent's stderr. Its path leaves this crate since the agent itself writes there.
    #[must_use]
    pub fn stderr_file(&self) -> PathBuf {
        self.records.file("stderr")
    }

    /// Removes the output of an earlier agent, so that nobody takes it for the output of the next one.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_output(&self) -> Result<(), StorageError> {
        uwf_durable::remove(&self.stdout_file())?;
        Ok(uwf_durable::remove(&self.stderr_file())?)
    }

    /// Returns the last `limit` bytes of the agent's stdout; empty if it cannot be read.
    #[must_use]
    pub fn stdout_end(&self, limit: u64) -> String {
        end_of(&self.stdout_file(), limit)
    }

    /// Returns the last `limit` bytes of the agent's stderr; empty if it cannot be read.
    #[must_use]
    pub fn stderr_end(&self, limit: u64) -> String {
        end_of(&self.stderr_file(), limit)
    }

    /// Tells whether the agent has written anything to stdout or stderr.
    #[must_use]
    pub fn has_output(&self) -> bool {
        let files = [self.stdout_file(), self.stderr_file()];
        let written = |file: &PathBuf| file.metadata().is_ok_and(|file| file.len() > 0);
        files.iter().any(written)
    }

    /// Returns when the agent last wrote to stdout, stderr or the live file, in milliseconds since 1970.
    #[must_use]
    pub fn last_output_ms(&self) -> Option<i64> {
        changed_ms([self.stdout_file(), self.stderr_file(), self.live_file()])
    }

    /// Returns when the program of an adapter last wrote to its stdout, in milliseconds since 1970.
    #[must_use]
    pub fn program_output_ms(&self) -> Option<i64> {
        changed_ms([self.answer_file(), self.events_file()])
    }

    /// Returns the file that gets the stdout of a program whose whole output is the answer. Its path leaves this crate
    /// since the program itself writes there.
    #[must_use]
    pub fn answer_file(&self) -> PathBuf {
        self.records.file("answer")
    }

    /// Returns the file that gets the stdout of a program that prints one event a line. Its path leaves this crate since
    /// the program itself writes there.
    #[must_use]
    pub fn events_file(&self) -> PathBuf {
        self.records.file("events")
    }

    /// Returns the file that gets the stderr of a program. Its path leaves this crate since the program itself writes
    /// there.
    #[must_use]
    pub fn program_stderr_file(&self) -> PathBuf {
        self.records.file("program-stderr")
    }

    /// Writes the prompt for a program that reads it from the [file](Self::prompt_file).
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_prompt(&self, prompt: &str) -> Result<(), StorageError> {
        let file = self.prompt_file();
        Ok(uwf_durable::replace(
            &file,
            prompt.as_bytes(),
            Durability::Volatile,
        )?)
    }

    /// Returns the file of the prompt. Its path leaves this crate since the program gets it as an argument.
    #[must_use]
    pub fn prompt_file(&self) -> PathBuf {
        self.records.file("prompt.md")
    }

    /// Writes the JSON Schema of the answer for a program that reads it from the [file](Self::answer_schema_file).
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_answer_schema(&self, schema: &str) -> Result<(), StorageError> {
        let file = self.answer_schema_file();
        Ok(uwf_durable::replace(
            &file,
            schema.as_bytes(),
            Durability::Volatile,
        )?)
    }

    /// Returns the file of the answer's JSON Schema. Its path leaves this crate since the program gets it as an argument.
    #[must_use]
    pub fn answer_schema_file(&self) -> PathBuf {
        self.records.file("answer-schema.json")
    }

    /// Opens the file that gets the output of calls in the background, for appending, and returns it with its path. Such a
    /// call may have to wait for the lock of the thread, so it is written without the lock.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn open_background(&self) -> Result<(File, PathBuf), StorageError> {
        self.records.create()?;
        let path = self.background_file();
        Ok((uwf_durable::open_append(&path)?, path))
    }

    /// Returns when calls in the background printed something last, and at most this many bytes from the end of what they printed;
    /// `None` if there was no such call.
    ///
    /// # Errors
    /// [`StorageError::Io`]
    pub fn background_end(
        &self,
        limit: u64,
    ) -> Result<Option<(SystemTime, Vec<u8>)>, StorageError> {
        let path = self.background_file();
        let written_at = path.metadata().and_then(|about| about.modified());
        let end = uwf_durable::read_end(&path, limit)?;
        Ok(written_at.ok().zip(end))
    }

    fn background_file(&self) -> PathBuf {
        self.records.file("background.log")
    }

    /// Removes what an earlier program printed.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_program_files(&self) -> Result<(), StorageError> {
        uwf_durable::remove(&self.answer_file())?;
        Ok(uwf_durable::remove(&self.events_file())?)
    }

    /// Returns the folder for artefacts. Its path leaves this crate since the agent itself writes there.
    #[must_use]
    pub fn artifacts_folder(&self) -> PathBuf {
        self.records.file("artifacts")
    }

    /// Makes an empty folder for artefacts. An answer that waits keeps what was left with it.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn make_artifacts_folder(&self) -> Result<(), StorageError> {
        self.remove_artifacts()?;
        Ok(uwf_durable::create_dir(&self.artifacts_folder())?)
    }

    /// Removes the folder for artefacts, unless they belong to an answer that waits.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn remove_artifacts(&self) -> Result<(), StorageError> {
        if self.launched().is_some() || self.answered().is_some() {
            return Ok(());
        }
        let folder = self.artifacts_folder();
        match folder.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(uwf_durable::remove_tree(&folder)?),
            // An agent may have put something else in its place.
            Ok(_) => Ok(uwf_durable::remove(&folder)?),
            Err(_) => Ok(()),
        }
    }

    /// Takes secrets out of what the agent and its program wrote themselves, and removes what is left of a check. Only call this
    /// when they have ended.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create). A file that cannot be masked is removed.
    pub fn mask(&self, masks: &Masks) -> Result<(), StorageError> {
        self.clear_running_check()?;
        self.mask_program_files(masks)?;
        mask(&self.stdout_file(), masks)?;
        mask(&self.stderr_file(), masks)
    }

    /// Takes secrets out of the files of a program, except an output that was not read yet: it is an answer that was paid
    /// for, and the next attempt reads it.
    ///
    /// # Errors
    /// As of [`mask`](Self::mask).
    pub fn mask_program_files(&self, masks: &Masks) -> Result<(), StorageError> {
        mask(&self.program_stderr_file(), masks)?;
        mask(&self.prompt_file(), masks)?;
        if self.launched().is_none() {
            mask(&self.answer_file(), masks)?;
            mask(&self.events_file(), masks)?;
        }
        Ok(())
    }

    /// Removes what the agent and its program wrote themselves, except an output that was not read yet. Only call this when they
    /// have ended.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn remove_written(&self) -> Result<(), StorageError> {
        self.clear_running_check()?;
        self.clear_output()?;
        uwf_durable::remove(&self.program_stderr_file())?;
        uwf_durable::remove(&self.prompt_file())?;
        match self.launched() {
            None => self.clear_program_files(),
            Some(_) => Ok(()),
        }
    }

    /// Returns the live file: the turns of the running step, one JSON object a line. Its path leaves this crate for
    /// readers that follow the step.
    #[must_use]
    pub fn live_file(&self) -> PathBuf {
        self.records.file(LIVE)
    }

    /// Returns the [live file](Self::live_file), to be read as it grows.
    #[must_use]
    pub fn live_lines(&self) -> GrowingFile {
        GrowingFile::at(self.live_file())
    }

    /// Returns the agent's stderr, to be read as it grows.
    #[must_use]
    pub fn stderr_lines(&self) -> GrowingFile {
        GrowingFile::at(self.stderr_file())
    }

    /// Returns the [answer](Self::answer_file) of a program, to be read as it grows.
    #[must_use]
    pub fn answer_lines(&self) -> GrowingFile {
        GrowingFile::at(self.answer_file())
    }

    /// Opens the [live file](Self::live_file) for appending.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn open_live(&self) -> Result<File, StorageError> {
        Ok(uwf_durable::open_append(&self.live_file())?)
    }

    /// Removes the turns of the step before.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_live(&self) -> Result<(), StorageError> {
        self.records.remove(LIVE)
    }

    /// Returns the failure that the agent's kit reported.
    #[must_use]
    pub fn read_failure(&self) -> Option<KitFailure> {
        self.records.read(FAILURE)
    }

    /// Reports a failure of the agent's kit.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_failure(&self, failure: &KitFailure) -> Result<(), StorageError> {
        self.records.replace(FAILURE, failure, Durability::Volatile)
    }

    /// Removes the reported failure.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_failure(&self) -> Result<(), StorageError> {
        self.records.remove(FAILURE)
    }

    /// Returns the known usage of this attempt so far.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.records.read(USAGE)
    }

    /// Records the usage of this attempt so far.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_usage(&self, usage: &Usage) -> Result<(), StorageError> {
        self.records.overwrite(USAGE, usage)
    }

    /// Removes the usage of an earlier attempt.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_usage(&self) -> Result<(), StorageError> {
        self.records.blank(USAGE)
    }

    /// Returns the program that an adapter started, if its output was not read yet.
    #[must_use]
    pub fn launched(&self) -> Option<Launched> {
        self.records.read(LAUNCHED)
    }

    /// Records that an adapter is about to start a program, or that the program has ended.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_launched(&self, launched: &Launched) -> Result<(), StorageError> {
        self.records.overwrite(LAUNCHED, launched)
    }

    /// Removes the record of the program, because its output was read or the program was ended.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_launched(&self) -> Result<(), StorageError> {
        self.records.remove(LAUNCHED)
    }
}

/// Takes secrets out of a file. A file that cannot be masked is removed.
fn mask(file: &Path, masks: &Masks) -> Result<(), StorageError> {
    if masks.is_empty() {
        return Ok(());
    }
    let mut stream = Some(masks.stream());
    let masked = uwf_durable::rewrite(file, |piece, new| match piece {
        Piece::AfterCut(bytes) => {
            let stream = stream.iter_mut();
            stream.for_each(|stream| stream.push_after_cut(bytes, new));
        }
        Piece::Bytes(bytes) => stream.iter_mut().for_each(|stream| stream.push(bytes, new)),
        Piece::End => stream.take().into_iter().for_each(|stream| {
            stream.finish(new);
        }),
    });
    if masked.is_err() {
        uwf_durable::remove(file)?;
    }
    Ok(())
}

/// The files of an answer whose checks run.
impl Scratch {
    /// Returns the answer that was accepted and whose checks have not all passed yet.
    #[must_use]
    pub fn answered(&self) -> Option<Answered> {
        self.records.read(ANSWERED)
    }

    /// Records an answer that was accepted, before its checks run.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_answered(&self, answered: &Answered) -> Result<(), StorageError> {
        self.records
            .replace(ANSWERED, answered, Durability::Volatile)
    }

    /// Removes the record of the answer, because its step is written or its checks have failed.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_answered(&self) -> Result<(), StorageError> {
        self.records.remove(ANSWERED)
    }

    /// Returns the check that runs now.
    #[must_use]
    pub fn running_check(&self) -> Option<RunningCheck> {
        self.records.read(CHECK)
    }

    /// Returns the record of the check that runs. It exists only while one runs.
    #[must_use]
    pub fn running_check_file(&self) -> PathBuf {
        self.records.file(CHECK)
    }

    /// Records that a check runs.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_running_check(&self, check: &RunningCheck) -> Result<(), StorageError> {
        self.records.replace(CHECK, check, Durability::Volatile)
    }

    /// Records that no check runs any more, and removes what it printed: that may have secrets, and nobody needs it any more.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_running_check(&self) -> Result<(), StorageError> {
        self.records.remove(CHECK)?;
        Ok(uwf_durable::remove(&self.check_output_file())?)
    }

    /// Returns the file that gets what a check prints. Its path leaves this crate since the check itself writes there.
    #[must_use]
    pub fn check_output_file(&self) -> PathBuf {
        self.records.file("check-output")
    }
}

/// Returns when one of these files was changed last.
fn changed_ms<const N: usize>(files: [PathBuf; N]) -> Option<i64> {
    let changed = |file: PathBuf| file.metadata().ok()?.modified().ok();
    let newest = files.into_iter().filter_map(changed).max()?;
    let since = newest.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn end_of(file: &Path, limit: u64) -> String {
    let end = uwf_durable::read_end(file, limit);
    String::from_utf8(end.ok().flatten().unwrap_or_default())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::RunDir;

    #[test]
    fn the_end_of_a_secret_does_not_stay_where_the_beginning_of_a_file_was_given_back() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = RunDir::at(temp.path().to_owned()).scratch;
        let file = File::create(scratch.stdout_file()).unwrap();
        // Before it is a hole, and the rest of the block that the hole ends in.
        file.write_all_at(b"tvalue said s3cr3tvalue", (1 << 16) + 10)
            .unwrap();
        scratch.mask(&Masks::of([&b"s3cr3tvalue"[..]])).unwrap();
        assert_eq!(scratch.stdout_end(u64::MAX), "*** said ***");
    }
}

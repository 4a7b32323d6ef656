//! The records that a run of a thread leaves: small files under `runs/<thread>`, of which the pending record
//! and the failed attempts survive a power cut. All can be deleted without losing the thread, so an
//! unreadable record counts as absent. The pending record is the exception: it names a step that was paid for.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use indexmap::IndexMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uwf_durable::Durability;
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::ids::RoleName;
use uwf_protocol::limits::Setting;
use uwf_protocol::nodes::Usage;
use uwf_protocol::run::{Begun, Holder, KitFailure, Launched};

use crate::StorageError;

mod attempts;
mod pending;

const HOLDER: &str = "holder.json";
const FAILURE: &str = "failure.json";
const SESSIONS: &str = "sessions.json";
const CHAIN: &str = "chain.json";
const LIVE: &str = "live.jsonl";
const BEGUN: &str = "begun.json";
const LAUNCHED: &str = "launched.json";
const USED: &str = "used.json";
const USAGE: &str = "usage.json";
const RAISES: &str = "raises.json";

/// The sessions of agents: role → agent → session.
type Sessions = IndexMap<RoleName, IndexMap<String, String>>;

/// The directory of the runs of one thread. Who writes here holds the thread's lock, or is the agent that
/// its holder started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Returns the run at this path, which [`Root::run`](crate::Root::run) or a task told.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a person puts the directory of a thread that is to be forgotten.
    pub(crate) fn forgotten(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".forgotten");
        path.into()
    }

    /// Makes the directory, durably, if it is not there. Writing a record does that too.
    ///
    /// # Errors
    /// [`StorageError::Io`], as of every call that writes.
    pub fn create(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::create_dir(&self.path)?)
    }

    /// Returns the file that is locked by the process that works on the thread, and by no other one.
    #[must_use]
    pub fn owner_file(&self) -> PathBuf {
        self.path.join("owner")
    }

    /// Returns the file that is locked while a step runs, also by the processes of its agent.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Returns the file that gets the agent's stdout.
    #[must_use]
    pub fn stdout_file(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// Returns the file that gets the agent's stderr.
    #[must_use]
    pub fn stderr_file(&self) -> PathBuf {
        self.path.join("stderr")
    }

    /// Removes what an earlier agent printed and wrote to stderr: it is no answer of the next one.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_output(&self) -> Result<(), StorageError> {
        uwf_durable::remove(&self.stdout_file())?;
        Ok(uwf_durable::remove(&self.stderr_file())?)
    }

    /// Returns the end of what the agent has printed, at most so many bytes; empty if it cannot be read.
    #[must_use]
    pub fn stdout_end(&self, limit: u64) -> String {
        end_of(&self.stdout_file(), limit)
    }

    /// Returns the end of what the agent has written to stderr, at most so many bytes; empty if it cannot be read.
    #[must_use]
    pub fn stderr_end(&self, limit: u64) -> String {
        end_of(&self.stderr_file(), limit)
    }

    /// Returns when the agent was last heard of: the newest change of the files that get what it says.
    #[must_use]
    pub fn last_output_ms(&self) -> Option<i64> {
        let files = [self.stdout_file(), self.stderr_file(), self.live_file()];
        let changed = |file: PathBuf| file.metadata().ok()?.modified().ok();
        let newest = files.into_iter().filter_map(changed).max()?;
        let since = newest.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    }

    /// Returns the files that get the stdout of the program of a built-in agent: one for a whole answer, and one for events
    /// line by line.
    #[must_use]
    pub fn program_files(&self) -> [PathBuf; 2] {
        ["answer", "events"].map(|name| self.path.join(name))
    }

    /// Removes the [files](Self::program_files) of an earlier program.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_program_files(&self) -> Result<(), StorageError> {
        for file in self.program_files() {
            uwf_durable::remove(&file)?;
        }
        Ok(())
    }

    /// Returns the file to which the turns of a running step are added, one JSON object a line.
    #[must_use]
    pub fn live_file(&self) -> PathBuf {
        self.path.join(LIVE)
    }

    /// Opens the [live file](Self::live_file) for what is added.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn open_live(&self) -> Result<File, StorageError> {
        Ok(uwf_durable::open_append(&self.live_file())?)
    }

    /// Removes the turns of the step before.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_live(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.live_file())?)
    }

    /// Returns who runs, or ran, a step; the lock says whether that still holds.
    #[must_use]
    pub fn read_holder(&self) -> Option<Holder> {
        self.read(HOLDER)
    }

    /// Says who runs a step.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_holder(&self, holder: &Holder) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(HOLDER),
            json(holder).as_bytes(),
        )?)
    }

    /// Removes the name of who ran a step.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_holder(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::blank(&self.path.join(HOLDER))?)
    }

    /// Returns why the agent's own kit gave up.
    #[must_use]
    pub fn read_failure(&self) -> Option<KitFailure> {
        self.read(FAILURE)
    }

    /// Says why the agent's own kit gives up.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_failure(&self, failure: &KitFailure) -> Result<(), StorageError> {
        self.write(FAILURE, failure, Durability::Volatile)
    }

    /// Removes the reason for which the kit gave up.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_failure(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.path.join(FAILURE))?)
    }

    /// Returns what the agent is known to have used up so far in this attempt.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.read(USAGE)
    }

    /// Says what the agent has used up so far.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_usage(&self, usage: &Usage) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(USAGE),
            json(usage).as_bytes(),
        )?)
    }

    /// Removes what an earlier attempt used up.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_usage(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::blank(&self.path.join(USAGE))?)
    }

    /// Returns the session that an agent had in a role, under the name by which it was remembered.
    #[must_use]
    pub fn session(&self, role: &RoleName, agent: &str) -> Option<String> {
        let sessions: Sessions = self.read(SESSIONS)?;
        let session = sessions.get(role)?.get(agent)?;
        (!session.is_empty()).then(|| session.clone())
    }

    /// Tells whether the session that an agent had in a role was forgotten, and it has no other one.
    #[must_use]
    pub fn has_lost_session(&self, role: &RoleName, agent: &str) -> bool {
        let sessions: Sessions = self.read(SESSIONS).unwrap_or_default();
        let session = sessions.get(role).and_then(|agents| agents.get(agent));
        session.is_some_and(String::is_empty)
    }

    /// Remembers the session of an agent in a role, in place of an older one.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn remember_session(
        &self,
        role: &RoleName,
        agent: &str,
        session: &str,
    ) -> Result<(), StorageError> {
        let mut sessions: Sessions = self.read(SESSIONS).unwrap_or_default();
        let agents = sessions.entry(role.clone()).or_default();
        if agents.get(agent).is_some_and(|known| known == session) {
            return Ok(());
        }
        agents.insert(agent.to_owned(), session.to_owned());
        self.write(SESSIONS, &sessions, Durability::Volatile)
    }

    /// Forgets the session of an agent in a role, or those of all agents in it: the next one is new.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn forget_sessions(
        &self,
        role: &RoleName,
        agent: Option<&str>,
    ) -> Result<(), StorageError> {
        let mut sessions: Sessions = self.read(SESSIONS).unwrap_or_default();
        let of_role = sessions.get_mut(role).into_iter().flatten();
        let forgotten = of_role.filter(|(name, _)| agent.is_none_or(|agent| agent == *name));
        // The name stays: that there was a session decides what the next one is told.
        let forgotten = forgotten.map(|(_, session)| session.clear()).count();
        if forgotten > 0 {
            self.write(SESSIONS, &sessions, Durability::Volatile)?;
        }
        Ok(uwf_durable::remove(&self.path.join(BEGUN))?)
    }

    /// Returns the session in which a step was begun last; the caller compares head and role.
    #[must_use]
    pub fn begun(&self) -> Option<Begun> {
        self.read(BEGUN)
    }

    /// Puts the session of a step on record, as soon as it has begun.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_begun(&self, begun: &Begun) -> Result<(), StorageError> {
        self.create()?;
        Ok(uwf_durable::overwrite(
            &self.path.join(BEGUN),
            json(begun).as_bytes(),
        )?)
    }

    /// Returns the program that an adapter started and whose output was not read, if there is one.
    #[must_use]
    pub fn launched(&self) -> Option<Launched> {
        self.read(LAUNCHED)
    }

    /// Says that an adapter is about to start a program, or that the program has ended.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_launched(&self, launched: &Launched) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(LAUNCHED),
            json(launched).as_bytes(),
        )?)
    }

    /// Says that the output of the program was read, or that it was ended.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_launched(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.path.join(LAUNCHED))?)
    }

    /// Returns what was said in a session that the adapter itself keeps, one JSON object a line; `None` if there
    /// is no such session.
    #[must_use]
    pub fn messages(&self, session: &str) -> Option<String> {
        let content = uwf_durable::read(&self.messages_file(session)).ok()??;
        Some(String::from_utf8_lossy(&content).into_owned())
    }

    /// Adds lines to what was said in a session, durably; a line that a crash cut off is ended first.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn append_messages(&self, session: &str, lines: &str) -> Result<(), StorageError> {
        Ok(uwf_durable::append_line(
            &self.messages_file(session),
            lines,
        )?)
    }

    fn messages_file(&self, session: &str) -> PathBuf {
        self.path.join(format!("messages-{session}.jsonl"))
    }

    /// Returns what the chain amounts to, if somebody counted; the caller compares the head.
    #[must_use]
    pub fn chain_summary(&self) -> Option<ChainSummary> {
        self.read(CHAIN)
    }

    /// Keeps what the chain amounts to.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_chain_summary(&self, summary: &ChainSummary) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(CHAIN),
            json(summary).as_bytes(),
        )?)
    }

    /// Returns what the steps up to a head used up, if somebody summed; the caller compares the head.
    #[must_use]
    pub fn chain_usage(&self) -> Option<ChainUsage> {
        self.read(USED)
    }

    /// Keeps what the steps up to a head used up.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_chain_usage(&self, usage: &ChainUsage) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(USED),
            json(usage).as_bytes(),
        )?)
    }

    /// Returns what a person allowed beyond the limits. What cannot be understood allows nothing.
    #[must_use]
    pub fn raises(&self) -> Vec<Setting> {
        self.read(RAISES).unwrap_or_default()
    }

    /// Remembers what a person allows beyond the limits; durable on return.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_raises(&self, raises: &[Setting]) -> Result<(), StorageError> {
        self.write(RAISES, &raises, Durability::Durable)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let content = uwf_durable::read(&self.path.join(name)).ok()??;
        serde_json::from_slice(&content).ok()
    }

    fn write<T: Serialize>(
        &self,
        name: &str,
        record: &T,
        durability: Durability,
    ) -> Result<(), StorageError> {
        self.write_text(name, &json(record), durability)
    }

    fn write_text(
        &self,
        name: &str,
        text: &str,
        durability: Durability,
    ) -> Result<(), StorageError> {
        self.create()?;
        Ok(uwf_durable::replace(
            &self.path.join(name),
            text.as_bytes(),
            durability,
        )?)
    }
}

fn end_of(file: &Path, limit: u64) -> String {
    let end = uwf_durable::read_end(file, limit);
    String::from_utf8(end.ok().flatten().unwrap_or_default())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn json<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).expect("a record is plain data with text for keys")
}

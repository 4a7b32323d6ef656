//! The sessions of agents in a thread: the session of each agent in each role, the session in which a step was started
//! last, and the messages of sessions that an adapter keeps itself. Sessions mean something on this machine only.

use std::path::PathBuf;

use indexmap::IndexMap;
use uwf_durable::Durability;
use uwf_protocol::ids::RoleName;
use uwf_protocol::run::StartedSession;

use super::records::Records;
use crate::StorageError;

const SESSIONS: &str = "sessions.json";
const STARTED: &str = "begun.json";

/// Role → agent → session.
type ByRole = IndexMap<RoleName, IndexMap<String, String>>;

/// The sessions of agents in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    records: Records,
}

impl Sessions {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the session of an agent in a role, if there is one.
    #[must_use]
    pub fn of_agent(&self, role: &RoleName, agent: &str) -> Option<String> {
        let sessions: ByRole = self.records.read(SESSIONS)?;
        let session = sessions.get(role)?.get(agent)?;
        (!session.is_empty()).then(|| session.clone())
    }

    /// Tells whether the session of an agent in a role was forgotten and not replaced by another one.
    #[must_use]
    pub fn is_lost(&self, role: &RoleName, agent: &str) -> bool {
        let sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let session = sessions.get(role).and_then(|agents| agents.get(agent));
        session.is_some_and(String::is_empty)
    }

    /// Records the session of an agent in a role, in place of an older one.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn remember(
        &self,
        role: &RoleName,
        agent: &str,
        session: &str,
    ) -> Result<(), StorageError> {
        let mut sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let agents = sessions.entry(role.clone()).or_default();
        if agents.get(agent).is_some_and(|known| known == session) {
            return Ok(());
        }
        agents.insert(agent.to_owned(), session.to_owned());
        self.records
            .replace(SESSIONS, &sessions, Durability::Volatile)
    }

    /// Forgets the session of an agent in a role, or of all agents in the role. The next session is new.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn forget(&self, role: &RoleName, agent: Option<&str>) -> Result<(), StorageError> {
        let mut sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let of_role = sessions.get_mut(role).into_iter().flatten();
        let forgotten = of_role.filter(|(name, _)| agent.is_none_or(|agent| agent == *name));
        // The agent's entry stays, with an empty session: the prompt of the next session says that there was one before.
        let forgotten = forgotten.map(|(_, session)| session.clear()).count();
        if forgotten > 0 {
            self.records
                .replace(SESSIONS, &sessions, Durability::Volatile)?;
        }
        let is_forgotten = |started: &StartedSession| {
            started.role == *role && agent.is_none_or(|agent| agent == started.agent)
        };
        match self.last_started().is_some_and(|it| is_forgotten(&it)) {
            true => self.records.remove(STARTED),
            false => Ok(()),
        }
    }

    /// Returns all sessions that are known: role, agent and session.
    #[must_use]
    pub fn all(&self) -> Vec<(RoleName, String, String)> {
        let sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let mut all = Vec::new();
        for (role, agents) in sessions {
            let known = agents
                .into_iter()
                .filter(|(_, session)| !session.is_empty());
            all.extend(known.map(|(agent, session)| (role.clone(), agent, session)));
        }
        all
    }

    /// Returns the session in which a step was started last. The caller compares head and role.
    #[must_use]
    pub fn last_started(&self) -> Option<StartedSession> {
        self.records.read(STARTED)
    }

    /// Puts the session of a step on record, as soon as it has started.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_started(&self, started: &StartedSession) -> Result<(), StorageError> {
        self.records.create()?;
        self.records.overwrite(STARTED, started)
    }

    /// Returns the messages of a session that the adapter itself keeps, one JSON object a line; `None` if there is no such
    /// session.
    #[must_use]
    pub fn messages(&self, session: &str) -> Option<String> {
        let content = uwf_durable::read(&self.messages_file(session)).ok()??;
        Some(String::from_utf8_lossy(&content).into_owned())
    }

    /// Appends messages to a session, durably. If a crash left an unfinished line, a line feed comes first.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn append_messages(&self, session: &str, lines: &str) -> Result<(), StorageError> {
        let file = self.messages_file(session);
        Ok(uwf_durable::append_line(&file, lines)?)
    }

    /// Replaces all messages of a session, durably: a crash leaves the old ones or the new ones.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn replace_messages(&self, session: &str, lines: &str) -> Result<(), StorageError> {
        let (file, text) = (self.messages_file(session), format!("{lines}\n"));
        Ok(uwf_durable::replace(
            &file,
            text.as_bytes(),
            Durability::Durable,
        )?)
    }

    /// Returns the file with the last known usage of sessions. Its path leaves this crate since only the adapters of tools
    /// that count usage by session know its content.
    #[must_use]
    pub fn usage_file(&self) -> PathBuf {
        self.records.file("session-usage.json")
    }

    fn messages_file(&self, session: &str) -> PathBuf {
        self.records.file(&format!("messages-{session}.jsonl"))
    }
}

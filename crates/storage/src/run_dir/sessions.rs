//! The sessions of agents in a thread: the session of each agent in each role, the session in which a step was started
//! last, and the messages of sessions that an adapter keeps itself. A session means something on one machine only, so the records
//! of sessions name it.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::RoleName;
use uwf_protocol::machine::MachineId;
use uwf_protocol::run::StartedSession;

use super::records::Records;
use crate::{StorageError, machine_id};

const SESSIONS: &str = "sessions.json";
const STARTED: &str = "begun.json";

/// Role → agent → session.
type ByRole = IndexMap<RoleName, IndexMap<String, Known>>;

/// A session on record. It is empty if it was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Known {
    /// A session of a version that did not record the machine. It counts as one of this machine.
    Here(String),
    OfMachine {
        session: String,
        machine: MachineId,
    },
}

/// The record of the session in which a step was started last.
#[derive(Serialize, Deserialize)]
struct Started {
    #[serde(flatten)]
    started: StartedSession,
    /// Records of older versions have none, and count as records of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<MachineId>,
}

impl Known {
    fn session(&self) -> &str {
        match self {
            Self::Here(session) | Self::OfMachine { session, .. } => session,
        }
    }

    fn into_session(self) -> String {
        match self {
            Self::Here(session) | Self::OfMachine { session, .. } => session,
        }
    }

    fn forget(&mut self) {
        match self {
            Self::Here(session) | Self::OfMachine { session, .. } => session.clear(),
        }
    }

    /// Tells whether an agent can go on in it on this machine.
    fn is_usable(&self) -> bool {
        let is_here = match self {
            Self::Here(_) => true,
            Self::OfMachine { machine, .. } => *machine == machine_id(),
        };
        is_here && !self.session().is_empty()
    }
}

/// The sessions of agents in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    records: Records,
}

impl Sessions {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the session of an agent in a role, if there is one on this machine.
    #[must_use]
    pub fn of_agent(&self, role: &RoleName, agent: &str) -> Option<String> {
        let sessions: ByRole = self.records.read(SESSIONS)?;
        let known = sessions.get(role)?.get(agent)?;
        known.is_usable().then(|| known.session().to_owned())
    }

    /// Tells whether the session of an agent in a role was forgotten and not replaced by another one, or is on another machine.
    #[must_use]
    pub fn is_lost(&self, role: &RoleName, agent: &str) -> bool {
        let sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let known = sessions.get(role).and_then(|agents| agents.get(agent));
        known.is_some_and(|known| !known.is_usable())
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
        let is_known = |known: &Known| known.is_usable() && known.session() == session;
        if agents.get(agent).is_some_and(is_known) {
            return Ok(());
        }
        let known = Known::OfMachine {
            session: session.to_owned(),
            machine: machine_id(),
        };
        agents.insert(agent.to_owned(), known);
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
        let forgotten = forgotten.map(|(_, known)| known.forget()).count();
        if forgotten > 0 {
            self.records
                .replace(SESSIONS, &sessions, Durability::Volatile)?;
        }
        let is_forgotten = |started: &StartedSession| {
            started.role == *role && agent.is_none_or(|agent| agent == started.agent)
        };
        let started: Option<Started> = self.records.read(STARTED);
        match started.is_some_and(|it| is_forgotten(&it.started)) {
            true => self.records.remove(STARTED),
            false => Ok(()),
        }
    }

    /// Returns all sessions that are known, of whatever machine: role, agent and session.
    #[must_use]
    pub fn all(&self) -> Vec<(RoleName, String, String)> {
        let sessions: ByRole = self.records.read(SESSIONS).unwrap_or_default();
        let mut all = Vec::new();
        for (role, agents) in sessions {
            let known = agents
                .into_iter()
                .map(|(agent, known)| (agent, known.into_session()))
                .filter(|(_, session)| !session.is_empty());
            all.extend(known.map(|(agent, session)| (role.clone(), agent, session)));
        }
        all
    }

    /// Returns the session in which a step was started last, if that was on this machine. The caller compares head and role.
    #[must_use]
    pub fn last_started(&self) -> Option<StartedSession> {
        let Started { started, machine } = self.records.read(STARTED)?;
        let is_here = machine.is_none_or(|machine| machine == machine_id());
        is_here.then_some(started)
    }

    /// Puts the session of a step on record, as soon as it has started.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_started(&self, started: &StartedSession) -> Result<(), StorageError> {
        self.records.create()?;
        let started = Started {
            started: started.clone(),
            machine: Some(machine_id()),
        };
        self.records.overwrite(STARTED, &started)
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

//! A failed attempt at a step, as the error that is reported.

use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::Phase;

use crate::planned_try::PlannedTry;

/// A failed attempt at a step.
#[derive(Debug, thiserror::Error)]
#[error("`{role}` failed: {problem}")]
pub struct AgentFailure {
    /// The thread.
    pub thread: ThreadId,
    /// Who was to do the step.
    pub role: RoleName,
    /// The agent: its alias in the config, else its program.
    pub agent: String,
    /// Where it worked.
    pub directory: String,
    /// The number of the attempt within the thread, if it could be put on record.
    pub number: Option<u64>,
    /// How far it got.
    pub phase: Phase,
    /// What kind of failure it is.
    pub class: FailureClass,
    /// What went wrong.
    pub problem: String,
    /// The end of the agent's stderr; empty if the agent reported by other means what went wrong.
    pub stderr_tail: String,
    /// The attempt that follows by itself, if one does.
    pub next_try: Option<PlannedTry>,
    /// What to do about it.
    pub hint: String,
    /// The code with which the agent's process exited, if it did.
    pub exit_code: Option<i32>,
    /// The agent's own session, which the next attempt continues.
    pub session_id: Option<String>,
    /// The text node with the last answer, if there was one.
    pub raw: Option<CasRef>,
}

impl AgentFailure {
    /// Returns a line that names the attempt: its number, thread, class, agent and directory.
    #[must_use]
    pub fn which(&self) -> String {
        let Self {
            thread,
            number,
            class,
            agent,
            directory,
            ..
        } = self;
        let number = number.map_or_else(|| "that is not on record".to_owned(), |n| n.to_string());
        format!("attempt {number} of thread {thread}: {class}, agent `{agent}` in `{directory}`")
    }
}

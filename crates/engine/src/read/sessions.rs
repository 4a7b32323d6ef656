//! The sessions of agents that a thread knows: which they are, since when, and what was done in them.

use serde::Serialize;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::StartedSession;
use uwf_storage::RunDir;
use uwf_thread::steps;

use crate::{EngineError, Site, thread};

/// The sessions of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionsView {
    /// The thread.
    pub thread: ThreadId,
    /// The sessions, by role in the order in which the roles began one.
    pub sessions: Vec<SessionView>,
}

/// One session: the next visit of the role continues it, or the next attempt at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// The role.
    pub role: RoleName,
    /// The agent; with its program if the agent runs any.
    pub agent: String,
    /// The session, as the agent names it.
    pub session: String,
    /// When it was first used, in milliseconds since 1970; `None` if no step and no failed attempt in it is on record.
    pub since_ms: Option<i64>,
    /// When it was last used.
    pub used_ms: Option<i64>,
    /// How many steps of the thread were done in it.
    pub steps: u64,
    /// How many attempts failed in it.
    pub failed: u64,
    /// Whether a step was started in it that is not done.
    pub unfinished: bool,
}

/// Which sessions a command is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Those of this role; of every role if absent.
    pub role: Option<RoleName>,
    /// Those of this agent; of every agent if absent.
    pub agent: Option<String>,
}

impl SessionFilter {
    /// Tells whether it is about a session of this agent in this role. The name of an agent that runs any program stands for
    /// all its programs.
    #[must_use]
    pub fn takes(&self, role: &RoleName, agent: &str) -> bool {
        let name = agent.split(' ').next();
        let is_agent = |wanted: &String| wanted == agent || Some(wanted.as_str()) == name;
        let is_role = |wanted: &RoleName| wanted == role;
        self.role.as_ref().is_none_or(is_role) && self.agent.as_ref().is_none_or(is_agent)
    }
}

impl SessionView {
    fn new(role: RoleName, agent: String, session: String) -> Self {
        Self {
            role,
            agent,
            session,
            since_ms: None,
            used_ms: None,
            steps: 0,
            failed: 0,
            unfinished: false,
        }
    }

    fn is(&self, role: &RoleName, session: Option<&str>) -> bool {
        self.role == *role && Some(self.session.as_str()) == session
    }

    fn used(&mut self, from_ms: Option<i64>, to_ms: Option<i64>) {
        self.since_ms = [self.since_ms, from_ms].into_iter().flatten().min();
        self.used_ms = [self.used_ms, to_ms].into_iter().flatten().max();
    }
}

/// Returns the sessions that a thread knows.
///
/// # Errors
/// When the thread is unknown, or a step cannot be read.
pub fn sessions(
    site: &Site,
    id: ThreadId,
    filter: &SessionFilter,
) -> Result<SessionsView, EngineError> {
    let head = thread::find(site, id)?.head();
    let run = site.root.run(id);
    let mut sessions = known(&run, head, filter);
    for attempt in run.ledger.attempts() {
        let session = attempt.session_id.as_deref();
        let in_it = sessions.iter_mut().find(|it| it.is(&attempt.role, session));
        if let Some(in_it) = in_it {
            in_it.failed += 1;
            in_it.used(Some(attempt.started_at_ms), Some(attempt.ended_at_ms));
        }
    }
    // The chain is read only if there is something to find in it.
    let chain = (!sessions.is_empty()).then(|| steps(&site.store, head));
    for step in chain.into_iter().flatten() {
        let step = step?.node;
        if !sessions.iter().any(|one| one.role == step.role) {
            continue;
        }
        let detail = site.store.need(step.detail)?.payload;
        let session = detail["sessionId"].as_str();
        let in_it = sessions.iter_mut().find(|it| it.is(&step.role, session));
        if let Some(in_it) = in_it {
            in_it.steps += 1;
            in_it.used(step.started_at_ms, step.completed_at_ms);
        }
    }
    Ok(SessionsView {
        thread: id,
        sessions,
    })
}

/// Returns the sessions on record that a filter takes, as far as their record tells.
pub(crate) fn known(run: &RunDir, head: CasRef, filter: &SessionFilter) -> Vec<SessionView> {
    let all = run.sessions.all().into_iter();
    let mut sessions: Vec<SessionView> = all
        .map(|(role, agent, session)| SessionView::new(role, agent, session))
        .collect();
    let is_here = |started: &StartedSession| started.replaces.unwrap_or(started.head) == head;
    if let Some(started) = run.sessions.last_started().filter(is_here) {
        let StartedSession {
            role,
            agent,
            session_id,
            ..
        } = started;
        let is_it = |one: &SessionView| one.agent == agent && one.is(&role, Some(&session_id));
        match sessions.iter_mut().find(|one| is_it(one)) {
            Some(one) => one.unfinished = true,
            None => sessions.push(SessionView {
                unfinished: true,
                ..SessionView::new(role, agent, session_id)
            }),
        }
    }
    sessions.retain(|one| filter.takes(&one.role, &one.agent));
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_an_agent_by_its_name_or_with_its_program() {
        let takes = |role: Option<&str>, agent: Option<&str>| {
            let filter = SessionFilter {
                role: role.map(|role| role.parse().unwrap()),
                agent: agent.map(str::to_owned),
            };
            filter.takes(&"writer".parse().unwrap(), "uwf-command ./tool")
        };
        assert!(takes(None, None) && takes(Some("writer"), Some("uwf-command")));
        assert!(takes(None, Some("uwf-command ./tool")));
        assert!(!takes(Some("reviewer"), None) && !takes(None, Some("uwf-llm")));
    }
}

//! Dropping sessions of agents: the next visit of a role begins a new one, with the whole prompt.

use uwf_protocol::ids::ThreadId;
use uwf_storage::Located;

use crate::read::sessions::{SessionFilter, SessionView, known};
use crate::run::owned::with_thread;
use crate::thread::{self, Thread};
use crate::waiting_answer::{Drops, WaitingAnswer};
use crate::{EngineError, Runner, project, tags};

/// Forgets the sessions that a filter takes, and returns them. What an agent itself keeps of them stays as it is.
///
/// # Errors
/// When somebody works on the thread, or when an answer waits that belongs to one of the sessions.
pub fn drop_sessions(
    runner: &Runner,
    id: ThreadId,
    filter: &SessionFilter,
) -> Result<Vec<SessionView>, EngineError> {
    with_thread(runner, id, |run| {
        let site = &runner.site;
        let located = thread::find(site, id)?;
        let head = located.head();
        let waits = match located {
            Located::Active(_) => WaitingAnswer::at(run, head),
            Located::Archived(_) => None,
        };
        let dropped = known(run, head, filter);
        let is_of_it = |answer: &WaitingAnswer| dropped.iter().any(|one| one.role == answer.role);
        if let Some(answer) = waits.filter(is_of_it) {
            let thread = Thread::load(&site.store, id, head)?;
            let (config, _) = project::config_for(site, &thread.start)?;
            return Err(answer.refuse(&thread, &config, Drops::Session));
        }
        for session in &dropped {
            run.sessions.forget(&session.role, Some(&session.agent))?;
            let (role, agent) = (&session.role, &session.agent);
            let message = site.loggable(&format!("role={role} agent={agent}"));
            site.log_line(tags::SESSION_DROPPED, &message, Some(id), None);
        }
        Ok(dropped)
    })
}

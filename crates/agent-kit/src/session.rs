//! Decides which session an attempt continues: the one in which an earlier attempt at the same step failed or was
//! ended.
//!
//! [`crate::conversation`] decides what is said there.

use uwf_protocol::failure::FailureClass;
use uwf_protocol::run::{Attempt, StartedSession};
use uwf_storage::RunDir;

use crate::adapter::{Adapter, Task};
use crate::conversation::Opening;
use crate::masked;

/// After this many failures in a row a new session is started, since the session itself may be the cause.
const ATTEMPTS_PER_SESSION: usize = 3;

/// The feedback about an attempt that was ended before it reported anything.
const ENDED: &str = "you were interrupted before you answered";

/// Returns how the conversation opens: in the session in which the last attempt failed or was ended, or with the whole
/// prompt. A session that has failed too often is removed from the task.
pub(crate) fn opening(run: &RunDir, adapter: &dyn Adapter, task: &mut Task) -> Opening {
    if !adapter.can_resume() {
        return Opening::Prompt;
    }
    record_earlier(run, adapter, task);
    let failures = failures_in_session(run, task);
    let started = run.sessions.last_started().filter(|started| {
        let place = (started.head, started.replaces) == (task.head, task.replaces);
        place && started.role == task.role && started.agent == task.agent
    });
    let (session, error) = match failures.as_slice() {
        [] => match started.as_ref().filter(|started| was_ended(run, started)) {
            Some(started) => (started.session_id.clone(), ENDED.to_owned()),
            None => return Opening::Prompt,
        },
        [.., last] if !is_given_up(&failures) => (
            last.session_id.clone().unwrap_or_default(),
            match last.was_cut_off() {
                true => ENDED.to_owned(),
                false => last.feedback.as_ref().unwrap_or(&last.error).clone(),
            },
        ),
        _ => {
            task.session = None;
            return Opening::Prompt;
        }
    };
    let knows = |started: &StartedSession| {
        started.session_id == session && started.instruction == task.edge_prompt
    };
    let is_known = started.as_ref().is_some_and(knows);
    Opening::Continue {
        session,
        error,
        answered: failures.iter().any(|attempt| attempt.raw.is_some()),
        instruction: (!is_known).then(|| task.edge_prompt.clone()),
    }
}

/// Records the session that a program of an earlier attempt has begun and that its adapter could not record. It is best effort:
/// without the record, the agent is asked in a new session.
fn record_earlier(run: &RunDir, adapter: &dyn Adapter, task: &Task) {
    if let Some(session) = adapter.earlier_session(task)
        && masked::is_free(&session, &task.masks)
    {
        let _ = run.sessions.write_started(&task.started_session(session));
    }
}

/// Tells whether a new session must be tried. Attempts that were ended from outside or refused by the provider do not count.
fn is_given_up(attempts: &[Attempt]) -> bool {
    let is_refused = |attempt: &Attempt| attempt.class.is_some_and(FailureClass::is_of_provider);
    let failed = attempts
        .iter()
        .filter(|attempt| !attempt.was_cut_off() && !is_refused(attempt));
    failed.count() >= ATTEMPTS_PER_SESSION
}

/// Tells whether an attempt was ended, together with its engine, before anybody could put it on record.
fn was_ended(run: &RunDir, started: &StartedSession) -> bool {
    let is_known = |attempt: &Attempt| attempt.session_id.as_ref() == Some(&started.session_id);
    !run.ledger.attempts().iter().any(is_known)
}

/// Returns the newest attempts at this step that failed in the recorded session, up to the first other attempt.
fn failures_in_session(run: &RunDir, task: &Task) -> Vec<Attempt> {
    let remembered = run.sessions.of_agent(&task.role, &task.agent);
    let mut attempts = run.ledger.attempts();
    let is_other = |attempt: &Attempt| {
        !is_here(attempt, task) || attempt.session_id.is_none() || attempt.session_id != remembered
    };
    let others = attempts.iter().rposition(is_other).map_or(0, |at| at + 1);
    attempts.split_off(others)
}

/// Tells whether an attempt was one at the step of a task.
fn is_here(attempt: &Attempt, task: &Task) -> bool {
    let place = (attempt.head, attempt.replaces) == (task.head, task.replaces);
    place && attempt.role == task.role
}

/// Returns the newest attempt at this step whose work failed the checks, unless a session goes on that knows it.
///
/// It follows from attempts and sessions that do not change when an attempt is killed, so the next one gets the same prompt and
/// finds what the killed one left.
pub(crate) fn untold_checks(run: &RunDir, adapter: &dyn Adapter, task: &Task) -> Option<Attempt> {
    let attempts = run.ledger.attempts().into_iter().rev();
    let mut here = attempts.take_while(|attempt| is_here(attempt, task));
    let newest = here.find(|attempt| attempt.class == Some(FailureClass::ChecksFailed))?;
    let in_session = failures_in_session(run, task);
    let is_in_session = in_session.iter().any(|one| one.number == newest.number);
    let is_told = adapter.can_resume() && is_in_session && !is_given_up(&in_session);
    (!is_told).then_some(newest)
}

//! Which session an attempt goes on with: the one in which an earlier attempt at the same step failed or was ended.
//!
//! What is said there is decided in [`crate::conversation`].

use uwf_protocol::run::{Attempt, Begun};
use uwf_storage::RunDir;

use crate::adapter::Task;
use crate::conversation::Opening;

/// After how many failures in a row a session is given up for a new one: it may be what fails.
const ATTEMPTS_PER_SESSION: usize = 3;

/// What the agent is told of an attempt that ended without a word.
const ENDED: &str = "you were interrupted before you answered";

/// Goes on with the session in which the last attempt failed, unless that has been tried too often, or in which
/// it was ended. A session that is given up is no more the task's.
pub(crate) fn opening(run: &RunDir, task: &mut Task) -> Opening {
    let failures = failures_in_session(run, task);
    let begun = run.sessions.begun().filter(|begun| {
        let place = (begun.head, begun.replaces) == (task.head, task.replaces);
        place && begun.role == task.role && begun.agent == task.agent
    });
    let (session, error) = match failures.as_slice() {
        [] => match begun.as_ref().filter(|begun| was_ended(run, begun)) {
            Some(begun) => (begun.session_id.clone(), ENDED.to_owned()),
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
    let knows =
        |begun: &Begun| begun.session_id == session && begun.instruction == task.edge_prompt;
    let is_known = begun.as_ref().is_some_and(knows);
    Opening::Continue {
        session,
        error,
        answered: failures.iter().any(|attempt| attempt.raw.is_some()),
        instruction: (!is_known).then(|| task.edge_prompt.clone()),
    }
}

/// Tells whether so many attempts failed that the session may be why. Those that were ended from outside do not count.
fn is_given_up(attempts: &[Attempt]) -> bool {
    let failed = attempts.iter().filter(|attempt| !attempt.was_cut_off());
    failed.count() >= ATTEMPTS_PER_SESSION
}

/// Tells whether an attempt was ended, together with its engine, before anybody could put it on record.
fn was_ended(run: &RunDir, begun: &Begun) -> bool {
    let is_known = |attempt: &Attempt| attempt.session_id.as_ref() == Some(&begun.session_id);
    !run.ledger.attempts().iter().any(is_known)
}

/// Returns the last attempts at this very step, as far as they failed in the session that is remembered.
fn failures_in_session(run: &RunDir, task: &Task) -> Vec<Attempt> {
    let remembered = run.sessions.of_agent(&task.role, &task.agent);
    let mut attempts = run.ledger.attempts();
    let is_other = |attempt: &Attempt| {
        let place = (attempt.head, attempt.replaces) == (task.head, task.replaces);
        let here = place && attempt.role == task.role;
        !here || attempt.session_id.is_none() || attempt.session_id != remembered
    };
    let others = attempts.iter().rposition(is_other).map_or(0, |at| at + 1);
    attempts.split_off(others)
}

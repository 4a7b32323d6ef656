//! The records about the head of an active thread: who works on it, which attempts failed, which step is finished.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::Usage;
use uwf_protocol::run::{Attempt, LeaseRecord, Phase, ProcessIdentity};
use uwf_storage::{HistoryRecord, Ledger, RunDir, Scratch, StorageError};
use uwf_util::causes::with_causes;

use crate::Site;
use crate::agent_choice::AgentChoice;
use crate::attempt;
use crate::printed::printed_step;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::waiting_answer::WaitingAnswer;

/// A failed attempt at a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Its number within the thread.
    pub number: u64,
    /// Who was to do the step.
    pub role: RoleName,
    /// How far it got.
    pub phase: Phase,
    /// What kind of failure it was, if that is on record.
    pub class: Option<FailureClass>,
    /// What went wrong.
    pub error: String,
    /// What the user could do about it.
    pub hint: Option<String>,
    /// The exit code of the agent's process, if it exited.
    pub exit_code: Option<i32>,
    /// The end of what the agent wrote to stderr.
    pub stderr_tail: String,
    /// The agent's own session, which the next attempt continues.
    pub session_id: Option<String>,
    /// How long the provider asks to wait after the end of the attempt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The label of the agent.
    pub agent: String,
    /// The agent's alias in the config, if it has one.
    pub alias: Option<String>,
    /// Where it worked.
    pub directory: Option<String>,
    /// What the attempt used up, if known.
    pub usage: Option<Usage>,
    /// Whether a person accepted that its usage is not fully known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown_accepted: bool,
    /// The step that counts its usage, because a later attempt made that step of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<CasRef>,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When it ended, in milliseconds since 1970.
    pub ended_at_ms: i64,
    /// The head that the step would have followed.
    pub head: CasRef,
    /// The step that was to be done again, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// The message of a person for this attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// What the command line said about the agent.
    #[serde(skip)]
    pub choice: AgentChoice,
    /// The text node with the last answer, if there was one.
    pub raw: Option<CasRef>,
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            role: attempt.role,
            phase: attempt.phase,
            class: attempt.class,
            error: attempt.error,
            hint: attempt.hint,
            exit_code: attempt.exit_code,
            stderr_tail: attempt.stderr_tail,
            session_id: attempt.session_id,
            retry_after_ms: attempt.retry_after_ms,
            agent: attempt.agent,
            alias: attempt.alias,
            directory: attempt.directory,
            usage: attempt.usage,
            unknown_accepted: attempt.unknown_accepted,
            counted_in: attempt.counted_in,
            started_at_ms: attempt.started_at_ms,
            ended_at_ms: attempt.ended_at_ms,
            head: attempt.head,
            replaces: attempt.replaces,
            words: attempt.words,
            choice: attempt.chosen.map(AgentChoice::from).unwrap_or_default(),
            raw: attempt.raw,
        }
    }
}

impl AttemptView {
    /// Returns the head that the thread had.
    #[must_use]
    pub fn at(&self) -> CasRef {
        self.replaces.unwrap_or(self.head)
    }
}

/// The step that is being done right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningView {
    /// The role that is at work.
    pub role: RoleName,
    /// The label of the agent; `None` if it is not on record.
    pub agent: Option<String>,
    /// When the step began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// The agent's process, once it is started; it leads a process group of its own.
    pub agent_pid: Option<u32>,
    /// When the agent wrote something last, in milliseconds since 1970; `None` if it has not.
    pub last_output_ms: Option<i64>,
    /// Whether it still waits for a slot to start its agent in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

impl RunningView {
    fn of(record: LeaseRecord, scratch: &Scratch) -> Self {
        Self {
            // An output from before is that of another attempt.
            last_output_ms: scratch
                .last_output_ms()
                .filter(|at| *at >= record.started_at_ms),
            role: record.role,
            agent: Some(record.label).filter(|label| !label.is_empty()),
            started_at_ms: record.started_at_ms,
            agent_pid: record.agent.map(|agent| agent.pid),
            waiting: record.waiting,
        }
    }
}

/// The records about the head of an active thread.
pub(crate) struct Activity {
    /// Who works on it.
    pub(crate) running: Option<RunningView>,
    /// The processes of an attempt whose engine has died, for people.
    pub(crate) orphans: Vec<String>,
    /// The attempts that failed there, newest last.
    pub(crate) attempts: Vec<AttemptView>,
    /// The finished step after the head that waits to be committed: its agent and its engine have ended.
    pub(crate) finished_step: Option<CasRef>,
    /// The answer that no step has yet, if nobody works on the thread.
    pub(crate) waiting_answer: Option<WaitingAnswer>,
}

impl Activity {
    /// Reads the records.
    pub(crate) fn at(site: &Site, run: &RunDir, head: CasRef) -> Result<Self, StorageError> {
        // The pending record is read before the lease record. So a step that is being committed right now is not shown as
        // waiting.
        let pending = run.outbox.read_pending()?;
        let record = run.lease.read_record();
        let is_gone = |process: &ProcessIdentity| !uwf_process::is_alive(process);
        let left = record.as_ref().filter(|record| is_gone(&record.engine));
        // A call that takes the lock puts a printed step on record.
        let pending = pending.or_else(|| printed_step(site, run, left?));
        let pending = pending.filter(|pending| pending.expects() == head);
        // Then only leftovers may run: the next call ends them, or lets them go on.
        let is_over = record.as_ref().is_some_and(|record| {
            is_gone(&record.engine)
                && record.agent.as_ref().is_some_and(is_gone)
                && (pending.is_some() || attempt::program_has_ended(record, &run.scratch))
        });
        // An engine removes its record before it commits the step.
        let is_committing = record.is_none() && pending.is_some() && run.lease.is_held()?;
        let orphans = attempt::orphans_of(site, run, record.as_ref());
        let running = match record {
            Some(record) if !is_over && (!orphans.is_empty() || run.lease.is_held()?) => {
                Some(RunningView::of(record, &run.scratch))
            }
            Some(_) | None => None,
        };
        let waits = pending.filter(|_| running.is_none() && !is_committing);
        let is_quiet = running.is_none() && waits.is_none() && !is_committing;
        Ok(Self {
            waiting_answer: WaitingAnswer::at(run, head).filter(|_| is_quiet),
            running,
            orphans,
            attempts: attempts_at(&run.ledger, head),
            finished_step: waits.map(|pending| pending.step),
        })
    }

    /// Returns the state of an active thread with this route.
    pub(crate) fn thread_state(&self, route: &Result<Route, RouteError>) -> ThreadState {
        if let Some(running) = &self.running {
            return ThreadState {
                current_role: Some(running.role.clone()),
                ..ThreadState::plain(ThreadStatus::Running)
            };
        }
        let by_graph = ThreadState {
            reason: blocked_reason(route),
            ..ThreadState::of_active(route)
        };
        // A cancelled attempt did not fail.
        let last = self.attempts.last();
        let has_failed = last.is_some_and(|last| last.class != Some(FailureClass::Cancelled));
        if by_graph.status == ThreadStatus::Idle && has_failed {
            return ThreadState {
                status: ThreadStatus::Failed,
                reason: last.map(|last| last.error.clone()),
                ..by_graph
            };
        }
        by_graph
    }
}

/// Returns the failed attempts at a head, newest last: at the step after it, or at doing it again.
pub(crate) fn attempts_at(ledger: &Ledger, head: CasRef) -> Vec<AttemptView> {
    let attempts = ledger.attempts().into_iter();
    attempts
        .filter(|attempt| attempt.at() == head)
        .map(AttemptView::from)
        .collect()
}

/// Returns the failed attempts at the head of an ended thread, newest last. What would repeat one that came before the end is not
/// possible now, so it has no hint.
pub(crate) fn attempts_of_ended(ledger: &Ledger, record: &HistoryRecord) -> Vec<AttemptView> {
    let mut attempts = attempts_at(ledger, record.head);
    for attempt in attempts.iter_mut().filter(|one| !is_after_end(one, record)) {
        attempt.hint = None;
    }
    attempts
}

fn is_after_end(attempt: &AttemptView, record: &HistoryRecord) -> bool {
    attempt.started_at_ms >= record.completed_at
}

/// Returns the attempt to resume an ended thread, if that failed and is the last that happened to the thread.
pub(crate) fn failed_resume(ledger: &Ledger, record: &HistoryRecord) -> Option<AttemptView> {
    let last = attempts_at(ledger, record.head).pop();
    last.filter(|attempt| is_after_end(attempt, record))
}

/// Returns why the thread is blocked, with the causes; `None` if it is not.
pub(crate) fn blocked_reason(route: &Result<Route, RouteError>) -> Option<String> {
    let error = route.as_ref().err()?;
    Some(with_causes(error))
}

#[cfg(test)]
mod tests {
    use uwf_moderator::{Assignment, Performer};
    use uwf_protocol::workflow::NodeName;

    use super::*;

    fn to_writer() -> Result<Route, RouteError> {
        Ok(Route::To(Assignment {
            role: "writer".parse().unwrap(),
            prompt: "write".to_owned(),
            location: None,
            performer: Performer::Agent,
        }))
    }

    fn failed() -> AttemptView {
        let attempt = Attempt::of("0123456789ABC".parse().unwrap(), "writer".parse().unwrap());
        AttemptView::from(attempt)
    }

    fn quiet(attempts: Vec<AttemptView>) -> Activity {
        Activity {
            running: None,
            orphans: Vec::new(),
            attempts,
            finished_step: None,
            waiting_answer: None,
        }
    }

    #[test]
    fn an_idle_thread_whose_last_attempt_failed_is_failed_and_keeps_its_next_role() {
        let idle = quiet(vec![]).thread_state(&to_writer());
        assert_eq!(idle.status, ThreadStatus::Idle);
        let failed = quiet(vec![failed()]).thread_state(&to_writer());
        assert_eq!(failed.status, ThreadStatus::Failed);
        let stopped = AttemptView {
            class: Some(FailureClass::Cancelled),
            ..self::failed()
        };
        let stopped = quiet(vec![self::failed(), stopped]).thread_state(&to_writer());
        assert_eq!(stopped.status, ThreadStatus::Idle);
        assert_eq!(failed.current_role, idle.current_role);
    }

    #[test]
    fn a_thread_is_running_while_somebody_works_whatever_the_route() {
        let running = RunningView {
            role: "asker".parse().unwrap(),
            agent: None,
            started_at_ms: 1,
            agent_pid: None,
            last_output_ms: None,
            waiting: false,
        };
        let activity = Activity {
            running: Some(running),
            orphans: Vec::new(),
            attempts: vec![failed()],
            finished_step: None,
            waiting_answer: None,
        };
        let asks = Ok(Route::Suspend {
            role: "asker".parse().unwrap(),
            message: "which?".to_owned(),
        });
        let state = activity.thread_state(&asks);
        assert_eq!(state.status, ThreadStatus::Running);
        assert_eq!(state.current_role.unwrap().as_str(), "asker");
        assert_eq!(state.suspend_message, None);
    }

    #[test]
    fn an_active_thread_whose_route_is_the_end_is_idle_without_a_next_role() {
        let state = quiet(vec![]).thread_state(&Ok(Route::End { result: Ok(None) }));
        assert_eq!(state.status, ThreadStatus::Idle);
        assert_eq!((state.current_role, state.done), (None, false));
    }

    #[test]
    fn a_thread_without_a_route_is_blocked_even_after_a_failure() {
        let route = Err(RouteError::NoEdges {
            node: NodeName::Start,
        });
        assert_eq!(
            quiet(vec![failed()]).thread_state(&route).status,
            ThreadStatus::Blocked
        );
        assert!(blocked_reason(&route).unwrap().contains("$START"));
        assert_eq!(blocked_reason(&to_writer()), None);
    }
}

//! Failed attempts: what went wrong, put on record so that people see it and the next attempt can go on.

use std::fmt;

use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::run::{Attempt, Phase};
use uwf_storage::RunDir;

use crate::process::{self, Ending};
use crate::thread::Thread;
use crate::{AgentFailure, Engine, EngineError, tags};

/// How much of the agent's stdout is looked at for the answer, in bytes: the last line may carry all that the
/// agent wrote.
pub(crate) const ANSWER_TAIL: u64 = 32 * 1024 * 1024;
/// How much of the agent's stderr goes on record, in bytes.
const STDERR_TAIL: u64 = 4 * 1024;

/// What was tried.
pub(crate) struct Attempted {
    pub(crate) head: CasRef,
    pub(crate) replaces: Option<CasRef>,
    pub(crate) role: RoleName,
    pub(crate) agent: String,
    pub(crate) started_at_ms: i64,
}

/// What went wrong.
pub(crate) enum Problem {
    /// The program could not be started.
    Spawn {
        program: String,
        cwd: String,
        source: std::io::Error,
        hint: String,
    },
    /// The agent ended without a step.
    Ended { how: String, hint: Option<String> },
    /// What the agent answered cannot be taken.
    Refused { why: String, hint: Option<String> },
}

/// Says how a run ended.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => match status.code() {
                Some(code) => write!(f, "the agent exited with code {code}"),
                None => write!(f, "the agent was ended from outside ({status})"),
            },
            Self::TimedOut(limit) => {
                write!(f, "the agent was ended after its time limit of {limit:?}")
            }
            Self::Idle(limit) => {
                write!(f, "the agent was ended: it printed nothing for {limit:?}")
            }
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
        }
    }
}

impl Problem {
    fn phase(&self) -> Phase {
        match self {
            Self::Spawn { .. } => Phase::Spawn,
            Self::Ended { .. } => Phase::Agent,
            Self::Refused { .. } => Phase::Answer,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Spawn { hint, .. } => Some(hint.clone()),
            Self::Ended { hint, .. } | Self::Refused { hint, .. } => hint.clone(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Spawn {
                program,
                cwd,
                source,
                ..
            } => {
                format!("`{program}` could not be started in `{cwd}`: {source}")
            }
            Self::Ended { how: text, .. } | Self::Refused { why: text, .. } => text.clone(),
        }
    }
}

/// Returns the session in which an attempt was begun that could not tell of it any more. The record may be that of
/// an earlier attempt; if another agent made that one, the session is none of this one's.
fn begun(run: &RunDir, attempted: &Attempted) -> Option<String> {
    let begun = run.begun()?;
    let place = (begun.head, begun.replaces) == (attempted.head, attempted.replaces);
    let here = place && begun.role == attempted.role;
    let session = here.then_some(begun.session_id)?;
    // The agents' own names for whose sessions they are mean nothing to the engine; its labels do.
    let attempts = run.attempts();
    let in_session = |attempt: &&Attempt| attempt.session_id.as_ref() == Some(&session);
    let known = attempts.iter().rev().find(in_session);
    let is_of_another = known.is_some_and(|attempt| attempt.agent != attempted.agent);
    (!is_of_another).then_some(session)
}

/// Fails if the agent did not begin, and nodes that the thread needs are gone or damaged: then it is the store that
/// failed.
pub(crate) fn check_nodes(
    engine: &Engine,
    run: &RunDir,
    thread: &Thread,
) -> Result<(), EngineError> {
    let unbegun = run.read_failure().is_some_and(|told| {
        told.session_id.is_none() && told.usage.is_none() && told.raw.is_none()
    });
    if !unbegun {
        return Ok(());
    }
    let used_by = format!("the head of thread `{}`", thread.id);
    let broken = engine.store.broken(&[(thread.expected_head(), used_by)])?;
    match broken.first() {
        Some(node) => Ok(engine.store.need(node.hash).map(drop)?),
        None => Ok(()),
    }
}

/// Puts the attempt on record, with what the kit told about it, and returns the error to report.
pub(crate) fn record(
    engine: &Engine,
    run: &RunDir,
    thread: &Thread,
    attempted: Attempted,
    problem: &Problem,
) -> EngineError {
    let told = run.read_failure();
    let stderr_tail = process::tail(&run.stderr_file(), STDERR_TAIL);
    let (phase, error, hint) = match &told {
        Some(told) => (told.phase, told.error.clone(), told.hint.clone()),
        None => (problem.phase(), problem.text(), problem.hint()),
    };
    let attempt = Attempt {
        head: attempted.head,
        replaces: attempted.replaces,
        role: attempted.role.clone(),
        agent: attempted.agent.clone(),
        phase,
        error: error.clone(),
        feedback: told.as_ref().and_then(|told| told.feedback.clone()),
        stderr_tail: stderr_tail.clone(),
        session_id: match (&told, problem) {
            (Some(told), _) => told.session_id.clone(),
            (None, Problem::Spawn { .. }) => None,
            (None, Problem::Ended { .. } | Problem::Refused { .. }) => begun(run, &attempted),
        },
        usage: told.as_ref().and_then(|told| told.usage.clone()),
        raw: told.as_ref().and_then(|told| told.raw),
        turns: told.map(|told| told.turns).unwrap_or_default(),
        started_at_ms: attempted.started_at_ms,
        ended_at_ms: engine.env.now_ms(),
    };
    engine.log(
        thread,
        tags::STEP_FAILED,
        // What went wrong may quote the agent, and with it a secret: it is kept with the attempt only.
        &format!("role={} phase={phase:?}", attempted.role),
    );
    if run.append_attempt(&attempt).is_err() {
        // What the agent did wrong is told all the same: the disk may be full.
        engine.log(
            thread,
            tags::ATTEMPT_NOT_KEPT,
            "the attempt is not on record",
        );
    }
    EngineError::Agent(Box::new(AgentFailure {
        thread: thread.id,
        role: attempted.role,
        phase,
        problem: error,
        stderr_tail,
        stderr_file: run.stderr_file().display().to_string(),
        hint,
    }))
}

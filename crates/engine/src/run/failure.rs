//! Failed attempts: what went wrong, put on record so that people see it and the next attempt can go on.

use std::fmt;
use std::path::PathBuf;

use uwf_protocol::exit::Exit;
use uwf_protocol::failure::{FULL_DISK_HINT, FailureClass};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::{Attempt, LeaseRecord, Phase};
use uwf_storage::{Ledger, RunDir, StorageError};
use uwf_util::words;

use crate::error::{agent_option, signal_name};
use crate::run::agent_run::AgentRun;
use crate::run::process::RunEnding;
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// How much of the agent's stdout is looked at for the answer, in bytes: the last line may carry all that the
/// agent wrote.
pub(crate) const ANSWER_TAIL: u64 = 32 * 1024 * 1024;
/// How much of the agent's stderr goes on record, in bytes.
const STDERR_TAIL: u64 = 4 * 1024;

/// How many bytes of a person's words are repeated in a command.
const MOST_WORDS: usize = 200;

/// What was tried.
pub(crate) struct Attempted {
    pub(crate) head: CasRef,
    pub(crate) replaces: Option<CasRef>,
    pub(crate) role: RoleName,
    /// The label of the agent.
    pub(crate) agent: String,
    pub(crate) alias: Option<String>,
    /// Where the agent worked.
    pub(crate) directory: PathBuf,
    /// The agent that the caller chose for this call.
    pub(crate) choice: Option<String>,
    pub(crate) verb: Verb,
    pub(crate) started_at_ms: i64,
}

impl Attempted {
    /// Returns what is tried from now on.
    pub(crate) fn now(
        agent_run: &AgentRun<'_>,
        choice: Option<String>,
        verb: Verb,
        started_at_ms: i64,
    ) -> Self {
        let AgentRun { thread, agent, .. } = agent_run;
        Self {
            head: thread.head,
            replaces: thread.replaces,
            role: agent_run.assignment.role.clone(),
            agent: agent.label.clone(),
            alias: agent.alias.clone(),
            directory: agent_run.cwd.to_owned(),
            choice,
            verb,
            started_at_ms,
        }
    }
}

/// The command of `uwf thread` that tries a step again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    /// The graph leads to it.
    Step,
    /// The thread waits for an answer, or has ended. A person said this.
    Resume(Option<String>),
    /// It is done again. A person said this.
    Poke(Option<String>),
}

/// What went wrong, as the engine sees it.
pub(crate) struct Problem {
    pub(crate) phase: Phase,
    pub(crate) class: FailureClass,
    pub(crate) text: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) hint: Option<String>,
    /// The signal that told us to stop, if that is why.
    pub(crate) signal: Option<i32>,
}

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
    /// The end of the agent's stderr, if the agent did not say otherwise what went wrong.
    pub stderr_tail: String,
    /// What to do about it.
    pub hint: String,
    /// The code with which the agent's process exited, if it did.
    pub exit_code: Option<i32>,
    /// The agent's own session, which the next attempt continues.
    pub session_id: Option<String>,
    /// The text node with the last answer, if there was one.
    pub raw: Option<CasRef>,
}

/// Says how a run ended.
impl fmt::Display for RunEnding {
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
            Self::Finished => f.write_str("the agent did not end after it had finished its step"),
            Self::Interrupted(signal) | Self::NotStarted(signal) => {
                write!(f, "interrupted by {}", signal_name(*signal))
            }
        }
    }
}

impl Problem {
    /// Returns what is wrong with an answer that the engine does not take.
    pub(crate) fn refused(why: String) -> Self {
        Self {
            phase: Phase::Answer,
            class: FailureClass::BadAnswer,
            text: why,
            exit_code: None,
            hint: None,
            signal: None,
        }
    }

    /// Returns the problem of a run that was ended because we were told to stop.
    pub(crate) fn interrupted(signal: i32) -> Self {
        Self {
            phase: Phase::Agent,
            class: FailureClass::Cancelled,
            text: format!("interrupted by {}", signal_name(signal)),
            exit_code: None,
            hint: None,
            signal: Some(signal),
        }
    }
}

/// Returns the session that an attempt had started when it was killed. The record may be that of an earlier attempt; a
/// session of another agent does not count.
fn begun(run: &RunDir, attempted: &Attempted) -> Option<String> {
    let begun = run.sessions.begun()?;
    let place = (begun.head, begun.replaces) == (attempted.head, attempted.replaces);
    let here = place && begun.role == attempted.role;
    let session = here.then_some(begun.session_id)?;
    // The agents' own names for whose sessions they are mean nothing to the engine; its labels do.
    let attempts = run.ledger.attempts();
    let in_session = |attempt: &&Attempt| attempt.session_id.as_ref() == Some(&session);
    let known = attempts.iter().rev().find(in_session);
    let is_of_another = known.is_some_and(|attempt| attempt.agent != attempted.agent);
    (!is_of_another).then_some(session)
}

/// Fails if the agent did not begin, and nodes that the thread needs are gone or damaged: then it is the store that
/// failed.
pub(crate) fn check_nodes(site: &Site, run: &RunDir, thread: &Thread) -> Result<(), EngineError> {
    let unbegun = run.scratch.read_failure().is_some_and(|told| {
        told.session_id.is_none() && told.usage.is_none() && told.raw.is_none()
    });
    if !unbegun {
        return Ok(());
    }
    let used_by = format!("the head of thread `{}`", thread.id);
    let broken = site.store.broken(&[(thread.expected_head(), used_by)])?;
    match broken.first() {
        Some(node) => Ok(site.store.need(node.hash).map(drop)?),
        None => Ok(()),
    }
}

/// Puts the attempt on record, with what the kit told about it, and returns the error to report.
pub(crate) fn record(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    attempted: &Attempted,
    problem: Problem,
) -> EngineError {
    let signal = problem.signal;
    let told = run.scratch.read_failure();
    let stderr_tail = run.scratch.stderr_end(STDERR_TAIL);
    let is_untold = told.is_none();
    let said = is_untold && signal.is_none();
    let attempt = attempt(site, run, thread.id, attempted, problem, stderr_tail);
    log(site, thread, &attempt, signal);
    let recorded = run.ledger.append_attempt(&attempt);
    let error = recorded.as_ref().err();
    let is_disk_full = error.is_some_and(StorageError::is_of_full_disk);
    let number = recorded.ok();
    if number.is_none() {
        // What the agent did wrong is told all the same: the disk may be full.
        site.log(
            thread,
            tags::ATTEMPT_NOT_KEPT,
            "the attempt is not on record",
        );
    }
    let failure = AgentFailure {
        thread: thread.id,
        role: attempt.role,
        agent: attempt.alias.unwrap_or(attempt.agent),
        directory: attempt.directory.unwrap_or_default(),
        number,
        phase: attempt.phase,
        class: attempt.class.unwrap_or(FailureClass::Crash),
        // The agent may have failed for the same reason, and had no room to say so.
        problem: match is_disk_full && is_untold {
            true => format!("{}, and the disk is full", attempt.error),
            false => attempt.error,
        },
        stderr_tail: if said {
            attempt.stderr_tail
        } else {
            String::new()
        },
        hint: match is_disk_full {
            true => FULL_DISK_HINT.to_owned(),
            false => attempt.hint.unwrap_or_default(),
        },
        exit_code: attempt.exit_code,
        session_id: attempt.session_id,
        raw: attempt.raw,
    };
    match signal {
        Some(signal) => EngineError::Interrupted {
            signal,
            attempt: Box::new(failure),
        },
        None => EngineError::Agent(Box::new(failure)),
    }
}

fn log(site: &Site, thread: &Thread, attempt: &Attempt, signal: Option<i32>) {
    let (tag, exit) = match signal {
        Some(signal) => (tags::STEP_INTERRUPTED, Exit::Signal(signal)),
        None => (tags::STEP_FAILED, Exit::Agent),
    };
    site.log(
        thread,
        tag,
        &format!(
            "role={} agent={} phase={} class={} exit={} error={}",
            attempt.role,
            attempt.agent,
            attempt.phase.as_str(),
            attempt.class.unwrap_or(FailureClass::Crash),
            exit.code(),
            site.loggable(&attempt.error),
        ),
    );
}

/// Returns the record of an attempt. What the kit says counts, but not against a signal that stopped us.
fn attempt(
    site: &Site,
    run: &RunDir,
    thread: ThreadId,
    attempted: &Attempted,
    problem: Problem,
    stderr_tail: String,
) -> Attempt {
    let told = run.scratch.read_failure();
    let (phase, class, error, hint) = match &told {
        // The kit only knows that it was interrupted; the engine knows why.
        Some(told) if problem.signal.is_none() && problem.class != FailureClass::Timeout => (
            told.phase,
            told.class.unwrap_or(FailureClass::Crash),
            told.error.clone(),
            told.hint.clone(),
        ),
        _ => (problem.phase, problem.class, problem.text, problem.hint),
    };
    let session_id = match &told {
        Some(told) => told.session_id.clone(),
        None if phase == Phase::Spawn => None,
        None => begun(run, attempted),
    };
    let usage = told.as_ref().and_then(|told| told.usage.clone());
    Attempt {
        replaces: attempted.replaces,
        agent: attempted.agent.clone(),
        alias: attempted.alias.clone(),
        directory: Some(attempted.directory.display().to_string()),
        phase,
        class: Some(class),
        error,
        hint: Some(hint.unwrap_or_else(|| advice(class, thread, attempted, run))),
        exit_code: problem.exit_code,
        feedback: told.as_ref().and_then(|told| told.feedback.clone()),
        stderr_tail,
        session_id,
        usage: usage.or_else(|| run.scratch.usage()),
        raw: told.as_ref().and_then(|told| told.raw),
        turns: told.map(|told| told.turns).unwrap_or_default(),
        words: attempted.verb.words().map(str::to_owned),
        started_at_ms: attempted.started_at_ms,
        ended_at_ms: site.env.now_ms(),
        ..Attempt::of(attempted.head, attempted.role.clone())
    }
}

impl Verb {
    /// Returns the command that tries again, with the agent that was chosen.
    fn retry(&self, thread: ThreadId, agent: Option<&str>) -> String {
        let option = agent_option(agent);
        match self {
            Self::Step => format!("uwf thread step {thread}{option}"),
            Self::Resume(words) => format!("uwf thread resume {thread}{option}{}", say(words)),
            Self::Poke(words) => format!("uwf thread poke {thread}{option}{}", say(words)),
        }
    }

    /// Returns what a person said, if somebody did.
    fn words(&self) -> Option<&str> {
        match self {
            Self::Step => None,
            Self::Resume(words) | Self::Poke(words) => words.as_deref(),
        }
    }
}

/// Returns the option that says the same words again; what is long is on record and stands for itself.
fn say(words: &Option<String>) -> String {
    match words.as_deref() {
        None => String::new(),
        Some(words) if words.len() <= MOST_WORDS && !words.contains(char::is_control) => {
            format!(" -p {}", words::quote(words))
        }
        Some(_) => " -p \"…\"".to_owned(),
    }
}

/// Returns what to do about a failure of which nothing more is known than its class.
fn advice(class: FailureClass, thread: ThreadId, attempted: &Attempted, run: &RunDir) -> String {
    let other = format!("{} --agent <agent>", attempted.verb.retry(thread, None));
    let retry = attempted.verb.retry(thread, attempted.choice.as_deref());
    let retry = format!("`{retry}`");
    let place = match &attempted.alias {
        Some(alias) => format!("`agents.{alias}.args`"),
        None => "the options of the agent".to_owned(),
    };
    let stderr = run.scratch.stderr_file();
    let stderr = stderr.display();
    match class {
        FailureClass::NotInstalled => {
            format!("install the program, or say where it is; then {retry} tries again")
        }
        FailureClass::Auth => {
            format!(
                "log in with the agent's own tool, or correct its key; then {retry} tries again"
            )
        }
        FailureClass::RateLimit => format!(
            "wait until the provider allows more calls, or choose another agent: `{other}`; {retry} tries again"
        ),
        FailureClass::Overloaded => {
            format!("the provider has a problem: wait a little, then {retry} tries again")
        }
        FailureClass::ContextTooLong => format!("{retry} begins a new session with the whole task"),
        FailureClass::Permission => {
            format!("allow the agent what the step needs, in {place}; then {retry} tries again")
        }
        FailureClass::Timeout => format!(
            "{retry} tries again; if the work needs more time, raise the limit: `timeout` or `idleTimeout` of the agent in the config, or `--timeout` among its arguments"
        ),
        FailureClass::Crash => format!("{retry} tries again; the agent's stderr is in {stderr}"),
        FailureClass::NoAnswer => format!(
            "{retry} tries again; what the agent printed is in {}",
            run.path().display()
        ),
        FailureClass::BadAnswer => {
            format!("{retry} asks again; `uwf thread show {thread}` lists what was tried")
        }
        FailureClass::Cancelled => format!("{retry} goes on where the thread stands"),
    }
}

/// Tells whether an attempt is on record as failed: its engine came so far, and only could not end all of it.
pub(crate) fn is_recorded(ledger: &Ledger, record: &LeaseRecord) -> bool {
    let attempts = ledger.attempts();
    attempts
        .iter()
        .any(|attempt| record.is_recorded_as(attempt))
}

/// Puts a run on record whose agent died together with its engine, if there was one that did not finish its step. The
/// caller has the thread's lock, so the recorded engine is dead.
pub(crate) fn record_lost_run(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
) -> Result<(), StorageError> {
    let Some(record) = run
        .lease
        .read_record()
        .filter(|record| record.agent.is_some())
    else {
        return Ok(());
    };
    if run.outbox.read_pending()?.is_some() {
        return Ok(());
    }
    if is_recorded(&run.ledger, &record) {
        return run.lease.clear_record();
    }
    // The run may have been at another place than the one that is asked about now, such as a redone step.
    let here = match record.head {
        Some(head) => (head, record.replaces),
        None => (thread.head, thread.replaces),
    };
    let started = run.sessions.begun();
    let started = started
        .filter(|started| started.role == record.role && (started.head, started.replaces) == here);
    let ended = run.scratch.last_output_ms().unwrap_or_default();
    run.ledger.append_attempt(&Attempt {
        replaces: here.1,
        agent: record.label,
        class: Some(FailureClass::Crash),
        error: "the agent was ended together with its engine".to_owned(),
        session_id: started.map(|started| started.session_id),
        usage: run.scratch.usage(),
        end_unseen: true,
        started_at_ms: record.started_at_ms,
        ended_at_ms: ended.clamp(record.started_at_ms, site.env.now_ms()),
        ..Attempt::of(here.0, record.role)
    })?;
    run.lease.clear_record()
}

//! Failed attempts: the record of what went wrong, for people and for the next attempt.

use uwf_protocol::config::Config;
use uwf_protocol::exit::Exit;
use uwf_protocol::failure::{FULL_DISK_HINT, FailureClass};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::nodes::Usage;
use uwf_protocol::run::{Attempt, Phase};
use uwf_storage::{RunDir, StorageError};
use uwf_util::time::format_iso;

use crate::agent_failure::AgentFailure;
use crate::planned_try::{PlannedTry, of_role};
use crate::run::attempted::{Attempted, Cause, Problem, Verb};
use crate::run::retry::{ask_again, hint_for};
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// How much of the end of the agent's stderr is recorded, in bytes.
const STDERR_TAIL: u64 = 4 * 1024;

/// Returns the session that an attempt had started when it was killed. The record counts only if it is from this place
/// and from this agent: it may be from an earlier attempt.
fn killed_session(run: &RunDir, attempted: &Attempted) -> Option<String> {
    let started = run.sessions.last_started()?;
    let place = (started.head, started.replaces) == (attempted.head, attempted.replaces);
    let here = place && started.role == attempted.role;
    let session = here.then_some(started.session_id)?;
    // The session's record names the agent by a key of the adapter. The engine knows agents by their labels only, so it
    // looks the session up among the attempts.
    let attempts = run.ledger.attempts();
    let in_session = |attempt: &&Attempt| attempt.session_id.as_ref() == Some(&session);
    let known = attempts.iter().rev().find(in_session);
    let is_of_another = known.is_some_and(|attempt| attempt.agent != attempted.agent);
    (!is_of_another).then_some(session)
}

/// Fails if the agent could not start its work because nodes that the thread needs are lost or damaged: then the store
/// failed, not the agent.
pub(crate) fn check_nodes(site: &Site, run: &RunDir, thread: &Thread) -> Result<(), EngineError> {
    let did_nothing = run.scratch.read_failure().is_some_and(|failure| {
        failure.session_id.is_none() && failure.usage.is_none() && failure.raw.is_none()
    });
    if !did_nothing {
        return Ok(());
    }
    let used_by = format!("the head of thread `{}`", thread.id);
    let broken = site.store.broken(&[(thread.expected_head(), used_by)])?;
    match broken.first() {
        Some(node) => Ok(site.store.need(node.hash).map(drop)?),
        None => Ok(()),
    }
}

/// Records a failed attempt, with what the agent kit reported about it. Returns the error to show.
pub(crate) fn record(
    site: &Site,
    run: &RunDir,
    (thread, config): (&Thread, &Config),
    attempted: &Attempted,
    problem: Problem,
) -> EngineError {
    let cause = problem.cause;
    let is_unreported = run.scratch.read_failure().is_none();
    let stderr_tail = run.scratch.stderr_end(STDERR_TAIL);
    let shows_stderr = is_unreported && cause == Cause::Agent;
    let attempt = attempt(site, run, thread.id, attempted, problem, &stderr_tail);
    // What it cost must be known, even if the disk has filled up meanwhile.
    let append = || run.ledger.append_attempt(&attempt);
    let recorded = site.root.with_room(StorageError::is_of_full_disk, append);
    let error = recorded.as_ref().err();
    // An agent without room for a report, and for a word on stderr, says nothing at all.
    let is_silent = is_unreported && stderr_tail.is_empty();
    let is_disk_full =
        error.is_some_and(StorageError::is_of_full_disk) || (is_silent && lacks_room(site));
    let number = recorded.ok();
    if number.is_none() {
        // The failure is shown nevertheless. A full disk is a likely cause.
        site.log(
            thread,
            tags::ATTEMPT_NOT_KEPT,
            "the attempt is not on record",
        );
    }
    let next_try = number.and_then(|_| next_try(site, run, thread, attempted, config));
    let next_try = next_try.filter(|_| cause == Cause::Agent);
    log(site, thread, (&attempt, next_try.as_ref()), cause);
    let failure = AgentFailure {
        thread: thread.id,
        role: attempt.role,
        agent: attempt.alias.unwrap_or(attempt.agent),
        directory: attempt.directory.unwrap_or_default(),
        number,
        phase: attempt.phase,
        class: attempt.class.unwrap_or(FailureClass::Crash),
        // The agent may have failed for the same reason, without room to report that.
        problem: if is_disk_full && is_unreported {
            format!("{}, and the disk is full", attempt.error)
        } else {
            attempt.error
        },
        stderr_tail: if shows_stderr {
            attempt.stderr_tail
        } else {
            String::new()
        },
        hint: if is_disk_full {
            FULL_DISK_HINT.to_owned()
        } else {
            attempt.hint.unwrap_or_default()
        },
        exit_code: attempt.exit_code,
        session_id: attempt.session_id,
        raw: attempt.raw,
        next_try,
    };
    let attempt = Box::new(failure);
    match cause {
        Cause::Signal(signal) => EngineError::Interrupted { signal, attempt },
        Cause::TakenOver => EngineError::TakenOver(attempt),
        Cause::Agent => EngineError::Agent(attempt),
    }
}

/// Tells whether the disk has no room to be set aside.
fn lacks_room(site: &Site) -> bool {
    let set_aside = site.root.set_room_aside();
    set_aside.is_err_and(|error| error.is_of_full_disk())
}

/// Returns the attempt that follows this one by itself, if one does.
fn next_try(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    attempted: &Attempted,
    config: &Config,
) -> Option<PlannedTry> {
    let is_ordinary = attempted.verb == Verb::Step
        && attempted.choice().agent.is_none()
        && attempted.replaces.is_none();
    if !is_ordinary {
        return None;
    }
    let place = (attempted.head, &attempted.role);
    let next = of_role(site, config, thread.program.name(), place, &run.ledger)?;
    PlannedTry::of(thread.id, next, site.env.now_ms())
}

fn log(
    site: &Site,
    thread: &Thread,
    (attempt, next): (&Attempt, Option<&PlannedTry>),
    cause: Cause,
) {
    let (tag, exit) = match cause {
        Cause::Signal(signal) => (tags::STEP_INTERRUPTED, Exit::Signal(signal)),
        Cause::TakenOver => (tags::STEP_INTERRUPTED, Exit::Busy),
        Cause::Agent => (tags::STEP_FAILED, Exit::Agent),
    };
    site.log(
        thread,
        tag,
        &format!(
            "role={} agent={} phase={} class={} exit={}{} error={}",
            attempt.role,
            attempt.agent,
            attempt.phase.as_str(),
            attempt.class.unwrap_or(FailureClass::Crash),
            exit.code(),
            next.map_or_else(String::new, |next| format!(
                " nextTryAt={} nextAgent={}",
                format_iso(next.at_ms),
                next.agent
            )),
            site.loggable(&attempt.error),
        ),
    );
}

/// Returns the record of an attempt. The kit's report takes precedence, unless the agent was ended, by a signal to us or at a limit of time:
/// the kit knows only that it was interrupted.
fn attempt(
    site: &Site,
    run: &RunDir,
    thread: ThreadId,
    attempted: &Attempted,
    problem: Problem,
    stderr_tail: &str,
) -> Attempt {
    let masks = &attempted.masks;
    let reported = run.scratch.read_failure();
    let (phase, class, error, hint) = match &reported {
        Some(reported)
            if problem.cause == Cause::Agent && problem.class != FailureClass::Timeout =>
        {
            (
                reported.phase,
                reported.class.unwrap_or(FailureClass::Crash),
                reported.error.clone(),
                reported.hint.clone(),
            )
        }
        _ => (problem.phase, problem.class, problem.text, problem.hint),
    };
    let session_id = match &reported {
        Some(reported) => reported.session_id.clone(),
        None if phase == Phase::Spawn => None,
        None => killed_session(run, attempted),
    };
    let usage = reported
        .as_ref()
        .and_then(|reported| reported.usage.clone())
        .or_else(|| run.scratch.usage());
    Attempt {
        replaces: attempted.replaces,
        agent: attempted.agent.clone(),
        alias: attempted.alias.clone(),
        directory: Some(attempted.directory.display().to_string()),
        phase,
        class: Some(class),
        error: masks.text(&error),
        hint: Some(match hint.map(|hint| masks.text(&hint)) {
            // The agent kit knows no command that repeats the attempt.
            Some(hint) if class == FailureClass::BadAnswer => {
                format!("{}; {hint}", ask_again(thread, attempted))
            }
            Some(hint) if class == FailureClass::ChecksFailed => {
                format!("{}; {hint}", hint_for(class, thread, attempted, run))
            }
            Some(hint) => hint,
            None => hint_for(class, thread, attempted, run),
        }),
        exit_code: problem.exit_code,
        feedback: reported
            .as_ref()
            .and_then(|reported| Some(masks.text(reported.feedback.as_ref()?))),
        stderr_tail: masks.text(stderr_tail),
        session_id,
        retry_after_ms: reported
            .as_ref()
            .and_then(|reported| reported.retry_after_ms),
        usage: usage.or_else(|| (class == FailureClass::NotInstalled).then(Usage::nothing)),
        raw: reported.as_ref().and_then(|reported| reported.raw),
        turns: reported.map(|reported| reported.turns).unwrap_or_default(),
        words: attempted.verb.message().map(str::to_owned),
        chosen: Some(attempted.chosen.clone()),
        started_at_ms: attempted.started_at_ms,
        ended_at_ms: site.env.now_ms(),
        ..Attempt::of(attempted.head, attempted.role.clone())
    }
}

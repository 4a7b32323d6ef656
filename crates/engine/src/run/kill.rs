//! Ending a thread from outside: it is archived first, then its agent is ended.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use uwf_process::{Target, is_alive, processes};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::ProcessIdentity;
use uwf_storage::{Acquired, Archived, HistoryRecord, Lease, Reason, RunDir, State};

use crate::attempt::Members;
use crate::run::agent_command;
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, tags};

/// How long an engine has beyond the grace to end its agent.
const BEYOND_GRACE: Duration = Duration::from_secs(12);
/// How often it is checked whether the engine has ended.
const TICK: Duration = Duration::from_millis(20);

/// A thread that was ended.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    /// The thread.
    pub thread: ThreadId,
    /// Whether an agent was at work and was ended with everything that it started.
    pub agent_ended: bool,
    /// The step that an agent had finished and nobody had committed, if there is one. It can be forked.
    pub finished_step: Option<CasRef>,
}

/// Archives the thread as cancelled and ends the agent that works on it, if one does.
///
/// The thread is archived before anything is signalled: a step that finishes in between finds its thread
/// ended and does not move the head.
///
/// # Errors
/// When the thread is unknown or has ended.
pub fn kill(runner: &Runner, id: ThreadId) -> Result<Killed, EngineError> {
    let state = State::new(&runner.site.root);
    loop {
        let head = match thread::active_head(&runner.site, id) {
            // An earlier call archived the thread and was killed before it could end the agent.
            Err(EngineError::Ended {
                reason: Reason::Cancelled,
                ..
            }) if runner.site.root.run(id).lease.is_held()? => break,
            head => head?,
        };
        let record = cancelled(runner, id, head);
        match state.archive(&record)? {
            Archived::Done => break,
            // A step was committed in between: the thread is ended where it is now.
            Archived::HeadIs(_) | Archived::NotActive => {}
        }
    }
    let run = runner.site.root.run(id);
    let agent_ended = end_agent(runner, &run)?;
    runner.site.log_line(
        tags::KILLED,
        &format!("agent_ended={agent_ended}"),
        Some(id),
        None,
    );
    Ok(Killed {
        thread: id,
        agent_ended,
        // The thread is ended whatever the record says.
        finished_step: run.outbox.read_pending().ok().flatten().map(|it| it.step),
    })
}

/// Returns the record of a thread cancelled at a head. Even a thread whose nodes are damaged can be ended.
fn cancelled(runner: &Runner, id: ThreadId, head: CasRef) -> HistoryRecord {
    let workflow =
        Thread::load(&runner.site.store, id, head).map_or(head, |thread| thread.start.workflow);
    HistoryRecord {
        thread: id,
        workflow,
        head,
        completed_at: runner.site.env.now_ms(),
        reason: Reason::Cancelled,
    }
}

/// Ends the agent that works on the thread. Returns whether there was one and it has ended.
///
/// A live engine is asked to end: it ends everything that its agent started. Where it is dead or does not answer, the
/// processes of its attempt are found and ended from here.
fn end_agent(runner: &Runner, run: &RunDir) -> Result<bool, EngineError> {
    let Some(record) = run.lease.read_record() else {
        return Ok(false);
    };
    // Whatever is wrong with the config, the agent is ended.
    let config = uwf_config::load(&runner.site.root).ok().flatten();
    let grace = config.and_then(|config| agent_command::grace(&config).ok());
    let grace = grace.unwrap_or(uwf_process::GRACE);
    let mut ended = false;
    if run.lease.is_held()? && is_alive(&record.engine) {
        ended = record.agent.is_some();
        ask(&record.engine);
        if is_over(&run.lease, &record.engine, grace + BEYOND_GRACE)? {
            return Ok(ended);
        }
    }
    let Some(mut members) = Members::of(&record, &run.scratch) else {
        return Ok(ended && !run.lease.is_held()?);
    };
    // As long as we are the owner, no other engine has the lock.
    let owner = run.lease.acquire()?;
    if matches!(owner, Acquired::Orphaned(_)) {
        members = members.and_those_with_the_lock(&run.lease);
    }
    if members.is_empty() {
        drop(owner);
        return Ok(ended && !run.lease.is_held()?);
    }
    let left = uwf_process::end_for_another(&mut members, grace, &runner.signals);
    Ok(left.is_empty())
}

/// Asks exactly this process to end, also if it is stopped.
fn ask(process: &ProcessIdentity) {
    let found = processes().into_iter().find(|found| found.has(process));
    if let Some(found) = found {
        found.ask(Signal::TERM);
    }
}

/// Waits until the engine has ended, but not longer than this, and tells whether nobody holds the thread then.
fn is_over(lease: &Lease, engine: &ProcessIdentity, most: Duration) -> Result<bool, EngineError> {
    let deadline = Instant::now() + most;
    while Instant::now() < deadline {
        if !is_alive(engine) {
            return Ok(!lease.is_held()?);
        }
        std::thread::sleep(TICK);
    }
    Ok(false)
}

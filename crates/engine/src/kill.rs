//! Ending a thread from outside: it is archived first, then whoever works on it is ended.

mod members;

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::ProcessIdentity;
use uwf_storage::{
    Archived, HistoryRecord, Reason, RunDir, State, ThreadLock, is_alive, process_identity,
};

use crate::process::GRACE;
use crate::thread::{self, Thread};
use crate::{Engine, EngineError, tags};

/// A thread that was ended.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    /// The thread.
    pub thread: ThreadId,
    /// Whether an agent was at work and was ended, with all that held the thread.
    pub agent_ended: bool,
}

/// Archives the thread as cancelled and ends the agent that works on it, if one does.
///
/// The thread is archived before anything is signalled: a step that finishes in between finds its thread
/// ended and does not move the head.
///
/// # Errors
/// When the thread is unknown or has ended.
pub fn kill(engine: &Engine, id: ThreadId) -> Result<Killed, EngineError> {
    let state = State::new(&engine.root);
    loop {
        let head = match thread::active_head(engine, id) {
            // An earlier call archived the thread and was killed before it could end the agent.
            Err(EngineError::Ended {
                reason: Reason::Cancelled,
                ..
            }) if !is_free(&engine.root.run(id))? => break,
            head => head?,
        };
        let record = cancelled(engine, id, head);
        match state.archive(&record)? {
            Archived::Done => break,
            // A step was taken in between: the thread is ended where it is now.
            Archived::HeadIs(_) | Archived::NotActive => {}
        }
    }
    let run = engine.root.run(id);
    let agent_ended = end_agent(&run)?;
    engine.log_line(
        tags::KILLED,
        &format!("agent_ended={agent_ended}"),
        Some(id),
        None,
    );
    Ok(Killed {
        thread: id,
        agent_ended,
    })
}

/// Returns the record of a thread cancelled at a head. Even a thread whose nodes are damaged can be ended.
fn cancelled(engine: &Engine, id: ThreadId, head: CasRef) -> HistoryRecord {
    let workflow =
        Thread::load(&engine.store, id, head).map_or(head, |thread| thread.start.workflow);
    HistoryRecord {
        thread: id,
        workflow,
        head,
        completed_at: engine.env.now_ms(),
        reason: Reason::Cancelled,
    }
}

/// Ends the process group of the agent that the run's record names, if it provably is that agent's, and tells
/// whether somebody was ended and the thread came free.
fn end_agent(run: &RunDir) -> Result<bool, EngineError> {
    let Some(agent) = run.read_holder().and_then(|holder| holder.agent) else {
        return Ok(false);
    };
    for sent in [Signal::TERM, Signal::KILL] {
        // Between the signals the group may have ended and its number gone to others.
        if !is_ours(run, &agent) {
            return Ok(false);
        }
        signal(&agent, sent);
        if is_over_in_time(run, &agent)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether the process group is the agent's: the agent itself still leads it, or somebody in it has the
/// thread's lock, which only the engine and those whom it started have open for long.
fn is_ours(run: &RunDir, agent: &ProcessIdentity) -> bool {
    is_itself(agent) || members::have_open(agent.pid, &run.lock_file())
}

/// Tells whether exactly this process runs, and is not only one that is hidden from us under its number.
fn is_itself(agent: &ProcessIdentity) -> bool {
    is_alive(agent) && process_identity(agent.pid).as_ref() == Some(agent)
}

/// Waits, for as long as the grace lasts, until the agent has ended and nobody holds the thread.
fn is_over_in_time(run: &RunDir, agent: &ProcessIdentity) -> Result<bool, EngineError> {
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if !is_itself(agent) && is_free(run)? {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}

/// Tells whether nobody holds the thread any more: neither the engine nor any process of the agent.
fn is_free(run: &RunDir) -> Result<bool, EngineError> {
    match ThreadLock::try_acquire(run)? {
        Some(lock) => {
            lock.release()?;
            Ok(true)
        }
        None => Ok(false),
    }
}

fn signal(agent: &ProcessIdentity, signal: Signal) {
    let Some(group) = i32::try_from(agent.pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    // A group that is gone is what we want.
    let _ = kill_process_group(group, signal);
}

//! Cancelling a thread: it is archived first, then its agent is ended.

mod remote;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::Serialize;
use uwf_process::{Target, is_alive, processes};
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::{Pending, ProcessIdentity};
use uwf_storage::{
    Archived, HistoryRecord, LocalLease, Located, LockAttempt, Reason, RunDir, State,
};

use crate::astray::Why;
use crate::attempt::Members;
use crate::children::Child;
use crate::children::moved::at_work;
use crate::children::of_step::active;
use crate::children::redone::{Redone, redone};
use crate::pipelines::chain::is_run;
use crate::project::config_for;
use crate::run::agent_command;
use crate::run::kill::remote::{
    Away, RemoteOf, check_may_end, end_for_all, lives_on, remote_with_family,
};
use crate::run::left_secrets;
use crate::run::pipelines::ended::show_cancelled;
use crate::run::refused::keep_beside;
use crate::sharing::error::SharingError;
use crate::sharing::records::unasked;
use crate::thread::{self, Thread, ThreadAt, record_sums};
use crate::{EngineError, Runner, lost_run, printed, tags};

/// The time beyond the grace that an engine has to end its agent.
const BEYOND_GRACE: Duration = Duration::from_secs(12);
/// How often we check whether the engine has ended.
const TICK: Duration = Duration::from_millis(20);

/// A thread that was ended.
#[derive(Debug, Clone)]
pub struct Killed {
    /// The thread.
    pub thread: ThreadId,
    /// Whether an agent was working and was ended with all its descendants.
    pub agent_ended: bool,
    /// Whether the thread was a run of a pipeline: then a step was ended, be it a program, a wait or the agent of a child.
    pub is_run: bool,
    /// The step that an agent had finished and no engine had committed, if there is one. It can be forked.
    pub finished_step: Option<CasRef>,
    /// The children that worked for its next step, and theirs. They were ended, too.
    pub children: Vec<ThreadId>,
    /// The same of these children: what an agent had finished and no engine had committed.
    pub finished_below: Vec<FinishedBelow>,
}

impl Killed {
    /// Returns what agents had finished and no engine had committed, of the thread and of those below it.
    fn finished(&self) -> impl Iterator<Item = FinishedBelow> + '_ {
        let thread = self.thread;
        let own = self.finished_step;
        let own = own.map(|step| FinishedBelow { thread, step });
        own.into_iter().chain(self.finished_below.iter().copied())
    }
}

/// A step of a child that was ended with its parent. It can be forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FinishedBelow {
    /// The child.
    pub thread: ThreadId,
    /// The step.
    pub step: CasRef,
}

/// Archives the thread as cancelled, and ends the agent that works on it, if there is one.
///
/// The thread is archived before any process is signalled. So a step that finishes in between finds its thread ended, and
/// the head does not move.
///
/// # Errors
/// When the thread is unknown or has ended, or has another head than the caller saw; when the remote that shares it does not let this user
/// end it.
pub fn kill(runner: &Runner, at: impl Into<ThreadAt>) -> Result<Killed, EngineError> {
    let (at, away) = (at.into(), Away::default());
    let mut remote = remote_with_family(runner, at.id, &away);
    check_may_end(runner, &mut remote, at.id)?;
    kill_one(runner, at, remote, &away)
}

fn kill_one(
    runner: &Runner,
    at: ThreadAt,
    mut remote: RemoteOf,
    away: &Away,
) -> Result<Killed, EngineError> {
    let id = at.id;
    let head = archive(runner, &at, &mut remote)?;
    let run = runner.site.root.run(id);
    let mut agent_ended = end_agent(runner, &run)?;
    let (mut children, mut finished_below) = (Vec::new(), Vec::new());
    let last = thread::find(&runner.site, id)?.head();
    for killed in kill_children(runner, &run, (id, last), away)? {
        agent_ended |= killed.agent_ended;
        finished_below.extend(killed.finished());
        children.push(killed.thread);
        children.extend(killed.children);
    }
    let finished_step = settle_lost_run(runner, &run, (id, head), &remote)?;
    if let Err(error) = show_cancelled(runner, id) {
        (runner.notice)(&format!(
            "the files of the run do not show its end: {error}"
        ));
    }
    runner.site.log_line(
        tags::KILLED,
        &format!("agent_ended={agent_ended}"),
        Some(id),
        None,
    );
    end_for_all(runner, remote, id);
    record_sums(&runner.site, id, thread::find(&runner.site, id)?.head());
    Ok(Killed {
        thread: id,
        agent_ended,
        is_run: is_run(&runner.site.store, last).unwrap_or(false),
        finished_step,
        children,
        finished_below,
    })
}

/// Archives the thread. Returns its head; `None` if an earlier call has archived it, and left something that this call ends.
fn archive(
    runner: &Runner,
    at: &ThreadAt,
    remote: &mut RemoteOf,
) -> Result<Option<CasRef>, EngineError> {
    let (state, id) = (State::new(&runner.site.root), at.id);
    loop {
        let head = match thread::active_head(&runner.site, id) {
            // An earlier call archived the thread, and could not end the agent or the children, or not tell the other machines.
            Err(EngineError::Ended {
                reason: Reason::Cancelled,
                ..
            }) if left_something(runner, id)? || lives_on(remote, id)? => {
                at.refuse_other(thread::find(&runner.site, id)?.head())?;
                return Ok(None);
            }
            head => head?,
        };
        at.refuse_other(head)?;
        // It is on record before the thread ends: whatever happens then, the remote is told before the thread is forgotten here.
        if !matches!(remote, Ok(None)) {
            let file = runner.site.root.shared(id);
            // A config that cannot be read does not keep the thread alive.
            let unasked = unasked(&runner.site).unwrap_or_default();
            if unasked.is_some() || !matches!(file.read(), Ok(None)) {
                file.owe_end(unasked.as_deref())?;
            }
        }
        let record = cancelled(runner, id, head);
        match state.archive(&record)? {
            Archived::Done => return Ok(Some(head)),
            // A step was committed in between: we try again with the new head.
            Archived::HeadIs(_) | Archived::NotActive => {}
        }
    }
}

/// Tells whether a cancelled thread still has an agent, or children that were not ended.
fn left_something(runner: &Runner, id: ThreadId) -> Result<bool, EngineError> {
    let run = runner.site.root.run(id);
    if run.lease.is_held()? {
        return Ok(true);
    }
    // The program of a pipeline does not have the lock.
    if let Some(record) = run.lease.read_record()
        && Members::of(&record, &run.scratch).is_some_and(|mut members| !members.is_empty())
    {
        return Ok(true);
    }
    let head = thread::find(&runner.site, id)?.head();
    let waits = matches!(run.outbox.read_pending(), Ok(Some(_)));
    if waits && !is_run(&runner.site.store, head)? {
        return Ok(true);
    }
    let children = open_children(runner, id, head)?;
    Ok(!children.is_empty())
}

/// Returns the active children that work for the step after a head, or do the step at the head again. A thread with damaged
/// nodes has none that could be found.
fn open_children(
    runner: &Runner,
    id: ThreadId,
    head: CasRef,
) -> Result<Vec<ThreadId>, EngineError> {
    let site = &runner.site;
    if let Ok(true) = is_run(&site.store, head) {
        let children = active(site, id)?.into_iter();
        return Ok(children.map(|(child, _)| child).collect());
    }
    let Ok(thread) = Thread::load(&site.store, id, head) else {
        return Ok(Vec::new());
    };
    let mut found = match redone(site, &thread) {
        Ok(Redone::AtWork(child)) => vec![child],
        Ok(Redone::No | Redone::Done) | Err(_) => Vec::new(),
    };
    if let Ok(Some((_, children))) = at_work(site, &thread) {
        let active = |child: &Child| matches!(child.place, Some(Located::Active(_)));
        let children = children.into_iter().filter(active);
        found.extend(children.map(|child| child.thread));
    }
    Ok(found)
}

/// Ends the children that work for the next step of a thread. The thread is archived already, so nobody makes new ones, but
/// for a call that had begun: we wait until it ends.
fn kill_children(
    runner: &Runner,
    run: &RunDir,
    (id, head): (ThreadId, CasRef),
    away: &Away,
) -> Result<Vec<Killed>, EngineError> {
    let mut killed = Vec::new();
    let deadline = Instant::now() + BEYOND_GRACE;
    loop {
        let is_held = run.lease.is_held()?;
        killed.extend(kill_open_children(runner, (id, head), away)?);
        if !is_held || Instant::now() >= deadline {
            return Ok(killed);
        }
        std::thread::sleep(TICK);
    }
}

/// Ends the active children that work for the next step of a thread.
fn kill_open_children(
    runner: &Runner,
    (id, head): (ThreadId, CasRef),
    away: &Away,
) -> Result<Vec<Killed>, EngineError> {
    let mut killed = Vec::new();
    for child in open_children(runner, id, head)? {
        let remote = remote_with_family(runner, child, away);
        match kill_one(runner, child.into(), remote, away) {
            Ok(one) => killed.push(one),
            // It ended meanwhile.
            Err(EngineError::Ended { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(killed)
}

/// Ends the active children of a thread that is about to end. The caller has the lock of the thread, so nobody makes new ones. Returns what
/// their agents had finished and no engine had committed.
pub(crate) fn end_children(
    runner: &Runner,
    id: ThreadId,
    head: CasRef,
) -> Result<Vec<FinishedBelow>, EngineError> {
    let killed = kill_open_children(runner, (id, head), &Away::default())?;
    Ok(killed.iter().flat_map(Killed::finished).collect())
}

/// Keeps a finished step beside the thread, or records the attempt of an agent that died together with its engine before this call:
/// both were paid for. Then nothing needs what the attempt left. A process that still has the thread's lock records its own attempt.
/// Returns the finished step. The thread is ended even if its record cannot be read.
fn settle_lost_run(
    runner: &Runner,
    run: &RunDir,
    (id, head): (ThreadId, Option<CasRef>),
    remote: &RemoteOf,
) -> Result<Option<CasRef>, EngineError> {
    let mut pending = run.outbox.read_pending().ok().flatten();
    if !run.exists() {
        return Ok(None);
    }
    let Some(_lock) = run.lease.acquire_if_free()? else {
        return Ok(pending.map(|it| it.step));
    };
    if let (None, Some(head)) = (&pending, head) {
        pending = printed::take_up(&runner.site, run, head)?;
    }
    let finished_step = pending.as_ref().map(|it| it.step);
    let record = run.lease.read_record();
    // No attempt follows that could use an answer that waits.
    run.scratch.clear_answered()?;
    run.scratch.clear_launched()?;
    if record.is_some() {
        left_secrets::take_out(&runner.site, run, &config_of(runner, id))?;
    }
    if let Some(head) = head.filter(|_| record.is_some()) {
        lost_run::record_at(&runner.site, run, id, head)?;
    }
    run.scratch.remove_artifacts()?;
    if let Some(pending) = pending {
        keep_finished(runner, run, (id, &pending), remote)?;
    }
    Ok(finished_step)
}

/// Keeps a finished step beside its thread, which was ended. The step stays on record in three cases: the thread is a run of a pipeline,
/// its nodes are damaged, or it is not known whether the remote has the step.
fn keep_finished(
    runner: &Runner,
    run: &RunDir,
    (id, pending): (ThreadId, &Pending),
    remote: &RemoteOf,
) -> Result<(), EngineError> {
    let site = &runner.site;
    let last = thread::find(site, id)?.head();
    let thread = match Thread::load(&site.store, id, last) {
        Ok(thread) if !thread.is_run() => thread,
        Ok(_) | Err(_) => return Ok(()),
    };
    let waits_because = |problem: &SharingError| {
        (runner.notice)(&format!(
            "step `{}` of thread `{id}` is finished and waits here, because it is not known whether the remote has it: {problem}; `uwf push {id}` settles that",
            pending.step
        ));
    };
    if let Err(EngineError::Sharing(problem)) = remote {
        waits_because(problem);
        return Ok(());
    }
    match keep_beside(runner, run, &thread, pending, Why::ThreadEnded) {
        Err(EngineError::Sharing(problem)) => waits_because(&problem),
        kept => drop(kept?),
    }
    Ok(())
}

/// Returns the config for a thread: that of the project, if the thread can be read, and else that of the root.
fn config_of(runner: &Runner, id: ThreadId) -> Config {
    let site = &runner.site;
    let head = thread::find(site, id).ok().map(|found| found.head());
    let thread = head.and_then(|head| Thread::load(&site.store, id, head).ok());
    let config = thread.and_then(|thread| config_for(site, &thread.start).ok());
    let of_root = || uwf_config::load(&site.root).ok().flatten();
    let config = config.map(|(config, _)| config).or_else(of_root);
    config.unwrap_or_default()
}

/// Returns the history record of a thread that is cancelled at a head. A thread with damaged nodes can be cancelled, too:
/// its workflow is unknown then, and the record names the head instead.
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

/// Ends the agent that works on the thread. Returns whether there was one, and it has ended.
///
/// A live engine is asked to end, and ends its agent with all descendants. If the engine is dead or does not react, we find
/// and end the processes of its attempt ourselves.
fn end_agent(runner: &Runner, run: &RunDir) -> Result<bool, EngineError> {
    let Some(record) = run.lease.read_record() else {
        return Ok(false);
    };
    // A config that cannot be used must not keep the agent alive: the default grace applies.
    let config = uwf_config::load(&runner.site.root).ok().flatten();
    let grace = config.and_then(|config| agent_command::grace(&config).ok());
    let grace = grace.unwrap_or(uwf_process::GRACE);
    let mut ended = false;
    if run.lease.is_held()? && is_alive(&record.engine) {
        ended = record.agent.is_some();
        ask(&record.engine);
        if wait_for_end(&run.lease, &record.engine, grace + BEYOND_GRACE)? {
            return Ok(ended);
        }
    }
    let Some(mut members) = Members::of(&record, &run.scratch) else {
        return Ok(ended && !run.lease.is_held()?);
    };
    // While we are the owner, no other engine can take the lock.
    let owner = run.lease.acquire()?;
    if matches!(owner, LockAttempt::Orphaned(_)) {
        members = members.with_lock(&run.lease);
    }
    if members.is_empty() {
        drop(owner);
        return Ok(ended && !run.lease.is_held()?);
    }
    let left = uwf_process::end_for_another(&mut members, grace, &runner.signals);
    Ok(left.is_empty())
}

/// Asks exactly this process to end, even if it is stopped.
fn ask(process: &ProcessIdentity) {
    let found = processes().into_iter().find(|found| found.has(process));
    if let Some(found) = found {
        found.ask(Signal::TERM);
    }
}

/// Waits until the engine has ended, at most this long. Tells whether the thread is free then.
fn wait_for_end(
    lease: &LocalLease,
    engine: &ProcessIdentity,
    timeout: Duration,
) -> Result<bool, EngineError> {
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        if !is_alive(engine) {
            return Ok(!lease.is_held()?);
        }
        std::thread::sleep(TICK);
    }
    Ok(false)
}

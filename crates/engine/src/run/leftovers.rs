//! What an earlier attempt left running.

use uwf_process::{Process, Target as _, is_alive, left_running};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::run::LeaseRecord;
use uwf_storage::{Orphaned, Outbox, RunDir, ThreadLock};

use crate::attempt::{self, Members, program_has_ended};
use crate::printed::printed_step;
use crate::run::agent_command;
use crate::run::owned::OwnedRun;
use crate::thread::Thread;
use crate::{EngineError, Runner, lost_run};

/// Deals with the processes of an attempt whose engine died.
///
/// If its step is finished, or its program has ended, the rest is left over: it is ended or may go on, as after any step,
/// and is returned for people. Otherwise the processes may still be doing paid work, so the thread is busy.
///
/// If the thread's head has moved from where the attempt started, the attempt is over: invariant 9 of the lock of a thread in
/// docs/architecture.md. Its lease record is blanked. If another machine has moved the head, the attempt is lost, and is recorded.
pub(crate) fn end_remaining(
    runner: &Runner,
    run: &OwnedRun,
    thread: &Thread,
    earlier: &LeaseRecord,
    is_finished: bool,
) -> Result<Vec<String>, EngineError> {
    if earlier.is_before_agent() {
        return end_git(runner, run, thread.id, earlier);
    }
    let is_over = earlier.is_behind(thread.expected_head());
    let may_be_working = !is_finished && !is_over && !program_has_ended(earlier, &run.scratch);
    let left = match Members::of(earlier, &run.scratch) {
        None => Vec::new(),
        Some(members) if may_be_working => expect_none(runner, thread.id, &members.members())?,
        Some(mut members) if !earlier.keep_running => end_members(runner, thread.id, &mut members)?,
        Some(mut members) if agent_is_gone(earlier, &run.outbox) => {
            describe(runner, &left_running(&mut members, &runner.signals))
        }
        Some(members) => expect_none(runner, thread.id, &members.members())?,
    };
    if is_over {
        if run.shared.is_some() && !is_finished {
            lost_run::record_lost_run(&runner.site, run, thread)?;
        }
        run.lease.clear_record()?;
    }
    Ok(left)
}

/// Ends the git of a call that was killed while it made the worktree, and says so. Nothing of it is left over from a step.
fn end_git(
    runner: &Runner,
    run: &RunDir,
    thread: ThreadId,
    earlier: &LeaseRecord,
) -> Result<Vec<String>, EngineError> {
    if let Some(mut members) = Members::of(earlier, &run.scratch) {
        let ended = end_members(runner, thread, &mut members)?;
        if !ended.is_empty() {
            (runner.notice)(&format!(
                "the git of a call that was killed still ran, and was ended: {}",
                ended.join(", ")
            ));
        }
    }
    run.lease.clear_record()?;
    Ok(Vec::new())
}

/// Takes the lock of a thread that processes of an earlier attempt still have, if that attempt is over.
///
/// The leftovers are ended, or may go on and lose the lock: invariants 4 and 5 of the lock of a thread in
/// docs/architecture.md. Returns the lock with the ended processes, for people; `None` if the attempt may still be working.
pub(crate) fn end_leftovers(
    runner: &Runner,
    run: &RunDir,
    thread: ThreadId,
    orphaned: Orphaned,
) -> Result<Option<(ThreadLock, Vec<String>)>, EngineError> {
    // While the agent lives, it may be writing its records.
    let Some(earlier) = run
        .lease
        .read_record()
        .filter(|it| agent_is_gone(it, &run.outbox))
    else {
        return Ok(None);
    };
    let pending = match run.outbox.read_pending()? {
        Some(pending) => Some(pending),
        None => printed_step(&runner.site, run, &earlier),
    };
    let place = (earlier.head, earlier.replaces);
    let is_finished =
        pending.is_some_and(|pending| (Some(pending.head), pending.replaces) == place);
    if !is_finished && !program_has_ended(&earlier, &run.scratch) {
        return Ok(None);
    }
    if earlier.keep_running {
        return Ok(Some((orphaned.take_over()?, Vec::new())));
    }
    let Some(members) = Members::of(&earlier, &run.scratch) else {
        return Ok(None);
    };
    let mut members = members.with_lock(&run.lease);
    let ended = end_members(runner, thread, &mut members)?;
    Ok(orphaned.retry()?.map(|lock| (lock, ended)))
}

/// Tells whether the agent of an attempt was started and has ended.
///
/// An engine that died right after starting the agent did not record its process. Then the pending record names it: the
/// agent wrote that with its finished step.
fn agent_is_gone(earlier: &LeaseRecord, outbox: &Outbox) -> bool {
    let finished = || outbox.read_pending().ok().flatten()?.agent;
    let agent = earlier.agent.clone().or_else(finished);
    agent.is_some_and(|agent| !is_alive(&agent))
}

/// Ends the leftovers of an attempt that is over, and returns them for people.
fn end_members(
    runner: &Runner,
    thread: ThreadId,
    members: &mut Members<'_>,
) -> Result<Vec<String>, EngineError> {
    let left = describe(runner, &left_running(members, &runner.signals));
    if left.is_empty() {
        return Ok(left);
    }
    let config = uwf_config::load(&runner.site.root)?.unwrap_or_default();
    let grace = agent_command::grace(&config)?;
    let survivors = uwf_process::end_for_another(members, grace, &runner.signals);
    expect_none(runner, thread, &survivors)?;
    Ok(left)
}

/// Returns one line for each process, for people.
fn describe(runner: &Runner, processes: &[Process]) -> Vec<String> {
    attempt::describe(processes, || runner.site.secrets_in_output())
}

/// Fails if any process is left, and names the processes. Otherwise returns the empty list.
fn expect_none(
    runner: &Runner,
    thread: ThreadId,
    processes: &[Process],
) -> Result<Vec<String>, EngineError> {
    if processes.is_empty() {
        return Ok(Vec::new());
    }
    Err(EngineError::Survivors {
        thread,
        processes: describe(runner, processes),
        failed: None,
    })
}

//! Adopting the work of an earlier call whose engine died: a finished step is committed, and processes of the attempt that
//! may still be working keep the thread busy.

use uwf_cas_fs::StoreError;
use uwf_moderator::{Route, reenter};
use uwf_protocol::ids::RoleName;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::run::Pending;
use uwf_storage::RunDir;

use crate::project::config_for;
use crate::read::report::{StepOrigin, StepReport};
use crate::run::answer::{self, Refusal};
use crate::run::commit::{Nodes, commit, count_replaced, report};
use crate::run::leftovers::end_remaining;
use crate::run::owned::OwnedRun;
use crate::run::refused::refuse;
use crate::thread::Thread;
use crate::{EngineError, Runner, Site, conditions, limits, tags};

/// The result of looking for a finished step.
pub(crate) enum Adoption {
    /// There was a finished step, and it is committed now.
    Committed(Box<StepReport>),
    /// There is no finished step for this place: the thread is as it was.
    Nothing(Box<Thread>),
}

/// Commits the finished step that the pending record names, if it follows the head and the graph asks for its role there.
///
/// A step that follows another head is refused: it is kept, and views name it. The record of a step that does not pass the
/// check is removed. If a node cannot be read now, the record stays.
pub(crate) fn adopt(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
) -> Result<Adoption, EngineError> {
    let earlier = run.lease.read_record();
    let pending = run.outbox.read_pending()?;
    let mut left = run.ended.take();
    if let Some(earlier) = &earlier {
        let is_finished = pending.is_some();
        left.extend(end_remaining(runner, run, &thread, earlier, is_finished)?);
    }
    let Some(pending) = pending.or_else(|| refused_step(run, &thread)) else {
        run.ended.replace(left);
        return Ok(Adoption::Nothing(Box::new(thread)));
    };
    let redone = before_replaced(runner, &thread, &pending)?;
    let (place, role) = match (&redone, pending.replaces) {
        (Some((before, role)), _) => (before, Some(role.clone())),
        (None, None) => (&thread, expected_role(runner, &thread)?),
        (None, Some(_)) => (&thread, None),
    };
    let expected = role.filter(|_| pending.head == place.head);
    let is_elsewhere = expected.is_none();
    let checked =
        expected.map(|role| answer::check(&runner.site.store, place, &role, pending.step));
    let step = match checked {
        Some(Ok(step)) => step,
        Some(Err(Refusal::Store(error))) if !is_permanent(&error) => return Err(error.into()),
        Some(Err(_)) | None => {
            set_aside(runner, run, &thread, &pending, is_elsewhere)?;
            return Ok(Adoption::Nothing(Box::new(thread)));
        }
    };
    let thread = redone.map_or(thread, |(before, _)| before);
    let start = thread.start.clone();
    let summary = thread.summary(&runner.site.store, &run.ledger)?;
    runner
        .site
        .log(&thread, tags::ADOPTED, &format!("step={}", pending.step));
    run.outbox.readmit(&pending)?;
    // The pending record names the step. A lease record that outlived it would be that of a lost attempt.
    run.lease.clear_record()?;
    let committed = commit(runner, run, thread, &summary, step, Nodes::FromBefore)?;
    settle_scratch(runner, run, &start);
    let config = limits::of_config(&runner.site);
    let kept = earlier.is_some_and(|earlier| earlier.keep_running);
    let mut reported = report(runner, run, committed, StepOrigin::Adopted, &config);
    reported.report.kept_running = kept && !left.is_empty();
    reported.report.left_running = left;
    Ok(Adoption::Committed(Box::new(reported.result()?)))
}

/// Removes the record of a finished step that is not committed. One that belongs elsewhere is kept as refused.
fn set_aside(
    runner: &Runner,
    run: &OwnedRun,
    thread: &Thread,
    pending: &Pending,
    is_elsewhere: bool,
) -> Result<(), EngineError> {
    let message = format!("step={}", pending.step);
    runner.site.log(thread, tags::PENDING_REFUSED, &message);
    if pending.step == thread.head {
        count_committed(runner, run, pending);
    }
    if is_elsewhere {
        refuse(runner, run, thread, pending)?;
    } else {
        run.outbox.clear_pending()?;
    }
    match &run.shared {
        // The step is done again, or another one, and what other machines used up counts before.
        Some(shared) => shared.merge_record(run),
        None => Ok(()),
    }
}

/// Clears the record of the answer of an adopted step: an agent that was ended right after it had finished leaves it, and nobody
/// waits for it now. Takes the secrets out of what the agent wrote itself, as its engine would have done. All of it is best
/// effort: the step is committed.
fn settle_scratch(runner: &Runner, run: &RunDir, start: &StartNode) {
    let _ = run.scratch.clear_answered();
    let _ = run.scratch.clear_launched();
    let Site { root, env, .. } = &runner.site;
    let masks = config_for(&runner.site, start)
        .ok()
        .and_then(|(config, _)| uwf_config::secret_masks(&config, root, env).ok());
    if let Some(masks) = masks {
        let _ = run.scratch.mask(&masks);
    }
}

/// Counts what belongs to a step whose engine died after it had moved the head, before it counted. Counting is not worth
/// failing for.
fn count_committed(runner: &Runner, run: &RunDir, pending: &Pending) {
    if let Some(replaced) = pending.replaces {
        count_replaced(runner, &run.ledger, replaced);
    }
    let _ = run.ledger.count_in_step(pending);
}

/// Returns the refused step that follows the thread's head after all: the head was moved back to where it was.
fn refused_step(run: &RunDir, thread: &Thread) -> Option<Pending> {
    let mut refused = run.outbox.refused().into_iter().rev();
    let refused = refused.find(|refused| refused.expects() == thread.head)?;
    // It was counted as a failed attempt.
    let mut attempts = run.ledger.attempts();
    attempts.retain(|attempt| attempt.kept == Some(refused.step));
    Some(Pending {
        step: refused.step,
        head: refused.head,
        replaces: refused.replaces,
        at_ms: refused.at_ms,
        answer_of: attempts.iter().map(|attempt| attempt.number).collect(),
        agent: None,
    })
}

/// Returns the thread before its newest step, and the role of that step, if the pending step replaces it.
fn before_replaced(
    runner: &Runner,
    thread: &Thread,
    pending: &Pending,
) -> Result<Option<(Thread, RoleName)>, EngineError> {
    if pending.replaces != Some(thread.head) {
        return Ok(None);
    }
    let thread = Thread::load(&runner.site.store, thread.id, thread.head)?;
    let place = thread.without_last(&runner.site.store)?;
    Ok(place.map(|(before, last)| (before, last.node.role)))
}

/// Returns the role that can have worked at the thread's head: the next role, the role that suspended the thread, or the
/// role of the `resume` edge.
///
/// # Errors
/// When the conditions cost too much: then the role is unknown, and the pending step waits.
fn expected_role(runner: &Runner, thread: &Thread) -> Result<Option<RoleName>, EngineError> {
    Ok(match thread.route(Some(&runner.signals))? {
        Ok(Route::To(assignment)) => Some(assignment.role),
        Ok(Route::Suspend { role, .. } | Route::Stop { role, .. }) => Some(role),
        Ok(Route::End { .. }) => match reenter(&thread.program) {
            Ok(Route::To(assignment)) => Some(assignment.role),
            Ok(Route::Suspend { .. } | Route::Stop { .. } | Route::End { .. }) | Err(_) => None,
        },
        route if conditions::cost_too_much(&route) => {
            let blocked = |source| EngineError::Blocked {
                thread: thread.id,
                source,
            };
            return route.map(|_| None).map_err(blocked);
        }
        Err(_) => None,
    })
}

/// Tells whether a node of the step is lost or damaged, so that trying again later does not help.
fn is_permanent(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotFound { .. } | StoreError::Damaged { .. }
    )
}

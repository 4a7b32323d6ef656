//! Doing a step of a child again: the child does its last step again, and goes on to its end. Then its new result replaces the
//! step of the thread.

use uwf_moderator::{Assignment, Route, assign};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::CasRef;
use uwf_storage::{HistoryRecord, Located, Reactivated, State};

use super::{Approach, ChildrenStep, admitted, do_children_step};
use crate::child_error::{ChildProblem, failed};
use crate::children::{Child, children_of, recorded};
use crate::read::report::StepReport;
use crate::run::cycle::StepOptions;
use crate::run::owned::OwnedRun;
use crate::run::{cycle, poke};
use crate::thread::Thread;
use crate::{EngineError, Intervention, Runner};

/// Does the newest step of a thread again, which a child did. `before` is the thread without that step. If the call ends before
/// the child is done, the next one goes on.
pub(crate) fn poke_children(
    runner: &Runner,
    run: &OwnedRun,
    before: Thread,
    last: &StepContext,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let assignment = assignment_of(runner, &before, last)?;
    let admitted = admitted(runner, run, &before, &assignment, &options.step)?;
    let children = children_of(&runner.site, &before, &assignment, Some(&runner.signals))?;
    let [child] = children.as_slice() else {
        let problem = ChildProblem::Several(children.len());
        return Err(failed(before.id, &assignment.role, problem));
    };
    if child.place.is_none() {
        let done = recorded(&runner.site, last)?.into_iter().next();
        let by = done.map_or(child.thread, |done| done.thread);
        let problem = ChildProblem::Elsewhere(by);
        return Err(failed(before.id, &assignment.role, problem));
    }
    play_again(runner, child, last, options).map_err(|error| {
        // The thread waits for nothing, so the child itself must be answered.
        let problem = ChildProblem::Failed {
            child: child.thread,
            source: Box::new(error),
        };
        failed(before.id, &assignment.role, problem)
    })?;
    let step = ChildrenStep {
        assignment: &assignment,
        admitted,
        approach: Approach::Step(&options.step),
        words: None,
    };
    do_children_step(runner, run, before, step)
}

/// Replaces the newest step of a thread by the new result of its child: an earlier call died before it did so, or a person
/// resumed the child.
pub(crate) fn take_redone(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    options: &StepOptions,
) -> Result<StepReport, EngineError> {
    let id = thread.id;
    let without = thread.without_last(&runner.site.store)?;
    let (before, last) = without.ok_or(EngineError::NoStep(id))?;
    let intervention = Intervention {
        step: options.clone(),
        ..Intervention::default()
    };
    poke_children(runner, run, before, &last, &intervention)
}

/// Returns the assignment of the step that is done again.
fn assignment_of(
    runner: &Runner,
    before: &Thread,
    last: &StepContext,
) -> Result<Assignment, EngineError> {
    match before.route(Some(&runner.signals))? {
        Ok(Route::To(assignment)) if assignment.role == last.node.role => Ok(assignment),
        Ok(_) | Err(_) => {
            let prompt = last.node.edge_prompt.clone().unwrap_or_default();
            let role = last.node.role.clone();
            Ok(assign(&before.program, role, prompt, last.node.cwd.clone()))
        }
    }
}

/// Lets the child do its last step again, and then its further steps until it ends.
fn play_again(
    runner: &Runner,
    child: &Child,
    last: &StepContext,
    options: &Intervention,
) -> Result<(), EngineError> {
    let said = Intervention {
        prompt: options.prompt.clone(),
        restore: options.restore,
        step: options.step.clone(),
        ..Intervention::default()
    };
    let mut report = match &child.place {
        // An earlier call did it again, and died before it was a step of this thread.
        Some(Located::Archived(record))
            if counted_head(runner, child, last)? != Some(record.head) =>
        {
            return Ok(());
        }
        Some(Located::Archived(record)) => poke_ended(runner, record, &said)?,
        Some(Located::Active(head)) if counted_head(runner, child, last)? == Some(*head) => {
            poke::poke_untold(runner, child.thread, &said)?
        }
        Some(Located::Active(_)) => cycle::step_untold(runner, child.thread, &said.step)?,
        None => return Err(crate::thread::busy(child.thread, None)),
    };
    while !report.state.done {
        report = cycle::step_untold(runner, child.thread, &said.step)?;
    }
    Ok(())
}

/// Returns the head that the child had when the step was made that is done again.
fn counted_head(
    runner: &Runner,
    child: &Child,
    last: &StepContext,
) -> Result<Option<CasRef>, EngineError> {
    let mut children = recorded(&runner.site, last)?.into_iter();
    Ok(children
        .find(|one| one.thread == child.thread)
        .map(|one| one.head))
}

/// Does the last step of an ended child again. If that fails, the child has ended as before.
fn poke_ended(
    runner: &Runner,
    record: &HistoryRecord,
    said: &Intervention,
) -> Result<StepReport, EngineError> {
    let state = State::new(&runner.site.root);
    match state.reactivate(record.thread, record.head)? {
        Reactivated::Done | Reactivated::Active(_) => {}
        Reactivated::NotArchived | Reactivated::HeadIs(_) => {
            return Err(crate::thread::busy(record.thread, None));
        }
    }
    let done = poke::poke_untold(runner, record.thread, said);
    if done.is_err() {
        // If the head has moved after all, this changes nothing: the child stays active.
        let _ = state.archive(record)?;
    }
    done
}

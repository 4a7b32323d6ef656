//! A thread whose role asked a person, and was answered, if children do the role: they do it again, and that may take many calls. The
//! answer is on record from the first of them. What follows from the record is that the thread goes on, and for whom.

use std::collections::HashMap;

use serde_json::Value;
use uwf_moderator::{Assignment, Performer, Route, RouteError, assign};
use uwf_process::Signals;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::child::{EndedChild, TakenUp};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::program::Program;
use uwf_protocol::work::FAILED;
use uwf_storage::{HistoryRecord, Located, State};
use uwf_thread::{Head, read_step, with_output};

use super::recorded;
use crate::first_instruction::first_instruction;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Returns the route of a thread. One that asked and was answered goes to the children that do its role again.
pub(crate) fn route(
    site: &Site,
    thread: &Thread,
    signals: Option<&Signals>,
) -> Result<Result<Route, RouteError>, EngineError> {
    let route = thread.route(signals)?;
    Ok(answered(
        site,
        (thread.id, thread.head),
        &thread.program,
        route,
    ))
}

/// Returns the route of a thread with this head whose graph gives this one.
pub(crate) fn answered(
    site: &Site,
    (thread, head): (ThreadId, CasRef),
    program: &Program,
    route: Result<Route, RouteError>,
) -> Result<Route, RouteError> {
    let Ok(Route::Suspend { role, .. }) = &route else {
        return route;
    };
    let is_taken_up = Performer::of_role(program, role) == Performer::Children
        && record(site, thread, head).is_some_and(|record| record.role == *role);
    match read_step(&site.store, head) {
        Ok(step) if is_taken_up => {
            let instruction = first_instruction(&site.store, &step.node);
            let location = step.node.cwd.filter(|cwd| !cwd.is_empty());
            Ok(Route::To(assign(
                program,
                role.clone(),
                instruction,
                location,
            )))
        }
        Ok(_) | Err(_) => route,
    }
}

/// Returns the answer with which a thread was taken up at this head, if it was.
pub(crate) fn record(site: &Site, thread: ThreadId, head: CasRef) -> Option<TakenUp> {
    let record = site.root.run(thread).ledger.taken_up()?;
    (record.head == head).then_some(record)
}

/// Records durably that a person answered a role that children do.
pub(crate) fn write(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    (question, answer): (String, Option<&str>),
) -> Result<(), EngineError> {
    let ledger = &site.root.run(thread.id).ledger;
    let before = thread.last().and_then(|last| last.node.prev);
    // A step that answered an earlier question began where the role had begun.
    let earlier = ledger
        .taken_up()
        .filter(|earlier| earlier.role == assignment.role && before == Some(earlier.head));
    let record = TakenUp {
        head: thread.head,
        base: match earlier {
            Some(earlier) => earlier.base,
            None => before.unwrap_or(thread.start_hash),
        },
        role: assignment.role.clone(),
        question,
        answer: answer.map(str::to_owned),
    };
    Ok(ledger.write_taken_up(&record)?)
}

/// What the children of a role that is done again begin with.
pub(crate) struct Again {
    /// The answer of the step before the role; `None` if the thread began with the role.
    pub(crate) answer: Option<Value>,
    /// The items of its branches, if it has some.
    pub(crate) items: Option<Value>,
}

/// Returns what the children of a role begin with, if it is done again because a person answered it.
pub(crate) fn again(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
) -> Result<Option<Again>, EngineError> {
    let Some((record, asked)) = asked(site, thread, assignment) else {
        return Ok(None);
    };
    let answer = match Head::read(&site.store, record.base)? {
        Head::Start(_) => None,
        Head::Step(step) => Some(with_output(&site.store, step)?.output),
    };
    let items = results(&asked.output).map(|results| {
        let items = results.iter().filter_map(|result| result.get("item"));
        items.cloned().collect()
    });
    Ok(Some(Again { answer, items }))
}

/// Returns the children of the step that asked whose work stays as it is, by their branches: if too many branches failed, the others
/// are not done again. With each is the number of its steps.
pub(crate) fn kept(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
) -> Result<HashMap<String, (HistoryRecord, u64)>, EngineError> {
    let Some((_, asked)) = asked(site, thread, assignment) else {
        return Ok(HashMap::new());
    };
    let has_failed = asked.output[STATUS_FIELD] == FAILED;
    let Some(results) = results(&asked.output).filter(|_| has_failed) else {
        return Ok(HashMap::new());
    };
    let reached_end = |child: &EndedChild| {
        let mut results = results.iter();
        results.any(|one| one["key"] == *child.key && one.get("output").is_some())
    };
    let state = State::new(&site.root);
    let mut kept = HashMap::new();
    for child in recorded(site, asked)? {
        if reached_end(&child)
            && let Some(Located::Archived(record)) = state.find(child.thread)?
            && record.head == child.head
        {
            kept.insert(child.key, (record, child.steps));
        }
    }
    Ok(kept)
}

/// Returns the record of the answer, and the step that asked.
fn asked<'a>(
    site: &Site,
    thread: &'a Thread,
    assignment: &Assignment,
) -> Option<(TakenUp, &'a StepContext)> {
    let last = thread
        .last()
        .filter(|last| last.node.role == assignment.role)?;
    Some((record(site, thread.id, thread.head)?, last))
}

/// Returns the results of the branches of a role.
fn results(output: &Value) -> Option<&Vec<Value>> {
    output.get("results")?.as_array()
}

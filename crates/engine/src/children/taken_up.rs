//! The answer of a person to a role that children do. The children do the role again, which may take many calls, so the first call
//! records the answer. As long as the record holds, the thread goes on with these children.

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

use super::moved::heads_before;
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
    answered(site, (thread.id, thread.head), &thread.program, route)
}

/// Returns the route of a thread with this head whose graph gives this one.
pub(crate) fn answered(
    site: &Site,
    (thread, head): (ThreadId, CasRef),
    program: &Program,
    route: Result<Route, RouteError>,
) -> Result<Result<Route, RouteError>, EngineError> {
    let Ok(Route::Suspend { role, .. }) = &route else {
        return Ok(route);
    };
    let may_be = Performer::of_role(program, role) == Performer::Children;
    let record = match may_be {
        true => record(site, thread, head)?,
        false => None,
    };
    if record.is_none_or(|record| record.role != *role) {
        return Ok(route);
    }
    let step = read_step(&site.store, head)?;
    let instruction = first_instruction(&site.store, &step.node);
    let location = step.node.cwd.filter(|cwd| !cwd.is_empty());
    let assignment = assign(program, role.clone(), instruction, location);
    Ok(Ok(Route::To(assignment)))
}

/// Returns the answer on record for a thread with this head, if there is one. It also holds if the thread had another head then, and
/// was migrated.
pub(crate) fn record(
    site: &Site,
    thread: ThreadId,
    head: CasRef,
) -> Result<Option<TakenUp>, EngineError> {
    let Some(record) = site.root.run(thread).ledger.taken_up() else {
        return Ok(None);
    };
    let holds = record.head == head || heads_before(site, thread, head)?.contains(&record.head);
    Ok(holds.then_some(record))
}

/// Tells whether the head of a thread is a step in which too many branches failed, and a child is one of the others: the role may be
/// done again without it.
pub(crate) fn may_be_kept(site: &Site, head: CasRef, child: ThreadId) -> Result<bool, EngineError> {
    let Head::Step(step) = Head::read(&site.store, head)? else {
        return Ok(false);
    };
    let step = with_output(&site.store, step)?;
    if step.output[STATUS_FIELD] != FAILED {
        return Ok(false);
    }
    let named = recorded(site, &step)?;
    Ok(named.iter().any(|one| one.thread == child))
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
    let Some((record, asked)) = asked(site, thread, assignment)? else {
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

/// Returns the ended children whose results the new step takes over, with the number of their steps, by branch. There are some only if
/// the role failed because too many branches did.
pub(crate) fn kept(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
) -> Result<HashMap<String, (HistoryRecord, u64)>, EngineError> {
    let Some((_, asked)) = asked(site, thread, assignment)? else {
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
) -> Result<Option<(TakenUp, &'a StepContext)>, EngineError> {
    let last = thread
        .last()
        .filter(|last| last.node.role == assignment.role);
    let Some(last) = last else {
        return Ok(None);
    };
    let record = record(site, thread.id, thread.head)?;
    Ok(record.map(|record| (record, last)))
}

/// Returns the results of the branches of a role.
fn results(output: &Value) -> Option<&Vec<Value>> {
    output.get("results")?.as_array()
}

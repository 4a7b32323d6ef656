//! The results of children, and the step of the thread that they worked for.

use serde_json::{Value, json};
use uwf_cas_fs::StoreError;
use uwf_moderator::condition::ValueQuestion;
use uwf_moderator::{Joined, end_status};
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::child::{ChildrenDetail, EndedChild};
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::StepNode;
use uwf_protocol::schemas;
use uwf_protocol::work::{DONE, FAILED, Work};
use uwf_storage::Located;
use uwf_thread::{Head, read_start};

use super::round::Round;
use crate::EngineError;
use crate::child_error::{ChildProblem, failed};
use crate::children::Child;
use crate::children::answer::{answer_of, steps_for_expression};
use crate::children::used::used_by_child;
use crate::conditions::Conditions;
use crate::run::contract;
use crate::thread::Thread;

/// The agent that a step of children names.
const LABEL: &str = "uwf-children";
/// The status of a child that was not needed any more.
const CANCELLED: &str = "cancelled";

/// The result of one child.
struct Outcome {
    status: String,
    /// The data of its last step; `None` if it did not reach its end.
    output: Option<Value>,
    /// Why it failed, if it did.
    reason: Option<String>,
}

/// Puts the step of a thread whose children are done. Its nodes are not synced yet.
pub(super) fn put(round: &Round<'_>, joined: Joined) -> Result<StepContext, EngineError> {
    let Round {
        runner,
        thread,
        assignment,
        children,
        ..
    } = round;
    let site = &runner.site;
    let outcomes: Vec<Outcome> = children
        .iter()
        .map(|child| outcome_of(round, child))
        .collect::<Result<_, _>>()?;
    let task = thread.program.task(&assignment.role);
    let output = match task.map(|role| &role.work) {
        Some(Work::Branches(_)) => output_of_branches(joined, children, &outcomes),
        Some(Work::Workflow(_) | Work::Agent) | None => output_of_one(outcomes.first()),
    };
    let schema = task.map_or(schemas::OBJECT, |role| role.schema);
    check(round, schema, &output)?;
    let worktree = site.root.worktree(thread.id).read()?;
    let directory = contract::working_directory(site, thread, assignment, worktree.as_ref())?;
    let now_ms = site.env.now_ms();
    let mut batch = site.store.batch();
    let detail = detail_of(round, &outcomes)?;
    let (detail_type, detail_schema) = detail.used.cost_kind().detail_of_children();
    let detail = serde_json::to_value(detail).expect("it is plain data");
    batch.put(schemas::META, &detail_schema, now_ms)?;
    let node = StepNode {
        start: thread.start_hash,
        prev: thread.prev_of_next(),
        role: assignment.role.clone(),
        output: batch.put(schema, &output, now_ms)?,
        detail: batch.put(detail_type, &detail, now_ms)?,
        agent: LABEL.to_owned(),
        edge_prompt: Some(assignment.prompt.clone()),
        started_at_ms: Some(started_at(round)?.unwrap_or(now_ms)),
        completed_at_ms: Some(now_ms),
        cwd: Some(directory.display().to_string()),
        assembled_prompt: None,
    };
    let payload = serde_json::to_value(&node).expect("a step is plain data");
    let hash = batch.put(schemas::STEP_NODE, &payload, now_ms)?;
    batch.commit_volatile()?;
    Ok(StepContext { hash, node, output })
}

/// Checks the answer of the role against its schema.
fn check(round: &Round<'_>, schema: CasRef, output: &Value) -> Result<(), EngineError> {
    let problem = match round.runner.site.store.validate(schema, output) {
        Ok(()) => return Ok(()),
        Err(error @ StoreError::Invalid { .. }) => error.to_string(),
        Err(error) => return Err(error.into()),
    };
    Err(misfit(round, round.children.first(), problem))
}

fn misfit(round: &Round<'_>, child: Option<&Child>, problem: String) -> EngineError {
    let child = child.map_or(round.thread.id, |child| child.thread);
    let problem = ChildProblem::Misfit { child, problem };
    failed(round.thread.id, &round.assignment.role, problem)
}

/// Returns the detail of the step: every child that was made, and what all of them used up.
fn detail_of(round: &Round<'_>, outcomes: &[Outcome]) -> Result<ChildrenDetail, EngineError> {
    let mut detail = ChildrenDetail {
        children: Vec::new(),
        used: Used::default(),
    };
    for (child, outcome) in round.children.iter().zip(outcomes) {
        let used = used_by_child(&round.runner.site, child)?;
        detail.used.add_all(&used);
        let killed = child.killed.last().map(|one| (one.thread, one.head));
        let here = child
            .place
            .as_ref()
            .map(|place| (child.thread, place.head()));
        if let Some((thread, head)) = here.or(killed) {
            detail.children.push(EndedChild {
                key: child.planned.key.clone(),
                thread,
                head,
                status: outcome.status.clone(),
                steps: child.kept_steps.unwrap_or(used.child_steps),
            });
        }
    }
    Ok(detail)
}

/// Returns when the first child was made that is there.
fn started_at(round: &Round<'_>) -> Result<Option<i64>, EngineError> {
    let mut heads = round
        .children
        .iter()
        .filter(|child| child.kept_steps.is_none())
        .filter_map(|child| child.place.as_ref());
    let Some(head) = heads.next().map(Located::head) else {
        return Ok(None);
    };
    let store = &round.runner.site.store;
    let start = Head::read(store, head)?.start();
    Ok(Some(read_start(store, start)?.timestamp_ms))
}

/// Returns the result of a child.
fn outcome_of(round: &Round<'_>, child: &Child) -> Result<Outcome, EngineError> {
    let Some(Located::Archived(record)) = &child.place else {
        let (status, state) = match round.has_failed(child) {
            true => (FAILED, round.state_of(child)?),
            false => (CANCELLED, None),
        };
        return Ok(Outcome {
            status: status.to_owned(),
            output: None,
            reason: state.and_then(|state| state.why()),
        });
    };
    let store = &round.runner.site.store;
    let thread = Thread::load(store, child.thread, record.head)?;
    let status = match thread.last() {
        Some(last) => end_status(&thread.program, last).as_str().to_owned(),
        None => DONE.to_owned(),
    };
    let output = match returns(round) {
        Some(expression) => returned(round, child, &thread, expression)?,
        None => answer_of(store, &thread)?,
    };
    Ok(Outcome {
        status,
        output: Some(output),
        reason: None,
    })
}

/// Returns the expression that says what a child returns, if the role has one.
fn returns<'a>(round: &Round<'a>) -> Option<&'a str> {
    match &round.thread.program.task(&round.assignment.role)?.work {
        Work::Workflow(played) => played.returns.as_deref(),
        Work::Branches(_) | Work::Agent => None,
    }
}

fn returned(
    round: &Round<'_>,
    child: &Child,
    thread: &Thread,
    expression: &str,
) -> Result<Value, EngineError> {
    let steps = steps_for_expression(&round.runner.site.store, thread)?;
    let question = ValueQuestion::new(expression, &thread.start, &steps);
    let value = Conditions::of_one_thread(Some(&round.runner.signals)).value(question)?;
    value.map_err(|problem| misfit(round, Some(child), format!("`returns`: {problem}")))
}

/// Returns the answer of a role that one workflow played: what it returned, with the status that it ended with.
fn output_of_one(outcome: Option<&Outcome>) -> Value {
    let Some(outcome) = outcome else {
        return json!({});
    };
    let mut output = outcome.output.clone().unwrap_or_else(|| json!({}));
    if let Some(fields) = output.as_object_mut()
        && !fields.get(STATUS_FIELD).is_some_and(Value::is_string)
    {
        fields.insert(STATUS_FIELD.to_owned(), json!(outcome.status));
    }
    output
}

/// Returns the answer of a role with branches: the results in the order of the branches.
fn output_of_branches(joined: Joined, children: &[Child], outcomes: &[Outcome]) -> Value {
    let result = |(child, outcome): (&Child, &Outcome)| {
        let mut result = json!({ "key": child.planned.key, "status": outcome.status });
        if let Some(item) = &child.planned.item {
            result["item"] = item.clone();
        }
        if child.place.is_some() {
            result["thread"] = json!(child.thread);
        }
        if let Some(output) = &outcome.output {
            result["output"] = output.clone();
        }
        if let Some(reason) = &outcome.reason {
            result["reason"] = json!(reason);
        }
        result
    };
    let failed = outcomes
        .iter()
        .filter(|one| one.status == FAILED && one.output.is_none());
    let status = match joined {
        Joined::Done | Joined::Open => DONE,
        Joined::Failed => FAILED,
    };
    json!({
        STATUS_FIELD: status,
        "count": children.len(),
        "failed": failed.count(),
        "results": children.iter().zip(outcomes).map(result).collect::<Vec<Value>>(),
    })
}

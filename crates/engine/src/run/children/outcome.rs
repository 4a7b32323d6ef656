//! What children came to: the step of the thread that they worked for.

use serde_json::{Value, json};
use uwf_cas_fs::StoreError;
use uwf_moderator::condition::ValueQuestion;
use uwf_moderator::{Assignment, end_status};
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::child::{ChildrenDetail, EndedChild};
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::StepNode;
use uwf_protocol::schemas;
use uwf_protocol::work::{DONE, Work};
use uwf_storage::Located;
use uwf_thread::steps_with_outputs;

use crate::child_error::ChildProblem;
use crate::children::{Child, used_by_child};
use crate::conditions::Conditions;
use crate::run::contract;
use crate::thread::Thread;
use crate::{EngineError, Runner};

/// The agent that a step of children names.
const LABEL: &str = "uwf-children";

/// What one child came to.
struct Ended {
    detail: EndedChild,
    output: Value,
    used: Used,
}

/// Puts the step of a thread whose children are done. Its nodes are not synced yet.
pub(super) fn put(
    runner: &Runner,
    thread: &Thread,
    assignment: &Assignment,
    children: &[Child],
) -> Result<StepContext, EngineError> {
    let site = &runner.site;
    let ended: Vec<Ended> = children
        .iter()
        .map(|child| end_of(runner, thread, assignment, child))
        .collect::<Result<_, _>>()?;
    let output = output_of(&ended);
    let schema = thread
        .program
        .task(&assignment.role)
        .map(|role| role.schema);
    let schema = schema.unwrap_or(schemas::OBJECT);
    if let Err(error) = site.store.validate(schema, &output) {
        let (StoreError::Invalid { .. }, Some(child)) = (&error, children.first()) else {
            return Err(error.into());
        };
        let problem = ChildProblem::Misfit {
            child: child.thread,
            problem: error.to_string(),
        };
        return Err(super::failed(thread, assignment, problem));
    }
    let directory = contract::working_directory(site, thread, assignment)?;
    let now_ms = site.env.now_ms();
    let mut batch = site.store.batch();
    let mut used = Used::default();
    ended.iter().for_each(|one| used.add_all(&one.used));
    let detail = ChildrenDetail {
        children: ended.into_iter().map(|one| one.detail).collect(),
        used,
    };
    batch.put(schemas::META, &schemas::detail_of_children(), now_ms)?;
    let detail = serde_json::to_value(&detail).expect("a detail is plain data");
    let node = StepNode {
        start: thread.start_hash,
        prev: thread.prev_of_next(),
        role: assignment.role.clone(),
        output: batch.put(schema, &output, now_ms)?,
        detail: batch.put(schemas::DETAIL_OF_CHILDREN, &detail, now_ms)?,
        agent: LABEL.to_owned(),
        edge_prompt: Some(assignment.prompt.clone()),
        started_at_ms: Some(started_at(runner, children)?.unwrap_or(now_ms)),
        completed_at_ms: Some(now_ms),
        cwd: Some(directory.display().to_string()),
        assembled_prompt: None,
    };
    let payload = serde_json::to_value(&node).expect("a step is plain data");
    let hash = batch.put(schemas::STEP_NODE, &payload, now_ms)?;
    batch.commit_volatile()?;
    Ok(StepContext { hash, node, output })
}

/// Returns when the first child was made.
fn started_at(runner: &Runner, children: &[Child]) -> Result<Option<i64>, EngineError> {
    let Some(head) = children.first().and_then(|child| child.place.as_ref()) else {
        return Ok(None);
    };
    let store = &runner.site.store;
    let start = uwf_thread::Head::read(store, head.head())?.start();
    Ok(Some(uwf_thread::read_start(store, start)?.timestamp_ms))
}

/// Returns what a child came to.
fn end_of(
    runner: &Runner,
    parent: &Thread,
    assignment: &Assignment,
    child: &Child,
) -> Result<Ended, EngineError> {
    let store = &runner.site.store;
    let head = child.place.as_ref().map(Located::head);
    let head: CasRef = head.ok_or_else(|| crate::thread::busy(child.thread, None))?;
    let thread = Thread::load(store, child.thread, head)?;
    let status = match thread.last() {
        Some(last) => end_status(&thread.program, last).as_str().to_owned(),
        None => DONE.to_owned(),
    };
    let work = parent.program.task(&assignment.role).map(|role| &role.work);
    let returned = match work {
        Some(Work::Workflow(played)) if played.returns.is_some() => {
            let expression = played.returns.as_deref().unwrap_or_default();
            let steps = steps_with_outputs(store, head)?;
            let question = ValueQuestion::new(expression, &thread.start, &steps);
            let value = Conditions::of_one_thread(Some(&runner.signals)).value(question)?;
            value.map_err(|problem| {
                let problem = ChildProblem::Misfit {
                    child: child.thread,
                    problem: format!("`returns`: {problem}"),
                };
                super::failed(parent, assignment, problem)
            })?
        }
        Some(_) | None => thread.last().map_or(json!({}), |last| last.output.clone()),
    };
    let used = used_by_child(&runner.site, child)?;
    Ok(Ended {
        detail: EndedChild {
            key: child.planned.key.clone(),
            thread: child.thread,
            head,
            steps: used.child_steps,
            status,
        },
        output: returned,
        used,
    })
}

/// Returns the answer of a role that one workflow played: what it returned, with the status that it ended with.
fn output_of(ended: &[Ended]) -> Value {
    let Some(one) = ended.first() else {
        return json!({});
    };
    let mut output = one.output.clone();
    if let Some(fields) = output.as_object_mut()
        && !fields.get(STATUS_FIELD).is_some_and(Value::is_string)
    {
        fields.insert(STATUS_FIELD.to_owned(), json!(one.detail.status));
    }
    output
}

//! Checking the step that an agent names, before the head may move to it.

use uwf_cas_fs::{Node, Store, StoreError};
use uwf_protocol::answer::is_suspension;
use uwf_protocol::chain::StepContext;
use uwf_protocol::checks::{CheckResult, has_edge};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::{Detail, StepNode};
use uwf_protocol::schemas;
use uwf_thread::{Head, Stored};

use crate::EngineError;
use crate::thread::{Thread, graph_of};

/// Why a step cannot be committed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the agent's step was refused: {0}")]
    Unfit(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a step and checks it: it must continue this thread, be done by this role, and have an output that fits the role's
/// schema.
pub(crate) fn check(
    store: &Store,
    thread: &Thread,
    role: &RoleName,
    hash: CasRef,
) -> Result<StepContext, Refusal> {
    let node = read_step(store, hash)?;
    check_place(thread, role, hash, &node)?;
    if !store.has(node.detail)? {
        return unfit(format!(
            "its detail node `{}` is not in the store",
            node.detail
        ));
    }
    let output = check_output(store, thread, role, node.output)?;
    check_checks(store, thread, (role, &node), &output)?;
    let output = output.payload;
    Ok(StepContext { hash, node, output })
}

/// Reads the step, which must fit the schema of steps.
fn read_step(store: &Store, hash: CasRef) -> Result<StepNode, Refusal> {
    let Some(node) = store.find(hash)? else {
        return unfit(format!("`{hash}` is not in the store"));
    };
    let Some(Head::Step(Stored { node: step, .. })) = Head::of(hash, &node) else {
        let found = node.type_hash;
        return unfit(format!("`{hash}` is not a step (its type is `{found}`)"));
    };
    match check_schema(store, &node) {
        Ok(()) => Ok(step),
        Err(error) => unfit(format!(
            "`{hash}` does not fit the schema of steps: {error}"
        )),
    }
}

/// Checks a step against the schema of its type. Our own schema is compiled into this program.
fn check_schema(store: &Store, node: &Node) -> Result<(), StoreError> {
    let type_hash = node.type_hash;
    if type_hash != schemas::STEP_NODE {
        return store.validate(type_hash, &node.payload);
    }
    let invalid = |violations| StoreError::Invalid {
        type_hash,
        violations,
    };
    schemas::check_step_node(&node.payload).map_err(invalid)
}

/// Checks that the step follows the thread's head and was done by the role.
fn check_place(
    thread: &Thread,
    role: &RoleName,
    hash: CasRef,
    step: &StepNode,
) -> Result<(), Refusal> {
    if thread.replaces == Some(hash) {
        return unfit(format!("`{hash}` is the step that was to be done again"));
    }
    if step.start != thread.start_hash {
        let start = step.start;
        return unfit(format!(
            "`{hash}` belongs to a thread that starts at `{start}`"
        ));
    }
    if step.prev != thread.prev_of_next() {
        let head = thread.head;
        return unfit(format!(
            "`{hash}` does not follow the thread's head `{head}`"
        ));
    }
    if &step.role != role {
        let done_by = &step.role;
        return unfit(format!("`{hash}` was done by `{done_by}`, not by `{role}`"));
    }
    Ok(())
}

/// Reads the output, which must fit the role's schema unless it suspends the thread.
fn check_output(
    store: &Store,
    thread: &Thread,
    role: &RoleName,
    hash: CasRef,
) -> Result<Node, Refusal> {
    let Some(output) = store.find(hash)? else {
        return unfit(format!("its output node `{hash}` is not in the store"));
    };
    if output.type_hash == schemas::OBJECT && is_suspension(&output.payload).is_some() {
        return Ok(output);
    }
    let found = output.type_hash;
    let may_fail = graph_of(thread).is_ok_and(|workflow| has_edge(workflow, role));
    if found == schemas::CHECKS_FAILED && may_fail {
        return match store.validate(found, &output.payload) {
            Ok(()) => Ok(output),
            Err(error) => unfit(format!(
                "its output does not say which checks failed: {error}"
            )),
        };
    }
    if thread.program.task(role).map(|role| role.schema) != Some(found) {
        return unfit(format!(
            "its output is typed by `{found}`, which is not the schema of `{role}`"
        ));
    }
    match store.validate(found, &output.payload) {
        Ok(()) => Ok(output),
        Err(error) => unfit(format!(
            "its output does not fit the schema of `{role}`: {error}"
        )),
    }
}

/// Checks that the detail of a step has the results of all checks of its role, and that its output is what follows from them.
/// A question to a person needs no checks.
fn check_checks(
    store: &Store,
    thread: &Thread,
    (role, step): (&RoleName, &StepNode),
    output: &Node,
) -> Result<(), Refusal> {
    let task = thread.program.task(role);
    let Some(checks) = task.and_then(|task| task.checks.as_ref()) else {
        return Ok(());
    };
    if is_suspension(&output.payload).is_some() {
        return Ok(());
    }
    let detail = store.need(step.detail)?;
    let results = match detail.type_hash == schemas::DETAIL_EXTENDED {
        true => serde_json::from_value::<Detail>(detail.payload).map(|detail| detail.checks),
        false => Ok(Vec::new()),
    };
    let results = results.unwrap_or_default();
    if !CheckResult::are_of(&results, &checks.run) {
        let names: Vec<String> = checks
            .run
            .iter()
            .map(|one| format!("`{}`", one.name))
            .collect();
        return unfit(format!(
            "the results of the checks {} are missing in its detail node; only the agents that `uwf` brings run checks",
            names.join(", ")
        ));
    }
    let passed = results.iter().all(CheckResult::passed);
    let says_passed = output.type_hash != schemas::CHECKS_FAILED;
    if passed == says_passed {
        return Ok(());
    }
    let note = CheckResult::note(&results).unwrap_or_default();
    unfit(format!("{note}, and its output says something else"))
}

fn unfit<T>(why: String) -> Result<T, Refusal> {
    Err(Refusal::Unfit(why))
}

/// Returns the nodes that came with a step: they must be durable before the head moves to it.
pub(crate) fn closure(store: &Store, step: &StepContext) -> Result<Vec<CasRef>, EngineError> {
    let node = &step.node;
    let mut closure = vec![node.output];
    closure.extend(node.assembled_prompt);
    // This schema comes with the first node that needs it.
    if store.has(schemas::CHECKS_FAILED)? {
        closure.push(schemas::CHECKS_FAILED);
    }
    closure.extend(reached_from_detail(store, node.detail)?);
    closure.push(step.hash);
    Ok(closure)
}

/// Returns the detail node and everything that it refers to. The details of our own kit are read without their schema.
fn reached_from_detail(store: &Store, hash: CasRef) -> Result<Vec<CasRef>, EngineError> {
    let node = store.get(hash)?;
    if schemas::DETAILS_OF_CHILDREN.contains(&node.type_hash) {
        // What the children did is durable already.
        return Ok(vec![node.type_hash, hash]);
    }
    if schemas::is_detail(node.type_hash)
        && let Ok(detail) = serde_json::from_value::<Detail>(node.payload)
    {
        let mut reached = detail.turns;
        reached.extend(detail.checks.iter().filter_map(|check| check.more_output));
        // These schemas come with the first nodes that need them.
        if node.type_hash != schemas::DETAIL {
            reached.push(node.type_hash);
        }
        if store.has(schemas::TURN_WITH_IDS)? {
            reached.push(schemas::TURN_WITH_IDS);
        }
        reached.extend([detail.raw, hash]);
        return Ok(reached);
    }
    Ok(store.walk(hash)?)
}

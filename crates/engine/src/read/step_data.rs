//! A step as data: what its node says, the data of its answer, and its detail in full.

use serde_json::{Map, Value, json};
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_storage::State;
use uwf_thread::{Head, steps};
use uwf_util::time;

use crate::read::expand::expand;
use crate::read::{step_detail, visit_story};
use crate::{EngineError, Site};

/// Returns a step as data: its own keys, then the keys of its detail. Everything that the detail refers to is expanded. If
/// both have a key, the detail's value wins.
///
/// # Errors
/// When the step or its detail is not in the store, or the node is not a step.
pub fn step_details(site: &Site, step: CasRef) -> Result<Value, EngineError> {
    let node = step_detail::read(&site.store, step)?;
    let detail = expand(&site.store, site.store.get(node.detail)?)?;
    let mut shown = own_keys(site, step, &node)?;
    match detail {
        Value::Object(keys) => shown.extend(keys),
        other => drop(shown.insert("detail".to_owned(), other)),
    }
    Ok(Value::Object(shown))
}

fn own_keys(site: &Site, step: CasRef, node: &StepNode) -> Result<Map<String, Value>, EngineError> {
    let output = site.store.find(node.output)?;
    let time = |ms: Option<i64>| ms.map(time::format_iso);
    let keys = json!({
        "step": step,
        "thread": thread_of(site, step)?,
        "role": node.role,
        "agent": node.agent,
        "output": output.map(|node| visit_story::data(node.type_hash, node.payload)),
        "instruction": node.edge_prompt,
        "cwd": node.cwd,
        "start": node.start,
        "prev": node.prev,
        "detail": node.detail,
        "assembledPrompt": node.assembled_prompt,
        "startedAt": time(node.started_at_ms),
        "startedAtMs": node.started_at_ms,
        "completedAt": time(node.completed_at_ms),
        "completedAtMs": node.completed_at_ms,
        "durationMs": node.duration_ms(),
    });
    Ok(keys.as_object().cloned().unwrap_or_default())
}

/// Returns the thread that a step or a start belongs to. Forks share nodes, so this is the oldest thread that has the node.
///
/// A replaced step belongs to the thread in which it was replaced, a refused one to the thread that refused it, and a step of a
/// chain that was migrated to the thread that had it.
///
/// # Errors
/// When the state cannot be read. A thread that cannot be read hides no other.
pub fn thread_of(site: &Site, node: CasRef) -> Result<Option<ThreadId>, EngineError> {
    let Ok(found) = Head::read(&site.store, node) else {
        return Ok(None);
    };
    let start = found.start();
    let recorded = State::new(&site.root).threads()?;
    let mut threads = recorded.places.iter();
    if let Some((thread, _)) =
        threads.find(|(_, place)| has(&site.store, place.head(), start, node))
    {
        return Ok(Some(*thread));
    }
    let mut replaced = recorded.replaced.iter();
    let earlier = replaced.find(|step| match step.is_migration() {
        true => has(&site.store, step.replaced, start, node),
        false => step.replaced == node,
    });
    if let Some(step) = earlier {
        return Ok(Some(step.in_thread));
    }
    let mut alike = recorded.places.iter().filter(|(_, place)| {
        let head = Head::read(&site.store, place.head());
        head.is_ok_and(|head| head.start() == start)
    });
    let refused = alike.find(|(thread, _)| {
        let mut refused = site.root.run(**thread).outbox.refused().into_iter();
        refused.any(|refused| refused.step == node)
    });
    Ok(refused.map(|(thread, _)| *thread))
}

/// Tells whether the thread with this head has the node. Only a thread with the same start is walked.
fn has(store: &Store, head: CasRef, start: CasRef, node: CasRef) -> bool {
    let from = Head::read(store, head).map(|head| head.start());
    match from {
        Ok(from) if from == start && node != start => {
            let mut steps = steps(store, head).map_while(Result::ok);
            steps.any(|step| step.hash == node)
        }
        Ok(from) => from == start,
        Err(_) => false,
    }
}

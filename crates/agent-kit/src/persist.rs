//! Writes a finished step: its nodes, children first, and then the pending record.

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{Batch, Store};
use uwf_process::is_alive;
use uwf_process::process_identity;
use uwf_protocol::agent::env::ENGINE;
use uwf_protocol::agent::{CallForm, parse_engine_mark};
use uwf_protocol::artifact::Artifact;
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::{Detail, Extraction, StepNode, Turn};
use uwf_protocol::run::Pending;
use uwf_protocol::schemas;
use uwf_protocol::step_files::StepFiles;
use uwf_storage::{Env, RunDir};

use crate::KitError;
use crate::adapter::Task;
use crate::checks::Checked;
use crate::context::Context;
use crate::conversation::Conversation;
use crate::extract::Extracted;

/// A step that is in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The step.
    pub step: CasRef,
    /// Its detail.
    pub detail: CasRef,
    /// Its role.
    pub role: RoleName,
    /// The data of the answer.
    pub output: Value,
    /// The Markdown of the answer.
    pub body: String,
    /// When the agent began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When its answer was complete.
    pub completed_at_ms: i64,
}

/// What a step is made of, beside its place in the thread.
pub struct Work<'a> {
    /// The task of the agent.
    pub task: &'a Task,
    /// The label of the agent.
    pub agent: String,
    /// All that was said.
    pub conversation: &'a Conversation,
    /// The data that was accepted.
    pub extracted: Extracted,
    /// How the data was extracted from the answer.
    pub extraction: Extraction,
    /// What came of the checks of the role.
    pub(crate) checks: &'a [Checked],
    /// The files before and after the work, if they were recorded.
    pub files: Option<StepFiles>,
    /// The files that the agent left.
    pub artifacts: Vec<Artifact>,
    /// When the agent began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When its answer was complete.
    pub completed_at_ms: i64,
    /// The time of now, which the nodes get.
    pub now_ms: i64,
}

/// Who commits the step, and therefore makes it durable. It is done once: waiting for the disk twice would double the
/// cost of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committer {
    /// The engine that started us is alive: it syncs the step's nodes before it moves the head.
    Engine,
    /// Nobody for now: we make the step durable ourselves.
    Nobody,
}

impl Committer {
    /// Finds out who commits a step that is finished now.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let engine = env.var(ENGINE).and_then(parse_engine_mark);
        match engine {
            Some(engine) if is_alive(&engine) => Self::Engine,
            Some(_) | None => Self::Nobody,
        }
    }
}

/// Writes a step and its pending record.
///
/// # Errors
/// When the store or the record cannot be written. What was written by then belongs to no thread.
pub fn write(
    store: &Store,
    run: &RunDir,
    context: &Context,
    work: &Work<'_>,
    committer: Committer,
) -> Result<Finished, KitError> {
    let now_ms = work.now_ms;
    let mut batch = store.batch();
    let detail = put_detail(&mut batch, work)?;
    let step = put_step(&mut batch, context, work, detail)?;
    let pending = Pending {
        step,
        head: context.head,
        replaces: context.replaces,
        at_ms: now_ms,
        answer_of: work.conversation.earlier_attempts.clone(),
        agent: process_identity(std::process::id()),
    };
    // From the pending record on the step cannot be lost: the next call finds it.
    match committer {
        Committer::Engine => {
            batch.commit_volatile()?;
            run.outbox.write_pending_volatile(&pending)?;
        }
        Committer::Nobody => {
            batch.commit()?;
            run.outbox.write_pending(&pending)?;
        }
    }
    Ok(Finished {
        step,
        detail,
        role: work.task.role.clone(),
        output: work.extracted.output.clone(),
        body: work.extracted.body.clone(),
        started_at_ms: work.started_at_ms,
        completed_at_ms: work.completed_at_ms,
    })
}

/// Puts how the answer came about, with every turn and the text of the answer.
fn put_detail(batch: &mut Batch<'_>, work: &Work<'_>) -> Result<CasRef, KitError> {
    let now_ms = work.now_ms;
    let conversation = work.conversation;
    let raw = batch.put(schemas::TEXT, &conversation.answer().into(), now_ms)?;
    let mut turns = Vec::new();
    for turn in conversation.turns() {
        let turn_type = turn_type(batch, &turn, now_ms)?;
        turns.push(batch.put(turn_type, &payload(&turn), now_ms)?);
    }
    let detail = Detail {
        agent: work.agent.clone(),
        session_id: conversation.session_id.clone(),
        model: conversation.model.clone(),
        turns,
        usage: conversation.usage.clone(),
        extraction: work.extraction.clone(),
        raw,
        refused_calls: conversation.refused_calls(),
        files: work.files.clone(),
        checks: put_checks(batch, work)?,
        artifacts: work.artifacts.clone(),
        permissions: work.task.permissions,
        asked_permission: conversation.asked.clone(),
    };
    let (detail_type, schema) = detail.stored_type();
    if let Some(schema) = schema {
        batch.put(schemas::META, &schema, now_ms)?;
    }
    Ok(batch.put(detail_type, &payload(&detail), now_ms)?)
}

/// Puts the long outputs of checks, and returns what came of the checks.
fn put_checks(batch: &mut Batch<'_>, work: &Work<'_>) -> Result<Vec<CheckResult>, KitError> {
    let mut results = Vec::new();
    for checked in work.checks {
        let mut result = checked.result.clone();
        if let Some(more) = &checked.more {
            let more = batch.put(schemas::TEXT, &more.as_str().into(), work.now_ms)?;
            result.more_output = Some(more);
        }
        results.push(result);
    }
    Ok(results)
}

/// Puts a turn of an attempt that failed, without waiting for the disk: no thread refers to it.
///
/// # Errors
/// When the store cannot be written.
pub fn put_turn(store: &Store, turn: &Turn, now_ms: i64) -> Result<CasRef, KitError> {
    let turn_type = match turn.has_ids() {
        true => store.put_volatile(schemas::META, &schemas::turn_with_ids(), now_ms)?,
        false => schemas::TURN,
    };
    Ok(store.put_volatile(turn_type, &payload(turn), now_ms)?)
}

/// Returns the type of a turn's node. The schema of a later version comes with the first node that needs it.
fn turn_type(batch: &mut Batch<'_>, turn: &Turn, now_ms: i64) -> Result<CasRef, KitError> {
    Ok(match turn.has_ids() {
        true => batch.put(schemas::META, &schemas::turn_with_ids(), now_ms)?,
        false => schemas::TURN,
    })
}

/// Puts the step, with its data and the prompt that led to it.
fn put_step(
    batch: &mut Batch<'_>,
    context: &Context,
    work: &Work<'_>,
    detail: CasRef,
) -> Result<CasRef, KitError> {
    let now_ms = work.now_ms;
    let Work {
        task, extracted, ..
    } = work;
    if extracted.type_hash == schemas::CHECKS_FAILED {
        batch.put(schemas::META, &schemas::checks_failed(), now_ms)?;
    }
    let output = batch.put(extracted.type_hash, &extracted.output, now_ms)?;
    let prompt = batch.put(schemas::TEXT, &task.masks.text(&task.prompt).into(), now_ms)?;
    let step = StepNode {
        start: context.start_hash,
        prev: context.prev,
        role: task.role.clone(),
        output,
        detail,
        agent: work.agent.clone(),
        edge_prompt: Some(task.masks.text(&task.edge_prompt)),
        started_at_ms: Some(work.started_at_ms),
        completed_at_ms: Some(work.completed_at_ms),
        cwd: Some(task.cwd.to_string_lossy().into_owned()),
        assembled_prompt: Some(prompt),
    };
    Ok(batch.put(schemas::STEP_NODE, &payload(&step), now_ms)?)
}

fn payload(node: &impl Serialize) -> Value {
    serde_json::to_value(node).expect("nodes are plain data with text for keys")
}

impl Finished {
    /// Returns the line that announces the step to the caller.
    #[must_use]
    pub fn line(&self, form: CallForm) -> String {
        match form {
            CallForm::Positional => self.step.to_string(),
            CallForm::Named => payload(&Announcement {
                step_hash: self.step,
                detail_hash: self.detail,
                role: &self.role,
                frontmatter: &self.output,
                body: &self.body,
                started_at_ms: self.started_at_ms,
                completed_at_ms: self.completed_at_ms,
            })
            .to_string(),
        }
    }
}

/// The keys that callers in the named form expect, in their order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Announcement<'a> {
    step_hash: CasRef,
    detail_hash: CasRef,
    role: &'a RoleName,
    frontmatter: &'a Value,
    body: &'a str,
    started_at_ms: i64,
    completed_at_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_announced_in_the_form_of_the_call() {
        let finished = Finished {
            step: schemas::STEP_NODE,
            detail: schemas::DETAIL,
            role: "writer".parse().unwrap(),
            output: json!({ "$status": "done" }),
            body: "Hi\n".to_owned(),
            started_at_ms: 1,
            completed_at_ms: 2,
        };
        assert_eq!(finished.line(CallForm::Positional), "108DB063KRQWW");
        assert_eq!(
            finished.line(CallForm::Named),
            r#"{"stepHash":"108DB063KRQWW","detailHash":"BVC993YSEPJZD","role":"writer","frontmatter":{"$status":"done"},"body":"Hi\n","startedAtMs":1,"completedAtMs":2}"#
        );
    }
}

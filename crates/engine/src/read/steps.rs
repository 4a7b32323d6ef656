//! All steps of a thread with their data, oldest first, and its failed attempts.

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_moderator::passages;
use uwf_protocol::artifact::Artifact;
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Extraction, RefusedCalls, StepNode};
use uwf_protocol::permissions::Permissions;
use uwf_protocol::run::RefusedStep;
use uwf_protocol::workflow::Destination;
use uwf_storage::{Reason, ReplacedStep};
use uwf_thread::{Stored, read_program, read_step};

use crate::read::activity::{Activity, AttemptView};
use crate::read::branch::{ChildOfStep, children_of_step};
use crate::read::copies::Past;
use crate::read::detail_summary::DetailSummary;
use crate::read::history::History;
use crate::{EngineError, Site};

/// The steps and the failed attempts of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepsView {
    /// The thread.
    pub thread: ThreadId,
    /// The workflow that it is pinned to.
    pub workflow: CasRef,
    /// Its start, then its steps.
    pub steps: Vec<StepsEntry>,
    /// All failed attempts on record, newest last.
    pub attempts: Vec<AttemptView>,
    /// The finished step that waits to be committed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_step: Option<CasRef>,
    /// The finished steps that are not in the chain, because the thread had left the head that they follow. They are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_steps: Vec<RefusedEntry>,
}

/// A finished step that is not in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedEntry {
    /// What is on record of it.
    #[serde(flatten)]
    pub refused: RefusedStep,
    /// Who did it; `None` if it cannot be read.
    pub role: Option<RoleName>,
    /// The label of the agent.
    pub agent: Option<String>,
    /// How long it took, in milliseconds, if it is known.
    pub duration_ms: Option<u64>,
}

/// One node of the chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StepsEntry {
    /// The first node.
    Start(StartEntry),
    /// Every other node.
    Step(Box<StepEntry>),
}

/// The start of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartEntry {
    /// The start node.
    pub hash: CasRef,
    /// The workflow.
    pub workflow: CasRef,
    /// What the user asked.
    pub prompt: String,
    /// When the thread began, in milliseconds since 1970.
    pub timestamp: i64,
    /// The key of the edge that the thread took from here; `None` if it is unknown.
    pub edge: Option<String>,
}

/// One step of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEntry {
    /// The step.
    pub hash: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// The data of the answer.
    pub output: Value,
    /// The node that says what happened in detail.
    pub detail: CasRef,
    /// The label of the agent.
    pub agent: String,
    /// When the step was stored, in milliseconds since 1970.
    pub timestamp: i64,
    /// How long it took, in milliseconds, if it is known.
    pub duration_ms: Option<u64>,
    /// How the data was extracted from the answer; `None` for details of other programs.
    pub extraction: Option<Extraction>,
    /// The tool calls that the agent was not allowed to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// What came of the checks of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The files that the agent left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What the agent was allowed to do without asking, if anything said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The child threads that did it, in the order of the branches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildOfStep>,
    /// The instruction that the moderator rendered; older steps have none.
    pub edge_prompt: Option<String>,
    /// The key of the edge that the thread took after it; `None` if it is unknown.
    pub edge: Option<String>,
    /// The steps that it replaced, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<CasRef>,
}

/// Returns the steps and the failed attempts of a thread, active or ended.
///
/// # Errors
/// When the thread is unknown or its chain cannot be read.
pub fn steps(site: &Site, id: ThreadId) -> Result<StepsView, EngineError> {
    let history = History::read(site, id)?;
    let outputs = history.outputs(&site.store)?;
    let mut edges = edges(site, &history, &outputs).into_iter();
    let mut entries = Vec::with_capacity(history.steps.len() + 1);
    entries.push(StepsEntry::Start(StartEntry {
        hash: history.start_hash,
        workflow: history.start.workflow,
        prompt: history.start.prompt,
        timestamp: history.started_ms,
        edge: edges.next().flatten(),
    }));
    let past = Past::read(site, id, history.head)?;
    for (step, output) in history.steps.into_iter().zip(outputs) {
        let replaces = replaced_by(step.hash, &past.replaced);
        let entry = StepEntry {
            edge: edges.next().flatten(),
            ..entry(&site.store, step, output, replaces)?
        };
        entries.push(StepsEntry::Step(Box::new(entry)));
    }
    let run = site.root.run(id);
    let attempts = run.ledger.attempts().into_iter().map(AttemptView::from);
    let attempts = attempts.map(|attempt| past.place(attempt)).collect();
    Ok(StepsView {
        thread: id,
        workflow: history.start.workflow,
        steps: entries,
        attempts,
        finished_step: Activity::at(site, &run, history.head)?.finished_step,
        refused_steps: run
            .outbox
            .refused()
            .into_iter()
            .map(|refused| refused_entry(&site.store, refused))
            .collect(),
    })
}

fn refused_entry(store: &Store, refused: RefusedStep) -> RefusedEntry {
    let step = read_step(store, refused.step).ok().map(|step| step.node);
    RefusedEntry {
        refused,
        duration_ms: step.as_ref().and_then(StepNode::duration_ms),
        agent: step.as_ref().map(|step| step.agent.clone()),
        role: step.map(|step| step.role),
    }
}

/// Returns the keys of the edges that a thread took: from its start, then from each step. Nothing is known without the
/// workflow; the steps can be shown without it.
fn edges(site: &Site, history: &History, outputs: &[Value]) -> Vec<Option<String>> {
    let Ok(program) = read_program(&site.store, history.start.workflow) else {
        return Vec::new();
    };
    let next = match history.ended {
        Some(Reason::Completed) => Some(Destination::End),
        Some(Reason::Cancelled) | None => None,
    };
    let passages = passages(&program, &history.answers(outputs), next.as_ref());
    let edges = passages.into_iter().map(|passage| passage.edge);
    edges.map(|edge| edge.map(|edge| edge.to_key())).collect()
}

/// Returns the steps that a step replaced, directly or through others, oldest first.
pub(crate) fn replaced_by(step: CasRef, replaced: &[ReplacedStep]) -> Vec<CasRef> {
    let mut found = vec![step];
    let mut next = 0;
    while let Some(by) = found.get(next).copied() {
        for older in replaced.iter().rev().filter(|one| one.by == by) {
            if !found.contains(&older.replaced) {
                found.push(older.replaced);
            }
        }
        next += 1;
    }
    found.remove(0);
    found.reverse();
    found
}

fn entry(
    store: &Store,
    step: Stored<StepNode>,
    output: Value,
    replaces: Vec<CasRef>,
) -> Result<StepEntry, StoreError> {
    let duration_ms = step.node.duration_ms();
    let summary = DetailSummary::read(store, step.node.detail)?;
    Ok(StepEntry {
        hash: step.hash,
        role: step.node.role,
        children: children_of_step(summary.children, Some(&output)),
        output,
        detail: step.node.detail,
        agent: step.node.agent,
        timestamp: step.timestamp_ms,
        duration_ms,
        extraction: summary.extraction,
        refused_calls: summary.refused_calls,
        checks: summary.checks,
        artifacts: summary.artifacts,
        permissions: summary.permissions,
        edge_prompt: step.node.edge_prompt,
        edge: None,
        replaces,
    })
}

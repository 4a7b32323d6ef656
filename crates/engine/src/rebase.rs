//! Another workflow for a chain. Nodes never change, and a step names its start, which names the workflow. So the chain is
//! copied onto a start that names the other workflow. `docs/store.md` says what a copy has in common with the original.
//!
//! Here is decided whether a chain can go on under the other workflow, and the copies are put. Callers refer to them.

use std::path::Path;

use serde_json::{Value, json};
use uwf_cas_fs::{Node, Store, StoreError};
use uwf_moderator::{HistoryNeed, Route, history_need, is_routed_exactly};
use uwf_process::Signals;
use uwf_protocol::answer::is_suspension;
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::checks::has_edge;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_protocol::workflow_diff::WorkflowDiff;
use uwf_storage::WorktreeRecord;
use uwf_thread::{read_program, read_start, steps, steps_with_outputs};

use crate::check_files;
use crate::pipelines::error::PipelineError;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// The output of a step that does not fit the schema that its role has in the other workflow.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Misfit {
    /// The step.
    pub step: CasRef,
    /// The step or the start before it.
    #[serde(skip)]
    pub before: CasRef,
    /// Its role.
    pub role: RoleName,
    /// What does not fit.
    pub problems: Vec<String>,
}

/// A chain that can go on under another workflow.
pub(crate) struct Rebase {
    /// The thread under the other workflow. It is not in the store like this.
    pub(crate) under: Thread,
    /// What differs.
    pub(crate) diff: WorkflowDiff,
    /// The outputs that do not fit the schemas of the other workflow, as far as it does not matter.
    pub(crate) misfits: Vec<Misfit>,
    /// Where the chain leads under the other workflow.
    pub(crate) route: Route,
}

/// Decides whether a thread can go on under another workflow.
///
/// # Errors
/// [`EngineError::NoWayOn`] if the other workflow gives no next step, [`EngineError::Misfit`] if it would decide by an
/// output that does not fit it. When a node cannot be read.
pub(crate) fn decide(
    store: &Store,
    thread: &Thread,
    workflow: CasRef,
    signals: Option<&Signals>,
) -> Result<Rebase, EngineError> {
    let program = read_program(store, workflow)?;
    let diff = match (&thread.program, &program) {
        (Program::Graph(old), Program::Graph(new)) => WorkflowDiff::between(old, new),
        (Program::Pipeline(_), _) => return Err(PipelineError::IsRun(thread.id).into()),
        (Program::Graph(_), Program::Pipeline(_)) => {
            return Err(PipelineError::NoGraph(workflow).into());
        }
    };
    let misfits = misfits(store, thread, &program)?;
    let needed = misfits
        .iter()
        .find(|misfit| is_needed(thread, &program, misfit.step));
    if let Some(needed) = needed {
        return Err(EngineError::Misfit {
            thread: thread.id,
            workflow,
            misfit: Box::new(needed.clone()),
        });
    }
    let other = thread.under(store, program, workflow)?;
    let route = other
        .route(signals)?
        .map_err(|source| EngineError::NoWayOn {
            thread: thread.id,
            workflow,
            source: Box::new(source),
        })?;
    Ok(Rebase {
        under: other,
        diff,
        misfits,
        route,
    })
}

/// Tells whether the program decides by the output of a step: by that of the newest one, unless its status is exactly that of
/// an edge; and by every output where conditions look at all of them.
fn is_needed(thread: &Thread, program: &Program, step: CasRef) -> bool {
    let roles = program.roles().map(Some);
    let mut nodes = std::iter::once(None).chain(roles);
    let by_conditions = nodes.any(|role| history_need(program, role) == HistoryNeed::All);
    let newest = thread.last().filter(|last| last.hash == step);
    by_conditions || newest.is_some_and(|last| !is_routed_exactly(program, last))
}

/// Returns the outputs that do not fit the schemas of their roles. An output that suspends its thread has no schema.
fn misfits(store: &Store, thread: &Thread, program: &Program) -> Result<Vec<Misfit>, EngineError> {
    let mut misfits = Vec::new();
    for step in steps(store, thread.head) {
        let step = step?;
        let Some(schema) = program.task(&step.node.role).map(|role| role.schema) else {
            continue;
        };
        let output = store.need(step.node.output)?;
        let is_of_checks = output.type_hash == schemas::CHECKS_FAILED
            && program
                .as_graph()
                .is_some_and(|graph| has_edge(graph, &step.node.role));
        let fits = output.type_hash == schema || is_of_checks;
        if fits || is_suspension(&output.payload).is_some() {
            continue;
        }
        match store.validate(schema, &output.payload) {
            Ok(()) => {}
            Err(StoreError::Invalid { violations, .. }) => misfits.push(Misfit {
                step: step.hash,
                before: step.node.prev.unwrap_or(step.node.start),
                role: step.node.role,
                problems: violations.iter().map(ToString::to_string).collect(),
            }),
            Err(error) => return Err(error.into()),
        }
    }
    misfits.reverse();
    Ok(misfits)
}

/// Puts the copy of a chain, durably, and returns its summary. The same chain and workflow give the same nodes, so an
/// interrupted call can be repeated. `worktree` is that of the thread, if it has one.
pub(crate) fn copy(
    site: &Site,
    head: CasRef,
    workflow: CasRef,
    worktree: Option<&WorktreeRecord>,
) -> Result<ChainSummary, EngineError> {
    let (store, now_ms) = (&site.store, site.env.now_ms());
    let mut old: Vec<_> = steps(store, head).collect::<Result<_, _>>()?;
    old.reverse();
    let start = old.first().map_or(head, |first| first.node.start);
    // The copies keep the times of the originals, since views show them.
    let read = read_start(store, start)?;
    let known = &read.node;
    // The other workflow may have checks of other files. They are those where the agents of the thread work.
    let cwd = known.cwd.as_deref().map(|cwd| match worktree {
        Some(record) => record.inside(Path::new(cwd)).display().to_string(),
        None => cwd.to_owned(),
    });
    let check_files = check_files::pin(store, workflow, cwd.as_deref(), &known.check_files)?;
    let mut start = store.need(read.hash)?;
    let mut batch = store.batch();
    let put = |batch: &mut uwf_cas_fs::Batch<'_>, node: &Node, payload: &Value| {
        batch.put_dated(node.type_hash, payload, node.timestamp_ms, now_ms)
    };
    let mut payload = with(&start.payload, "workflow", workflow);
    if !check_files.is_empty() {
        start.type_hash = batch.put(schemas::META, &schemas::start_node_with_files(), now_ms)?;
        payload["checkFiles"] = json!(check_files);
    }
    let start = put(&mut batch, &start, &payload)?;
    let mut summary = ChainSummary::of_start(start);
    for step in old {
        let node = store.need(step.hash)?;
        let mut payload = with(&node.payload, "start", start);
        if step.node.prev.is_some() {
            payload = with(&payload, "prev", summary.head);
        }
        let copy = put(&mut batch, &node, &payload)?;
        summary.push(copy, &step.node.role);
    }
    batch.commit()?;
    Ok(summary)
}

/// Returns a payload with another reference. All else stays as it is, whatever program and version wrote it.
fn with(payload: &Value, key: &str, reference: CasRef) -> Value {
    let mut payload = payload.clone();
    payload[key] = Value::from(reference.as_str());
    payload
}

impl Thread {
    /// Returns the thread as it would be under another program. It is not in the store like this.
    fn under(
        &self,
        store: &Store,
        program: Program,
        workflow: CasRef,
    ) -> Result<Self, EngineError> {
        let steps = match history_need(&program, self.last().map(|last| &last.node.role)) {
            HistoryNeed::All => steps_with_outputs(store, self.head)?,
            HistoryNeed::LastStep => self.last().cloned().into_iter().collect(),
        };
        let mut start = self.start.clone();
        start.workflow = workflow;
        Ok(Self {
            id: self.id,
            head: self.head,
            replaces: None,
            start_hash: self.start_hash,
            start,
            program,
            store: store.clone(),
            steps,
        })
    }
}

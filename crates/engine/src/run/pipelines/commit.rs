//! The chain of a run while a process works on it: steps are put, and the head follows.
//!
//! A step is in the chain as soon as its nodes are written and the pending record names it: it survives the end of every
//! process. The head moves for all steps of a short time at once, because making nodes durable costs more than writing them. A
//! move has the three parts of every commit, as in `run/commit.rs`.

use std::time::{Duration, Instant};

use indexmap::IndexSet;
use serde_json::Value;
use uwf_cas_fs::StoreError;
use uwf_pipeline::nodes::VisitNode;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::run::Pending;
use uwf_protocol::schemas::{self, CostKind};
use uwf_storage::{Advance, HistoryRecord, Reason, RunDir, RunRoot, State};
use uwf_thread::{read_step, steps};

use crate::pipelines::chain::payload;
use crate::run::refused::{self, Astray, Found};
use crate::{EngineError, Runner, tags};

/// How long steps wait for the next move of the head.
const SHARED: Duration = Duration::from_millis(20);

/// The chain.
pub(super) struct Chain<'a> {
    runner: &'a Runner,
    run: &'a RunDir,
    thread: ThreadId,
    start: CasRef,
    cwd: String,
    /// The head as everybody sees it.
    head: CasRef,
    /// The newest step, or the start.
    newest: CasRef,
    /// The nodes of the steps after the head.
    added: IndexSet<CasRef>,
    /// The nodes of the steps that the head moved over last. They are durable: equal results are one node, which need not be
    /// synced for each step.
    durable: IndexSet<CasRef>,
    /// The logs after the head that no node has, relative to the folder of the run.
    unsynced_logs: Vec<String>,
    root: &'a RunRoot,
    moved: Instant,
}

/// A step that is to be added.
pub(super) struct NewStep {
    pub(super) role: RoleName,
    pub(super) agent: String,
    /// The type and the payload of the output.
    pub(super) output: (CasRef, Value),
    pub(super) detail: VisitNode,
    pub(super) prompt: Option<String>,
    pub(super) started_at_ms: i64,
    pub(super) duration_ms: u64,
}

/// A step that was added.
pub(super) struct Added {
    pub(super) output: CasRef,
    pub(super) completed_at_ms: i64,
}

/// The nodes of a step that were written.
struct Put {
    step: CasRef,
    output: CasRef,
    /// All of them.
    nodes: Vec<CasRef>,
    completed_at_ms: i64,
}

/// Whether the head moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    /// The thread was ended from outside.
    Ended,
}

impl<'a> Chain<'a> {
    pub(super) fn new(
        runner: &'a Runner,
        (run, root): (&'a RunDir, &'a RunRoot),
        (thread, start, head): (ThreadId, CasRef, CasRef),
        cwd: String,
    ) -> Self {
        Self {
            runner,
            run,
            thread,
            start,
            cwd,
            head,
            newest: head,
            added: IndexSet::new(),
            durable: IndexSet::new(),
            unsynced_logs: Vec::new(),
            root,
            moved: Instant::now(),
        }
    }

    /// Returns the newest step, or the start.
    pub(super) fn newest(&self) -> CasRef {
        self.newest
    }

    /// Tells whether the head is the newest step.
    pub(super) fn is_moved(&self) -> bool {
        self.head == self.newest
    }

    /// Adds a step. From now on no process can lose it, and a full disk did not: the work may have been paid for.
    pub(super) fn add(&mut self, step: &NewStep) -> Result<Added, EngineError> {
        let root = &self.runner.site.root;
        let put = root.with_room(is_of_full_disk, || self.put(step))?;
        self.newest = put.step;
        self.added.extend(put.nodes);
        let logs = step.detail.logs.iter().filter(|log| log.text.is_none());
        self.unsynced_logs.extend(logs.map(|log| log.path.clone()));
        Ok(Added {
            output: put.output,
            completed_at_ms: put.completed_at_ms,
        })
    }

    /// Writes the nodes of a step, then the record that names it.
    fn put(&self, step: &NewStep) -> Result<Put, EngineError> {
        let store = &self.runner.site.store;
        let now_ms = self.runner.site.env.now_ms();
        let mut batch = store.batch();
        let prompt = step.prompt.as_ref().map(|prompt| {
            let prompt = Value::String(prompt.clone());
            batch.put(schemas::TEXT, &prompt, now_ms)
        });
        let prompt = prompt.transpose()?;
        let output = batch.put(step.output.0, &step.output.1, now_ms)?;
        let detail = serde_json::to_value(&step.detail).expect("a visit is plain data");
        let cost = CostKind::in_sum(&detail["used"]);
        let (visit_type, schema) = cost.visit();
        let schema = match cost {
            // It came with the run.
            CostKind::Told => None,
            CostKind::Estimated => Some(batch.put(schemas::META, &schema, now_ms)?),
        };
        let detail = batch.put(visit_type, &detail, now_ms)?;
        let duration = i64::try_from(step.duration_ms).unwrap_or(i64::MAX);
        let completed_at_ms = step.started_at_ms.saturating_add(duration);
        let node = StepNode {
            start: self.start,
            prev: (self.newest != self.start).then_some(self.newest),
            role: step.role.clone(),
            output,
            detail,
            agent: step.agent.clone(),
            edge_prompt: None,
            started_at_ms: Some(step.started_at_ms),
            completed_at_ms: Some(completed_at_ms),
            cwd: Some(self.cwd.clone()),
            assembled_prompt: prompt,
        };
        let payload = serde_json::to_value(&node).expect("a step is plain data");
        let hash = batch.put(schemas::STEP_NODE, &payload, now_ms)?;
        batch.commit_volatile()?;
        self.run.outbox.write_pending_volatile(&Pending {
            step: hash,
            head: self.head,
            replaces: None,
            at_ms: now_ms,
            answer_of: Vec::new(),
            agent: None,
        })?;
        let texts = prompt.into_iter().chain(texts_of(&step.detail));
        Ok(Put {
            step: hash,
            output,
            nodes: texts.chain(schema).chain([output, detail, hash]).collect(),
            completed_at_ms,
        })
    }

    /// Puts a text node, such as a short log, for the detail of the next step.
    pub(super) fn put_text(&self, text: &str) -> Result<CasRef, EngineError> {
        let site = &self.runner.site;
        let text = Value::String(text.to_owned());
        let put = || {
            let put = site
                .store
                .put_volatile(schemas::TEXT, &text, site.env.now_ms());
            put.map_err(EngineError::from)
        };
        site.root.with_room(is_of_full_disk, put)
    }

    /// Moves the head to the newest step, if it was not moved for a while.
    pub(super) fn move_if_due(&mut self) -> Result<Moved, EngineError> {
        match self.moved.elapsed() < SHARED {
            true => Ok(Moved::Yes),
            false => self.move_head(),
        }
    }

    /// Moves the head to the newest step.
    pub(super) fn move_head(&mut self) -> Result<Moved, EngineError> {
        if self.head == self.newest {
            return Ok(Moved::Yes);
        }
        self.commit(None)
    }

    /// Ends the thread at the newest step: the run is completed.
    pub(super) fn complete(&mut self, workflow: CasRef) -> Result<Moved, EngineError> {
        self.commit(Some(workflow))
    }

    /// Commits the steps after the head. The thread ends with them if its workflow is given, for the history.
    fn commit(&mut self, ended: Option<CasRef>) -> Result<Moved, EngineError> {
        self.make_durable()?;
        let moved = self.advance(ended)?;
        if moved == Moved::Yes {
            self.tidy_up()?;
        }
        Ok(moved)
    }

    /// Makes durable what the new head needs.
    fn make_durable(&self) -> Result<(), EngineError> {
        self.root.sync_logs(&self.unsynced_logs)?;
        let unsynced: Vec<CasRef> = self.added.difference(&self.durable).copied().collect();
        Ok(self.runner.site.store.sync(&unsynced)?)
    }

    /// Moves the head by compare-and-set. If it has moved meanwhile, the steps are refused.
    fn advance(&self, ended: Option<CasRef>) -> Result<Moved, EngineError> {
        let site = &self.runner.site;
        let state = State::new(&site.root);
        let advanced = match ended {
            None => state.advance(self.thread, self.head, self.newest)?,
            Some(workflow) => state.advance_and_archive(
                self.head,
                &HistoryRecord {
                    thread: self.thread,
                    workflow,
                    head: self.newest,
                    completed_at: site.env.now_ms(),
                    reason: Reason::Completed,
                },
            )?,
        };
        match advanced {
            Advance::Moved => Ok(Moved::Yes),
            Advance::NotActive => Ok(Moved::Ended),
            Advance::HeadIs(head) => self.lose_race(head),
        }
    }

    /// Keeps the steps after the head that the thread had: it has another one now. The newest step leads to all of them.
    fn lose_race(&self, found: CasRef) -> Result<Moved, EngineError> {
        let astray = Astray {
            step: self.newest,
            head: self.head,
            replaces: None,
        };
        astray.keep(self.runner, self.run)?;
        refused::log(self.runner, self.thread, self.newest);
        let step = read_step(&self.runner.site.store, self.newest)?;
        Err(EngineError::HeadMoved {
            thread: self.thread,
            role: step.node.role,
            step: self.newest,
            found: format!("at `{found}`"),
        })
    }

    /// Clears the records of the steps that the head has moved over.
    fn tidy_up(&mut self) -> Result<(), EngineError> {
        self.head = self.newest;
        self.durable = std::mem::take(&mut self.added);
        self.unsynced_logs.clear();
        self.moved = Instant::now();
        Ok(self.run.outbox.clear_pending()?)
    }
}

fn is_of_full_disk(error: &EngineError) -> bool {
    match error {
        EngineError::Store(error) => error.is_of_full_disk(),
        EngineError::Storage(error) => error.is_of_full_disk(),
        _ => false,
    }
}

/// Returns the text nodes that a visit names.
fn texts_of(visit: &VisitNode) -> impl Iterator<Item = CasRef> {
    let texts = visit.logs.iter().filter_map(|log| log.text.as_ref());
    texts.filter_map(|text| text.parse().ok())
}

/// Commits the steps that an earlier process added after the head, and returns the head then.
pub(super) fn adopt(
    runner: &Runner,
    run: &RunDir,
    (thread, start, head): (ThreadId, CasRef, CasRef),
) -> Result<CasRef, EngineError> {
    let Some(pending) = run.outbox.read_pending()? else {
        return Ok(head);
    };
    let nodes = match renewed(runner, (start, head), pending.step) {
        Ok(Some(nodes)) => nodes,
        Ok(None) => {
            refuse_pending(runner, run, (thread, start), &pending)?;
            return Ok(head);
        }
        // The record survived a power cut, and the nodes did not.
        Err(EngineError::Store(error)) if is_unwritten(&error, head) => {
            run.outbox.clear_pending()?;
            return Ok(head);
        }
        Err(error) => return Err(error),
    };
    if !nodes.is_empty() {
        let advanced = State::new(&runner.site.root).advance(thread, head, pending.step)?;
        if advanced != Advance::Moved {
            return Err(crate::thread::busy(thread, None));
        }
        let message = format!("step={}", pending.step);
        runner
            .site
            .log_line(tags::ADOPTED, &message, Some(thread), None);
    }
    run.outbox.clear_pending()?;
    Ok(pending.step)
}

/// Tells whether a node after the head was not written, or not wholly. What the head itself needs may come back by a repair.
fn is_unwritten(error: &StoreError, head: CasRef) -> bool {
    match error {
        StoreError::NotFound { hash }
        | StoreError::Lost { hash }
        | StoreError::Damaged { hash, .. } => *hash != head,
        _ => false,
    }
}

/// Makes the nodes of the steps after a head durable, up to a step, and returns them; `None` if that step does not follow
/// the head. They may have been written before an error of the disk that nobody saw.
fn renewed(
    runner: &Runner,
    (start, head): (CasRef, CasRef),
    step: CasRef,
) -> Result<Option<Vec<CasRef>>, EngineError> {
    let nodes = nodes_between(runner, start, head, step)?;
    if let Some(nodes) = &nodes {
        runner.site.store.renew(nodes)?;
    }
    Ok(nodes)
}

/// Returns the nodes of the steps after a head, up to a step; `None` if that step does not follow the head.
fn nodes_between(
    runner: &Runner,
    start: CasRef,
    head: CasRef,
    step: CasRef,
) -> Result<Option<Vec<CasRef>>, EngineError> {
    let store = &runner.site.store;
    let mut nodes = Vec::new();
    for step in steps(store, step) {
        let step = step?;
        if step.hash == head {
            return Ok(Some(nodes));
        }
        let visit: VisitNode = payload(store, step.node.detail)?;
        nodes.extend([step.hash, step.node.output, step.node.detail]);
        nodes.extend(step.node.assembled_prompt);
        nodes.extend(texts_of(&visit));
        if step.node.prev.is_none() {
            return Ok((step.node.start == head && start == head).then_some(nodes));
        }
    }
    Ok(None)
}

/// Keeps a step of an earlier process that does not follow the head, and tells the person. Its nodes become durable. If one of
/// them is gone, only the record of the step is removed.
fn refuse_pending(
    runner: &Runner,
    run: &RunDir,
    (thread, start): (ThreadId, CasRef),
    pending: &Pending,
) -> Result<(), EngineError> {
    refused::log(runner, thread, pending.step);
    let found = match renewed(runner, (start, pending.head), pending.step) {
        Ok(_) => Found::Whole(None),
        Err(EngineError::Store(error))
            if refused::is_gone(&error) && is_unwritten(&error, pending.head) =>
        {
            return Ok(run.outbox.clear_pending()?);
        }
        Err(EngineError::Store(StoreError::Damaged { .. })) => Found::Unreadable,
        Err(error) => return Err(error),
    };
    Astray::of(pending).keep_and_tell(runner, run, &found)
}

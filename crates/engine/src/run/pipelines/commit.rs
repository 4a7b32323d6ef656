//! The chain of a run while a process works on it: steps are put, and the head follows.
//!
//! A step is in the chain as soon as its nodes are written and the pending record names it: it survives the end of every
//! process. The head moves for all steps of a short time at once, because making nodes durable costs more than writing them. A
//! move has the three parts of every commit, as in `run/commit.rs`. The remote of a shared run gets the steps of a move at once, and the
//! process keeps the lease.

use std::time::{Duration, Instant};

use indexmap::IndexSet;
use serde_json::Value;
use uwf_pipeline::nodes::VisitNode;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::run::Pending;
use uwf_protocol::schemas::{self, CostKind};
use uwf_remote::After;
use uwf_storage::{Advance, HistoryRecord, Reason, RunRoot, State};
use uwf_thread::read_step;

use crate::astray::Astray;
use crate::run::owned::OwnedRun;
use crate::run::refused;
use crate::run::shared::{AtRemote, NewHead, SharedThread, at_remote};
use crate::sharing::error::SharingError;
use crate::thread::active_head;
use crate::{EngineError, Runner};

/// How long steps wait for the next move of the head.
const TOGETHER: Duration = Duration::from_millis(20);

/// The chain.
pub(super) struct Chain<'a> {
    runner: &'a Runner,
    run: &'a OwnedRun,
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
    /// Whether a step can be done after the newest one.
    status: HeadStatus,
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
        (run, root): (&'a OwnedRun, &'a RunRoot),
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
            status: HeadStatus::Ready,
        }
    }

    /// Tells other machines by the next move whether a step can be done after the newest one.
    pub(super) fn leads_to(&mut self, status: HeadStatus) {
        self.status = status;
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
        let pending = self.pending(hash, now_ms);
        self.run.outbox.write_pending_volatile(&pending)?;
        let texts = prompt.into_iter().chain(texts_of(&step.detail));
        Ok(Put {
            step: hash,
            output,
            nodes: texts.chain(schema).chain([output, detail, hash]).collect(),
            completed_at_ms,
        })
    }

    /// Returns the record of a step after the head.
    fn pending(&self, step: CasRef, at_ms: i64) -> Pending {
        Pending {
            step,
            head: self.head,
            replaces: None,
            at_ms,
            answer_of: Vec::new(),
            agent: None,
        }
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

    /// Moves the head to the newest step, if it was not moved for a while. The last move of a shared run comes with its end: other
    /// machines see both at once.
    pub(super) fn move_if_due(&mut self) -> Result<Moved, EngineError> {
        let is_at_end = self.run.shared.is_some() && self.status == HeadStatus::Ended;
        match is_at_end || self.moved.elapsed() < TOGETHER {
            true => Ok(Moved::Yes),
            false => self.move_head(),
        }
    }

    /// Does the same while a program runs. The head of a shared run was [moved before](Self::move_before_program): a remote that gives no
    /// answer must not keep the process from looking after its program.
    pub(super) fn move_meanwhile(&mut self) -> Result<Moved, EngineError> {
        match self.run.shared {
            Some(_) => Ok(Moved::Yes),
            None => self.move_if_due(),
        }
    }

    /// Moves the head of a shared run, because a program is about to start: it may work for hours, and other machines know the steps
    /// before it.
    pub(super) fn move_before_program(&mut self) -> Result<Moved, EngineError> {
        match self.run.shared {
            Some(_) => self.move_head(),
            None => Ok(Moved::Yes),
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
        if let Some(shared) = &self.run.shared
            && self.share(shared, ended.is_some())? == Moved::Ended
        {
            return Ok(Moved::Ended);
        }
        let moved = self.advance(ended)?;
        if moved == Moved::Yes {
            self.tidy_up()?;
        }
        Ok(moved)
    }

    /// Moves the head at the remote to the newest step. If the remote does not answer, or the lease is lost, the steps stay on record.
    /// The next process shares them, unless another machine has gone on.
    fn share(&self, shared: &SharedThread, is_end: bool) -> Result<Moved, EngineError> {
        let site = &self.runner.site;
        match active_head(site, self.thread) {
            // A person has ended the run, and tells the remote so.
            Err(EngineError::Ended { .. }) => return Ok(Moved::Ended),
            head => head?,
        };
        if self.head != self.newest {
            let pending = self.pending(self.newest, site.env.now_ms());
            self.run.outbox.write_pending(&pending)?;
        }
        let (status, lease) = match (is_end, self.status) {
            (true, _) => (HeadStatus::Ended, After::GiveBack),
            (false, status) => (before_end(status), After::Keep),
        };
        let new = NewHead {
            from: self.head,
            to: self.newest,
            status,
            lease,
        };
        match shared.advance(site, self.run, &new)? {
            AtRemote::Moved => Ok(Moved::Yes),
            AtRemote::Elsewhere {
                has_ended: true, ..
            }
            | AtRemote::LeaseLost => Err(SharingError::TakenOver(self.thread).into()),
            AtRemote::Elsewhere { head, .. } => self.lose_race(at_remote(head)),
        }
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
            Advance::HeadIs(head) => self.lose_race(format!("at `{head}`")),
        }
    }

    /// Keeps the steps after the head that the thread had: it has another one now. The newest step leads to all of them.
    fn lose_race(&self, found: String) -> Result<Moved, EngineError> {
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
            found,
            has_ended: false,
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

/// Returns the status that a move tells other machines. A run at its end is told as ready until it has ended here, so that some process
/// ends it.
pub(super) fn before_end(status: HeadStatus) -> HeadStatus {
    match status {
        HeadStatus::Ended => HeadStatus::Ready,
        HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked => status,
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
pub(super) fn texts_of(visit: &VisitNode) -> impl Iterator<Item = CasRef> {
    let texts = visit.logs.iter().filter_map(|log| log.text.as_ref());
    texts.filter_map(|text| text.parse().ok())
}

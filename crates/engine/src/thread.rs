//! A thread in memory: its head, its start, its workflow, and as many steps as routing needs.

use uwf_cas_fs::Store;
use uwf_moderator::{HistoryNeed, Route, RouteError, history_need};
use uwf_process::{Signals, is_alive};
use uwf_protocol::chain::{ChainSummary, StepContext};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::run::LeaseRecord;
use uwf_protocol::workflow::Workflow;
use uwf_storage::{Ledger, Located, State};
use uwf_thread::{
    Head, read_program, read_start, steps_with_outputs, summarize, used_up_to, with_output,
};

use crate::children::parent_of;
use crate::conditions::Conditions;
use crate::pipelines::error::PipelineError;
use crate::pipelines::route::route_of;
use crate::unfound::Unfound;
use crate::{EngineError, Site};

/// A thread that a call is about, and the head at which the caller saw it, if that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadAt {
    /// The thread.
    pub id: ThreadId,
    /// The call does nothing if the thread has another head.
    pub head: Option<CasRef>,
}

impl From<ThreadId> for ThreadAt {
    fn from(id: ThreadId) -> Self {
        Self { id, head: None }
    }
}

impl ThreadAt {
    /// Refuses a head at which the caller did not see the thread.
    pub(crate) fn refuse_other(self, head: CasRef) -> Result<(), EngineError> {
        match self.head {
            Some(seen) if seen != head => Err(EngineError::OtherHead {
                thread: self.id,
                seen,
                head,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// A thread at a head.
pub(crate) struct Thread {
    pub(crate) id: ThreadId,
    pub(crate) head: CasRef,
    /// The step after the head that is being done again, if one is. In the state files it still is the thread's head.
    pub(crate) replaces: Option<CasRef>,
    pub(crate) start_hash: CasRef,
    /// Its start, with a parent only if the thread is a child.
    pub(crate) start: StartNode,
    pub(crate) program: Program,
    /// Where its nodes are. Where a run of a pipeline stands follows from all its steps, which are read when it is asked.
    pub(crate) store: Store,
    /// The newest step, or every step where routing looks at all of them; oldest first.
    pub(crate) steps: Vec<StepContext>,
}

impl Thread {
    /// Tells whether it is a run of a pipeline.
    pub(crate) fn is_run(&self) -> bool {
        matches!(self.program, Program::Pipeline(_))
    }

    /// Reads the thread at a head.
    pub(crate) fn load(store: &Store, id: ThreadId, head: CasRef) -> Result<Self, EngineError> {
        let (start, last) = match Head::read(store, head)? {
            Head::Start(start) => (start, None),
            Head::Step(step) => {
                let start = read_start(store, step.node.start)?;
                (start, Some(with_output(store, step)?))
            }
        };
        let parent = parent_of(id, &start.node).cloned();
        let program = read_program(store, start.node.workflow)?;
        let need = history_need(&program, last.as_ref().map(|step| &step.node.role));
        let steps = match need {
            HistoryNeed::All => steps_with_outputs(store, head)?,
            HistoryNeed::LastStep => last.into_iter().collect(),
        };
        Ok(Self {
            id,
            head,
            replaces: None,
            start_hash: start.hash,
            start: StartNode {
                parent,
                ..start.node
            },
            program,
            store: store.clone(),
            steps,
        })
    }

    /// Returns the thread before its newest step, which is to be done again, and that step; `None` if there is no step.
    pub(crate) fn without_last(
        mut self,
        store: &Store,
    ) -> Result<Option<(Self, StepContext)>, EngineError> {
        let Some(last) = self.steps.pop() else {
            return Ok(None);
        };
        let head = last.node.prev.unwrap_or(self.start_hash);
        let before = Self {
            replaces: Some(last.hash),
            ..Self::load(store, self.id, head)?
        };
        Ok(Some((before, last)))
    }

    /// Returns the head that the state files must have for a step to be committed.
    pub(crate) fn expected_head(&self) -> CasRef {
        self.replaces.unwrap_or(self.head)
    }

    /// Returns the newest step, if there is one.
    pub(crate) fn last(&self) -> Option<&StepContext> {
        self.steps.last()
    }

    /// Returns what the step after the head must name as its predecessor.
    pub(crate) fn prev_of_next(&self) -> Option<CasRef> {
        self.last().map(|step| step.hash)
    }

    /// Returns the summary of the chain, and records it for the agent.
    ///
    /// Steps that the recorded summary covers are not read again. Only a chain that grew without it, such as a fork's, is
    /// walked.
    pub(crate) fn summary(
        &self,
        store: &Store,
        ledger: &Ledger,
    ) -> Result<ChainSummary, EngineError> {
        recorded_summary(store, ledger, self.head)
    }

    /// Returns the route from the head. The inner error means that the thread is blocked.
    ///
    /// # Errors
    /// When a signal told us to stop, or the conditions cannot be evaluated now.
    pub(crate) fn route(
        &self,
        signals: Option<&Signals>,
    ) -> Result<Result<Route, RouteError>, EngineError> {
        match &self.program {
            Program::Graph(workflow) => {
                let mut conditions = Conditions::of_one_thread(signals);
                conditions.route(workflow, &self.start, &self.steps)
            }
            Program::Pipeline(_) => route_of(&self.store, self.id, self.head),
        }
    }

    /// Returns the thread with this step as its head.
    pub(crate) fn followed_by(
        mut self,
        step: StepContext,
        store: &Store,
    ) -> Result<Self, EngineError> {
        let need = history_need(&self.program, Some(&step.node.role));
        let complete = matches!(
            history_need(&self.program, self.last().map(|last| &last.node.role)),
            HistoryNeed::All
        ) || self.last().is_none();
        match need {
            HistoryNeed::LastStep => self.steps.clear(),
            HistoryNeed::All if complete => {}
            HistoryNeed::All => self.steps = steps_with_outputs(store, self.head)?,
        }
        self.head = step.hash;
        self.replaces = None;
        self.steps.push(step);
        Ok(self)
    }
}

/// Records how many steps a thread has, and what they used up. A list tells that of an ended thread only if it is on record. So if it
/// cannot be read, the list leaves it out.
pub(crate) fn record_sums(site: &Site, thread: ThreadId, head: CasRef) {
    let ledger = site.root.run(thread).ledger;
    let _ = recorded_summary(&site.store, &ledger, head);
    record_usage(&site.store, &ledger, head);
}

/// Records what the steps up to the head used up, so that a list need not read them. Only the new step is read, unless the record is of
/// another chain. The record is a cache, so errors are ignored.
pub(crate) fn record_usage(store: &Store, ledger: &Ledger, head: CasRef) {
    if let Ok(usage) = used_up_to(store, ledger.chain_usage().as_ref(), head) {
        let _ = ledger.write_chain_usage(&usage);
    }
}

/// Returns the summary of the chain up to a head, and records it.
fn recorded_summary(
    store: &Store,
    ledger: &Ledger,
    head: CasRef,
) -> Result<ChainSummary, EngineError> {
    let recorded = ledger.chain_summary();
    let summary = summarize(store, recorded.as_ref(), head)?;
    if recorded.is_none_or(|recorded| recorded.head != head) {
        ledger.write_chain_summary(&summary)?;
    }
    Ok(summary)
}

/// Returns the graph of a thread.
///
/// # Errors
/// When the thread is a run of a pipeline.
pub(crate) fn graph_of(thread: &Thread) -> Result<&Workflow, EngineError> {
    let graph = thread.program.as_graph();
    graph.ok_or_else(|| PipelineError::IsRun(thread.id).into())
}

/// Finds the thread among the active ones, then in the history.
pub(crate) fn find(site: &Site, id: ThreadId) -> Result<Located, EngineError> {
    let state = State::new(&site.root);
    if let Some(place) = state.find(id)? {
        return Ok(place);
    }
    Err(match state.removed(id)? {
        Some(removed) => EngineError::Removed(Box::new(Unfound::new(site, removed))),
        None => EngineError::UnknownThread(Unfound::new(site, id)),
    })
}

/// Returns the error of a thread that another process works on, with that process's lease record if it is known.
pub(crate) fn busy(id: ThreadId, lease: Option<LeaseRecord>) -> EngineError {
    EngineError::Busy {
        thread: id,
        orphaned: lease.as_ref().is_some_and(|it| !is_alive(&it.engine)),
        lease: lease.map(Box::new),
    }
}

/// Returns the head of an active thread; an ended or unknown thread is an error that says which.
pub(crate) fn active_head(site: &Site, id: ThreadId) -> Result<CasRef, EngineError> {
    match find(site, id)? {
        Located::Active(head) => Ok(head),
        Located::Archived(record) => Err(EngineError::Ended {
            thread: id,
            reason: record.reason,
        }),
    }
}

//! The chain of a run: its steps become events, and the events are folded into a course.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use uwf_cas_fs::Store;
use uwf_moderator::RouteError;
use uwf_pipeline::course::{FromRun, Visit};
use uwf_pipeline::nodes::{self, ARCHIVE_KEY, ArchiveNode, RESUME_KEY, ResumeNode, RunNode};
use uwf_pipeline::{Course, Event, Pipeline};
use uwf_protocol::ids::{CasRef, IdError, ThreadId};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_thread::{Head, Stored, read_program, read_start, read_step, steps};

use super::error::PipelineError;
use crate::EngineError;

/// A run up to a head.
pub(crate) struct RunChain {
    pub(crate) head: CasRef,
    pub(crate) start_hash: CasRef,
    pub(crate) start: StartNode,
    pub(crate) run: RunNode,
    /// The pipeline of the start. The course knows the current one.
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) course: Course,
    /// How many steps there are.
    pub(crate) steps: u64,
}

/// A step of a run, as it is added to the course.
pub(crate) struct Seen<'a> {
    pub(crate) step: &'a Stored<StepNode>,
    pub(crate) event: &'a Event,
    /// The course with the step.
    pub(crate) course: &'a Course,
}

/// A run whose start was read, and whose steps are known but not folded.
pub(crate) struct Opened {
    chain: RunChain,
    newest_first: Vec<CasRef>,
    accepted: Vec<Arc<Pipeline>>,
    checksum: String,
}

/// Reads a run up to a head. `see` gets each step, the oldest first.
///
/// # Errors
/// When a node cannot be read, the thread is no run, or its steps do not fit its pipeline.
pub(crate) fn read(
    store: &Store,
    (thread, head): (ThreadId, CasRef),
    see: &mut dyn FnMut(&Seen<'_>) -> Result<(), EngineError>,
) -> Result<RunChain, EngineError> {
    open(store, (thread, head))?.fold(store, thread, see)
}

/// Opens a run at a head.
///
/// # Errors
/// When a node cannot be read, or the thread is no run.
pub(crate) fn open(
    store: &Store,
    (thread, head): (ThreadId, CasRef),
) -> Result<Opened, EngineError> {
    let chain = begun_at(store, (thread, head))?;
    let mut accepted = Vec::new();
    let mut checksum = None;
    // Only the hashes are kept: a run may have very many steps.
    let mut newest_first = Vec::new();
    for step in steps(store, head) {
        let step = step?;
        if step.node.role.as_str() == RESUME_KEY
            && let Some(other) = resume_of(store, &step.node)?.accepted
        {
            accepted.push(pipeline(store, &other.pipeline)?);
            // The newest comes first.
            checksum.get_or_insert(other.new_checksum);
        }
        newest_first.push(step.hash);
    }
    Ok(Opened {
        checksum: checksum.unwrap_or_else(|| chain.run.workflow_checksum.clone()),
        chain,
        newest_first,
        accepted,
    })
}

impl Opened {
    /// Returns the run before its first step.
    pub(crate) fn begun(&self) -> &RunChain {
        &self.chain
    }

    /// Returns the newest checksum of the workflow file that a person accepted.
    pub(crate) fn checksum(&self) -> String {
        self.checksum.clone()
    }

    /// Returns every pipeline that the chain names.
    pub(crate) fn pipelines(&self) -> impl Iterator<Item = &Arc<Pipeline>> {
        std::iter::once(&self.chain.pipeline).chain(&self.accepted)
    }

    /// Returns the pipeline that the run follows now.
    pub(crate) fn newest_pipeline(&self) -> &Pipeline {
        self.accepted.first().unwrap_or(&self.chain.pipeline)
    }

    /// Folds the steps. `see` gets each one, the oldest first.
    ///
    /// # Errors
    /// When a node cannot be read, or the steps do not fit the pipeline.
    pub(crate) fn fold(
        self,
        store: &Store,
        thread: ThreadId,
        see: &mut dyn FnMut(&Seen<'_>) -> Result<(), EngineError>,
    ) -> Result<RunChain, EngineError> {
        let mut chain = self.chain;
        for hash in self.newest_first.into_iter().rev() {
            let step = read_step(store, hash)?;
            let event = event_of(store, &step.node)?;
            let pushed = chain.course.push(event.clone());
            pushed.map_err(|misfit| blocked(thread, misfit.to_string()))?;
            chain.head = hash;
            chain.steps += 1;
            see(&Seen {
                step: &step,
                event: &event,
                course: &chain.course,
            })?;
        }
        Ok(chain)
    }
}

/// Returns the run at a head before its first step. No step but the newest is read.
///
/// # Errors
/// When a node cannot be read, or the thread is no run.
pub(crate) fn begun_at(
    store: &Store,
    (thread, head): (ThreadId, CasRef),
) -> Result<RunChain, EngineError> {
    let start = Head::read(store, head)?.start();
    let start = read_start(store, start)?;
    begin(store, thread, start.hash, start.node)
}

/// Returns the run before its first step.
fn begin(
    store: &Store,
    thread: ThreadId,
    start_hash: CasRef,
    start: StartNode,
) -> Result<RunChain, EngineError> {
    let program = read_program(store, start.workflow)?;
    let (Program::Pipeline(pipeline), Some(run)) = (program, start.run) else {
        return Err(PipelineError::NoRun(thread).into());
    };
    let run: RunNode = payload(store, run)?;
    let mut of_run = run.start();
    of_run.from_run = match run.only.as_ref().and_then(|only| only.from.as_deref()) {
        Some(from) => Some(left_by(store, thread, from)?),
        None => None,
    };
    // A fork is another run: its variables name its own id.
    let id = id_of(&run, thread);
    of_run.facts.root = format!("{}/{id}", run.state_dir);
    of_run.facts.id = id;
    let course = Course::begin(Arc::clone(&pipeline), Arc::new(of_run));
    Ok(RunChain {
        head: start_hash,
        start_hash,
        start,
        run,
        pipeline,
        course,
        steps: 0,
    })
}

/// Tells whether a head is that of a run of a pipeline.
///
/// # Errors
/// When a node cannot be read.
pub(crate) fn is_run(store: &Store, head: CasRef) -> Result<bool, EngineError> {
    let start = match Head::read(store, head)? {
        Head::Start(start) => start.node,
        Head::Step(step) => read_start(store, step.node.start)?.node,
    };
    Ok(start.run.is_some())
}

/// Returns the id of the run that a thread is. A fork has one of its own.
pub(crate) fn id_of(run: &RunNode, thread: ThreadId) -> String {
    if run.thread == thread.as_str() {
        return run.run_id.clone();
    }
    uwf_pipeline::run_id(&run.timestamp_utc, thread.as_str())
}

/// Returns what another run has left at a head.
fn left_by(store: &Store, thread: ThreadId, head: &str) -> Result<FromRun, EngineError> {
    let head = head
        .parse()
        .map_err(|_| blocked(thread, format!("`{head}` is no head")))?;
    Ok(read(store, (thread, head), &mut |_| Ok(()))?.course.left())
}

/// Returns what a step of the chain tells.
pub(crate) fn event_of(store: &Store, step: &StepNode) -> Result<Event, EngineError> {
    match step.role.as_str() {
        RESUME_KEY => {
            let resume = resume_of(store, step)?;
            let accepted = match &resume.accepted {
                Some(accepted) => Some(pipeline(store, &accepted.pipeline)?),
                None => None,
            };
            Ok(resume.event(accepted))
        }
        ARCHIVE_KEY => Ok(payload::<ArchiveNode>(store, step.output)?.event()),
        key => {
            let malformed = |problem| malformed(step.output, problem);
            let result = nodes::result_of_payload(store.need(step.output)?.payload);
            Ok(Event::Visit(Box::new(Visit {
                key: key.parse().map_err(|error| malformed(format!("{error}")))?,
                result: result.map_err(|error| malformed(error.to_string()))?,
                duration_ms: step.duration_ms().unwrap_or_default(),
            })))
        }
    }
}

fn resume_of(store: &Store, step: &StepNode) -> Result<ResumeNode, EngineError> {
    payload(store, step.output)
}

pub(crate) fn pipeline(store: &Store, hash: &str) -> Result<Arc<Pipeline>, EngineError> {
    let damaged = |error: IdError| malformed(schemas::PIPELINE, error.to_string());
    let hash: CasRef = hash.parse().map_err(damaged)?;
    match read_program(store, hash)? {
        Program::Pipeline(pipeline) => Ok(pipeline),
        Program::Graph(_) => Err(malformed(hash, "it is no pipeline".to_owned())),
    }
}

/// Reads the payload of a node that only runs have.
pub(crate) fn payload<T: DeserializeOwned>(store: &Store, hash: CasRef) -> Result<T, EngineError> {
    let node = store.need(hash)?;
    serde_json::from_value(node.payload).map_err(|error| malformed(hash, error.to_string()))
}

fn malformed(hash: CasRef, problem: String) -> EngineError {
    PipelineError::Malformed { hash, problem }.into()
}

pub(crate) fn blocked(thread: ThreadId, problem: String) -> EngineError {
    EngineError::Blocked {
        thread,
        source: RouteError::Misfit(problem),
    }
}

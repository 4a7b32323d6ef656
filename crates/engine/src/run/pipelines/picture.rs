//! The picture of a run, `state.json`: when it is written, and what stands in it beside the steps.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use uwf_pipeline::course::{Course, StepKey, Visit};
use uwf_pipeline::nodes::{RunNode, VisitNode};
use uwf_pipeline::state::{
    AttemptFacts, CurrentStep, ExecutorSession, Moment, RecordFacts, RunRecord, RunStatus, State,
};
use uwf_pipeline::{ErrorKind, Failure, Masks, StepError, StepResult, timestamp_iso};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Env, RunRoot};
use uwf_util::time::format_iso;

use super::Backups;
use crate::EngineError;

/// The shortest time between two writings that nothing asks for.
const LEAST: Duration = Duration::from_millis(200);
/// Writing takes at most this part of the time: one twentieth.
const SHARE: u32 = 20;
/// How many pictures before the newest one are kept.
const MOST_BACKUPS: usize = 3;

/// The picture of a run.
pub(super) struct Picture<'a> {
    state: State<'a>,
    env: &'a Env,
    root: &'a RunRoot,
    backups: Backups,
    sessions: Vec<ExecutorSession>,
    current: Option<CurrentStep>,
    head: CasRef,
    written: Instant,
    cost: Duration,
}

/// What a step adds to the picture.
pub(super) struct SettledVisit<'v> {
    pub(super) visit: &'v Visit,
    pub(super) detail: &'v VisitNode,
    pub(super) started_at_ms: i64,
    pub(super) completed_at_ms: i64,
    pub(super) output: CasRef,
}

impl<'a> Picture<'a> {
    /// Returns the picture of a run without steps. `checksum` is that of the workflow file now.
    pub(super) fn new(
        env: &'a Env,
        root: &'a RunRoot,
        masks: &'a Masks,
        (thread, id, run): (ThreadId, &str, &RunNode),
        checksum: &str,
        head: CasRef,
    ) -> Self {
        let started_at = timestamp_iso(&run.timestamp_utc);
        let record = RunRecord {
            run_id: id.to_owned(),
            thread: thread.as_str().to_owned(),
            workflow_file: run.workflow_file.clone(),
            workflow_checksum: checksum.to_owned(),
            started_at,
            context: run.context.clone(),
        };
        Self {
            state: State::new(&record, masks),
            env,
            root,
            backups: Backups::None,
            sessions: earlier_sessions(root),
            current: None,
            head,
            written: Instant::now(),
            cost: Duration::ZERO,
        }
    }

    /// Notes that this process works on the run from now on.
    pub(super) fn begin(&mut self, entry: &str, backups: Backups) {
        self.backups = backups;
        self.sessions.push(ExecutorSession {
            pid: self.env.process_id(),
            entry: entry.to_owned(),
            started_at: format_iso(self.env.now_ms()),
            ended_at: None,
        });
    }

    /// Keeps the picture before a step, if the caller wants that.
    pub(super) fn back_up(&self, step: &str, course: &Course) -> Result<(), EngineError> {
        match self.backups {
            Backups::None => Ok(()),
            Backups::LastThree => {
                let moment = self.moment(RunStatus::Running, None);
                let write = |out: &mut dyn FnMut(&str) -> io::Result<()>| {
                    self.state.write(&moment, course, out)
                };
                Ok(self.root.back_up_state(step, &write, MOST_BACKUPS)?)
            }
        }
    }

    /// Shows that a step runs.
    pub(super) fn started(
        &mut self,
        key: &StepKey,
        current: CurrentStep,
        now_ms: i64,
        course: &Course,
    ) {
        let facts = AttemptFacts {
            started_at_ms: now_ms,
            attempt: current.attempt,
        };
        self.state.started(key, &facts, course);
        self.current = Some(current);
    }

    /// Shows the number of the process that runs.
    pub(super) fn runs(&mut self, pid: u32) {
        if let Some(current) = &mut self.current {
            current.pid = Some(pid);
        }
    }

    /// Shows what came of a step, which the course has already.
    pub(super) fn settled(&mut self, settled: &SettledVisit<'_>, head: CasRef, course: &Course) {
        let name = settled.visit.key.step_name();
        let visits = course.step_visits();
        let of_pipeline = visits.iter().find(|(step, _)| Some(*step) == name);
        let visit_count = match settled.visit.key.depth() {
            0 => of_pipeline.map_or(0, |(_, visits)| *visits),
            _ => settled.detail.visit,
        };
        let facts = RecordFacts {
            started_at_ms: settled.started_at_ms,
            completed_at_ms: settled.completed_at_ms,
            attempts: settled.detail.attempts.len() as u64,
            visit_count,
            debug: debug_of(settled.detail),
            output_ref: Some(settled.output.as_str().to_owned()),
        };
        self.state.settled(settled.visit, &facts, course);
        self.current = None;
        self.head = head;
    }

    /// Shows that the run goes on under a workflow file with this checksum.
    pub(super) fn accepted(&mut self, checksum: &str) {
        self.state.accepted(checksum);
    }

    /// Shows the head after a step that is none of the pipeline.
    pub(super) fn moved(&mut self, head: CasRef) {
        self.head = head;
    }

    /// Writes the picture if it was not written for a while.
    pub(super) fn write_if_due(&mut self, course: &Course) -> Result<(), EngineError> {
        if self.written.elapsed() < LEAST.max(self.cost * SHARE) {
            return Ok(());
        }
        self.write(course)
    }

    /// Writes the picture of a run that goes on.
    pub(super) fn write(&mut self, course: &Course) -> Result<(), EngineError> {
        let began = Instant::now();
        let moment = self.moment(RunStatus::Running, None);
        self.root
            .write_state(&|out| self.state.write(&moment, course, out))?;
        self.written = Instant::now();
        self.cost = began.elapsed();
        Ok(())
    }

    /// Writes the picture durably, if there is none. A run with steps has one, also if this process is killed when it has just
    /// recorded a resume.
    pub(super) fn write_if_missing(&mut self, course: &Course) -> Result<(), EngineError> {
        match self.root.read_state()? {
            Some(_) => Ok(()),
            None => self.write_durably(course, RunStatus::Running, None),
        }
    }

    /// Writes the picture durably. `end` tells how the work of this process ended.
    pub(super) fn write_durably(
        &mut self,
        course: &Course,
        status: RunStatus,
        error: Option<StepError>,
    ) -> Result<(), EngineError> {
        if status != RunStatus::Running
            && let Some(session) = self.sessions.last_mut()
        {
            session.ended_at = Some(format_iso(self.env.now_ms()));
        }
        let moment = self.moment(status, error);
        let write =
            |out: &mut dyn FnMut(&str) -> io::Result<()>| self.state.write(&moment, course, out);
        Ok(self.root.write_state_durably(&write)?)
    }

    fn moment(&self, status: RunStatus, error: Option<StepError>) -> Moment {
        Moment {
            head: Some(self.head.as_str().to_owned()),
            updated_at: format_iso(self.env.now_ms()),
            status,
            current_step: self.current.clone(),
            error,
            executor_sessions: self.sessions.clone(),
        }
    }
}

/// Returns the error of a run that a person ended.
pub(super) fn cancelled() -> StepError {
    error_of(Failure::new(ErrorKind::Cancelled, "the run was ended"))
}

/// Returns the error of a run that does not go on because of this.
pub(super) fn error_of(failure: Failure) -> StepError {
    let result = StepResult::failed(1, failure);
    result.error.expect("a failed result has its error")
}

/// Returns the sessions that the last picture shows. Nothing but the picture has them.
fn earlier_sessions(root: &RunRoot) -> Vec<ExecutorSession> {
    let text = root.read_state().ok().flatten().unwrap_or_default();
    let picture: Option<Value> = serde_json::from_slice(&text).ok();
    let sessions =
        picture.and_then(|mut picture| picture.get_mut("executor_sessions").map(Value::take));
    sessions
        .and_then(|sessions| serde_json::from_value(sessions).ok())
        .unwrap_or_default()
}

fn debug_of(detail: &VisitNode) -> Map<String, Value> {
    let mut debug = match json!(detail.debug) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    if !detail.argv.is_empty() {
        debug.insert("command".to_owned(), json!(detail.argv));
    }
    if let Some(child) = detail
        .played
        .iter()
        .flat_map(|played| &played.children)
        .next()
    {
        debug.insert("thread".to_owned(), json!(child.thread));
    }
    debug
}

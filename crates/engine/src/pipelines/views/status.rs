//! Where a run stands.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use uwf_pipeline::course::StepKey;
use uwf_pipeline::{Course, Event, Looped, Masks, Route, StepError, StepStatus};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::run::LeaseRecord;
use uwf_util::time::format_iso;

use super::entry::masked_error;
use super::summary::{RunSummary, summary_of};
use super::{Found, RunPhase, found};
use crate::attempt::describe;
use crate::pipelines::chain::{self, RunChain};
use crate::pipelines::folder::root_of;
use crate::pipelines::loop_times::LoopTimes;
use crate::pipelines::route::in_general;
use crate::pipelines::secrets::masks;
use crate::read::child_view::child_of_run;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::{EngineError, Site};

/// Where a run stands.
#[derive(Debug, Clone, Serialize)]
pub struct RunStatusView {
    /// What a list shows of it.
    #[serde(flatten)]
    pub run: RunSummary,
    /// The exit code of the run, if it is completed or has failed.
    pub exit_code: Option<i64>,
    /// Why it has failed.
    pub error: Option<StepError>,
    /// The steps that failed while the run went on.
    pub failed_steps: Vec<String>,
    /// The step that is being done.
    pub current_step: Option<CurrentView>,
    /// The step that the run goes on with, if it was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The steps of the pipeline, in its order.
    pub steps: Vec<StepLine>,
    /// The loops whose items are being done, the outermost first.
    pub loops: Vec<LoopLine>,
    /// How many transitions were made.
    pub transition_count: u64,
    /// How many steps the chain has.
    pub chain_steps: u64,
    /// Whether a person has paused it.
    pub paused: bool,
    /// The programs of the run that still work although nobody works on the run: its engine was killed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<String>,
    /// The child thread that does the next step, if it cannot go on for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<HeldChild>,
    /// The picture of the run. It may be gone.
    pub state_file: PathBuf,
}

/// A child thread that cannot go on before somebody does something.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct HeldChild {
    pub thread: ThreadId,
    pub status: ThreadStatus,
    /// Its question, or what else holds it.
    pub message: Option<String>,
    #[serde(skip)]
    pub state: ThreadState,
}

/// The step that is being done.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "the names are those in state.json, and say it")]
pub struct CurrentView {
    pub key: String,
    pub attempt: u64,
    pub pid: Option<u32>,
    pub started_at: String,
}

/// A step of the pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct StepLine {
    /// Its name.
    pub name: String,
    /// How its newest visit ended, or `running`, `pending`, or `interrupted` for a loop with open items.
    pub status: &'static str,
    /// The exit code of its newest visit.
    pub exit_code: Option<i64>,
    /// How long its newest visit took, in milliseconds; of a loop, from its first item to its end.
    pub duration_ms: Option<u64>,
    /// How many visits have settled. The newest one has this number in the report and the logs.
    pub visits: u64,
    /// What came of the items of its newest visit, if it is a loop.
    pub items: Option<Looped>,
}

/// A loop whose items are being done.
#[derive(Debug, Clone, Serialize)]
pub struct LoopLine {
    /// The key of its step.
    pub key: String,
    /// The number of the current item, from 0.
    pub index: usize,
    /// How many items there are.
    pub total: usize,
    /// How many items have failed.
    pub failed: u64,
}

/// The newest result of a step of the pipeline.
struct Newest {
    status: StepStatus,
    exit_code: i64,
    duration_ms: u64,
    /// How many visits there are with this one.
    visits: u64,
    items: Option<Looped>,
}

/// Returns where a run stands.
///
/// # Errors
/// When the thread is unknown or no run, or a node cannot be read.
pub fn run_status(site: &Site, thread: ThreadId) -> Result<RunStatusView, EngineError> {
    status_at(site, &found(site, thread)?)
}

/// Returns where a run stands that was found.
pub(super) fn status_at(site: &Site, found: &Found) -> Result<RunStatusView, EngineError> {
    let thread = found.thread;
    let opened = chain::open(&site.store, (thread, found.newest))?;
    let masks = masks(&opened, None, site.env.variables());
    let mut newest = HashMap::new();
    let mut loops = LoopTimes::default();
    let chain = opened.fold(&site.store, thread, &mut |seen| {
        note(seen.event, loops.seen(seen), &mut newest);
        Ok(())
    })?;
    status_of(site, found, &chain, &masks, &newest)
}

/// Keeps the result of a step of the pipeline, and how long it took.
fn note(event: &Event, took_ms: u64, newest: &mut HashMap<String, Newest>) {
    let Event::Visit(visit) = event else {
        return;
    };
    let (0, Some(name)) = (visit.key.depth(), visit.key.step_name()) else {
        return;
    };
    let result = &visit.result;
    let of_visit = Newest {
        status: result.status,
        exit_code: result.exit_code,
        duration_ms: took_ms,
        visits: newest.get(name).map_or(0, |before| before.visits) + 1,
        items: result.looped,
    };
    newest.insert(name.to_owned(), of_visit);
}

fn status_of(
    site: &Site,
    found: &Found,
    chain: &RunChain,
    masks: &Masks,
    newest: &HashMap<String, Newest>,
) -> Result<RunStatusView, EngineError> {
    let run = summary_of(site, found, chain)?;
    let (exit_code, failed_steps, error) = end_of(run.status, &chain.course.next());
    let lease = found.lease.as_ref();
    let loops = chain.course.open_loops().into_iter().map(|open| LoopLine {
        key: open.key.to_string(),
        index: open.index,
        total: open.items.len(),
        failed: open.failed,
    });
    let next = chain.course.next();
    let next_step = match (run.status, in_general(&next)) {
        (RunPhase::Interrupted, Ok(uwf_moderator::Route::To(next))) => {
            Some(next.role.as_str().to_owned())
        }
        _ => None,
    };
    let child = match run.status {
        RunPhase::Interrupted => held_child(site, found, chain, &next, masks)?,
        _ => None,
    };
    Ok(RunStatusView {
        paused: site.root.run(found.thread).pause.read()?.is_some(),
        child,
        left_running: describe(&run.programs, || site.secrets_in_output().and(masks)),
        exit_code,
        error: error.map(|error| masked_error(&error, masks)),
        failed_steps,
        current_step: lease.map(current),
        next_step,
        steps: steps_of(&chain.course, newest, &run, lease),
        loops: loops.collect(),
        transition_count: chain.course.transition_count(),
        chain_steps: chain.steps,
        state_file: root_of(chain.start.cwd.as_deref(), &chain.run, found.thread).state_file(),
        run,
    })
}

/// Returns the child of the next step, if it cannot go on for now.
fn held_child(
    site: &Site,
    found: &Found,
    chain: &RunChain,
    next: &Route,
    masks: &Masks,
) -> Result<Option<HeldChild>, EngineError> {
    let Ok(uwf_moderator::Route::To(next)) = in_general(next) else {
        return Ok(None);
    };
    let at = (found.thread, found.newest);
    let child = child_of_run(site, at, chain.course.pipeline(), &next.role)?;
    let held = child.filter(|(_, state)| state.holds_parent());
    Ok(held.map(|(thread, state)| HeldChild {
        thread,
        status: state.status,
        message: state.why().map(|why| masks.text(&why)),
        state,
    }))
}

/// Returns the exit code of a run that has stopped by itself, its failed steps, and why it has failed.
fn end_of(phase: RunPhase, next: &Route) -> (Option<i64>, Vec<String>, Option<StepError>) {
    match (phase, next) {
        (RunPhase::Completed, Route::End(outcome)) => {
            (Some(outcome.exit_code), outcome.failed_steps.clone(), None)
        }
        (RunPhase::Failed, Route::Suspend(stop)) => {
            let failed = vec![stop.key.to_string()];
            (Some(stop.exit_code()), failed, stop.result.error.clone())
        }
        _ => (None, Vec::new(), None),
    }
}

fn current(lease: &LeaseRecord) -> CurrentView {
    CurrentView {
        key: lease.role.as_str().to_owned(),
        attempt: lease.number.unwrap_or(1),
        pid: lease.agent.as_ref().map(|agent| agent.pid),
        started_at: format_iso(lease.started_at_ms),
    }
}

/// Returns the steps of the pipeline. One in which the run is, or has stopped, is told from the others.
fn steps_of(
    course: &Course,
    newest: &HashMap<String, Newest>,
    run: &RunSummary,
    lease: Option<&LeaseRecord>,
) -> Vec<StepLine> {
    let key = lease.map(|lease| lease.role.as_str().to_owned());
    let open = course.open_loops().first().map(|open| open.key.to_string());
    let at = key.or(open).and_then(|key| top_of(&key));
    let of_open = match run.status {
        RunPhase::Running => "running",
        RunPhase::Failed => "failed",
        RunPhase::Interrupted | RunPhase::Completed | RunPhase::Cancelled => "interrupted",
    };
    let line = |name: &String| {
        let is_open = at.as_ref() == Some(name);
        let last = newest.get(name);
        let settled = last.filter(|_| !is_open);
        StepLine {
            name: name.clone(),
            status: match settled {
                _ if is_open => of_open,
                Some(last) => last.status.as_str(),
                None => "pending",
            },
            exit_code: settled.map(|last| last.exit_code),
            duration_ms: settled.map(|last| last.duration_ms),
            visits: last.map_or(0, |last| last.visits),
            items: settled.and_then(|last| last.items),
        }
    };
    let names = course.pipeline().steps.iter().map(|step| &step.name);
    names.map(line).collect()
}

/// Returns the step of the pipeline that a key is or is within.
fn top_of(key: &str) -> Option<String> {
    let key: StepKey = key.parse().ok()?;
    match key.items().first() {
        Some((name, _)) => Some(name.clone()),
        None => key.step_name().map(str::to_owned),
    }
}

//! The view of one thread.

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::{Labels, Name};
use uwf_protocol::nodes::{RefusedCalls, StartNode};
use uwf_protocol::run::RefusedStep;
use uwf_protocol::work::Work;
use uwf_storage::{ForkOrigin, HistoryRecord, Ledger, Located, Reason, State};
use uwf_thread::{Head, read_program, read_start, summarize};

use crate::attempt;
use crate::fix::Fix;
use crate::limits;
use crate::pipelines::place::RunOfThread;
use crate::read::activity::{self, AttemptView, RunningView};
use crate::read::child_view::{
    ChildView, SumsWithChildren, child_views, sums_of_ended, sums_with_children,
};
use crate::read::detail_summary::DetailSummary;
use crate::read::left_by_step::LeftByStep;
use crate::read::outline::{self, Active, Outline};
use crate::read::parent_view::ParentView;
use crate::read::standing::Standing;
use crate::read::summary::SummaryView;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::read::verdict::VerdictView;
use crate::sharing::{is_shared, owes_end};
use crate::thread::{self, Thread};
use crate::waiting_answer::WaitingAnswer;
use crate::workspace::WorkspaceView;
use crate::{EngineError, Site};

/// The view of one thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// The workflow that it is pinned to.
    pub workflow: CasRef,
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: CasRef,
    /// Where it came from, if it is a fork and that is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
    /// The run of a pipeline that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOfThread>,
    /// Its state.
    #[serde(flatten)]
    pub state: ThreadState,
    /// Whether it is shared, so that other machines may work on it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Whether it was ended here, and other machines may not know it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end_not_told: bool,
    /// What a person has to do, if the thread waits for a person. The caller fills it in: the engine knows no commands.
    pub hint: Option<String>,
    /// Why it is blocked, if it is.
    pub blocked_reason: Option<String>,
    /// What fixes that.
    #[serde(skip)]
    pub fix: Option<Fix>,
    /// Whether it has ended, and the last that happened to it is that it could not be resumed.
    #[serde(skip)]
    pub resume_failed: bool,
    /// The failed attempts at the step after the head, or at doing the head again, newest last.
    pub attempts: Vec<AttemptView>,
    /// How many steps it has.
    pub steps: u64,
    /// Its parent, the role that it plays and the branch, if it is a child thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// The child threads that work for its next step, in the order of the branches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildView>,
    /// Its sums with those of children that are part of no step: these ones, or those that were killed with it; `None` if there are
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_children: Option<SumsWithChildren>,
    /// Its worktree, if it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceView>,
    /// The step that is being done right now.
    pub running: Option<RunningView>,
    /// The name that it was given.
    pub name: Option<Name>,
    /// Its labels.
    pub labels: Labels,
    /// Why its name and its labels cannot be read, if they cannot.
    #[serde(skip)]
    pub unnamed: Option<String>,
    /// The workflow's name; `None` if it cannot be read.
    pub workflow_name: Option<String>,
    /// What it is about, what it used up and what it results in.
    #[serde(flatten)]
    pub outline: Outline,
    /// The newest verdict of its supervisor, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    /// What a model says has happened in it, if a person or the config wanted that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryView>,
    /// The processes of an attempt whose engine has died, for people: number and command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<String>,
    /// The tool calls that the agent of the last step was not allowed to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// What the last step left beside its answer, with the commands that show it.
    #[serde(skip)]
    pub left: Vec<LeftByStep>,
    /// The finished step that waits to be committed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_step: Option<CasRef>,
    /// The answer that no step has yet, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_answer: Option<WaitingAnswer>,
    /// The finished steps that were refused, because the thread's head had moved since they started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_steps: Vec<RefusedStep>,
}

/// Returns the view of a thread, active or ended.
///
/// # Errors
/// When the thread is unknown or its nodes cannot be read.
pub fn show(site: &Site, id: ThreadId) -> Result<ThreadView, EngineError> {
    let view = match thread::find(site, id)? {
        Located::Active(head) => show_active(site, id, head)?,
        Located::Archived(record) => show_ended(site, &record)?,
    };
    // The name is no part of the thread: if it cannot be read, the thread still can.
    Ok(match State::new(&site.root).namings() {
        Ok(namings) => {
            let naming = namings.of(id);
            ThreadView {
                name: naming.name,
                labels: naming.labels,
                ..view
            }
        }
        Err(error) => ThreadView {
            unnamed: Some(error.to_string()),
            ..view
        },
    })
}

fn show_active(site: &Site, id: ThreadId, head: CasRef) -> Result<ThreadView, EngineError> {
    let thread = Thread::load(&site.store, id, head)?;
    let run = site.root.run(id);
    let last = last_detail(&site.store, head)?;
    let Standing {
        activity,
        route,
        state,
    } = Standing::of(site, &thread, &limits::config_for_views(site))?;
    let outline = Active {
        site,
        id,
        head,
        start: &thread.start,
        last: thread.last(),
        ledger: &run.ledger,
        activity: &activity,
    };
    let outline = outline.outline()?;
    let blocked = state.status == ThreadStatus::Blocked;
    let reason = state.reason.clone();
    let fix = fix_of(&thread, &route, &state);
    let state = state.with_pause(run.pause.read()?);
    let name = thread.program.name();
    let steps = count_steps(&site.store, &run.ledger, head)?;
    let in_view = |answer: WaitingAnswer| answer.in_view(site, &thread.start, name);
    let children = child_views(site, &thread, &route)?;
    Ok(ThreadView {
        waiting_answer: activity.waiting_answer.map(in_view),
        with_children: sums_with_children(site, &thread, &route, &children, steps)?,
        children,
        parent: ParentView::of(site, id, &thread.start),
        workflow: thread.start.workflow,
        thread: id,
        head,
        forked_from: run.origin.read(),
        run: RunOfThread::of(site, id, &thread.start),
        shared: is_shared(site, id),
        end_not_told: false,
        hint: None,
        state,
        fix,
        blocked_reason: reason.filter(|_| blocked),
        resume_failed: false,
        attempts: activity.attempts,
        steps,
        workspace: WorkspaceView::of(site, id)?,
        running: activity.running,
        name: None,
        labels: Labels::new(),
        unnamed: None,
        workflow_name: Some(thread.program.name().to_owned()),
        outline,
        verdict: VerdictView::newest(&site.store, &run.ledger.reviews()),
        summary: SummaryView::read(&site.store, &run.ledger),
        orphans: activity.orphans,
        left: LeftByStep::all(head, &last),
        refused_calls: last.refused_calls,
        finished_step: activity.finished_step,
        refused_steps: run.outbox.refused(),
    })
}

fn show_ended(site: &Site, record: &HistoryRecord) -> Result<ThreadView, EngineError> {
    let run = site.root.run(record.thread);
    let last = last_detail(&site.store, record.head)?;
    let program = read_program(&site.store, record.workflow).ok();
    let failed = activity::failed_resume(&run.ledger, record);
    let start = start_of(&site.store, record.head).ok();
    let start = start.as_ref();
    let outline = Outline {
        usage: outline::summed(site, &run.ledger, record.head).ok(),
        resumable: program.as_ref().is_some_and(outline::can_be_resumed),
        ..outline_of_ended(site, record).with_failed_resume(failed.as_ref())
    };
    Ok(ThreadView {
        workflow: record.workflow,
        thread: record.thread,
        head: record.head,
        forked_from: run.origin.read(),
        state: ThreadState::plain(ended_status(record.reason)),
        shared: is_shared(site, record.thread),
        end_not_told: owes_end(site, record)?,
        hint: None,
        blocked_reason: None,
        fix: None,
        resume_failed: failed.is_some(),
        attempts: activity::attempts_of_ended(&run.ledger, record),
        steps: count_steps(&site.store, &run.ledger, record.head)?,
        run: start.and_then(|start| RunOfThread::of(site, record.thread, start)),
        parent: start.and_then(|start| ParentView::of(site, record.thread, start)),
        children: Vec::new(),
        with_children: sums_of_ended(site, record).ok().flatten(),
        workspace: WorkspaceView::of(site, record.thread)?,
        running: None,
        name: None,
        labels: Labels::new(),
        unnamed: None,
        workflow_name: program.as_ref().map(|program| program.name().to_owned()),
        outline,
        verdict: VerdictView::newest(&site.store, &run.ledger.reviews()),
        summary: SummaryView::read(&site.store, &run.ledger),
        orphans: attempt::orphans(site, &run),
        left: LeftByStep::all(record.head, &last),
        refused_calls: last.refused_calls,
        finished_step: None,
        waiting_answer: None,
        refused_steps: run.outbox.refused(),
    })
}

/// Returns what fixes a blocked thread. If a child is blocked, that one has to be fixed.
fn fix_of(thread: &Thread, route: &Result<Route, RouteError>, state: &ThreadState) -> Option<Fix> {
    if state.status != ThreadStatus::Blocked || state.caused_by.is_some() {
        return None;
    }
    let last = thread.last().map(|last| &last.node.role);
    let work = last.and_then(|role| Some(&thread.program.task(role)?.work));
    Some(match route {
        // A step of several branches cannot be done again.
        Err(error) if !matches!(work, Some(Work::Branches(_))) => Fix::of(error),
        Ok(_) | Err(_) => Fix::Workflow,
    })
}

/// Returns what an ended thread is about, and what it results in if it is completed. What cannot be read is left out: the
/// thread has ended nevertheless.
fn outline_of_ended(site: &Site, record: &HistoryRecord) -> Outline {
    let head = Head::read(&site.store, record.head);
    let start = head.and_then(|head| read_start(&site.store, head.start()));
    let outline = Outline::of_ended(site, record, start.ok().map(|start| start.node).as_ref());
    if record.reason != Reason::Completed {
        return outline;
    }
    let thread = Thread::load(&site.store, record.thread, record.head);
    if matches!(&thread, Ok(thread) if thread.is_run()) {
        // A run of a pipeline results in files.
        return outline;
    }
    match thread.and_then(|thread| thread.route(None)) {
        Ok(Ok(Route::End { result })) => outline.with_result(result),
        // Another program may have completed the thread by other rules.
        Ok(Ok(Route::To(_) | Route::Suspend { .. } | Route::Stop { .. }) | Err(_)) => outline,
        Err(error) => Outline {
            result_problem: Some(error.to_string()),
            ..outline
        },
    }
}

fn start_of(store: &Store, head: CasRef) -> Result<StartNode, EngineError> {
    Ok(read_start(store, Head::read(store, head)?.start())?.node)
}

/// Returns the summary of the step at the head; an empty one if there is no step.
fn last_detail(store: &Store, head: CasRef) -> Result<DetailSummary, EngineError> {
    Ok(match Head::read(store, head)? {
        Head::Step(step) => DetailSummary::read(store, step.node.detail)?,
        Head::Start(_) => DetailSummary::default(),
    })
}

/// Returns the status of a thread that ended for this reason.
pub(crate) fn ended_status(reason: Reason) -> ThreadStatus {
    match reason {
        Reason::Completed => ThreadStatus::Completed,
        Reason::Cancelled => ThreadStatus::Cancelled,
    }
}

/// Counts the steps up to a head. Steps that the recorded summary covers are not read.
fn count_steps(store: &Store, ledger: &Ledger, head: CasRef) -> Result<u64, EngineError> {
    let recorded = ledger.chain_summary();
    Ok(summarize(store, recorded.as_ref(), head)?.steps)
}

//! Committing a finished step, in three parts: its nodes are made durable, then the head moves, then the records of the run are
//! tidied up. Between the first and the second part the step is durable and the thread is unchanged. There the remote gets the
//! step of a shared thread: what it was told is never lost here.

use uwf_moderator::{Route, RouteError, head_status};
use uwf_protocol::chain::{ChainSummary, StepContext};
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::limits::Limits;
use uwf_remote::After;
use uwf_storage::{Advance, HistoryRecord, Ledger, Reason, ReplacedStep, RunDir, State};
use uwf_thread::used_by_replaced;

use crate::astray::{Astray, Why};
use crate::limits::{self, LimitedThread, status_for_others};
use crate::read::detail_summary::DetailSummary;
use crate::read::report::{StepOrigin, StepReport};
use crate::run::answer;
use crate::run::owned::OwnedRun;
use crate::run::shared::{AtRemote, NewHead, SharedThread, at_remote};
use crate::sharing::error::SharingError;
use crate::snapshots::log_snapshot_notes;
use crate::thread::{Thread, active_head, record_usage};
use crate::{EngineError, Runner, tags};

/// A thread after a step was committed.
pub(crate) struct Committed {
    pub(crate) thread: Thread,
    /// The step whose place was taken, if one was done again.
    pub(crate) replaced: Option<CasRef>,
    /// The route from the new head; the outer error says why it is unknown.
    pub(crate) route: Result<Result<Route, RouteError>, EngineError>,
}

/// Who wrote the nodes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// The agent of this call.
    New,
    /// The agent of an earlier call, which may have ended because of a disk error. After such an error the kernel drops
    /// unwritten pages, and reports that only once. So a sync proves nothing here, and the nodes are written anew.
    FromBefore,
}

/// A finished step that may become the head: its nodes are durable.
struct DurableStep {
    /// The thread with the step.
    thread: Thread,
    /// The head that the step follows.
    follows: CasRef,
    /// The step whose place it takes, if one was done again.
    replaces: Option<CasRef>,
    role: RoleName,
    route: Result<Result<Route, RouteError>, EngineError>,
}

/// Commits a step.
pub(crate) fn commit(
    runner: &Runner,
    run: &OwnedRun,
    before: Thread,
    summary: &ChainSummary,
    step: StepContext,
    nodes: Nodes,
) -> Result<Committed, EngineError> {
    let step = make_durable(runner, before, step, nodes)?;
    if let Some(shared) = &run.shared {
        // A person may have ended the thread here, and tells the remote so. Then no machine goes on with the step.
        if let Err(EngineError::Ended { .. }) = active_head(&runner.site, step.thread.id) {
            return Err(step.outlives_thread(runner, run)?);
        }
        move_shared_head(runner, run, shared, &step)?;
    }
    move_head(runner, run, &step)?;
    Ok(tidy_up(runner, run, summary, step))
}

/// Makes the nodes of a checked step durable, and routes from it. The step is not yet part of the thread.
fn make_durable(
    runner: &Runner,
    before: Thread,
    step: StepContext,
    nodes: Nodes,
) -> Result<DurableStep, EngineError> {
    let closure = answer::closure(&runner.site.store, &step)?;
    // This comes before the lock of the state is taken: other threads do not wait for our disk.
    match nodes {
        Nodes::New => runner.site.store.sync(&closure)?,
        Nodes::FromBefore => runner.site.store.renew(&closure)?,
    }
    let (follows, replaces) = (before.head, before.replaces);
    let role = step.node.role.clone();
    let thread = before.followed_by(step, &runner.site.store)?;
    // The step is finished, so its head moves even if the route is unknown.
    let route = thread.route(Some(&runner.signals));
    Ok(DurableStep {
        thread,
        follows,
        replaces,
        role,
        route,
    })
}

/// Moves the head at the remote to the step. If another machine has gone on there meanwhile, the step is refused. If only the lease was
/// lost, the step stays on record: the next call shares it, or refuses it.
fn move_shared_head(
    runner: &Runner,
    run: &RunDir,
    shared: &SharedThread,
    step: &DurableStep,
) -> Result<(), EngineError> {
    let status = match &step.route {
        Ok(route) => status_for_others(&runner.site.store, &run.ledger, &step.thread, route)?,
        // The step is done. The next call finds the same problem when it routes.
        Err(_) => HeadStatus::Ready,
    };
    let new = NewHead {
        from: step.replaces.unwrap_or(step.follows),
        to: step.thread.head,
        status,
        lease: After::GiveBack,
    };
    match shared.advance(&runner.site, run, &new)? {
        AtRemote::Moved => Ok(()),
        AtRemote::Elsewhere { head, has_ended } => {
            step.keep(runner, run)?;
            Err(step.moved(at_remote(head), has_ended))
        }
        AtRemote::LeaseLost => Err(SharingError::TakenOver(step.thread.id).into()),
    }
}

/// Moves the head to the step, if the head did not change meanwhile. If it did, the step is refused. Archives the thread if the graph
/// leads to `$END`.
fn move_head(runner: &Runner, run: &OwnedRun, step: &DurableStep) -> Result<(), EngineError> {
    match advance(runner, step)? {
        Advance::Moved => Ok(()),
        // The chain at the remote has the step, and counts it there.
        Advance::NotActive if run.shared.is_some() => Err(step.after_end()),
        Advance::NotActive => Err(step.outlives_thread(runner, run)?),
        Advance::HeadIs(head) => {
            step.keep(runner, run)?;
            Err(step.moved(format!("at `{head}`"), false))
        }
    }
}

impl DurableStep {
    /// Keeps the step, which does not follow the head, and counts what it used up.
    fn keep(&self, runner: &Runner, run: &RunDir) -> Result<(), EngineError> {
        let astray = self.astray();
        astray.count(&runner.site, run, Why::HeadMoved)?;
        astray.keep(runner, run)
    }

    /// Counts what the step used up, whose thread was ended meanwhile, and returns the error for it. The pending record stays: the
    /// command that ends the thread names the step.
    fn outlives_thread(&self, runner: &Runner, run: &RunDir) -> Result<EngineError, EngineError> {
        self.astray().count(&runner.site, run, Why::ThreadEnded)?;
        Ok(self.after_end())
    }

    /// Returns the error for a step whose thread was ended meanwhile.
    fn after_end(&self) -> EngineError {
        self.moved("no longer active".to_owned(), true)
    }

    /// Returns the step as one that does not follow the head.
    fn astray(&self) -> Astray {
        Astray {
            step: self.thread.head,
            head: self.follows,
            replaces: self.replaces,
        }
    }

    /// Returns the error for a step that is not committed, because of what the thread is now.
    fn moved(&self, found: String, has_ended: bool) -> EngineError {
        EngineError::HeadMoved {
            thread: self.thread.id,
            role: self.role.clone(),
            step: self.thread.head,
            found,
            has_ended,
        }
    }
}

/// Moves the head by compare-and-set. A replaced step is recorded before that.
fn advance(runner: &Runner, step: &DurableStep) -> Result<Advance, EngineError> {
    let DurableStep {
        thread,
        follows,
        replaces,
        route,
        role: _,
    } = step;
    let state = State::new(&runner.site.root);
    if let Some(replaced) = *replaces {
        // This record comes first: once the head has moved, nothing else refers to the replaced step, and it is garbage.
        state.record_replaced(&ReplacedStep {
            replaced,
            by: thread.head,
            in_thread: thread.id,
            replaced_at: runner.site.env.now_ms(),
            workflow: None,
        })?;
    }
    let from = replaces.unwrap_or(*follows);
    Ok(match route.as_ref().map(head_status) {
        Ok(HeadStatus::Ended) => {
            let record = completed(thread, runner.site.env.now_ms());
            state.advance_and_archive(from, &record)?
        }
        Ok(HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked) | Err(_) => {
            state.advance(thread.id, from, thread.head)?
        }
    })
}

/// Counts what the step used up, and clears the records of the run. The head has moved already, so errors are ignored: the
/// next call sees that the pending record names the head, and does it.
fn tidy_up(runner: &Runner, run: &RunDir, summary: &ChainSummary, step: DurableStep) -> Committed {
    let DurableStep {
        thread,
        replaces: replaced,
        role,
        route,
        follows: _,
    } = step;
    if let Some(replaced) = replaced {
        count_replaced(runner, &run.ledger, replaced);
    }
    count_attempts(run, thread.head);
    record_usage(&runner.site.store, &run.ledger, thread.head);
    let mut summary = summary.clone();
    summary.push(thread.head, &role);
    let _ = run.ledger.write_chain_summary(&summary);
    let _ = run.outbox.clear_pending();
    Committed {
        thread,
        replaced,
        route,
    }
}

/// The report of a committed step, and the error that kept us from routing after it.
pub(crate) struct CommitReport {
    pub(crate) report: StepReport,
    unrouted: Option<EngineError>,
}

impl CommitReport {
    /// Returns the report. If the route is unknown, the report is part of the error.
    pub(crate) fn result(self) -> Result<StepReport, EngineError> {
        match self.unrouted {
            None => Ok(self.report),
            Some(source) => Err(EngineError::Unrouted {
                report: Box::new(self.report),
                source: Box::new(source),
            }),
        }
    }
}

/// Logs the new head and builds the report for the caller.
pub(crate) fn report(
    runner: &Runner,
    run: &RunDir,
    committed: Committed,
    origin: StepOrigin,
    config: &Limits,
) -> CommitReport {
    let Committed {
        thread,
        replaced,
        route,
    } = committed;
    let (route, unrouted) = match route {
        Ok(route) => (Some(route), None),
        Err(error) => (None, Some(error)),
    };
    runner
        .site
        .log(&thread, tags::HEAD_MOVED, &format!("head={}", thread.head));
    log_snapshot_notes(&runner.site, run, &thread);
    if route.as_ref().map(head_status) == Some(HeadStatus::Ended) {
        runner
            .site
            .log(&thread, tags::THREAD_ARCHIVED, "reason=completed");
    }
    // The step is committed, so an error here is no failure: the next call checks the limits again.
    let limited = LimitedThread::of(&run.ledger, &thread);
    let reached = match &route {
        Some(route) => limits::reached_on_route(&runner.site.store, &limited, route, config),
        None => Ok(Vec::new()),
    };
    let reached = reached.unwrap_or_default();
    // An unreadable detail is no failure, either.
    let summary = match origin {
        StepOrigin::Ran | StepOrigin::Adopted => thread
            .last()
            .map(|step| DetailSummary::read(&runner.site.store, step.node.detail)),
        StepOrigin::Nothing => None,
    };
    let summary = summary.and_then(Result::ok).unwrap_or_default();
    let report = StepReport {
        replaced,
        refused_calls: summary.refused_calls,
        checks: summary.checks,
        ..StepReport::new(&thread, route.as_ref(), origin, &reached)
    };
    CommitReport { report, unrouted }
}

/// Returns the history record of a thread that reached `$END` at its head.
pub(crate) fn completed(thread: &Thread, now_ms: i64) -> HistoryRecord {
    HistoryRecord {
        thread: thread.id,
        workflow: thread.start.workflow,
        head: thread.head,
        completed_at: now_ms,
        reason: Reason::Completed,
    }
}

/// Counts what a replaced step used up: it left the chain, and was paid for. The head has moved already, so an error here must not
/// fail the call.
pub(crate) fn count_replaced(runner: &Runner, ledger: &Ledger, replaced: CasRef) {
    if let Some(used) = used_by_replaced(&runner.site.store, replaced) {
        let _ = ledger.count_replaced(replaced, &used);
    }
}

/// Records that the step counts the usage of the failed attempt whose answer it uses. If the engine dies before this, the
/// next engine finds the pending record and does it. Until then the usage counts twice, which is safe for limits.
fn count_attempts(run: &RunDir, step: CasRef) {
    let pending = run.outbox.read_pending().ok().flatten();
    if let Some(pending) = pending.filter(|pending| pending.step == step) {
        let _ = run.ledger.count_in_step(&pending);
    }
}

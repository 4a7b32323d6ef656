//! Migrating a thread: it goes on under another workflow from where it stands, and keeps its id.
//!
//! Its chain is copied onto a start that names the workflow (`rebase`), and the head moves from the chain to the copy by
//! compare-and-set. Before that, the history records both heads, so that nothing of the old chain becomes garbage. The copy
//! is the same each time: a call that was killed anywhere can be repeated.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Limits;
use uwf_storage::{Advance, ReplacedStep, State};
use uwf_thread::summarize;

use crate::children::moved::refuse_to_leave_behind;
use crate::children::redone::{Redone, done_again, redone};
use crate::fork::MovedOn;
use crate::limits::{self, LimitedThread};
use crate::pipelines::chain::is_run;
use crate::pipelines::error::PipelineError;
use crate::project::config_for;
use crate::read::thread_state::ThreadState;
use crate::rebase::{self, Rebase};
use crate::run::adopt::{Adoption, adopt};
use crate::run::hooks;
use crate::run::owned::{OwnedRun, with_thread};
use crate::run::shared::refuse_only_here;
use crate::thread::{self, Thread};
use crate::waiting_answer::{Drops, WaitingAnswer};
use crate::workflow_ref::{self, Found};
use crate::{EngineError, Runner, lost_run, tags};

/// What a call to migrate did, or would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    /// The thread.
    pub thread: ThreadId,
    /// Whether its workflow changed, or would change.
    pub migrated: bool,
    /// Whether nothing was done, because only the difference was asked for.
    pub dry_run: bool,
    /// The workflow that it had.
    pub from: CasRef,
    /// What differs.
    #[serde(flatten)]
    pub moved: MovedOn,
    /// The head that it had.
    pub from_head: CasRef,
    /// Its head now.
    pub head: CasRef,
    /// How many of its steps were copied.
    pub steps: u64,
    /// Its state under the other workflow.
    #[serde(flatten)]
    pub state: ThreadState,
}

/// Tells what would change for a thread under another workflow. The thread does not change, and may be running.
///
/// # Errors
/// As of [`migrate`], except that the thread may be busy.
pub fn plan_migration(
    runner: &Runner,
    id: ThreadId,
    workflow: Option<&str>,
) -> Result<Migrated, EngineError> {
    let site = &runner.site;
    let thread = load(runner, id)?;
    let found = find(runner, &thread, workflow)?;
    if found.hash == thread.start.workflow {
        return Ok(Migrated {
            dry_run: true,
            ..as_before(runner, &thread, found)?
        });
    }
    let plan = rebase::decide(&site.store, &thread, found.hash, Some(&runner.signals))?;
    refuse_to_leave_behind(site, &thread, &plan.under, &plan.route)?;
    let recorded = site.root.run(id).ledger.chain_summary();
    let steps = summarize(&site.store, recorded.as_ref(), thread.head)?.steps;
    let head = thread.head;
    let state = state_of(
        runner,
        &thread,
        plan.under.program.limits(),
        &Ok(plan.route.clone()),
    )?;
    Ok(Migrated {
        dry_run: true,
        ..migrated(&thread, plan, found, state, (head, steps))
    })
}

/// Lets a thread go on under another workflow; without one, under the workflow that has the name of the thread's own now.
/// Nothing changes if the thread has that workflow already.
///
/// # Errors
/// When the thread is busy or has ended, when the workflow cannot be found, gives no next step, or would decide by an
/// output that does not fit it.
pub fn migrate(
    runner: &Runner,
    id: ThreadId,
    workflow: Option<&str>,
) -> Result<Migrated, EngineError> {
    let mut adopted = None;
    let migrated = with_thread(runner, id, |run| {
        let site = &runner.site;
        refuse_only_here(runner, id, "thread migrate")?;
        let thread = match adopt(runner, run, load(runner, id)?)? {
            // A step that was finished before belongs to the old chain, and may have ended the thread.
            Adoption::Committed(report) => {
                adopted = Some(report);
                load(runner, id)?
            }
            Adoption::Nothing(thread) => *thread,
        };
        // The answer would be one to the old workflow's prompt, and could not be used any more.
        if let Some(answer) = WaitingAnswer::at(run, thread.head) {
            let (config, _) = config_for(site, &thread.start)?;
            return Err(answer.refuse(&thread, &config, Drops::Question));
        }
        // The lease record names the old head. The attempt that it is about must be on record before the head moves.
        lost_run::record_lost_run(site, run, &thread)?;
        let _hold = site.store.hold()?;
        let found = find(runner, &thread, workflow)?;
        if found.hash == thread.start.workflow {
            return as_before(runner, &thread, found);
        }
        let plan = rebase::decide(&site.store, &thread, found.hash, Some(&runner.signals))?;
        if let Redone::AtWork(child) = redone(site, &thread)? {
            return Err(done_again(&thread, child));
        }
        refuse_to_leave_behind(site, &thread, &plan.under, &plan.route)?;
        let state = state_of(
            runner,
            &thread,
            plan.under.program.limits(),
            &Ok(plan.route.clone()),
        )?;
        let worktree = site.root.worktree(id).read()?;
        let worktree = worktree.filter(|record| record.made);
        let copied = rebase::copy(site, thread.head, found.hash, worktree.as_ref())?;
        move_to(runner, run, &thread, found.hash, &copied)?;
        let end = (copied.head, copied.steps);
        Ok(migrated(&thread, plan, found, state, end))
    });
    if let Some(report) = adopted {
        hooks::after_step(runner, &report);
    }
    migrated
}

/// Moves the head to the copy of the chain.
fn move_to(
    runner: &Runner,
    run: &OwnedRun,
    thread: &Thread,
    workflow: CasRef,
    copied: &ChainSummary,
) -> Result<(), EngineError> {
    let state = State::new(&runner.site.root);
    // This record comes first: once the head has moved, nothing else refers to the old chain, and it is garbage.
    state.record_replaced(&ReplacedStep {
        replaced: thread.head,
        by: copied.head,
        in_thread: thread.id,
        replaced_at: runner.site.env.now_ms(),
        workflow: Some(workflow),
    })?;
    match state.advance(thread.id, thread.head, copied.head)? {
        Advance::Moved => {}
        // Somebody ended the thread meanwhile: that needs no lock.
        Advance::NotActive => {
            thread::active_head(&runner.site, thread.id)?;
            return Err(thread::busy(thread.id, None));
        }
        Advance::HeadIs(_) => return Err(thread::busy(thread.id, None)),
    }
    // The summary is a cache.
    let _ = run.ledger.write_chain_summary(copied);
    let message = format!("from={} head={}", thread.start.workflow, copied.head);
    let site = &runner.site;
    site.log_line(tags::MIGRATED, &message, Some(thread.id), Some(workflow));
    Ok(())
}

fn load(runner: &Runner, id: ThreadId) -> Result<Thread, EngineError> {
    let head = thread::active_head(&runner.site, id)?;
    if is_run(&runner.site.store, head)? {
        return Err(PipelineError::NotMigrated(id).into());
    }
    Thread::load(&runner.site.store, id, head)
}

fn find(runner: &Runner, thread: &Thread, workflow: Option<&str>) -> Result<Found, EngineError> {
    workflow_ref::resolve(&runner.site, workflow.unwrap_or(thread.program.name()))
}

/// Returns the result for a thread that has the workflow already.
fn as_before(runner: &Runner, thread: &Thread, found: Found) -> Result<Migrated, EngineError> {
    let store = &runner.site.store;
    let recorded = runner.site.root.run(thread.id).ledger.chain_summary();
    let summary = summarize(store, recorded.as_ref(), thread.head)?;
    let route = thread.route(Some(&runner.signals))?;
    Ok(Migrated {
        thread: thread.id,
        migrated: false,
        dry_run: false,
        from: found.hash,
        moved: MovedOn::unchanged(found),
        from_head: thread.head,
        head: thread.head,
        steps: summary.steps,
        state: state_of(runner, thread, thread.program.limits(), &route)?,
    })
}

/// Returns the state of the thread with this route, under these limits of a workflow.
fn state_of(
    runner: &Runner,
    thread: &Thread,
    limits: &Limits,
    route: &Result<Route, RouteError>,
) -> Result<ThreadState, EngineError> {
    let site = &runner.site;
    let run = site.root.run(thread.id);
    // The copies use up what the originals did, so the sums up to the old head hold.
    let limited = LimitedThread {
        workflow: limits,
        ..LimitedThread::of(&run.ledger, thread)
    };
    let config = limits::of_config(site);
    let reached = limits::reached_on_route(&site.store, &limited, route, &config)?;
    let state = ThreadState::of_active(route).at_limits(&reached);
    Ok(state.with_pause(run.pause.read()?))
}

fn migrated(
    thread: &Thread,
    plan: Rebase,
    found: Found,
    state: ThreadState,
    (head, steps): (CasRef, u64),
) -> Migrated {
    Migrated {
        thread: thread.id,
        migrated: true,
        dry_run: false,
        from: thread.start.workflow,
        from_head: thread.head,
        head,
        steps,
        state,
        moved: MovedOn::of(plan, found),
    }
}

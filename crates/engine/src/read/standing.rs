//! Where an active thread stands: its route, what is known of its runs, and the state that follows from both, and from the
//! children that work for it.

use uwf_moderator::{Assignment, Performer, Route, RouteError};
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_storage::{Located, RunDir};

use crate::children::used::{Sums, used_in_progress};
use crate::children::{Child, children_of, has_failed, taken_up};
use crate::limits::{self, LimitedThread};
use crate::pipelines::route::recorded_route_of;
use crate::read::activity::Activity;
use crate::read::branch::Branch;
use crate::read::child_view::child_of_run;
use crate::read::thread_state::{HeldBy, ThreadState, ThreadStatus};
use crate::read::verdict;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Where an active thread stands.
pub(crate) struct Standing {
    pub(crate) activity: Activity,
    pub(crate) route: Result<Route, RouteError>,
    /// Its state, without a pause.
    pub(crate) state: ThreadState,
}

impl Standing {
    /// Finds out where a thread stands.
    pub(crate) fn of(site: &Site, thread: &Thread, config: &Config) -> Result<Self, EngineError> {
        let route = match thread.program {
            Program::Graph(_) => taken_up::route(site, thread, None)?,
            Program::Pipeline(_) => recorded_route_of(site, thread.id, thread.head)?,
        };
        Self::on_route(site, thread, route, config)
    }

    /// Finds out where a thread with this route stands.
    pub(crate) fn on_route(
        site: &Site,
        thread: &Thread,
        route: Result<Route, RouteError>,
        config: &Config,
    ) -> Result<Self, EngineError> {
        let run = site.root.run(thread.id);
        let mut limited = LimitedThread::of(&run.ledger, thread);
        let Some(assignment) = assigned_to_children(&route).cloned() else {
            let own = Self::without_children(site, &run, &limited, route, config)?;
            let at = (thread.id, thread.head);
            let own = own.with_next_try(site, at, &thread.start, &thread.program);
            return own.with_child_of_step(site, at, &thread.program);
        };
        if !(limited.workflow.is_empty() && config.limits.is_empty()) {
            let mut sums = Sums::read(&run.ledger);
            limited.by_children = used_in_progress(site, thread, &assignment, &mut sums)?;
        }
        let own = Self::without_children(site, &run, &limited, route, config)?;
        // A limit of the thread itself comes first, as does its supervisor: no child goes on before a person allows it.
        if own.state.limit.is_some() || own.state.held_by == Some(HeldBy::Supervisor) {
            return Ok(own);
        }
        let state = with_children(site, thread, &assignment, config, own.state)?;
        Ok(Self { state, ..own })
    }

    /// Adds the attempt that follows a failed one by itself.
    pub(crate) fn with_next_try(
        self,
        site: &Site,
        at: (ThreadId, CasRef),
        start: &StartNode,
        program: &Program,
    ) -> Self {
        if self.activity.finished_step.is_some() || self.activity.waiting_answer.is_some() {
            // The next call uses it, and starts no agent.
            return self;
        }
        Self {
            state: self.state.with_next_try(site, at, (start, program.name())),
            ..self
        }
    }

    /// Takes the state of the child that does the next step of a run, if the child keeps the run from going on.
    pub(crate) fn with_child_of_step(
        self,
        site: &Site,
        at: (ThreadId, CasRef),
        program: &Program,
    ) -> Result<Self, EngineError> {
        let (Program::Pipeline(pipeline), Ok(Route::To(next)), ThreadStatus::Idle) =
            (program, &self.route, self.state.status)
        else {
            return Ok(self);
        };
        let child = child_of_run(site, at, pipeline, &next.role)?;
        let Some((child, state)) = child.filter(|(_, state)| state.holds_parent()) else {
            return Ok(self);
        };
        let state = ThreadState::of_child(&next.role, (child, Branch::default()), &state);
        Ok(Self { state, ..self })
    }

    /// Finds out where a thread stands, without its children and its next attempt.
    pub(crate) fn without_children(
        site: &Site,
        run: &RunDir,
        limited: &LimitedThread<'_>,
        route: Result<Route, RouteError>,
        config: &Config,
    ) -> Result<Self, EngineError> {
        let activity = Activity::at(site, run, limited.head)?;
        let reached = limits::reached_on_route(&site.store, limited, &route, &config.limits)?;
        let held = verdict::held(&site.store, limited, config);
        let state = activity.thread_state(&route);
        Ok(Self {
            state: state.at_limits(&reached).at_verdict(held),
            activity,
            route,
        })
    }
}

/// Returns the assignment of a route whose step children do.
pub(crate) fn assigned_to_children(route: &Result<Route, RouteError>) -> Option<&Assignment> {
    match route {
        Ok(Route::To(assignment)) if assignment.performer == Performer::Children => {
            Some(assignment)
        }
        Ok(_) | Err(_) => None,
    }
}

/// Returns the state of a thread whose next step children do. If it is unknown which ones, the thread is blocked.
fn with_children(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    config: &Config,
    own: ThreadState,
) -> Result<ThreadState, EngineError> {
    let children = match children_of(site, thread, assignment, None) {
        Ok(children) => children,
        Err(EngineError::Child(error)) => {
            return Ok(ThreadState {
                status: ThreadStatus::Blocked,
                reason: Some(error.to_string()),
                ..own
            });
        }
        Err(error) => return Err(error),
    };
    if let Some(problem) = misfit(site, thread, &children) {
        return Ok(ThreadState {
            status: ThreadStatus::Blocked,
            reason: Some(problem),
            ..own
        });
    }
    let mut found = Vec::new();
    let work = thread.program.task(&assignment.role).map(|role| &role.work);
    for child in children
        .iter()
        .filter(|child| !has_failed(site, work, child))
    {
        if let Some(state) = state_of_child(site, child, config)? {
            found.push(ThreadState::of_child(
                &assignment.role,
                (child.thread, Branch::from(&child.planned)),
                &state,
            ));
        }
    }
    let has_unmade = children.iter().any(|child| child.place.is_none());
    Ok(most_urgent(&assignment.role, found, has_unmade).unwrap_or(own))
}

/// Returns what the only child returned, if it does not fit the role. A call that tried to record it found that out.
fn misfit(site: &Site, thread: &Thread, children: &[Child]) -> Option<String> {
    let [child] = children else { return None };
    let Some(Located::Archived(record)) = &child.place else {
        return None;
    };
    let misfit = site.root.run(thread.id).ledger.misfit()?;
    ((misfit.head, misfit.child) == (thread.head, record.head)).then_some(misfit.problem)
}

/// Returns the state of a child, with its pause; `None` if it is not active.
pub(crate) fn state_of_child(
    site: &Site,
    child: &Child,
    config: &Config,
) -> Result<Option<ThreadState>, EngineError> {
    let Some(Located::Active(head)) = &child.place else {
        return Ok(None);
    };
    state_of_active(site, (child.thread, *head), config).map(Some)
}

/// Returns the state of an active thread, with its pause.
pub(crate) fn state_of_active(
    site: &Site,
    (thread, head): (ThreadId, CasRef),
    config: &Config,
) -> Result<ThreadState, EngineError> {
    let loaded = Thread::load(&site.store, thread, head)?;
    let standing = Standing::of(site, &loaded, config)?;
    let pause = site.root.run(thread).pause.read()?;
    let state = ThreadState {
        finished_step: standing.activity.finished_step,
        ..standing.state
    };
    Ok(state.with_pause(pause))
}

/// Returns the state that the children of a role give their parent: that of a child which works, else of one that can go on,
/// else of one that waits.
fn most_urgent(
    role: &RoleName,
    mut states: Vec<ThreadState>,
    has_unmade: bool,
) -> Option<ThreadState> {
    if has_unmade {
        states.push(ThreadState {
            current_role: Some(role.clone()),
            ..ThreadState::plain(ThreadStatus::Idle)
        });
    }
    let rank = |state: &ThreadState| match state.status {
        ThreadStatus::Running => 0,
        ThreadStatus::Idle => 1,
        ThreadStatus::Failed => 2,
        ThreadStatus::Waiting => 3,
        ThreadStatus::Suspended => 4,
        ThreadStatus::Blocked => 5,
        ThreadStatus::Paused
        | ThreadStatus::Completed
        | ThreadStatus::Cancelled
        | ThreadStatus::Corrupt => 6,
    };
    let due = |state: &ThreadState| state.next_try.as_ref().map(|next| next.at_ms);
    states
        .into_iter()
        .min_by_key(|state| (rank(state), due(state)))
}

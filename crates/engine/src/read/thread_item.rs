//! One line of the list of threads.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::child::Parent;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_protocol::naming::{Labels, Name};
use uwf_protocol::nodes::RefusedCalls;
use uwf_storage::Paused;

use crate::conditions;
use crate::planned_try::PlannedTry;
use crate::read::activity::{Activity, RunningView};
use crate::read::causing_child::CausingChild;
use crate::read::outline::Outline;
use crate::read::thread_state::{HeldBy, ThreadState, ThreadStatus};
use crate::waiting_answer::WaitingAnswer;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItem {
    /// The thread.
    pub thread: ThreadId,
    /// The workflow that it is pinned to; `None` if it cannot be read.
    pub workflow: Option<CasRef>,
    /// Its head.
    pub head: CasRef,
    /// Its status.
    pub status: ThreadStatus,
    /// The role that is next or working.
    pub current_role: Option<RoleName>,
    /// The status as it is shown to people.
    pub status_display: String,
    /// The workflow's name; `None` if it cannot be read.
    pub workflow_name: Option<String>,
    /// The name that it was given.
    pub name: Option<Name>,
    /// Its labels.
    pub labels: Labels,
    /// The role that waits for a person, if the thread is suspended.
    pub suspended_role: Option<RoleName>,
    /// The question or the limit, if the thread is suspended.
    pub suspend_message: Option<String>,
    /// Why the last attempt failed, if the thread is failed; why it could not be resumed, if it has ended and that was tried
    /// last.
    pub failure_reason: Option<String>,
    /// The child that keeps the thread from going on, if its next step needs one that does not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Box<CausingChild>>,
    /// How many steps it has; `None` if that is not on record, and was not counted.
    pub steps: Option<u64>,
    /// What a model says has happened in it, if a person or the config wanted that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its parent, the role that it plays and the branch, if it is a child thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What it is about, what it used up and what it results in.
    #[serde(flatten)]
    pub outline: Outline,
    /// The step that is being done right now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningView>,
    /// Why the thread cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The processes of an attempt whose engine has died, for people: number and command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<String>,
    /// The finished step that waits to be committed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_step: Option<CasRef>,
    /// The answer that no step has yet, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_answer: Option<WaitingAnswer>,
    /// Who paused it, when and why, if it is paused. A step that is being done goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The tool calls that the agent of the last step was not allowed to make, if the thread is active.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// The limit that keeps it from going on, if one is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
    /// The attempt that it waits for, if it is waiting.
    #[serde(flatten)]
    pub next_try: Option<PlannedTry>,
    /// Why it is blocked, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// Whether it is blocked because its conditions need too much time or memory.
    #[serde(skip)]
    pub costs_too_much: bool,
    /// Whether it counts as blocked only because its conditions were not evaluated.
    #[serde(skip)]
    pub not_evaluated: bool,
}

impl ThreadItem {
    /// Returns what is known about every thread.
    pub(crate) fn new(thread: ThreadId, head: CasRef, status: ThreadStatus) -> Self {
        Self {
            thread,
            workflow: None,
            head,
            status,
            current_role: None,
            status_display: match status {
                ThreadStatus::Suspended => "suspended [question]".to_owned(),
                other => other.as_str().to_owned(),
            },
            workflow_name: None,
            name: None,
            labels: Labels::new(),
            suspended_role: None,
            suspend_message: None,
            failure_reason: None,
            caused_by: None,
            steps: None,
            summary: None,
            parent: None,
            outline: Outline::default(),
            running: None,
            error: None,
            orphans: Vec::new(),
            finished_step: None,
            waiting_answer: None,
            paused: None,
            refused_calls: Vec::new(),
            limit: None,
            next_try: None,
            blocked_reason: None,
            costs_too_much: false,
            not_evaluated: false,
        }
    }

    /// Returns what the state of an active thread tells.
    pub(crate) fn of_active(
        thread: ThreadId,
        head: CasRef,
        (state, pause): (ThreadState, Option<Paused>),
        activity: Activity,
        route: &Result<Route, RouteError>,
    ) -> Self {
        let blocked = state.status == ThreadStatus::Blocked;
        let has_failed = matches!(state.status, ThreadStatus::Failed | ThreadStatus::Waiting);
        let reason = state.reason.clone();
        let not_evaluated = blocked && conditions::not_evaluated(route);
        let state = state.with_pause(pause);
        let plain = Self::new(thread, head, state.status);
        Self {
            status_display: waits_for(&state, &activity, not_evaluated)
                .map_or(plain.status_display, |what| {
                    format!("{} [{what}]", state.status.as_str())
                }),
            current_role: state.current_role,
            suspended_role: state.suspended_role,
            suspend_message: state.suspend_message,
            failure_reason: reason.clone().filter(|_| has_failed),
            caused_by: state.caused_by,
            running: activity.running,
            orphans: activity.orphans,
            finished_step: activity.finished_step,
            waiting_answer: activity.waiting_answer,
            paused: state.paused,
            limit: state.limit,
            next_try: state.next_try,
            blocked_reason: reason.filter(|_| blocked),
            costs_too_much: blocked && conditions::cost_too_much(route),
            not_evaluated,
            ..plain
        }
    }
}

/// Returns the word for what the thread waits for, if the status alone does not tell it.
fn waits_for(
    state: &ThreadState,
    activity: &Activity,
    not_evaluated: bool,
) -> Option<&'static str> {
    if activity.finished_step.is_some() {
        Some("finished step waits")
    } else if activity.waiting_answer.is_some() {
        Some("answer waits")
    } else if activity.running.as_ref().is_some_and(|now| now.waiting) {
        Some("waiting")
    } else if !activity.orphans.is_empty() {
        Some("no engine")
    } else if state.paused.is_some() {
        (state.status == ThreadStatus::Running).then_some("paused after this step")
    } else if state.limit.is_some() {
        Some("limit")
    } else {
        match state.held_by {
            Some(HeldBy::Supervisor) => Some("supervisor"),
            Some(HeldBy::Failure) => Some("failed step"),
            Some(HeldBy::Limit) | None => not_evaluated.then_some("not evaluated"),
        }
    }
}

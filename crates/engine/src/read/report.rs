//! The result of a step.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_protocol::nodes::RefusedCalls;

use crate::read::branch::Branch;
use crate::read::outline;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::thread::Thread;

/// Where the step of a report comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOrigin {
    /// Its agent ran in this call.
    Ran,
    /// An earlier call whose engine died: this call committed the finished step.
    Adopted,
    /// There is no step: the head led to `$END`.
    Nothing,
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// The workflow that the thread is pinned to.
    pub workflow: CasRef,
    /// The thread.
    pub thread: ThreadId,
    /// Its head now.
    pub head: CasRef,
    /// Its state now.
    #[serde(flatten)]
    pub state: ThreadState,
    /// The step that was committed; `None` if the head already led to `$END`.
    pub step: Option<CasRef>,
    /// Who did it.
    pub role: Option<RoleName>,
    /// The label of the agent that did it.
    pub agent: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Whether the step was finished by an earlier call whose engine died.
    pub adopted: bool,
    /// Why the thread is blocked, if it is.
    pub blocked_reason: Option<String>,
    /// What the thread resulted in, if it is completed now: the prompt of the edge to `$END`.
    pub result: Option<String>,
    /// Why that prompt could not be filled in, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_problem: Option<String>,
    /// The tool calls that the agent was not allowed to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// What came of the checks of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The child thread that did a step in this call, if the role is played by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildReport>,
    /// The child threads that did steps in this call, if there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildReport>,
    /// The step that this one replaced, if it was poked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<CasRef>,
    /// The processes that the successful agent left running, for people: number and command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<String>,
    /// Whether those processes may go on; otherwise they were ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept_running: bool,
}

/// What a child thread did in a step of its parent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChildReport {
    /// Its branch.
    #[serde(flatten)]
    pub branch: Branch,
    /// The child.
    pub thread: ThreadId,
    /// Its state now.
    #[serde(skip)]
    pub state: ThreadState,
    /// Its status now.
    pub status: ThreadStatus,
    /// The step that it did.
    pub step: Option<CasRef>,
    /// Who did it.
    pub role: Option<RoleName>,
    /// The child of the child that did a step, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<ChildReport>>,
    /// The children of the child that did steps, if several did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildReport>,
    /// How many steps were recorded, with those of its children.
    #[serde(skip)]
    pub steps: u64,
}

impl ChildReport {
    /// Returns the report of a child by what its own step reported.
    pub(crate) fn new(branch: Branch, report: &StepReport) -> Self {
        Self {
            branch,
            thread: report.thread,
            state: report.state.clone(),
            status: report.state.status,
            step: report.step,
            role: report.role.clone(),
            child: report.child.clone().map(Box::new),
            children: report.children.clone(),
            steps: report.steps_done(),
        }
    }
}

impl StepReport {
    /// Returns the report with those of children in it.
    pub(crate) fn with_children(self, mut reports: Vec<ChildReport>) -> Self {
        match reports.len() {
            0 | 1 => Self {
                child: reports.pop(),
                ..self
            },
            _ => Self {
                children: reports,
                ..self
            },
        }
    }

    /// Returns the report of a thread in which nothing was done.
    pub(crate) fn of_nothing(
        (thread, workflow): (ThreadId, CasRef),
        head: CasRef,
        state: ThreadState,
    ) -> Self {
        Self {
            workflow,
            thread,
            head,
            state,
            step: None,
            role: None,
            agent: None,
            duration_ms: None,
            adopted: false,
            blocked_reason: None,
            result: None,
            result_problem: None,
            refused_calls: Vec::new(),
            checks: Vec::new(),
            child: None,
            children: Vec::new(),
            replaced: None,
            left_running: Vec::new(),
            kept_running: false,
        }
    }

    /// Returns the report with another state.
    pub(crate) fn in_state(self, state: ThreadState) -> Self {
        Self { state, ..self }
    }

    /// Returns how many steps this call recorded, with those of children.
    #[must_use]
    pub fn steps_done(&self) -> u64 {
        let children = self.child.iter().chain(&self.children);
        let of_children: u64 = children.map(|child| child.steps).sum();
        u64::from(self.step.is_some()) + of_children
    }

    /// Returns the report of a thread whose head is the step that was just committed. If the route is unknown, the thread is
    /// reported as idle: the next call finds the route.
    pub(crate) fn new(
        thread: &Thread,
        route: Option<&Result<Route, RouteError>>,
        origin: StepOrigin,
        reached: &[Reached],
    ) -> Self {
        let step = match origin {
            StepOrigin::Ran | StepOrigin::Adopted => thread.last(),
            StepOrigin::Nothing => None,
        };
        let (result, result_problem) = route.map(outline::result_of).unwrap_or_default();
        let state = route.map_or_else(
            || ThreadState::plain(ThreadStatus::Idle),
            ThreadState::of_route,
        );
        let at = (thread.id, thread.start.workflow);
        Self {
            step: step.map(|step| step.hash),
            role: step.map(|step| step.node.role.clone()),
            agent: step.map(|step| step.node.agent.clone()),
            duration_ms: step.and_then(|step| step.node.duration_ms()),
            adopted: origin == StepOrigin::Adopted,
            blocked_reason: route.and_then(|route| Some(route.as_ref().err()?.to_string())),
            result,
            result_problem,
            ..Self::of_nothing(at, thread.head, state.at_limits(reached))
        }
    }
}

//! The result of a step.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_protocol::nodes::RefusedCalls;

use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::thread::Thread;

/// How a step came into its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOrigin {
    /// Its agent ran in this call.
    Ran,
    /// Its agent had finished after the engine that started it died.
    Adopted,
    /// There was no step: the head led to `$END`.
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
    /// What the thread is now.
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
    /// The calls of tools that the step's agent was not allowed to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// The step whose place this one took, if it was done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<CasRef>,
    /// What the agent left running when it had succeeded, for people: number and command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<String>,
    /// Whether that may go on; otherwise it was ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept_running: bool,
}

impl StepReport {
    /// Returns the report of a thread whose head is the step that was just committed. Where it is not known where the
    /// graph leads, the next step finds out.
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
        Self {
            workflow: thread.start.workflow,
            thread: thread.id,
            head: thread.head,
            state: route
                .map_or_else(
                    || ThreadState::plain(ThreadStatus::Idle),
                    ThreadState::of_route,
                )
                .at_limits(reached),
            step: step.map(|step| step.hash),
            role: step.map(|step| step.node.role.clone()),
            agent: step.map(|step| step.node.agent.clone()),
            duration_ms: step.and_then(|step| step.node.duration_ms()),
            adopted: origin == StepOrigin::Adopted,
            blocked_reason: route.and_then(|route| Some(route.as_ref().err()?.to_string())),
            refused_calls: Vec::new(),
            replaced: None,
            left_running: Vec::new(),
            kept_running: false,
        }
    }
}

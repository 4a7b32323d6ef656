//! The result of a step, and the status of a thread that it and other views share.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_protocol::nodes::RefusedCalls;

use crate::error::describe_reached;
use crate::thread::Thread;

/// What a thread is, as seen from its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadStatus {
    /// A step can be done.
    Idle,
    /// A step is being done.
    Running,
    /// It waits for a person.
    Suspended,
    /// Its graph gives no next step.
    Blocked,
    /// Its last attempt failed; a step can be tried again.
    Failed,
    /// It reached `$END`.
    Completed,
    /// It was ended from outside.
    Cancelled,
    /// It cannot be read.
    Corrupt,
}

impl ThreadStatus {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Running,
        Self::Suspended,
        Self::Blocked,
        Self::Failed,
        Self::Completed,
        Self::Cancelled,
        Self::Corrupt,
    ];

    /// Tells whether the thread has ended, so that only the history knows it.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }

    /// Returns the word for it, as printed and as accepted by filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Corrupt => "corrupt",
        }
    }
}

/// What follows from a thread's head: the part that every view of a thread shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// What the thread is.
    pub status: ThreadStatus,
    /// Who is next, if somebody is.
    pub current_role: Option<RoleName>,
    /// Who asks, if the thread is suspended.
    pub suspended_role: Option<RoleName>,
    /// What is asked, if the thread is suspended.
    pub suspend_message: Option<String>,
    /// Whether the thread reached `$END`.
    pub done: bool,
    /// Kept for programs that expect the key; steps run in the foreground only.
    pub background: Option<bool>,
    /// The limit that keeps it from going on, if one is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
    /// The limits that must be raised before it goes on.
    #[serde(skip)]
    pub reached: Vec<Reached>,
    /// Whether it is suspended for that alone.
    #[serde(skip)]
    pub held_by_limit: bool,
}

impl Standing {
    /// Returns a standing without a next role.
    pub(crate) fn plain(status: ThreadStatus) -> Self {
        Self {
            status,
            current_role: None,
            suspended_role: None,
            suspend_message: None,
            done: status.is_ended(),
            background: None,
            limit: None,
            reached: Vec::new(),
            held_by_limit: false,
        }
    }

    /// Returns the same for a thread that cannot go on because limits are reached, if any are.
    ///
    /// One that asks keeps its question: the answer does not suffice then.
    pub(crate) fn at_limits(self, reached: &[Reached]) -> Self {
        let Some(first) = reached.first() else {
            return self;
        };
        let by_limit = Self {
            limit: Some(first.clone()),
            reached: reached.to_vec(),
            ..self
        };
        match by_limit.status {
            ThreadStatus::Idle | ThreadStatus::Failed => Self {
                status: ThreadStatus::Suspended,
                suspended_role: by_limit.current_role,
                current_role: None,
                suspend_message: Some(describe_reached(reached)),
                held_by_limit: true,
                ..by_limit
            },
            ThreadStatus::Suspended => by_limit,
            ThreadStatus::Running
            | ThreadStatus::Blocked
            | ThreadStatus::Completed
            | ThreadStatus::Cancelled
            | ThreadStatus::Corrupt => Self {
                limit: None,
                reached: Vec::new(),
                ..by_limit
            },
        }
    }

    /// Returns what an active thread is whose graph leads here. The next step archives one that leads to `$END`;
    /// until then it is a thread like others, with nobody next.
    pub(crate) fn of_active(route: &Result<Route, RouteError>) -> Self {
        match route {
            Ok(Route::End) => Self::plain(ThreadStatus::Idle),
            Ok(Route::To(_) | Route::Suspend { .. }) | Err(_) => Self::of_route(route),
        }
    }

    /// Returns what a route means.
    pub(crate) fn of_route(route: &Result<Route, RouteError>) -> Self {
        match route {
            Ok(Route::To(assignment)) => Self {
                current_role: Some(assignment.role.clone()),
                ..Self::plain(ThreadStatus::Idle)
            },
            Ok(Route::Suspend { role, message }) => Self {
                suspended_role: Some(role.clone()),
                suspend_message: Some(message.clone()),
                ..Self::plain(ThreadStatus::Suspended)
            },
            Ok(Route::End) => Self::plain(ThreadStatus::Completed),
            Err(_) => Self::plain(ThreadStatus::Blocked),
        }
    }
}

/// How a step came into its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
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
    pub standing: Standing,
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
        taken: Taken,
        reached: &[Reached],
    ) -> Self {
        let step = match taken {
            Taken::Ran | Taken::Adopted => thread.last(),
            Taken::Nothing => None,
        };
        Self {
            workflow: thread.start.workflow,
            thread: thread.id,
            head: thread.head,
            standing: route
                .map_or_else(|| Standing::plain(ThreadStatus::Idle), Standing::of_route)
                .at_limits(reached),
            step: step.map(|step| step.hash),
            role: step.map(|step| step.node.role.clone()),
            agent: step.map(|step| step.node.agent.clone()),
            duration_ms: step.and_then(|step| step.node.duration_ms()),
            adopted: taken == Taken::Adopted,
            blocked_reason: route.and_then(|route| Some(route.as_ref().err()?.to_string())),
            refused_calls: Vec::new(),
            replaced: None,
            left_running: Vec::new(),
            kept_running: false,
        }
    }
}

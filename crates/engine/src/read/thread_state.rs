//! What a thread is, as seen from its head: its status, who is next, and what keeps it from going on.

use std::str::FromStr;

use serde::Serialize;
use uwf_moderator::{Route, RouteError, head_status};
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_storage::Paused;

use crate::describe::describe_reached;
use crate::planned_try::PlannedTry;
use crate::read::branch::Branch;
use crate::read::causing_child::CausingChild;
use crate::unknown_word::{UnknownWord, value_of};

/// The status of a thread.
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
    /// Its last attempt failed, and the next one is made by itself, at a later time.
    Waiting,
    /// A person paused it: no step is started, whatever else it waits for.
    Paused,
    /// It reached `$END`.
    Completed,
    /// It was ended from outside.
    Cancelled,
    /// It cannot be read.
    Corrupt,
}

impl ThreadStatus {
    /// Every status.
    pub const ALL: [Self; 10] = [
        Self::Idle,
        Self::Running,
        Self::Suspended,
        Self::Blocked,
        Self::Failed,
        Self::Waiting,
        Self::Paused,
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
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Corrupt => "corrupt",
        }
    }
}

impl FromStr for ThreadStatus {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        value_of(word, Self::ALL, Self::as_str)
    }
}

/// The state of a thread: the part that every view of a thread shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadState {
    /// The status.
    pub status: ThreadStatus,
    /// The role that is next, if one is.
    pub current_role: Option<RoleName>,
    /// The role that asks, if the thread is suspended.
    pub suspended_role: Option<RoleName>,
    /// The question, if the thread is suspended.
    pub suspend_message: Option<String>,
    /// The thread that waits for a person, if it plays the role for this one, or for a thread between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_child: Option<ThreadId>,
    /// The child that keeps the thread from going on, if its next step needs one that does not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Box<CausingChild>>,
    /// Whether the thread reached `$END`.
    pub done: bool,
    /// Always `None`; kept for programs that expect the key.
    pub background: Option<bool>,
    /// Who paused it, when and why, if it is paused. A step that is being done goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The limit that keeps it from going on, if one is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
    /// The attempt that the thread waits for, if it is waiting.
    #[serde(flatten)]
    pub next_try: Option<PlannedTry>,
    /// The limits that must be raised before it goes on.
    #[serde(skip)]
    pub reached: Vec<Reached>,
    /// Why the last attempt failed, if the thread is failed; why it is blocked, if it is.
    #[serde(skip)]
    pub reason: Option<String>,
    /// What suspends it, if no role asks.
    #[serde(skip)]
    pub held_by: Option<HeldBy>,
    /// The finished step that waits to be committed, if the state is that of a child and it has one.
    #[serde(skip)]
    pub finished_step: Option<CasRef>,
}

/// What suspends a thread in which no role asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// Limits.
    Limit,
    /// Its supervisor.
    Supervisor,
    /// A step of a pipeline that failed.
    Failure,
}

impl ThreadState {
    /// Returns a state with this status and without a next role.
    pub(crate) fn plain(status: ThreadStatus) -> Self {
        Self {
            status,
            current_role: None,
            suspended_role: None,
            suspend_message: None,
            waiting_child: None,
            caused_by: None,
            done: status.is_ended(),
            background: None,
            paused: None,
            limit: None,
            next_try: None,
            reached: Vec::new(),
            reason: None,
            held_by: None,
            finished_step: None,
        }
    }

    /// Returns this state with what the supervisor says, if it suspends the thread. It suspends an idle or failed thread; a
    /// thread that waits for a person anyway keeps its question or its limit.
    pub(crate) fn at_verdict(self, reason: Option<String>) -> Self {
        match (self.status, reason) {
            (ThreadStatus::Idle | ThreadStatus::Failed, Some(reason))
                if self.current_role.is_some() =>
            {
                Self {
                    status: ThreadStatus::Suspended,
                    suspended_role: self.current_role,
                    current_role: None,
                    suspend_message: Some(reason),
                    held_by: Some(HeldBy::Supervisor),
                    ..self
                }
            }
            _ => self,
        }
    }

    /// Returns this state with the reached limits, if there are any. An idle or failed thread is suspended by them.
    ///
    /// A thread that asks keeps its question: it needs the answer and a raised limit.
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
                held_by: Some(HeldBy::Limit),
                ..by_limit
            },
            ThreadStatus::Suspended => by_limit,
            ThreadStatus::Running
            | ThreadStatus::Waiting
            | ThreadStatus::Blocked
            | ThreadStatus::Paused
            | ThreadStatus::Completed
            | ThreadStatus::Cancelled
            | ThreadStatus::Corrupt => Self {
                limit: None,
                reached: Vec::new(),
                ..by_limit
            },
        }
    }

    /// Returns this state with the pause, if there is one. It is the status of a thread that nobody works on, because it is
    /// the first thing that keeps the thread from going on. A question or a limit stays to be read.
    pub(crate) fn with_pause(self, paused: Option<Paused>) -> Self {
        let status = match self.status {
            ThreadStatus::Idle
            | ThreadStatus::Suspended
            | ThreadStatus::Blocked
            | ThreadStatus::Failed
            | ThreadStatus::Waiting
                if paused.is_some() =>
            {
                ThreadStatus::Paused
            }
            other => other,
        };
        Self {
            status,
            paused,
            ..self
        }
    }

    /// Returns the state of an active thread with this route. A thread whose route is `$END` is idle without a next role: the
    /// next call archives it.
    pub(crate) fn of_active(route: &Result<Route, RouteError>) -> Self {
        match head_status(route) {
            HeadStatus::Ended => Self::plain(ThreadStatus::Idle),
            HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked => {
                Self::of_route(route)
            }
        }
    }

    /// Returns the reason why a thread does not go on, as a text.
    pub(crate) fn why(&self) -> Option<String> {
        match self.status {
            ThreadStatus::Suspended => self.suspend_message.clone(),
            ThreadStatus::Failed | ThreadStatus::Waiting | ThreadStatus::Blocked => {
                self.reason.clone()
            }
            ThreadStatus::Paused => self.paused.as_ref()?.reason.clone(),
            ThreadStatus::Idle
            | ThreadStatus::Running
            | ThreadStatus::Completed
            | ThreadStatus::Cancelled
            | ThreadStatus::Corrupt => None,
        }
    }

    /// Tells whether a parent cannot go on for now because a child is in this state.
    pub(crate) fn holds_parent(&self) -> bool {
        match self.status {
            ThreadStatus::Suspended
            | ThreadStatus::Blocked
            | ThreadStatus::Failed
            | ThreadStatus::Waiting
            | ThreadStatus::Paused
            | ThreadStatus::Corrupt => true,
            ThreadStatus::Idle
            | ThreadStatus::Running
            | ThreadStatus::Completed
            | ThreadStatus::Cancelled => false,
        }
    }

    /// Returns the state of a thread whose role children play, by the state of the child that matters.
    pub(crate) fn of_child(
        role: &RoleName,
        (child, branch): (ThreadId, Branch),
        state: &Self,
    ) -> Self {
        let caused_by = || {
            Some(Box::new(CausingChild {
                branch,
                thread: child,
                reason: state.why(),
                caused_by: state.caused_by.clone(),
            }))
        };
        let by_role = Self {
            current_role: Some(role.clone()),
            ..Self::plain(ThreadStatus::Idle)
        };
        match state.status {
            ThreadStatus::Suspended => Self {
                status: ThreadStatus::Suspended,
                current_role: None,
                suspended_role: Some(role.clone()),
                suspend_message: state.suspend_message.clone(),
                waiting_child: state.waiting_child.or(Some(child)),
                caused_by: caused_by(),
                limit: state.limit.clone(),
                reached: state.reached.clone(),
                held_by: state.held_by.filter(|by| *by != HeldBy::Supervisor),
                ..by_role
            },
            status @ (ThreadStatus::Blocked | ThreadStatus::Failed | ThreadStatus::Paused) => {
                Self {
                    status,
                    caused_by: caused_by(),
                    reason: state.reason.clone(),
                    ..by_role
                }
            }
            ThreadStatus::Waiting => Self {
                status: ThreadStatus::Waiting,
                caused_by: caused_by(),
                reason: state.reason.clone(),
                next_try: state.next_try.clone(),
                ..by_role
            },
            ThreadStatus::Corrupt => Self {
                status: ThreadStatus::Blocked,
                caused_by: caused_by(),
                ..by_role
            },
            ThreadStatus::Running => Self {
                status: ThreadStatus::Running,
                ..by_role
            },
            ThreadStatus::Idle | ThreadStatus::Completed | ThreadStatus::Cancelled => by_role,
        }
    }

    /// Returns the state that a route means.
    pub(crate) fn of_route(route: &Result<Route, RouteError>) -> Self {
        let plain = Self::plain(match head_status(route) {
            HeadStatus::Ready => ThreadStatus::Idle,
            HeadStatus::Suspended => ThreadStatus::Suspended,
            HeadStatus::Ended => ThreadStatus::Completed,
            HeadStatus::Blocked => ThreadStatus::Blocked,
        });
        match route {
            Ok(Route::To(assignment)) => Self {
                current_role: Some(assignment.role.clone()),
                ..plain
            },
            Ok(Route::Suspend { role, message }) => Self {
                suspended_role: Some(role.clone()),
                suspend_message: Some(message.clone()),
                ..plain
            },
            Ok(Route::Stop { role, message }) => Self {
                suspended_role: Some(role.clone()),
                suspend_message: Some(message.clone()),
                held_by: Some(HeldBy::Failure),
                ..plain
            },
            Ok(Route::End { .. }) | Err(_) => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_the_status_of_a_thread_that_could_go_on_or_waits() {
        let paused = Paused {
            at: 0,
            by: None,
            reason: None,
        };
        for status in ThreadStatus::ALL {
            let state = ThreadState::plain(status).with_pause(Some(paused.clone()));
            let is_changed = matches!(
                status,
                ThreadStatus::Idle
                    | ThreadStatus::Suspended
                    | ThreadStatus::Blocked
                    | ThreadStatus::Failed
                    | ThreadStatus::Waiting
                    | ThreadStatus::Paused
            );
            let expected = if is_changed {
                ThreadStatus::Paused
            } else {
                status
            };
            assert_eq!(state.status, expected);
            assert_eq!(state.paused.as_ref(), Some(&paused));
            let free = ThreadState::plain(status);
            assert_eq!(free.clone().with_pause(None), free);
        }
    }
}

//! The next attempt at a step that has failed: who makes it and when, if the config says so. `uwf_protocol::retry` decides.

use serde::{Serialize, Serializer};
use serde_json::Value;
use uwf_protocol::config::Config;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::retry::{NextTry, When, next_try};
use uwf_storage::Ledger;
use uwf_util::time::{format_iso, parse_filter};

use crate::Site;
use crate::agent_choice::alias_for;
use crate::describe::utc;
use crate::project::config_for;
use crate::read::thread_state::{ThreadState, ThreadStatus};

/// An attempt that follows a failed one by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedTry {
    /// The thread.
    #[serde(skip)]
    pub thread: ThreadId,
    /// When it is made, in milliseconds since 1970.
    #[serde(rename = "nextTryAt", serialize_with = "iso")]
    pub at_ms: i64,
    /// The alias of the agent that makes it.
    #[serde(rename = "nextAgent")]
    pub agent: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn iso<S: Serializer>(ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_iso(*ms))
}

/// The error of a call that came before the time of the next attempt.
#[derive(Debug, thiserror::Error)]
#[error(
    "thread `{}` waits until {}: `{role}` failed{}, and agent `{}` makes the next attempt then",
    planned.thread, utc(planned.at_ms), of_class(*class), planned.agent
)]
pub struct Waiting {
    /// The attempt that the thread waits for.
    pub planned: PlannedTry,
    /// Who does the step.
    pub role: RoleName,
    /// The class of the last failure, if it is on record.
    pub class: Option<FailureClass>,
}

fn of_class(class: Option<FailureClass>) -> String {
    class.map_or_else(String::new, |class| format!(" ({class})"))
}

/// Returns who makes the next attempt at the step of a role, and when; `None` if the config has no agent for the role.
pub(crate) fn of_role(
    site: &Site,
    config: &Config,
    workflow: &str,
    place: (CasRef, &RoleName),
    ledger: &Ledger,
) -> Option<NextTry> {
    let first = alias_for(config, workflow, place.1)?;
    let now_ms = site.env.now_ms();
    Some(next_try(config, first, place, &ledger.attempts(), now_ms))
}

impl PlannedTry {
    /// Reads the attempt from what a process said about its step of a thread.
    pub(crate) fn read(thread: ThreadId, said: &Value) -> Option<Self> {
        Some(Self {
            thread,
            at_ms: parse_filter(said.get("nextTryAt")?.as_str()?, 0).ok()?,
            agent: said.get("nextAgent")?.as_str()?.to_owned(),
        })
    }

    /// Returns the attempt that is planned in a thread, if one is: one whose time has come is made now.
    pub(crate) fn of(thread: ThreadId, next: NextTry, now_ms: i64) -> Option<Self> {
        let at_ms = match next.when {
            When::AnyTime => return None,
            When::Due => now_ms,
            When::At(ms) => ms,
        };
        Some(Self {
            thread,
            at_ms,
            agent: next.agent,
        })
    }
}

impl ThreadState {
    /// Returns this state of a thread with the attempt that follows a failed one by itself: the thread waits for it, or can
    /// go on. An error in the config belongs to the call that starts an agent: the state is shown without the attempt.
    pub(crate) fn with_next_try(
        self,
        site: &Site,
        (thread, head): (ThreadId, CasRef),
        (start, workflow): (&StartNode, &str),
    ) -> Self {
        let (ThreadStatus::Failed, Some(role)) = (self.status, &self.current_role) else {
            return self;
        };
        let Ok((config, _)) = config_for(site, start) else {
            return self;
        };
        let ledger = site.root.run(thread).ledger;
        let next = of_role(site, &config, workflow, (head, role), &ledger);
        match next {
            Some(NextTry {
                when: When::Due, ..
            }) => Self {
                status: ThreadStatus::Idle,
                ..self
            },
            Some(
                next @ NextTry {
                    when: When::At(_), ..
                },
            ) => Self {
                status: ThreadStatus::Waiting,
                next_try: PlannedTry::of(thread, next, site.env.now_ms()),
                ..self
            },
            Some(NextTry {
                when: When::AnyTime,
                ..
            })
            | None => self,
        }
    }
}

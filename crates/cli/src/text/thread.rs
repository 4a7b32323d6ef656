//! Threads and steps.

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{
    Forked, Killed, Standing, Started, StepReport, StepsEntry, StepsView, ThreadItem, ThreadStatus,
    ThreadView,
};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::time;

use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::table;

/// A thread that was recorded.
#[derive(Serialize)]
pub(crate) struct StartedView {
    workflow: CasRef,
    thread: ThreadId,
}

impl From<Started> for StartedView {
    fn from(started: Started) -> Self {
        Self {
            workflow: started.workflow,
            thread: started.thread,
        }
    }
}

impl Show for StartedView {
    fn text(&self) -> String {
        let thread = self.thread;
        format!("{thread}\nnext: uwf thread step {thread}")
    }
}

/// A thread that begins where another one was.
#[derive(Serialize)]
pub(crate) struct ForkedView {
    thread: ThreadId,
    #[serde(rename = "forkedFrom")]
    forked_from: ForkedFrom,
}

/// Where a fork begins.
#[derive(Serialize)]
struct ForkedFrom {
    step: CasRef,
}

impl From<Forked> for ForkedView {
    fn from(forked: Forked) -> Self {
        Self {
            thread: forked.thread,
            forked_from: ForkedFrom { step: forked.from },
        }
    }
}

impl Show for ForkedView {
    fn text(&self) -> String {
        let thread = self.thread;
        format!(
            "{thread}\nforked from {}\nnext: uwf thread step {thread}",
            self.forked_from.step
        )
    }
}

/// A thread that was ended.
#[derive(Serialize)]
pub(crate) struct KilledView {
    thread: ThreadId,
    archived: bool,
    cancelled: bool,
    #[serde(rename = "agentEnded")]
    agent_ended: bool,
}

impl From<Killed> for KilledView {
    fn from(killed: Killed) -> Self {
        Self {
            thread: killed.thread,
            archived: true,
            cancelled: true,
            agent_ended: killed.agent_ended,
        }
    }
}

impl Show for KilledView {
    fn text(&self) -> String {
        let agent = if self.agent_ended {
            "; its agent was ended"
        } else {
            ""
        };
        format!("{} is cancelled and archived{agent}", self.thread)
    }
}

/// Everything that a step recorded.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct DetailView(pub Value);

impl Show for DetailView {
    fn text(&self) -> String {
        document(&self.0)
    }
}

/// Says where a thread stands, in one line.
fn standing(standing: &Standing) -> String {
    match (&standing.current_role, &standing.suspended_role) {
        (Some(role), _) => format!("{}, next is {role}", standing.status.as_str()),
        (None, Some(role)) => {
            let message = standing.suspend_message.as_deref().unwrap_or_default();
            format!("suspended, {role} asks: {message}")
        }
        (None, None) => standing.status.as_str().to_owned(),
    }
}

impl Show for StepReport {
    fn text(&self) -> String {
        let done = match (&self.role, &self.step, &self.agent) {
            (Some(role), Some(step), Some(agent)) => {
                let took = self.duration_ms.map_or_else(String::new, |ms| {
                    format!(" in {}", time::format_duration(ms))
                });
                let adopted = if self.adopted {
                    ", finished earlier"
                } else {
                    ""
                };
                format!("{step}  {role} by {agent}{took}{adopted}")
            }
            _ => "nothing to run".to_owned(),
        };
        format!("{done}\n{}", standing(&self.standing))
    }
}

impl Show for ThreadView {
    fn text(&self) -> String {
        let mut rows = vec![
            row("thread", &self.thread),
            row("workflow", &self.workflow),
            row("head", &self.head),
            row("steps", self.steps),
            row("status", standing(&self.standing)),
        ];
        if let Some(reason) = &self.blocked_reason {
            rows.push(row("blocked", reason));
        }
        for attempt in &self.attempts {
            rows.push(row(
                "failed",
                format!("{} by {}: {}", attempt.role, attempt.agent, attempt.error),
            ));
        }
        if let Some(hint) = &self.hint {
            rows.push(row("hint", hint));
        }
        table(&rows)
    }
}

fn row(name: &str, value: impl ToString) -> Vec<String> {
    vec![name.to_owned(), value.to_string()]
}

impl Show for Vec<ThreadItem> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "no threads; `uwf thread start <workflow> -p \"…\"` makes one".to_owned();
        }
        let row = |item: &ThreadItem| {
            let next = match (&item.current_role, item.status) {
                (Some(role), _) => role.to_string(),
                (None, ThreadStatus::Corrupt) => item.error.clone().unwrap_or_default(),
                (None, _) => String::new(),
            };
            vec![
                item.thread.to_string(),
                item.status.as_str().to_owned(),
                next,
            ]
        };
        table(&self.iter().map(row).collect::<Vec<_>>())
    }
}

impl Show for StepsView {
    fn text(&self) -> String {
        let mut rows = Vec::new();
        for entry in &self.steps {
            let StepsEntry::Step(step) = entry else {
                continue;
            };
            let took = step
                .duration_ms
                .map_or_else(|| "-".to_owned(), time::format_duration);
            rows.push(vec![
                step.hash.to_string(),
                step.role.to_string(),
                step.agent.clone(),
                took,
                step.output.to_string(),
            ]);
        }
        for attempt in &self.attempts {
            rows.push(vec![
                "(failed)".to_owned(),
                attempt.role.to_string(),
                attempt.agent.clone(),
                String::new(),
                attempt.error.clone(),
            ]);
        }
        if rows.is_empty() {
            return "no steps yet".to_owned();
        }
        table(&rows)
    }
}

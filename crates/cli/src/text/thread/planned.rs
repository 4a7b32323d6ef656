//! The results of calls that only plan or start a step: `uwf thread step --dry-run` and `--background`.

use serde::Serialize;
use uwf_engine::AgentPlan;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_util::shell_words;

use super::listed::next_try_text;
use crate::output::Show;
use crate::text::table::{Page, fields};

/// What the next step would be.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanView {
    thread: ThreadId,
    /// `agent`, `children`, `visit`, `commit` or `end`.
    action: &'static str,
    #[serde(flatten)]
    agent: Option<AgentPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<CasRef>,
    /// The role that child threads would do steps for.
    #[serde(rename = "playedRole", skip_serializing_if = "Option::is_none")]
    played: Option<RoleName>,
    /// The key of the step of a pipeline that would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<RoleName>,
}

/// The agent that would be started.
#[derive(Serialize)]
struct AgentPart {
    #[serde(flatten)]
    plan: AgentPlan,
    prompt: String,
}

impl PlanView {
    fn of(thread: ThreadId, action: &'static str) -> Self {
        Self {
            thread,
            action,
            agent: None,
            step: None,
            played: None,
            key: None,
        }
    }

    /// An agent would be started.
    pub(crate) fn agent(plan: AgentPlan, prompt: String) -> Self {
        let plain = Self::of(plan.thread, "agent");
        Self {
            agent: Some(AgentPart { plan, prompt }),
            ..plain
        }
    }

    /// A step of a pipeline would be done.
    pub(crate) fn visit(thread: ThreadId, key: RoleName) -> Self {
        Self {
            key: Some(key),
            ..Self::of(thread, "visit")
        }
    }

    /// Child threads would do steps for a role.
    pub(crate) fn children(thread: ThreadId, role: RoleName) -> Self {
        Self {
            played: Some(role),
            ..Self::of(thread, "children")
        }
    }

    /// A finished step would be committed.
    pub(crate) fn commit(thread: ThreadId, step: CasRef) -> Self {
        Self {
            step: Some(step),
            ..Self::of(thread, "commit")
        }
    }

    /// The thread would be completed.
    pub(crate) fn end(thread: ThreadId) -> Self {
        Self::of(thread, "end")
    }
}

impl Show for PlanView {
    fn text(&self, page: Page) -> String {
        let thread = ("thread", self.thread.to_string());
        let Some(AgentPart { plan, prompt }) = &self.agent else {
            let next = match (self.step, &self.played, &self.key) {
                (Some(step), ..) => format!("step {step}, which is finished, would be committed"),
                (None, Some(role), _) => format!("child threads would do steps for {role}"),
                (None, None, Some(key)) => format!("step {key} of the pipeline would be done"),
                (None, None, None) => "nothing to run: the thread would be completed".to_owned(),
            };
            return fields(&[thread, ("next", next)], page);
        };
        let command = shell_words::join(plan.command.iter().map(String::as_str));
        let mut rows = vec![
            thread,
            ("role", plan.role.to_string()),
            ("agent", plan.agent.clone()),
        ];
        let when = plan.next_try.as_ref();
        rows.extend(when.map(|next| ("waits", next_try_text(next))));
        rows.extend(plan.permissions.map(|it| ("may", it.about().to_owned())));
        rows.extend([("command", command), ("cwd", plan.cwd.clone())]);
        format!("{}\n\n{}", fields(&rows, page), prompt.trim_end())
    }
}

/// A step that was started in the background.
#[derive(Serialize)]
pub(crate) struct BackgroundView {
    pub(crate) thread: ThreadId,
    pub(crate) pid: u32,
    pub(crate) output: String,
}

impl Show for BackgroundView {
    fn text(&self, page: Page) -> String {
        let rows = [
            ("process", self.pid.to_string()),
            ("output", self.output.clone()),
            ("next", format!("uwf thread wait {}", self.thread)),
        ];
        fields(&rows, page)
    }
}

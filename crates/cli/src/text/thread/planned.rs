//! The results of calls that only plan or start a step: `uwf thread step --dry-run` and `--background`.

use serde::Serialize;
use uwf_engine::AgentPlan;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_util::shell_words;

use crate::output::Show;
use crate::text::table::{Page, fields};

/// What the next step would be.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanView {
    thread: ThreadId,
    /// `agent`, `children`, `commit` or `end`.
    action: &'static str,
    #[serde(flatten)]
    agent: Option<AgentPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<CasRef>,
    /// The role that child threads would do steps for.
    #[serde(rename = "playedRole", skip_serializing_if = "Option::is_none")]
    played: Option<RoleName>,
}

/// The agent that would be started.
#[derive(Serialize)]
struct AgentPart {
    #[serde(flatten)]
    plan: AgentPlan,
    prompt: String,
}

impl PlanView {
    /// An agent would be started.
    pub(crate) fn agent(plan: AgentPlan, prompt: String) -> Self {
        Self {
            thread: plan.thread,
            action: "agent",
            agent: Some(AgentPart { plan, prompt }),
            step: None,
            played: None,
        }
    }

    /// Child threads would do steps for a role.
    pub(crate) fn children(thread: ThreadId, role: RoleName) -> Self {
        Self {
            thread,
            action: "children",
            agent: None,
            step: None,
            played: Some(role),
        }
    }

    /// A finished step would be committed.
    pub(crate) fn commit(thread: ThreadId, step: CasRef) -> Self {
        Self {
            thread,
            action: "commit",
            agent: None,
            step: Some(step),
            played: None,
        }
    }

    /// The thread would be completed.
    pub(crate) fn end(thread: ThreadId) -> Self {
        Self {
            thread,
            action: "end",
            agent: None,
            step: None,
            played: None,
        }
    }
}

impl Show for PlanView {
    fn text(&self, page: Page) -> String {
        let thread = ("thread", self.thread.to_string());
        let Some(AgentPart { plan, prompt }) = &self.agent else {
            let next = match (self.step, &self.played) {
                (Some(step), _) => format!("step {step}, which is finished, would be committed"),
                (None, Some(role)) => format!("child threads would do steps for {role}"),
                (None, None) => "nothing to run: the thread would be completed".to_owned(),
            };
            return fields(&[thread, ("next", next)], page);
        };
        let command = shell_words::join(plan.command.iter().map(String::as_str));
        let rows = [
            thread,
            ("role", plan.role.to_string()),
            ("agent", plan.agent.clone()),
            ("command", command),
            ("cwd", plan.cwd.clone()),
        ];
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

//! The result of a call that did a step, or failed to.

use serde::Serialize;
use uwf_engine::{AgentChoice, AgentFailure, ChildReport, PlannedTry, StepReport, ThreadStatus};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::run::Phase;
use uwf_util::time;

use super::{of_branch, refused_row, result_rows, state_line, why_suspended};
use crate::hints::{self, thread::next_with};
use crate::output::Show;
use crate::text::table::{Page, fields};

/// A step that was done. `choice` is what the caller chose for the agent; the next command keeps it.
#[derive(Serialize)]
pub(crate) struct StepView {
    #[serde(flatten)]
    pub(crate) report: StepReport,
    #[serde(skip)]
    pub(crate) choice: AgentChoice,
}

impl Show for StepView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        let report = &self.report;
        let mut rows = step_rows(report);
        rows.push(("thread", state_line(&report.state)));
        rows.extend(why_suspended(&report.state));
        rows.extend(result_rows(
            report.result.as_deref(),
            report.result_problem.as_deref(),
        ));
        if report.state.status == ThreadStatus::Suspended {
            let next = next_with(report.thread, &report.state, &self.choice);
            rows.extend(next.map(|next| ("next", next)));
        }
        fields(&rows, page)
    }
}

/// Returns the rows about the step that was done, without where the thread stands.
pub(super) fn step_rows(report: &StepReport) -> Vec<(&'static str, String)> {
    let done = match (&report.role, &report.step, &report.agent) {
        (Some(role), Some(step), Some(agent)) => {
            let took = report.duration_ms.map_or_else(String::new, |ms| {
                format!(" in {}", time::format_duration(ms))
            });
            let adopted = if report.adopted {
                ", finished earlier"
            } else {
                ""
            };
            format!("{step}  {role} by {agent}{took}{adopted}")
        }
        (Some(role), None, _) => format!("{role} is not done yet"),
        _ => "nothing to run".to_owned(),
    };
    let mut rows = vec![("step", done)];
    rows.extend(report.children.iter().map(|one| ("child", child_line(one))));
    let mut child = report.child.as_ref();
    while let Some(one) = child {
        rows.push(("child", child_line(one)));
        child = one.child.as_deref();
    }
    rows.extend(report.replaced.map(|step| ("replaced", step.to_string())));
    rows.extend(refused_row(&report.refused_calls));
    rows.extend(CheckResult::note(&report.checks).map(|note| ("checks", note)));
    if !report.left_running.is_empty() {
        let name = if report.kept_running {
            "running"
        } else {
            "ended"
        };
        rows.push((
            name,
            format!("left running: {}", report.left_running.join(", ")),
        ));
    }
    rows
}

/// Returns what a child did: `0 (a.rs): 01M8…  coder did step 54CK…; idle`.
fn child_line(child: &ChildReport) -> String {
    let did = match (&child.role, child.step) {
        (Some(role), Some(step)) => format!("{role} did step {step}; "),
        _ => String::new(),
    };
    let branch = of_branch(&child.branch);
    format!("{branch}{}  {did}{}", child.thread, child.status.as_str())
}

/// A step that failed: the attempt, as programs read it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FailedStepView {
    thread: ThreadId,
    attempt: Option<u64>,
    role: RoleName,
    agent: String,
    directory: String,
    phase: Phase,
    class: FailureClass,
    message: String,
    hint: String,
    exit_code: Option<i32>,
    session_id: Option<String>,
    raw: Option<CasRef>,
    #[serde(flatten)]
    next_try: Option<PlannedTry>,
}

impl From<&AgentFailure> for FailedStepView {
    fn from(failure: &AgentFailure) -> Self {
        Self {
            thread: failure.thread,
            attempt: failure.number,
            role: failure.role.clone(),
            agent: failure.agent.clone(),
            directory: failure.directory.clone(),
            phase: failure.phase,
            class: failure.class,
            message: failure.problem.clone(),
            hint: hints::here(&failure.hint).into_owned(),
            exit_code: failure.exit_code,
            session_id: failure.session_id.clone(),
            raw: failure.raw,
            next_try: failure.next_try.clone(),
        }
    }
}

impl Show for FailedStepView {
    /// People read the failure on stderr.
    fn text(&self, _page: Page) -> String {
        String::new()
    }
}

//! The results of `uwf thread` and `uwf step`.

mod cared;
mod compared;
mod cost;
mod done;
mod files;
mod listed;
mod many;
mod moved;
mod naming;
mod planned;
mod ran;
mod sessions;
mod shown;
mod steps;
mod summarized;
mod tailed;
mod top;
mod tree;
mod waited;

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{
    AttemptView, Branch, FinishedBelow, HeldBy, Killed, Started, ThreadState, ThreadStatus,
};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::nodes::RefusedCalls;
use uwf_util::text::counted;

pub(crate) use cared::{PausedView, PrunedView, RemovedView, UnpausedView, unkept_line};
pub(crate) use compared::{StepDifferenceView, ThreadDifferenceView};
pub(crate) use done::{FailedStepView, StepView};
pub(crate) use files::{ChangedFilesView, RestoredView};
pub(crate) use listed::ThreadsView;
pub(crate) use many::{NotDoneView, SkippedView};
pub(crate) use moved::ForkedView;
pub(crate) use planned::{BackgroundView, PlanView};
pub(crate) use ran::{RunStepView, StoppedView};
pub(crate) use sessions::DroppedSessionsView;
pub(crate) use shown::ShownView;
pub(crate) use summarized::SummarizedView;
pub(crate) use tailed::TailView;
pub(crate) use top::TopView;
pub(crate) use waited::WaitedView;

use crate::hints::{self, thread::next};
use crate::local_time;
use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::Page;
use crate::text::workflow::texts_of;

/// A thread that was recorded.
#[derive(Serialize)]
pub(crate) struct StartedView {
    workflow: CasRef,
    thread: ThreadId,
    #[serde(flatten, skip_serializing_if = "Naming::is_empty")]
    naming: Naming,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl From<Started> for StartedView {
    fn from(started: Started) -> Self {
        Self {
            workflow: started.workflow,
            thread: started.thread,
            naming: started.naming,
            warnings: texts_of(&started.warnings),
        }
    }
}

impl Show for StartedView {
    fn text(&self, _page: Page) -> String {
        let thread = self.thread;
        let next = format!("uwf thread step {thread}");
        format!("{thread}\nnext: {}", hints::here(&next))
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
    #[serde(skip)]
    is_run: bool,
    #[serde(rename = "finishedStep", skip_serializing_if = "Option::is_none")]
    finished_step: Option<CasRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<ThreadId>,
    #[serde(rename = "finishedBelow", skip_serializing_if = "Vec::is_empty")]
    finished_below: Vec<FinishedBelow>,
}

impl From<Killed> for KilledView {
    fn from(killed: Killed) -> Self {
        Self {
            thread: killed.thread,
            archived: true,
            cancelled: true,
            agent_ended: killed.agent_ended,
            is_run: killed.is_run,
            finished_step: killed.finished_step,
            children: killed.children,
            finished_below: killed.finished_below,
        }
    }
}

impl Show for KilledView {
    fn text(&self, _page: Page) -> String {
        let agent = match (self.agent_ended, self.is_run) {
            (true, false) => "; its agent was ended",
            (true, true) => "; its step was ended",
            (false, _) => "",
        };
        let own = self.finished_step.map(|step| finished_line("a step", step));
        let below = self.finished_below.iter().map(finished_below_line);
        let finished: String = own
            .into_iter()
            .chain(below)
            .map(|it| format!("\n{it}"))
            .collect();
        let children = match self.children.len() {
            0 => String::new(),
            count => format!("; {} with it", counted(count as u64, "child thread")),
        };
        format!(
            "{} is cancelled and archived{agent}{children}{finished}",
            self.thread
        )
    }
}

/// Says what goes on from a step that was finished and not committed.
fn finished_line(what: &str, step: CasRef) -> String {
    let fork = format!("uwf thread fork {step}");
    format!(
        "{what} was finished and not committed: `{}` goes on from it",
        hints::here(&fork)
    )
}

/// The same of a child that was ended with its parent.
pub(crate) fn finished_below_line(one: &FinishedBelow) -> String {
    finished_line(&format!("a step of thread {}", one.thread), one.step)
}

/// Everything that a step recorded.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct DetailView(pub Value);

impl Show for DetailView {
    fn text(&self, _page: Page) -> String {
        document(&self.0)
    }
}

/// Says where a thread stands, in one line.
fn state_line(state: &ThreadState) -> String {
    match (&state.current_role, &state.suspended_role) {
        (Some(role), _) if state.status == ThreadStatus::Running => {
            let then = if state.paused.is_some() {
                ", then the thread is paused"
            } else {
                ""
            };
            format!("running, {role} is at work{then}")
        }
        (Some(role), _) if let Some(next) = &state.next_try => {
            let (at, agent) = (local_time::moment(next.at_ms), &next.agent);
            format!(
                "{} until {at}, next is {role} by agent {agent}",
                state.status.as_str()
            )
        }
        (Some(role), _) => format!("{}, next is {role}", state.status.as_str()),
        (None, Some(role)) => {
            let status = state.status.as_str();
            match state.held_by {
                Some(HeldBy::Limit) => format!("{status} at a limit, next is {role}"),
                Some(HeldBy::Supervisor) => format!("{status} by its supervisor, next is {role}"),
                Some(HeldBy::Failure) => format!("{status}, {role} failed"),
                None => format!("{status}, {role} asks"),
            }
        }
        (None, None) => state.status.as_str().to_owned(),
    }
}

/// Returns what comes before a text about a branch; nothing if the role has no branches.
fn of_branch(branch: &Branch) -> String {
    match branch.to_string() {
        branch if branch.is_empty() => branch,
        branch => format!("{branch}: "),
    }
}

/// Returns a text about why a thread does not go on, after the branches of the child that is the cause.
fn placed(state: &ThreadState, text: &str) -> String {
    let cause = state.caused_by.as_ref();
    cause.map_or_else(|| text.to_owned(), |cause| cause.place(text))
}

/// Returns the row with what the agent of a step was not allowed to do, because its answer may depend on that.
fn refused_row(refused: &[RefusedCalls]) -> Option<(&'static str, String)> {
    let note = RefusedCalls::note(refused)?;
    Some((
        "refused",
        format!("{note} (its permissions do not allow more, see `uwf doctor`)"),
    ))
}

/// Returns the rows with what a completed thread resulted in.
fn result_rows(result: Option<&str>, problem: Option<&str>) -> Vec<(&'static str, String)> {
    let result = result.map(|text| ("result", text.to_owned()));
    let problem = problem.map(|why| ("result", format!("cannot be filled in: {why}")));
    result.into_iter().chain(problem).collect()
}

/// Returns what a suspended thread waits for: an answer, a higher limit, or both; or why its supervisor suspended it.
fn why_suspended(state: &ThreadState) -> Vec<(&'static str, String)> {
    let message = state.suspend_message.clone();
    if let Some(by) = state.held_by {
        let cause = match by {
            HeldBy::Limit => "limit",
            HeldBy::Supervisor => "supervisor",
            HeldBy::Failure => "failed",
        };
        return message
            .map(|message| (cause, placed(state, &message)))
            .into_iter()
            .collect();
    }
    let question = message.map(|question| ("question", placed(state, &question)));
    let limit = state
        .limit
        .as_ref()
        .map(|limit| ("limit", limit.to_string()));
    question.into_iter().chain(limit).collect()
}

/// Returns the agent of a failed attempt, with its alias in the config if that is another word.
fn agent_of(attempt: &AttemptView) -> String {
    match &attempt.alias {
        Some(alias) if *alias != attempt.agent => format!("{} ({alias})", attempt.agent),
        Some(_) | None => attempt.agent.clone(),
    }
}

/// Returns the word for the end of an attempt that led to no step.
fn word_for(attempt: &AttemptView) -> &'static str {
    match attempt.class {
        Some(FailureClass::Cancelled) => "cancelled",
        Some(_) | None => "failed",
    }
}

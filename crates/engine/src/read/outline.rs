//! What a thread is about, what it used up and what it results in: the part that the list and the view of a thread share.

use serde::Serialize;
use uwf_moderator::{EndResult, Route, RouteError, reenter};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_storage::{HistoryRecord, Ledger};
use uwf_thread::{used_by_replaced, used_up_to};
use uwf_util::text::cut_line;

use crate::read::activity::{Activity, AttemptView};
use crate::read::usage_total::UsageTotal;
use crate::{EngineError, Site};

/// How many characters of a line a list shows.
const LINE: usize = 200;

/// What a thread is about and how far it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outline {
    /// The first line of the task; `None` if it cannot be read.
    pub task: Option<String>,
    /// When the thread was started, in milliseconds since 1970.
    pub started_at_ms: Option<i64>,
    /// When something happened in it last, in milliseconds since 1970: a step, a failed attempt, a start or an end.
    pub changed_at_ms: Option<i64>,
    /// What its steps and failed attempts used up; `None` if that is not on record, and was not summed.
    pub usage: Option<UsageTotal>,
    /// What it resulted in, if it is completed: the prompt of the edge to `$END`. A list has the first line.
    pub result: Option<String>,
    /// Why that prompt could not be filled in, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_problem: Option<String>,
    /// Whether it has ended and can be resumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resumable: bool,
}

/// What is known about an active thread when its outline is made.
pub(crate) struct Active<'a> {
    pub(crate) site: &'a Site,
    pub(crate) id: ThreadId,
    pub(crate) head: CasRef,
    pub(crate) start: &'a StartNode,
    pub(crate) last: Option<&'a StepContext>,
    pub(crate) ledger: &'a Ledger,
    pub(crate) activity: &'a Activity,
}

impl Active<'_> {
    /// Returns the outline. The usage of steps that the record does not cover is summed.
    pub(crate) fn outline(&self) -> Result<Outline, EngineError> {
        let Self { site, ledger, .. } = self;
        let started_at_ms = self.id.time_ms(site.env.now_ms());
        let attempts = &self.activity.attempts;
        let changed = [
            started_at_ms,
            self.last.and_then(|step| step.node.completed_at_ms),
            attempts.last().map(|attempt| attempt.ended_at_ms),
            self.activity.running.as_ref().map(|now| now.started_at_ms),
        ];
        Ok(Outline {
            task: first_line(&self.start.prompt),
            started_at_ms,
            changed_at_ms: changed.into_iter().flatten().max(),
            usage: Some(summed(site, ledger, self.head)?),
            ..Outline::default()
        })
    }
}

impl Outline {
    /// Returns the outline of an ended thread, as far as its history line and its task tell it.
    pub(crate) fn of_ended(site: &Site, record: &HistoryRecord, start: Option<&StartNode>) -> Self {
        Self {
            task: start.and_then(|start| first_line(&start.prompt)),
            started_at_ms: record.thread.time_ms(site.env.now_ms()),
            changed_at_ms: Some(record.completed_at),
            ..Self::default()
        }
    }

    /// Adds a failed attempt to resume the thread.
    pub(crate) fn with_failed_resume(self, failed: Option<&AttemptView>) -> Self {
        let failed_at_ms = failed.map(|attempt| attempt.ended_at_ms);
        Self {
            changed_at_ms: self.changed_at_ms.max(failed_at_ms),
            ..self
        }
    }

    /// Adds what a completed thread results in.
    pub(crate) fn with_result(self, result: EndResult) -> Self {
        let (result, result_problem) = parts(result);
        Self {
            result,
            result_problem,
            ..self
        }
    }

    /// Keeps the first line of the result.
    pub(crate) fn in_lines(self) -> Self {
        Self {
            result: self.result.as_deref().and_then(first_line),
            ..self
        }
    }
}

/// Returns the result of a thread with this route, and why it has none if its template could not be filled in. A thread that
/// goes on has neither.
pub(crate) fn result_of(route: &Result<Route, RouteError>) -> (Option<String>, Option<String>) {
    match route {
        Ok(Route::End { result }) => parts(result.clone()),
        Ok(Route::To(_) | Route::Suspend { .. } | Route::Stop { .. }) | Err(_) => (None, None),
    }
}

fn parts(result: EndResult) -> (Option<String>, Option<String>) {
    match result {
        Ok(result) => (result, None),
        Err(why) => (None, Some(why.to_string())),
    }
}

/// Tells whether an ended thread of this program can be resumed.
pub(crate) fn can_be_resumed(program: &Program) -> bool {
    matches!(reenter(program), Ok(Route::To(_)))
}

/// Returns what a thread used up until its head.
pub(crate) fn summed(
    site: &Site,
    ledger: &Ledger,
    head: CasRef,
) -> Result<UsageTotal, EngineError> {
    Ok(UsageTotal::from(&used_by(site, ledger, head)?))
}

/// Returns what a thread used up until its head, with its failed attempts.
pub(crate) fn used_by(site: &Site, ledger: &Ledger, head: CasRef) -> Result<Used, EngineError> {
    let mut used = used_up_to(&site.store, ledger.chain_usage().as_ref(), head)?.used;
    used.add_all(&ledger.used_by_attempts(head));
    if let Some(replaced) = ledger.uncounted_replaced(head)
        && let Some(missing) = used_by_replaced(&site.store, replaced)
    {
        used.add_all(&missing);
    }
    Ok(used)
}

/// Returns what a thread used up until its head, if that is on record.
pub(crate) fn on_record(ledger: &Ledger, head: CasRef) -> Option<UsageTotal> {
    let usage = ledger.chain_usage().filter(|usage| usage.head == head)?;
    let mut used = usage.used;
    used.add_all(&ledger.used_by_attempts(head));
    Some(UsageTotal::from(&used))
}

/// Returns the first line of a text that is not blank, cut if it is very long.
pub(crate) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(cut_line(line, LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_first_that_says_something() {
        assert_eq!(
            first_line("\n \n Fix\tit. \nSoon."),
            Some("Fix it.".to_owned())
        );
        assert_eq!(first_line(" \n"), None);
        assert_eq!(
            first_line(&"x".repeat(900)).unwrap().chars().count(),
            LINE + 1
        );
    }
}

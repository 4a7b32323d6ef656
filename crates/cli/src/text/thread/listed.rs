//! The list of threads.

use serde::Serialize;
use uwf_engine::{PlannedTry, ThreadItem, ThreadStatus};
use uwf_protocol::child::Parent;
use uwf_protocol::nodes::RefusedCalls;
use uwf_util::text::cut_line;
use uwf_util::time;
use uwf_words::usage;

use super::cared::paused_text;
use super::tree::marks;
use crate::hints;
use crate::local_time;
use crate::output::Show;
use crate::text::columns::{Column, Room, STATUS, columns};
use crate::text::table::Page;

/// The columns, with what is left out first where the page is narrow.
const COLUMNS: [Column; 10] = [
    Column::of_tree("THREAD"),
    Column::of_local_times("STARTED", Room::Spare(0)),
    Column::new("CHANGED", Room::Spare(5)),
    STATUS,
    Column::new("NEXT", Room::Spare(4)),
    Column::new("WORKFLOW", Room::Spare(3)),
    Column::new("STEPS", Room::Spare(1)),
    Column::new("COST", Room::Spare(2)),
    Column::new("TASK", Room::Cut),
    Column::new("NOTE", Room::Cut),
];

/// How much of a summary is shown, in characters.
const SUMMARY_SHOWN: usize = 200;

/// A list of threads.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ThreadsView {
    pub(crate) threads: Vec<ThreadItem>,
    /// The current time.
    #[serde(skip)]
    pub(crate) now_ms: i64,
    /// Whether children stand below their parents.
    #[serde(skip)]
    pub(crate) is_tree: bool,
    /// Whether the list was asked for with options that choose threads.
    #[serde(skip)]
    pub(crate) is_filtered: bool,
}

impl Show for ThreadsView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        if self.threads.is_empty() && self.is_filtered {
            let all = hints::here("`uwf thread list --all` shows every thread");
            return format!("no thread matches; {all}");
        }
        if self.threads.is_empty() {
            let start = hints::here("`uwf thread start <workflow> -p \"…\"` makes one");
            return format!("no threads; `--all` lists ended ones too, and {start}");
        }
        let marks = match self.is_tree {
            true => marks(&self.threads.iter().map(depth).collect::<Vec<_>>()),
            false => vec![String::new(); self.threads.len()],
        };
        let rows = self.threads.iter().zip(marks);
        let rows = rows.map(|(item, marks)| self.row(item, &marks)).collect();
        columns(&COLUMNS, rows, page)
    }
}

impl ThreadsView {
    fn row(&self, item: &ThreadItem, marks: &str) -> Vec<String> {
        let none = || "-".to_owned();
        let outline = &item.outline;
        let started = outline.started_at_ms.map(local_time::cell);
        let changed = outline.changed_at_ms.map(|at| age(self.now_ms, at));
        let hash = item.workflow.map(|hash| hash.to_string());
        let role = item.current_role.as_ref().or(item.suspended_role.as_ref());
        let cost = outline.usage.as_ref().filter(|usage| usage.runs > 0);
        vec![
            format!("{marks}{}", item.thread),
            started.unwrap_or_else(none),
            changed.unwrap_or_else(none),
            item.status.as_str().to_owned(),
            role.map_or_else(none, ToString::to_string),
            item.workflow_name.clone().or(hash).unwrap_or_else(none),
            item.steps.map_or_else(none, |steps| steps.to_string()),
            cost.map_or_else(none, usage::cost),
            about(item),
            note(item).unwrap_or_default(),
        ]
    }
}

fn depth(item: &ThreadItem) -> usize {
    let depth = item.parent.as_ref().map_or(0, |parent| parent.depth);
    usize::try_from(depth).unwrap_or(0)
}

/// Returns what a thread is for its parent, if it has one, its name, if it has one, and its task.
pub(crate) fn about(item: &ThreadItem) -> String {
    let branch = item.parent.as_ref().map(branch);
    let name = item.name.as_ref().map(ToString::to_string);
    let parts = branch.into_iter().chain(name);
    let parts = parts.chain(item.outline.task.clone());
    parts.collect::<Vec<_>>().join(": ")
}

/// Returns the role that a child plays, and its branch.
fn branch(parent: &Parent) -> String {
    match parent.key.as_str() {
        "" => parent.role.to_string(),
        key => format!("{} {key}", parent.role),
    }
}

/// Returns how long ago something was.
pub(crate) fn age(now_ms: i64, at_ms: i64) -> String {
    time::format_age(u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0))
}

/// Returns what a person wants to know about a thread of this status. Calls that its agent was not allowed to make come first: they
/// may be the reason for the rest.
pub(crate) fn note(item: &ThreadItem) -> Option<String> {
    let notes = [RefusedCalls::note(&item.refused_calls), status_note(item)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn status_note(item: &ThreadItem) -> Option<String> {
    if item.finished_step.is_some() {
        return Some("a finished step waits to be committed".to_owned());
    }
    if let Some(answer) = &item.waiting_answer {
        return Some(format!("an answer of {} has no step yet", answer.role));
    }
    match item.status {
        ThreadStatus::Idle => summary_line(item).filter(|_| item.refused_calls.is_empty()),
        ThreadStatus::Running if item.running.as_ref().is_some_and(|now| now.waiting) => {
            Some("waits until its agent may start".to_owned())
        }
        ThreadStatus::Running if !item.orphans.is_empty() => {
            Some("works without an engine".to_owned())
        }
        ThreadStatus::Running => None,
        ThreadStatus::Paused => item.paused.as_ref().map(paused_text),
        ThreadStatus::Suspended => placed(item, item.suspend_message.as_ref()),
        ThreadStatus::Blocked => placed(item, item.blocked_reason.as_ref()),
        ThreadStatus::Failed => placed(item, item.failure_reason.as_ref()),
        ThreadStatus::Waiting => item.next_try.as_ref().map(|next| {
            let why = placed(item, item.failure_reason.as_ref());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            format!("{}{why}", next_try_text(next))
        }),
        ThreadStatus::Corrupt => item.error.clone(),
        ThreadStatus::Completed | ThreadStatus::Cancelled => ended_note(item),
    }
}

/// Returns until when a thread waits, and who makes the next attempt.
pub(crate) fn next_try_text(next: &PlannedTry) -> String {
    let at = local_time::moment(next.at_ms);
    format!("until {at}, then agent {} tries again", next.agent)
}

/// Returns why a thread does not go on, after the branches of the child that is the cause.
fn placed(item: &ThreadItem, reason: Option<&String>) -> Option<String> {
    let cause = item.caused_by.as_ref();
    reason.map(|reason| cause.map_or_else(|| reason.clone(), |cause| cause.place(reason)))
}

/// Returns the beginning of the thread's summary.
fn summary_line(item: &ThreadItem) -> Option<String> {
    let summary = item.summary.as_deref()?;
    Some(cut_line(summary, SUMMARY_SHOWN))
}

fn ended_note(item: &ThreadItem) -> Option<String> {
    let outline = &item.outline;
    if let Some(reason) = &item.failure_reason {
        return Some(format!("could not be resumed: {reason}"));
    }
    match (&outline.result, outline.resumable) {
        (Some(result), true) => Some(format!("{result} (can be resumed)")),
        (Some(result), false) => Some(result.clone()),
        (None, true) => Some("can be resumed".to_owned()),
        (None, false) => outline
            .result_problem
            .clone()
            .or_else(|| summary_line(item)),
    }
}

//! The threads that run, and those that wait for a person or for the time of their next attempt.

use serde::Serialize;
use uwf_engine::{ThreadItem, ThreadStatus};
use uwf_util::time;

use super::listed::{about, age, note};
use crate::output::Show;
use crate::text::columns::{Column, Room, STATUS, columns};
use crate::text::table::Page;

/// The columns, with what is left out first where the page is narrow.
const COLUMNS: [Column; 9] = [
    Column::new("THREAD", Room::Fixed),
    STATUS,
    Column::new("ROLE", Room::Spare(4)),
    Column::new("AGENT", Room::Spare(2)),
    Column::new("FOR", Room::Spare(5)),
    Column::new("OUTPUT", Room::Spare(3)),
    Column::new("WORKFLOW", Room::Spare(1)),
    Column::new("TASK", Room::Cut),
    Column::new("NOTE", Room::Cut),
];

/// The threads that somebody has to know about now.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct TopView {
    threads: Vec<ThreadItem>,
    #[serde(skip)]
    now_ms: i64,
}

impl TopView {
    /// Returns the view, with the threads that run first.
    pub(crate) fn new(mut threads: Vec<ThreadItem>, now_ms: i64) -> Self {
        threads.sort_by_key(|item| item.status != ThreadStatus::Running);
        Self { threads, now_ms }
    }

    fn row(&self, item: &ThreadItem) -> Vec<String> {
        let none = || "-".to_owned();
        let running = item.running.as_ref();
        let role = item.current_role.as_ref().or(item.suspended_role.as_ref());
        let since = running.map(|now| now.started_at_ms);
        let since = since.or(item.outline.changed_at_ms);
        let output = running.and_then(|now| now.last_output_ms);
        let agent = running.and_then(|now| now.agent.clone());
        vec![
            item.thread.to_string(),
            item.status.as_str().to_owned(),
            role.map_or_else(none, ToString::to_string),
            agent.unwrap_or_else(none),
            since.map_or_else(none, |since| self.for_how_long(since)),
            output.map_or_else(none, |at| age(self.now_ms, at)),
            item.workflow_name.clone().unwrap_or_else(none),
            about(item),
            note(item).unwrap_or_default(),
        ]
    }

    fn for_how_long(&self, since_ms: i64) -> String {
        let ms = u64::try_from(self.now_ms.saturating_sub(since_ms));
        time::format_duration(ms.unwrap_or(0))
    }
}

impl Show for TopView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        if self.threads.is_empty() {
            return "nothing runs, and nothing waits for a person".to_owned();
        }
        let count = |status| {
            let is_so = |item: &&ThreadItem| item.status == status;
            self.threads.iter().filter(is_so).count()
        };
        let (running, later) = (count(ThreadStatus::Running), count(ThreadStatus::Waiting));
        let later_text = match later {
            0 => String::new(),
            1 => "1 waits for its next attempt, ".to_owned(),
            more => format!("{more} wait for their next attempt, "),
        };
        let for_person = match self.threads.len() - running - later {
            1 => "1 waits for a person".to_owned(),
            more => format!("{more} wait for a person"),
        };
        let rows = self.threads.iter().map(|item| self.row(item)).collect();
        let table = columns(&COLUMNS, rows, page);
        format!("{running} running, {later_text}{for_person}\n{table}")
    }
}

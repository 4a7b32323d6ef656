//! The list of threads.

use serde::Serialize;
use uwf_engine::{ThreadItem, ThreadStatus};
use uwf_util::time;

use crate::output::Show;
use crate::text::table::{Page, fitted};

/// A list of threads.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ThreadsView {
    pub(crate) threads: Vec<ThreadItem>,
    /// The current time. It is needed to read the time in the thread ids of some other programs.
    #[serde(skip)]
    pub(crate) now_ms: i64,
    /// Whether the list was asked for with options that choose threads.
    #[serde(skip)]
    pub(crate) is_filtered: bool,
}

impl Show for ThreadsView {
    fn text(&self, page: Page) -> String {
        if self.threads.is_empty() && self.is_filtered {
            return "no thread matches; `uwf thread list --all` shows every thread".to_owned();
        }
        if self.threads.is_empty() {
            return "no threads; `--all` lists ended ones too, and `uwf thread start <workflow> -p \"…\"` makes one"
                .to_owned();
        }
        let row = |item: &ThreadItem| {
            let started = item.thread.time_ms(self.now_ms).map(time::format_utc);
            let hash = item.workflow.map(|hash| hash.to_string());
            let workflow = item.workflow_name.clone().or(hash);
            vec![
                item.thread.to_string(),
                started.unwrap_or_else(|| "-".to_owned()),
                item.status.as_str().to_owned(),
                who_is_next(item),
                workflow.or(item.error.clone()).unwrap_or_default(),
            ]
        };
        fitted(
            &["THREAD", "STARTED (UTC)", "STATUS", "NEXT", "WORKFLOW"],
            self.threads.iter().map(row).collect(),
            4,
            page,
        )
    }
}

fn who_is_next(item: &ThreadItem) -> String {
    match (&item.current_role, item.status) {
        (Some(role), _) if item.finished_step.is_some() => format!("{role} (finished)"),
        (Some(role), _) => role.to_string(),
        (None, ThreadStatus::Suspended | ThreadStatus::Paused) => "(you)".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

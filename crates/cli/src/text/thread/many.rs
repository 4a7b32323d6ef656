//! What comes of a thread, among several, that got no step.

use serde::Serialize;
use uwf_protocol::ids::ThreadId;

use crate::failure::Failure;
use crate::hints;
use crate::output::Show;
use crate::text::table::Page;

/// A thread that was skipped: it was busy, or not idle any more.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkippedView {
    thread: ThreadId,
    skipped: bool,
    exit: u8,
    message: String,
}

impl SkippedView {
    pub(crate) fn of(thread: ThreadId, failure: &Failure) -> Self {
        Self {
            thread,
            skipped: true,
            exit: failure.exit.code(),
            message: failure.what.clone(),
        }
    }
}

impl Show for SkippedView {
    fn text(&self, _page: Page) -> String {
        format!("skipped: {}", self.message)
    }
}

/// A thread whose step was refused before an agent was started.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotDoneView {
    thread: ThreadId,
    exit: u8,
    message: String,
    hint: Option<String>,
}

impl NotDoneView {
    pub(crate) fn of(thread: ThreadId, failure: &Failure) -> Self {
        let hint = failure.hint.as_deref().map(hints::here);
        Self {
            thread,
            exit: failure.exit.code(),
            message: failure.what.clone(),
            hint: hint.map(std::borrow::Cow::into_owned),
        }
    }
}

impl Show for NotDoneView {
    /// People read the failure on stderr.
    fn text(&self, _page: Page) -> String {
        String::new()
    }
}

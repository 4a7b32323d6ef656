//! The summary of a thread.

use serde::Serialize;
use uwf_engine::SummaryView;
use uwf_protocol::ids::ThreadId;

use crate::output::Show;
use crate::text::table::Page;

/// A thread that was summarized.
#[derive(Serialize)]
pub(crate) struct SummarizedView {
    pub(crate) thread: ThreadId,
    #[serde(flatten)]
    pub(crate) summary: SummaryView,
}

impl Show for SummarizedView {
    fn text(&self, _page: Page) -> String {
        self.summary.text.clone()
    }
}

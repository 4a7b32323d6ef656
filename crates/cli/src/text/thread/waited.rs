//! The result of `uwf thread wait`.

use serde::Serialize;
use uwf_engine::ThreadView;

use super::{state_line, why_suspended};
use crate::output::Show;
use crate::text::table::{Page, fields};

/// A thread that has come to something: as data, the same as of `thread show`.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct WaitedView(pub(crate) ThreadView);

impl Show for WaitedView {
    fn text(&self, page: Page) -> String {
        let view = &self.0;
        let mut rows = vec![("thread", view.thread.to_string())];
        rows.push(("status", state_line(&view.state)));
        rows.extend(why_suspended(&view.state));
        rows.extend(view.blocked_reason.clone().map(|why| ("why", why)));
        rows.extend(view.hint.clone().map(|hint| ("hint", hint)));
        fields(&rows, page)
    }
}

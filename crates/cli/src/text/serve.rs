//! The result of `uwf serve`, which it prints when it begins to answer.

use std::net::SocketAddr;

use serde::Serialize;

use crate::output::Show;
use crate::text::table::Page;

/// A server that answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServedView {
    /// The address to open. Behind `#` it has the token, unless a person chose that.
    pub(crate) url: String,
    /// The address of this machine.
    pub(crate) listen: SocketAddr,
    /// Whether visitors may look only.
    pub(crate) read_only: bool,
}

impl Show for ServedView {
    fn text(&self, _page: Page) -> String {
        self.url.clone()
    }
}

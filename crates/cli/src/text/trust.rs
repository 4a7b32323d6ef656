//! The results of `uwf trust`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use uwf_config::Standing;

use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::{Page, table};

/// A project that is trusted now, with what its config says.
#[derive(Serialize)]
pub(crate) struct TrustedView {
    pub(crate) folder: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) trusted: bool,
    pub(crate) config: Value,
}

impl Show for TrustedView {
    fn text(&self, _page: Page) -> String {
        let file = self.file.display();
        let config = document(&self.config);
        format!("{config}\n\n`{file}` is trusted as it is now, which is shown above")
    }
}

/// A project that is trusted no more.
#[derive(Serialize)]
pub(crate) struct RevokedView {
    pub(crate) folder: PathBuf,
    pub(crate) trusted: bool,
}

impl Show for RevokedView {
    fn text(&self, _page: Page) -> String {
        format!("`{}` is trusted no more", self.folder.display())
    }
}

/// A project that was trusted.
#[derive(Serialize)]
pub(crate) struct TrustItem {
    pub(crate) folder: PathBuf,
    /// Whether it still is; `None` if its config is gone.
    pub(crate) status: Option<Standing>,
}

/// The projects that were trusted.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct TrustList(pub Vec<TrustItem>);

impl Show for TrustList {
    fn text(&self, _page: Page) -> String {
        if self.0.is_empty() {
            return "no project is trusted; `uwf trust <dir>` trusts one".to_owned();
        }
        let row = |item: &TrustItem| {
            let status = match item.status {
                Some(Standing::Trusted) => "trusted",
                Some(Standing::Changed) => "changed, not used",
                Some(Standing::Unknown) | None => "its config is gone",
            };
            vec![item.folder.display().to_string(), status.to_owned()]
        };
        table(&["PROJECT", "STATUS"], self.0.iter().map(row).collect())
    }
}

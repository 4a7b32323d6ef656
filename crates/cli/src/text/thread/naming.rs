//! The name and the labels of a thread.

use uwf_engine::NamedThread;
use uwf_protocol::naming::{Labels, Name};

use crate::output::Show;
use crate::text::table::{Page, fields};

impl Show for NamedThread {
    fn text(&self, page: Page) -> String {
        let mut rows = vec![("thread", self.thread.to_string())];
        rows.extend(naming_rows(self.naming.name.as_ref(), &self.naming.labels));
        fields(&rows, page)
    }
}

/// Returns the rows with the name and the labels of a thread, as far as it has any.
pub(super) fn naming_rows(name: Option<&Name>, labels: &Labels) -> Vec<(&'static str, String)> {
    let name = name.map(|name| ("name", name.to_string()));
    let labels = (!labels.is_empty()).then(|| ("labels", line(labels)));
    name.into_iter().chain(labels).collect()
}

/// Returns labels in one line, as they are typed.
fn line(labels: &Labels) -> String {
    let labels = labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}

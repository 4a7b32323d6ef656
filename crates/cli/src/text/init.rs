//! The results of `uwf init`.

use std::path::PathBuf;

use serde::Serialize;

use crate::hints;
use crate::output::Show;
use crate::text::table::{Page, fields, wrapped};

/// A template that can be written.
#[derive(Serialize)]
pub(crate) struct TemplateItem {
    pub(crate) name: &'static str,
    pub(crate) description: String,
}

impl Show for Vec<TemplateItem> {
    fn text(&self, page: Page) -> String {
        let row = |item: &TemplateItem| (item.name, item.description.clone());
        let mut rows = vec![("TEMPLATE", "DESCRIPTION".to_owned())];
        rows.extend(self.iter().map(row));
        let list = fields(&rows, page);
        let next = hints::here("`uwf init <template>` writes one into this folder");
        format!("{list}\n\n{next}")
    }
}

/// A template that was written.
#[derive(Serialize)]
pub(crate) struct InitializedView {
    pub(crate) template: &'static str,
    pub(crate) description: String,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) next: NextCommands,
}

/// What to type next.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextCommands {
    /// How to get to the files, unless they are in the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    /// Runs the workflow with the mock.
    pub(crate) with_mock: String,
    /// Chooses an agent.
    pub(crate) set_up: String,
    /// Runs the workflow with the agent that was chosen.
    pub(crate) with_agent: String,
}

impl Show for InitializedView {
    fn text(&self, page: Page) -> String {
        let about = format!("{}: {}", self.template, self.description);
        let mut parts = vec![wrapped(&about, page)];
        let file = |path: &PathBuf| format!("  {}", path.display());
        let files: Vec<String> = self.files.iter().map(file).collect();
        parts.push(files.join("\n"));
        let next = &self.next;
        let folder = next.folder.iter().map(|cd| format!("  {cd}\n"));
        let folder: String = folder.collect();
        parts.push(format!(
            "Run it now, with the answers of the mock:\n\n{folder}  {}",
            next.with_mock
        ));
        parts.push(format!(
            "With a real agent, which `{}` chooses once:\n\n  {}",
            next.set_up, next.with_agent
        ));
        parts.join("\n\n")
    }
}

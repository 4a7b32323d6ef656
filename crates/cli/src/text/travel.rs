//! The results of exporting and importing threads.

use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_engine::{Exported, Imported, ImportedThread, Outcome};
use uwf_protocol::ids::ThreadId;
use uwf_util::size;
use uwf_util::text::counted;

use crate::hints;
use crate::output::Show;
use crate::text::table::{Page, table};

/// Threads that were exported.
#[derive(Serialize)]
pub(crate) struct ExportedView {
    #[serde(flatten)]
    exported: Exported,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

impl ExportedView {
    pub(crate) fn new(exported: Exported, file: Option<&Path>) -> Self {
        Self {
            exported,
            file: file.map(Path::to_owned),
        }
    }

    /// Returns what was exported, as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Exported {
            threads,
            nodes,
            bytes,
        } = &self.exported;
        let (threads, nodes) = (counted(threads.len(), "thread"), counted(*nodes, "node"));
        format!("{threads} with {nodes} ({})", size::format(*bytes))
    }
}

impl Show for ExportedView {
    fn text(&self, _page: Page) -> String {
        match &self.file {
            Some(file) => format!(
                "{}: {}; `uwf thread import` takes them into another root",
                file.display(),
                self.sentence()
            ),
            None => self.sentence(),
        }
    }
}

/// Threads that were imported.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ImportedView(pub(crate) Imported);

impl Show for ImportedView {
    fn text(&self, _page: Page) -> String {
        if self.0.threads.is_empty() {
            return "the bundle has no threads".to_owned();
        }
        let row =
            |one: &ImportedThread| vec![one.thread.to_string(), one.head.to_string(), said(one)];
        table(
            &["THREAD", "HEAD IN THE BUNDLE", "RESULT"],
            self.0.threads.iter().map(row).collect(),
        )
    }
}

fn said(one: &ImportedThread) -> String {
    let said = outcome_text(one.outcome, one.thread, "import it again");
    let fork = one
        .forked_from
        .map_or_else(String::new, |thread| format!(", as a fork of {thread}"));
    let name = one.taken_name.as_ref().map_or_else(String::new, |taken| {
        format!(
            ", without its name `{}`, which {} has",
            taken.name, taken.by
        )
    });
    let raised: Vec<String> = one.raised.iter().map(ToString::to_string).collect();
    let raised = match raised.is_empty() {
        true => String::new(),
        false => format!("; its limits are raised: {}", raised.join(", ")),
    };
    format!("{said}{fork}{name}{raised}")
}

/// Returns what happened to a thread of another place. `again` names the call that takes what was held up, such as `import it again`.
pub(crate) fn outcome_text(outcome: Outcome, thread: ThreadId, again: &str) -> String {
    let waits = || {
        let show = format!("`uwf thread show {thread}`");
        let show = hints::here(&show);
        format!("waiting: {show} says what makes a step of an answer that is here; then {again}")
    };
    let said = match outcome {
        Outcome::Added => "added",
        Outcome::FastForwarded => "moved forward to this head",
        Outcome::Updated => "its attempts, limits or replaced steps were added",
        Outcome::Unchanged => "nothing new",
        Outcome::Ahead => "nothing new: it went on here",
        Outcome::Busy => {
            return format!("busy: another command is at work on it here; {again} later");
        }
        Outcome::AnswerWaits => return waits(),
    };
    said.to_owned()
}

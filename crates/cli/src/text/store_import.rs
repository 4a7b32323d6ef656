//! The result of `uwf import-store`.

use std::path::PathBuf;

use serde::Serialize;
use uwf_engine::{NameOutcome, Outcome, StoreImport};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::text::counted;

use crate::output::Show;
use crate::text::table::{Page, table};
use crate::text::travel::outcome_text;

/// What was taken out of a store.
#[derive(Serialize)]
pub(crate) struct StoreImportView {
    /// The files that named the threads and the workflows.
    read: Vec<PathBuf>,
    /// The folder of the nodes.
    cas: PathBuf,
    threads: Vec<ThreadItem>,
    workflows: Vec<NameItem>,
}

#[derive(Serialize)]
struct ThreadItem {
    thread: ThreadId,
    head: CasRef,
    #[serde(flatten)]
    result: ThreadResult,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ThreadResult {
    Taken { outcome: Outcome },
    Refused(Refused),
}

#[derive(Serialize)]
struct NameItem {
    name: String,
    hash: CasRef,
    #[serde(flatten)]
    result: NameResult,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
enum NameResult {
    Added,
    Unchanged,
    Kept { here: CasRef },
    Refused { problem: String },
}

/// A thread that was not taken.
#[derive(Serialize)]
#[serde(tag = "outcome", rename = "refused")]
struct Refused {
    problem: String,
}

impl From<StoreImport> for StoreImportView {
    fn from(import: StoreImport) -> Self {
        let threads = import.threads.into_iter();
        let threads = threads.map(|one| ThreadItem {
            thread: one.thread,
            head: one.head,
            result: match one.result {
                Ok(outcome) => ThreadResult::Taken { outcome },
                Err(refusal) => ThreadResult::Refused(Refused {
                    problem: refusal.to_string(),
                }),
            },
        });
        let names = import.workflows.into_iter();
        let names = names.map(|one| NameItem {
            name: one.name,
            hash: one.hash,
            result: match one.result {
                Ok(NameOutcome::Added) => NameResult::Added,
                Ok(NameOutcome::Unchanged) => NameResult::Unchanged,
                Ok(NameOutcome::Kept(here)) => NameResult::Kept { here },
                Err(refusal) => NameResult::Refused {
                    problem: refusal.to_string(),
                },
            },
        });
        Self {
            read: import.read,
            cas: import.nodes,
            threads: threads.collect(),
            workflows: names.collect(),
        }
    }
}

impl Show for StoreImportView {
    fn text(&self, _page: Page) -> String {
        let mut parts = Vec::new();
        if !self.threads.is_empty() {
            parts.push(table(
                &["THREAD", "HEAD IN THE SOURCE", "RESULT"],
                self.threads.iter().map(thread_row).collect(),
            ));
        }
        if !self.workflows.is_empty() {
            parts.push(table(
                &["WORKFLOW", "HASH IN THE SOURCE", "RESULT"],
                self.workflows.iter().map(name_row).collect(),
            ));
        }
        parts.push(self.conclusion());
        parts.join("\n\n")
    }
}

impl StoreImportView {
    /// Returns the last line: how much is new.
    fn conclusion(&self) -> String {
        let is_new = |one: &&ThreadItem| match &one.result {
            ThreadResult::Taken { outcome } => outcome.is_change(),
            ThreadResult::Refused(_) => false,
        };
        let threads = self.threads.iter().filter(is_new).count();
        let is_added = |one: &&NameItem| matches!(one.result, NameResult::Added);
        let names = self.workflows.iter().filter(is_added).count();
        let counts = [(threads, "thread"), (names, "workflow name")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let new: Vec<String> = counts.map(|(count, noun)| counted(count, noun)).collect();
        let verb = if threads + names == 1 { "is" } else { "are" };
        let new = match new.is_empty() {
            true => "nothing is new here".to_owned(),
            false => format!("{} {verb} new here", new.join(" and ")),
        };
        format!("{new}; the source was not changed")
    }
}

fn thread_row(one: &ThreadItem) -> Vec<String> {
    let result = match &one.result {
        ThreadResult::Taken { outcome } => outcome_text(*outcome, one.thread, "import it again"),
        ThreadResult::Refused(Refused { problem }) => format!("refused: {problem}"),
    };
    vec![one.thread.to_string(), one.head.to_string(), result]
}

fn name_row(one: &NameItem) -> Vec<String> {
    let result = match &one.result {
        NameResult::Added => "added".to_owned(),
        NameResult::Unchanged => "nothing new".to_owned(),
        NameResult::Kept { here } => format!("kept: it stands for {here} here"),
        NameResult::Refused { problem } => format!("refused: {problem}"),
    };
    vec![one.name.clone(), one.hash.to_string(), result]
}

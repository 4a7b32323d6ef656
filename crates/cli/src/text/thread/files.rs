//! The files that a step or a thread changed, or that were put back.

use serde::Serialize;
use uwf_engine::{ChangedFile, ChangedFiles, Restored};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::printable::printable;
use uwf_util::text::counted;

use crate::output::Show;
use crate::text::table::Page;

/// What was changed, for each repository.
#[derive(Serialize)]
pub(crate) struct ChangedFilesView {
    pub(crate) repositories: Vec<ChangedFiles>,
    /// Whether only the files are listed.
    #[serde(skip)]
    pub(crate) stat: bool,
}

impl Show for ChangedFilesView {
    fn text(&self, _page: Page) -> String {
        let shown = self.repositories.iter().map(|one| self.shown(one));
        shown.collect::<Vec<_>>().join("\n\n")
    }
}

impl ChangedFilesView {
    fn shown(&self, changed: &ChangedFiles) -> String {
        let steps = match changed.steps.as_slice() {
            [step] => format!("step {} of `{}`", step.hash, step.role),
            steps => counted(steps.len() as u64, "step"),
        };
        let mut lines = vec![
            format!("{steps} in {}", changed.snapshots.repository),
            summary(&changed.files),
        ];
        lines.extend(listed(&changed.files));
        if !self.stat && !changed.files.is_empty() {
            let patch = String::from_utf8_lossy(&changed.patch);
            lines.push(String::new());
            lines.extend(patch.lines().map(|line| printable(line).into_owned()));
        }
        lines.join("\n")
    }
}

/// Files that were put back.
#[derive(Serialize)]
pub(crate) struct RestoredView {
    pub(crate) thread: ThreadId,
    pub(crate) step: CasRef,
    /// Whether the files are those that the step found.
    pub(crate) before: bool,
    #[serde(flatten)]
    pub(crate) restored: Restored,
}

impl Show for RestoredView {
    fn text(&self, _page: Page) -> String {
        let Restored {
            repository,
            replaced,
            files,
            ..
        } = &self.restored;
        let when = if self.before { "before" } else { "after" };
        let (step, repository) = (self.step, repository.display());
        if files.is_empty() {
            return format!("{repository} has the files as they were {when} step {step} already");
        }
        let mut lines = vec![
            format!("{repository} has the files again as they were {when} step {step}"),
            summary(files),
        ];
        lines.extend(listed(files));
        lines.push(format!(
            "git commit {replaced} has the files that were there until now"
        ));
        lines.join("\n")
    }
}

fn listed(files: &[ChangedFile]) -> Vec<String> {
    let width = files.iter().map(|file| file.path.chars().count());
    let width = width.max().unwrap_or(0);
    files.iter().map(|file| line(file, width)).collect()
}

fn summary(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "no file differs".to_owned();
    }
    let sum = |lines: fn(&ChangedFile) -> Option<u64>| files.iter().filter_map(lines).sum::<u64>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let (files, added) = (counted(files.len() as u64, "file"), counted(added, "line"));
    format!("{files}, {added} added, {removed} removed")
}

fn line(file: &ChangedFile, width: usize) -> String {
    let mark = match file.change {
        "added" => 'A',
        "deleted" => 'D',
        _ => 'M',
    };
    let lines = match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("+{added} -{removed}"),
        _ => "not text".to_owned(),
    };
    format!("  {mark} {:width$}  {lines}", printable(&file.path))
}

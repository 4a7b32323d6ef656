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
    /// Why they lack what a step has changed that is not done yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// Whether only the files are listed.
    #[serde(skip)]
    pub(crate) stat: bool,
    /// Whether they are about a whole thread: then the branches of its children have a line each.
    #[serde(skip)]
    pub(crate) is_of_thread: bool,
}

impl Show for ChangedFilesView {
    fn text(&self, _page: Page) -> String {
        let is_short = |one: &&ChangedFiles| self.is_of_thread && one.child.is_some();
        let (short, whole): (Vec<_>, Vec<_>) = self.repositories.iter().partition(is_short);
        let whole = whole.into_iter().map(|one| self.shown(one));
        let short: Vec<String> = short.into_iter().map(of_branch).collect();
        let short = Some(short.join("\n")).filter(|lines| !lines.is_empty());
        whole.chain(short).collect::<Vec<_>>().join("\n\n")
    }
}

impl ChangedFilesView {
    fn shown(&self, changed: &ChangedFiles) -> String {
        let steps = match (changed.steps.as_slice(), changed.unfinished) {
            ([], true) => "an unfinished step".to_owned(),
            ([step], false) => format!("step {} of `{}`", step.hash, step.role),
            (steps, false) => counted(steps.len() as u64, "step"),
            (steps, true) => {
                let steps = counted(steps.len() as u64, "step");
                format!("{steps} and an unfinished one")
            }
        };
        let place = &changed.snapshots.repository;
        let place = match (&changed.branch, changed.child) {
            (Some(branch), _) => format!("{place}, on branch `{branch}`"),
            (None, Some(child)) => format!("{place}, the worktree of {child}"),
            (None, None) => place.clone(),
        };
        let mut lines = vec![format!("{steps} in {place}"), summed(changed)];
        lines.extend(listed(&changed.files));
        lines.extend(left_out(&changed.snapshots.left_out));
        if !self.stat && !changed.files.is_empty() {
            let patch = String::from_utf8_lossy(&changed.patch);
            lines.push(String::new());
            lines.extend(patch.lines().map(|line| printable(line).into_owned()));
        }
        lines.join("\n")
    }
}

/// Returns the line about what the steps of children did on a branch.
fn of_branch(changed: &ChangedFiles) -> String {
    let steps = counted(changed.steps.len() as u64, "step");
    let place = match (&changed.branch, changed.child) {
        (Some(branch), _) => format!("on branch `{branch}`"),
        (None, Some(child)) => format!("in the worktree of {child}"),
        (None, None) => format!("in {}", changed.snapshots.repository),
    };
    format!("{place}, {steps}: {}", summed(changed))
}

/// Returns the sum of what differs in a repository, if that can be told.
fn summed(changed: &ChangedFiles) -> String {
    match changed.gone {
        true => "it was removed".to_owned(),
        false => summary(&changed.files),
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
            commit,
            replaced,
            files,
            left_alone,
            ..
        } = &self.restored;
        let when = match (self.restored.at_start, self.before) {
            (true, _) => "before the first step".to_owned(),
            (false, true) => format!("before step {}", self.step),
            (false, false) => format!("after step {}", self.step),
        };
        let repository = repository.display();
        let mut lines = match files.is_empty() {
            true => vec![format!(
                "{repository} has the files as they were {when} already"
            )],
            false => vec![
                format!("{repository} has the files again as they were {when}"),
                summary(files),
            ],
        };
        lines.extend(listed(files));
        lines.extend(left_alone.iter().map(|inside| {
            let show = format!("git -C {repository} rev-parse {commit}:{inside}");
            format!(
                "  - {inside}  stays as it is: a repository inside; `{show}` shows its commit then"
            )
        }));
        if !files.is_empty() {
            lines.extend(left_out(&self.restored.left_out));
            lines.push(format!(
                "git commit {replaced} has the files that were there until now"
            ));
        }
        lines.join("\n")
    }
}

/// Returns a line for each file that no snapshot has.
fn left_out(files: &[String]) -> Vec<String> {
    let line = |file: &String| {
        let file = printable(file);
        format!("  - {file}  not looked at: larger than `snapshots.maxFileMib`")
    };
    files.iter().map(line).collect()
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

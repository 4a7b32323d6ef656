//! What to type next after a file in the folder of a run could not be used. A program of a step may have moved, replaced or removed it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use uwf_durable::FileError;
use uwf_engine::{EngineError, PipelineError};
use uwf_protocol::ids::ThreadId;
use uwf_runner::RunError;
use uwf_storage::{RunRoot, StorageError};
use uwf_util::shell_words;

use super::run_name::RunName;

/// What is wrong with a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Problem {
    /// It is a link.
    Link,
    /// It, or a folder of it, is of another kind.
    Kind,
    /// The system refuses it for another reason.
    Other,
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunPlace<'a> {
    /// Its folder.
    pub(crate) root: &'a RunRoot,
    /// Its thread.
    pub(crate) thread: ThreadId,
    /// Whether the thread is shared. Then another machine may have its folder.
    pub(crate) is_shared: bool,
}

/// Returns what helps against an error about the folder of a run, or about what is in it. `None` for all other errors.
pub(super) fn hint(error: &EngineError, run: &RunName, place: RunPlace<'_>) -> Option<String> {
    let RunPlace {
        root,
        thread,
        is_shared,
    } = place;
    let (path, problem) = file_of(error)?;
    if !path.starts_with(root.path()) {
        return None;
    }
    let by_thread = RunName::of_thread(&run.run, thread.as_str());
    let again = by_thread.command("resume");
    if let Some(hint) = of_root(root.path(), &again, run) {
        return Some(hint);
    }
    if root.path().symlink_metadata().is_err() {
        let gone = match is_shared {
            true => "not on this machine",
            false => "gone",
        };
        return Some(format!(
            "the folder of the run is {gone}, and its thread has what was done: `{}` shows it, and `{again}` makes the folder again and goes on",
            by_thread.command("report")
        ));
    }
    // Without the record `thread`, the run is found by its thread only.
    let repair = match root.thread() {
        Some(_) => run.command("resume"),
        None => again,
    };
    let existing = |path: &&Path| path.symlink_metadata().is_ok();
    let other = path.ancestors().find(existing).unwrap_or(path);
    let other = other.strip_prefix(root.path()).unwrap_or(other).display();
    let aside = format!("`{repair} --repair` puts `{other}` aside under another name, and goes on");
    let is_of_logs = path.parent() != Some(root.path()) || path.ends_with("logs");
    match problem {
        Problem::Link if is_of_logs => Some(format!(
            "`rm {}` removes the link; or {aside}",
            quoted(path)
        )),
        Problem::Link | Problem::Kind => Some(aside),
        Problem::Other => None,
    }
}

/// Returns what helps if something else is in place of the folder of a run.
pub(crate) fn of_root(root: &Path, again: &str, run: &RunName) -> Option<String> {
    let kind = root.symlink_metadata().ok()?.file_type();
    let folder = quoted(root);
    if kind.is_dir() {
        return None;
    }
    if !kind.is_symlink() {
        return Some(format!(
            "`mv {folder} {folder}.aside` moves it away, and `{again}` makes the folder again from the thread and goes on"
        ));
    }
    // A folder without the record of a run is somebody else's, and stays where it is.
    let is_of_run = |target: &PathBuf| RunRoot::at(target.clone()).thread().is_some();
    let target = root.canonicalize().ok().filter(is_of_run);
    Some(match target {
        Some(target) => format!(
            "only the folder of all runs may be a link: `rm {folder} && mv {} {folder}` puts that of the run in its place, and `{}` goes on",
            quoted(&target),
            run.command("resume")
        ),
        None => format!(
            "`rm {folder}` removes the link, and `{again}` makes the folder again from the thread and goes on"
        ),
    })
}

/// Returns the file that an error is about.
fn file_of(error: &EngineError) -> Option<(&Path, Problem)> {
    let of_task = |error| match error {
        &PipelineError::Task(RunError::File(ref error)) => Some(error),
        _ => None,
    };
    Some(match error {
        EngineError::Storage(StorageError::Link { path }) => (path, Problem::Link),
        EngineError::Storage(
            StorageError::NotRegular { path, .. } | StorageError::NoFolder { path },
        ) => (path, Problem::Kind),
        EngineError::Storage(StorageError::Io { path, source, .. }) => (path, of_system(source)),
        EngineError::Pipeline(error) => match of_task(&**error)? {
            FileError::Link { path } => (path, Problem::Link),
            FileError::NotRegular { path, .. } => (path, Problem::Kind),
            FileError::Io { path, source, .. } => (path, of_system(source)),
        },
        _ => return None,
    })
}

fn of_system(error: &io::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::DirectoryNotEmpty => Problem::Kind,
        _ => Problem::Other,
    }
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}

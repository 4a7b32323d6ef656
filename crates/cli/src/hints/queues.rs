//! What to type next after a task of a queue could not be put, found or moved.

use serde_json::Value;
use uwf_pipeline::{self as pipeline, ErrorKind};
use uwf_util::shell_words;

use crate::failure::Failure;

/// What a call was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A new task.
    NewTask,
    /// A task that there is.
    Task,
    /// A folder of tasks.
    Folder,
}

/// Returns the failure of a call that could not do it.
pub(crate) fn refused(failure: pipeline::Failure, wanted: Wanted) -> Failure {
    let hint = hint(&failure, wanted);
    Failure {
        hint,
        ..Failure::usage(failure.message)
    }
}

/// Returns the failure of a call that wants a task of a folder that is not there. It has the exit code of an empty one: the
/// first task may yet come.
pub(crate) fn no_queue(dir: &str) -> Failure {
    let task = format!("{}/1.task", dir.trim_end_matches('/'));
    Failure::request(format!("there is no queue `{dir}`")).hint(format!(
        "`uwf orchestrate task list` shows the tasks that wait; `uwf orchestrate task put {}` makes the queue",
        shell_words::quote(&task)
    ))
}

fn hint(failure: &pipeline::Failure, wanted: Wanted) -> Option<String> {
    if failure.kind == ErrorKind::PathViolation {
        let paths = "paths are relative to the workspace: this folder, or that of `--workspace`";
        return Some(paths.to_owned());
    }
    if let Some(Value::String(folder)) = failure.context.get("own") {
        let folder = shell_words::quote(folder);
        return Some(format!(
            "`uwf orchestrate task list {folder}` shows them; to work on them under another name: \
             `uwf orchestrate task claim {folder} --run-id NAME`"
        ));
    }
    let is_taken = failure.context.get("taken") == Some(&Value::Bool(true));
    let hint = match wanted {
        Wanted::NewTask if is_taken => "choose another name",
        Wanted::NewTask | Wanted::Folder => return None,
        Wanted::Task => "`uwf orchestrate task list` shows the tasks that wait",
    };
    Some(hint.to_owned())
}

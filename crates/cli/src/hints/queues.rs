//! What to type next after a task of a queue could not be put, found or moved.

use std::path::PathBuf;

use serde_json::Value;
use uwf_pipeline::{self as pipeline, ErrorKind, Queues};
use uwf_util::shell_words;

use crate::args::QueueArgs;
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

/// Returns the failure of a call that could not do it. `options` are those that the next call needs, too.
pub(crate) fn refused(failure: pipeline::Failure, wanted: Wanted, options: &str) -> Failure {
    let hint = hint(&failure, wanted, options);
    Failure {
        hint,
        ..Failure::usage(failure.message)
    }
}

/// Returns the failure of a call that wants a task of a folder that is not there. It has the exit code of an empty one: the
/// first task may yet come.
pub(crate) fn no_queue(dir: &str, queues: &Queues, options: &str) -> Failure {
    let failure = Failure::request(format!("there is no queue `{dir}`"));
    let folder = dir.trim_end_matches('/');
    let task = format!("{folder}/1{}", queues.task_extension);
    let claimed = queues.claims_dir();
    let list = "uwf orchestrate task list";
    failure.hint(if queues.task_problem(&task).is_none() {
        let task = shell_words::quote(&task);
        format!(
            "`{list}{options}` shows the tasks that wait; `uwf orchestrate task put {task}{options}` makes the queue"
        )
    } else if folder.trim_start_matches("./").starts_with(&claimed) {
        let claimed = shell_words::quote(&claimed);
        format!(
            "`{list} {claimed}{options}` shows the tasks that are claimed, each in the folder of its worker"
        )
    } else {
        format!("no task waits in a hidden folder; `{list}{options}` shows those that wait")
    })
}

/// Returns the options by which a call finds the same queues.
pub(crate) fn options(args: &QueueArgs) -> String {
    let pipeline = args.pipeline.iter().map(|file| ("--workflow", file));
    let workspace = args.workspace.iter().map(|folder| ("--workspace", folder));
    let option = |(name, path): (&str, &PathBuf)| {
        let path = path.display().to_string();
        format!(" {name} {}", shell_words::quote(&path))
    };
    pipeline.chain(workspace).map(option).collect()
}

fn hint(failure: &pipeline::Failure, wanted: Wanted, options: &str) -> Option<String> {
    if failure.context.get("closed") == Some(&Value::Bool(true)) {
        return Some("name a folder of tasks, such as `inbox/qa`".to_owned());
    }
    if failure.kind == ErrorKind::PathViolation {
        let paths = "paths are relative to the workspace: this folder, or that of `--workspace`";
        return Some(paths.to_owned());
    }
    if let Some(Value::String(folder)) = failure.context.get("own") {
        let folder = shell_words::quote(folder);
        return Some(format!(
            "`uwf orchestrate task list {folder}{options}` shows them; to work on them under another name: \
             `uwf orchestrate task claim {folder}{options} --run-id NAME`"
        ));
    }
    if failure.context.contains_key("filesystems") {
        return Some(
            "a queue and the folder of claimed tasks must be on one filesystem: take the folder that is mounted as the inbox, \
             by `inbox_dir` of a pipeline and `--workflow FILE`"
                .to_owned(),
        );
    }
    if failure.context.contains_key("not_utf8") {
        return Some("give it another name with `mv`".to_owned());
    }
    let is_taken = failure.context.get("taken") == Some(&Value::Bool(true));
    let hint = match wanted {
        Wanted::NewTask if is_taken => "choose another name",
        Wanted::NewTask | Wanted::Folder => return None,
        Wanted::Task => {
            let list = format!("uwf orchestrate task list{options}");
            return Some(format!("`{list}` shows the tasks that wait"));
        }
    };
    Some(hint.to_owned())
}

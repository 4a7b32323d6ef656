//! Queues of tasks: which files are tasks, and which folders they are moved to.

use uwf_util::time::is_compact;

use crate::Queues;
use crate::paths::{path_problem, segments};

/// The longest name of a run that a folder is called after, in bytes.
const MAX_RUN_ID_BYTES: usize = 100;

impl Queues {
    /// Returns why a file of this path would never be found as a task. Hidden files and folders are not looked into. A
    /// path that could leave the workspace has another problem.
    #[must_use]
    pub fn task_problem(&self, path: &str) -> Option<String> {
        if path_problem(path).is_some() {
            return None;
        }
        let extension = &self.task_extension;
        let names = segments(path);
        if let Some(hidden) = names.iter().find(|name| name.starts_with('.')) {
            return Some(format!(
                "`{hidden}` is hidden, and hidden tasks are never found"
            ));
        }
        let is_task = names
            .last()
            .is_some_and(|name| name.ends_with(extension.as_str()));
        (!is_task).then(|| format!("the name of a task ends with `{extension}`"))
    }

    /// Returns the folder of the tasks that a run has claimed. It is hidden, so that nobody else finds them. Without a name
    /// that a folder can have, there is none.
    #[must_use]
    pub fn claimed_dir(&self, run_id: &str) -> Option<String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = (1..=MAX_RUN_ID_BYTES).contains(&run_id.len())
            && !run_id.starts_with('.')
            && run_id.bytes().all(fits);
        is_name.then(|| format!("{}/{run_id}", self.claims_dir()))
    }

    /// Returns the folder of all tasks that are claimed.
    #[must_use]
    pub fn claims_dir(&self) -> String {
        format!("{}/.claimed", self.inbox_dir)
    }
}

/// Returns the time in the id of a run, such as `20261121T093000Z-k7m2qx`. An id that a person chose may have none.
#[must_use]
pub fn run_time(run_id: &str) -> Option<&str> {
    let (time, _) = run_id.split_once('-')?;
    is_compact(time).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_a_name_by_which_it_is_found() {
        let queues = Queues::default();
        for path in [
            "a.task",
            "inbox/qa/a b.task",
            "./inbox//ü.task",
            "a.task/",
            "../a",
        ] {
            assert_eq!(queues.task_problem(path), None, "{path}");
        }
        for path in ["inbox/a", "a.task.tmp", ".", "inbox/a.TASK"] {
            let problem = queues.task_problem(path).unwrap();
            assert_eq!(problem, "the name of a task ends with `.task`", "{path}");
        }
        for path in [".task", "inbox/.a.task", ".orchestrate/a.task"] {
            let problem = queues.task_problem(path).unwrap();
            assert!(problem.ends_with("never found"), "{path}");
        }
    }

    #[test]
    fn the_folder_of_claimed_tasks_is_one_folder_below_the_inbox() {
        let claimed = |run_id: &str| Queues::default().claimed_dir(run_id);
        let id = "20261121T093000Z-k7m2qx";
        assert_eq!(claimed(id).unwrap(), format!("inbox/.claimed/{id}"));
        assert_eq!(
            claimed("nightly_1.2").unwrap(),
            "inbox/.claimed/nightly_1.2"
        );
        for id in [
            "",
            ".",
            "..",
            ".a",
            "a/b",
            "a b",
            "a\0",
            "ü",
            &"x".repeat(101),
        ] {
            assert_eq!(claimed(id), None, "{id:?}");
        }
    }

    #[test]
    fn the_id_of_a_run_begins_with_its_time() {
        assert_eq!(
            run_time("20261121T093000Z-k7m2qx"),
            Some("20261121T093000Z")
        );
        for id in [
            "20261121T093000Z",
            "nightly-1",
            "",
            "20261321T093000Z-k7m2qx",
        ] {
            assert_eq!(run_time(id), None, "{id}");
        }
    }
}

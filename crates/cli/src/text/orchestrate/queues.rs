//! Results of `uwf orchestrate task`, as data. As text they are paths.

use serde::Serialize;

use crate::output::Show;
use crate::text::Page;

/// A new task.
#[derive(Serialize)]
pub(crate) struct PutTask {
    pub(crate) path: String,
}

/// A task that was claimed, or moved because it is finished.
#[derive(Serialize)]
pub(crate) struct MovedTask {
    pub(crate) from: String,
    pub(crate) path: String,
}

/// The tasks of a folder.
#[derive(Serialize)]
pub(crate) struct TaskList {
    pub(crate) dir: String,
    pub(crate) tasks: Vec<String>,
}

impl Show for PutTask {
    fn text(&self, _page: Page) -> String {
        self.path.clone()
    }
}

impl Show for MovedTask {
    fn text(&self, _page: Page) -> String {
        self.path.clone()
    }
}

impl Show for TaskList {
    fn text(&self, _page: Page) -> String {
        self.tasks.join("\n")
    }
}

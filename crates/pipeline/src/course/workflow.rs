//! A step that starts a workflow: what its child thread is asked, and what the end of the child means for the step.

use serde_json::{Map, Value};

use super::Course;
use super::frame::Frame;
use super::task::{Agent, Dependencies, Task};
use crate::attempt::{LimitOf, Limits, TIMED_OUT};
use crate::condition::check_path;
use crate::fill::Filling;
use crate::result::{Captured, ErrorKind, Failure, StepResult, StepStatus};
use crate::{Tree, WorkflowCall};

/// The exit code of a step whose workflow failed.
const FAILED: i64 = 1;
/// How large the answer of a workflow may be, as JSON in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// A workflow to start.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowTask {
    /// Its name in the registry, its hash, or its file in the workspace.
    pub name: String,
    /// What the child thread is to do.
    pub task: String,
    /// Data that the child thread gets beside its task.
    pub context: Map<String, Value>,
    /// The secrets that must be in the environment: those of the loops around the step and of the pipeline.
    pub secrets: Vec<String>,
    /// The files that must be there.
    pub depends_on: Dependencies,
}

/// How the child thread of a step ended. A child that waits for a person has not ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkflowEnd {
    /// It was completed, with the data of its last answer.
    Completed(Value),
    /// It failed for good, or a person ended it.
    Failed {
        /// The id of the thread.
        thread: String,
        /// What happened, for people.
        reason: String,
    },
    /// The time of the run was over, so it was ended.
    RunTimedOut {
        /// The id of the thread.
        thread: String,
        /// The limits of time.
        limits: Limits,
    },
}

impl WorkflowTask {
    /// Returns the prompt of the child thread: its task, and the context as a block of JSON if there is one.
    #[must_use]
    pub fn prompt(&self) -> String {
        if self.context.is_empty() {
            return self.task.clone();
        }
        // No line of the JSON begins with a backtick, so nothing in it can end the block.
        let context = Value::Object(self.context.clone());
        format!("{}\n\n```json\n{context:#}\n```\n", self.task.trim_end())
    }

    /// Returns the result of the step.
    #[must_use]
    pub fn ended(&self, end: WorkflowEnd) -> StepResult {
        match end {
            WorkflowEnd::Completed(answer) if answer.to_string().len() > MAX_ANSWER => {
                let message =
                    format!("the answer of the workflow is larger than {MAX_ANSWER} bytes");
                StepResult::refused(Failure::new(ErrorKind::JsonOverflow, message))
            }
            WorkflowEnd::Completed(answer) => StepResult {
                captured: Some(Captured::Json(answer)),
                ..StepResult::of(StepStatus::Completed, 0)
            },
            WorkflowEnd::Failed { thread, reason } => {
                let message = format!("the workflow `{}` failed: {reason}", self.name);
                let failure = Failure::new(ErrorKind::WorkflowFailed, message)
                    .fact("workflow", self.name.as_str())
                    .fact("thread", thread);
                StepResult::failed(FAILED, failure)
            }
            WorkflowEnd::RunTimedOut { thread, limits } => {
                let limit = limits.said(LimitOf::Run);
                let message =
                    format!("the time of the run was over, so thread `{thread}` was ended{limit}");
                let failure = Failure::new(ErrorKind::RunTimeout, message)
                    .fact("workflow", self.name.as_str())
                    .fact("thread", thread);
                StepResult::failed(TIMED_OUT, failure)
            }
        }
    }
}

impl Course {
    /// Returns a workflow to start.
    pub(super) fn workflow_task(
        &self,
        stack: &[&Frame],
        call: &WorkflowCall,
    ) -> Result<(Agent, Task), Failure> {
        let scope = self.scope(stack);
        let mut filling = Filling::new(&scope);
        let name = filling.text(&call.name);
        let task = filling.text(&call.task);
        let context = match filling.tree(&Tree::Map(call.context.clone())) {
            Value::Object(context) => context,
            _ => Map::new(),
        };
        let depends_on = self.fill_dependencies(stack, &mut filling);
        filling.finish(&[])?;
        check_path(&name)?;
        depends_on.check()?;
        let task = WorkflowTask {
            name,
            task,
            context,
            secrets: self.secrets(stack),
            depends_on,
        };
        Ok((Agent::Workflow, Task::Workflow(task)))
    }
}

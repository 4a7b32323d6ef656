//! What is done on the machine for a step, with everything substituted that no file is needed for.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::Course;
use super::frame::Frame;
use super::route::Todo;
use super::workflow::WorkflowTask;
use crate::argv::Word;
use crate::call::call;
use crate::condition::check_path;
use crate::fill::Filling;
use crate::result::{Failure, ItemResult, Lifecycle, LifecycleAction, StepResult, StepStatus};
use crate::{Capture, Inject, InputMode, OnItemComplete, Program, Retries, Run, Template, Wait};

/// Who does a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    /// A command.
    Command,
    /// The program of a provider.
    Provider(String),
    /// A wait for files.
    Wait,
    /// A loop.
    Loop,
    /// A workflow, in a child thread.
    Workflow,
    /// Nobody: it follows from what was before.
    Engine,
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("command"),
            Self::Provider(name) => write!(f, "provider:{name}"),
            Self::Wait => f.write_str("wait"),
            Self::Loop => f.write_str("loop"),
            Self::Workflow => f.write_str("workflow"),
            Self::Engine => f.write_str("engine"),
        }
    }
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Run a program.
    Run(RunTask),
    /// Wait for files.
    Wait(WaitTask),
    /// Move the file of an item.
    Move(MoveTask),
    /// Start a workflow, and go on when it has ended.
    Workflow(WorkflowTask),
}

/// A program to run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTask {
    /// Its words.
    pub words: Vec<Word>,
    /// How it gets a prompt, if it gets one.
    pub prompt: Option<InputMode>,
    /// The parameters that its command line does not mention.
    pub unused_params: Vec<String>,
    /// The file that is the prompt.
    pub input_file: Option<String>,
    /// The file that gets the whole output.
    pub output_file: Option<String>,
    /// How the output becomes data.
    pub capture: Capture,
    /// Variables of the environment.
    pub env: BTreeMap<String, String>,
    /// The secrets that must be in the environment.
    pub secrets: Vec<String>,
    /// The files that must be there.
    pub depends_on: Dependencies,
    /// How long an attempt may take.
    pub timeout_ms: Option<u64>,
    /// How often a failed attempt is repeated.
    pub retries: Retries,
}

/// The patterns of the files that a step needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Those that must match.
    pub required: Vec<String>,
    /// Those that may match.
    pub optional: Vec<String>,
    /// What the prompt says about the files.
    pub inject: Inject,
}

/// Files to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitTask {
    /// The pattern of their paths.
    pub glob: String,
    /// How long to wait.
    pub timeout_ms: u64,
    /// How long to sleep between two looks.
    pub poll_ms: u64,
    /// How many files are enough.
    pub min_count: u64,
    /// The secrets that must be in the environment.
    pub secrets: Vec<String>,
    /// The files that must be there.
    pub depends_on: Dependencies,
}

/// The file of an item that is to be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveTask {
    /// Whether the item succeeded.
    pub result: ItemResult,
    /// The file.
    pub from: String,
    /// The folder that it is moved to.
    pub to: String,
}

impl MoveTask {
    /// Returns the result of the move. `error` says why the file was not moved. The item is what it was.
    #[must_use]
    pub fn done(&self, error: Option<String>) -> StepResult {
        let lifecycle = Lifecycle {
            result: self.result,
            action: LifecycleAction::Move,
            from: self.from.clone(),
            to: self.to.clone(),
            action_applied: error.is_none(),
            error,
        };
        StepResult {
            lifecycle: Some(lifecycle),
            ..StepResult::of(StepStatus::Completed, 0)
        }
    }
}

/// The retries of a step that has none.
const NO_RETRIES: Retries = Retries {
    max: 0,
    delay_ms: 0,
};

impl Course {
    /// Returns a program to run.
    pub(super) fn run_task(&self, stack: &[&Frame], run: &Run) -> Result<(Agent, Task), Failure> {
        let scope = self.scope(stack);
        let mut filling = Filling::new(&scope);
        let call = call(&run.program, &self.pipeline.providers, &mut filling)?;
        let mut path = |path: &Option<Template>| path.as_ref().map(|path| filling.text(path));
        let input_file = path(&run.input_file);
        let output_file = path(&run.output_file);
        let depends_on = self.fill_dependencies(stack, &mut filling);
        filling.finish(&call.words)?;
        for path in input_file.iter().chain(&output_file) {
            check_path(path)?;
        }
        depends_on.check()?;
        let task = RunTask {
            words: call.words,
            prompt: call.prompt,
            unused_params: call.unused,
            input_file,
            output_file,
            capture: run.capture,
            env: run.env.clone(),
            secrets: self.secrets(stack),
            depends_on,
            timeout_ms: run.timeout_ms,
            retries: self.retries(run),
        };
        Ok((agent_of(&run.program), Task::Run(task)))
    }

    /// Returns a wait for files.
    pub(super) fn wait_task(
        &self,
        stack: &[&Frame],
        wait: &Wait,
    ) -> Result<(Agent, Task), Failure> {
        let scope = self.scope(stack);
        let mut filling = Filling::new(&scope);
        let glob = filling.text(&wait.glob);
        let depends_on = self.fill_dependencies(stack, &mut filling);
        filling.finish(&[])?;
        check_path(&glob)?;
        depends_on.check()?;
        let task = WaitTask {
            glob,
            timeout_ms: wait.timeout_ms,
            poll_ms: wait.poll_ms,
            min_count: wait.min_count,
            secrets: self.secrets(stack),
            depends_on,
        };
        Ok((Agent::Wait, Task::Wait(task)))
    }

    /// Returns the files that the current step needs.
    pub(super) fn dependencies(&self, stack: &[&Frame]) -> Result<Dependencies, Failure> {
        let scope = self.scope(stack);
        let mut filling = Filling::new(&scope);
        let depends_on = self.fill_dependencies(stack, &mut filling);
        filling.finish(&[])?;
        depends_on.check()?;
        Ok(depends_on)
    }

    pub(super) fn fill_dependencies(
        &self,
        stack: &[&Frame],
        filling: &mut Filling<'_>,
    ) -> Dependencies {
        let depends_on = &self.step(stack).depends_on;
        let mut fill = |globs: &[Template]| globs.iter().map(|glob| filling.text(glob)).collect();
        Dependencies {
            required: fill(&depends_on.required),
            optional: fill(&depends_on.optional),
            inject: depends_on.inject,
        }
    }

    /// Returns the secrets of the current step, of the loops around it and of the pipeline, each once.
    pub(super) fn secrets(&self, stack: &[&Frame]) -> Vec<String> {
        let steps = (1..=stack.len()).map(|depth| self.step(&stack[..depth]));
        let secrets = steps.flat_map(|step| &step.secrets);
        let mut secrets: Vec<String> = secrets.chain(&self.pipeline.secrets).cloned().collect();
        secrets.sort();
        secrets.dedup();
        secrets
    }

    fn retries(&self, run: &Run) -> Retries {
        let of_run = match agent_of(&run.program) {
            Agent::Provider(_) => self.start.steering.retries,
            _ => None,
        };
        run.retries.or(of_run).unwrap_or(NO_RETRIES)
    }

    /// Tells whether the file of the item is to be moved that has just ended.
    pub(super) fn is_move_due(&self, failed: bool) -> bool {
        let stack = self.stack();
        self.move_of(&stack, failed).is_some()
    }

    /// Returns where a file is moved to, and the file: an item that is no text names none.
    fn move_of<'c>(&'c self, stack: &[&'c Frame], failed: bool) -> Option<(&'c Template, &'c str)> {
        let around = &stack[..stack.len().checked_sub(1)?];
        let on: &OnItemComplete = self.step(around).body()?.on_item_complete.as_ref()?;
        let move_to = if failed { &on.failure } else { &on.success };
        match stack.last()?.item("")?.value {
            Value::String(file) => Some((move_to.as_ref()?, file)),
            _ => None,
        }
    }

    /// Returns how the file of the item is moved that has just ended.
    pub(super) fn move_task(&self, stack: &[&Frame], failed: bool) -> (Agent, Todo) {
        let Some((move_to, file)) = self.move_of(stack, failed) else {
            let nothing = StepResult::of(StepStatus::Completed, 0);
            return (Agent::Engine, Todo::Settled(Box::new(nothing)));
        };
        let scope = self.scope(stack);
        let mut filling = Filling::new(&scope);
        let task = MoveTask {
            result: if failed {
                ItemResult::Failure
            } else {
                ItemResult::Success
            },
            from: file.to_owned(),
            to: filling.text(move_to),
        };
        let checked = filling.finish(&[]);
        let checked = checked.and_then(|()| check_path(&task.from));
        let todo = match checked.and_then(|()| check_path(&task.to)) {
            Ok(()) => Todo::Task(Box::new(Task::Move(task))),
            Err(failure) => Todo::Settled(Box::new(task.done(Some(failure.message)))),
        };
        (Agent::Engine, todo)
    }
}

impl Dependencies {
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut globs = self.required.iter().chain(&self.optional);
        globs.try_for_each(|glob| check_path(glob))
    }
}

fn agent_of(program: &Program) -> Agent {
    match program {
        Program::Provider { name, .. }
        | Program::CommandOverride {
            provider: Some(name),
            ..
        } => Agent::Provider(name.clone()),
        Program::Command(_) | Program::CommandOverride { provider: None, .. } => Agent::Command,
    }
}

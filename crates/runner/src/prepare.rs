//! What a program needs before it is started: its secrets, its files, its prompt and its arguments.

use uwf_pipeline::course::RunTask;
use uwf_pipeline::{Failure, InputMode, MAX_PROMPT_BYTES, compose, prompt_text};

use crate::environment::{Variables, need_secrets, need_values};
use crate::{Workspace, dependencies};

/// A program that can be started.
pub(crate) struct Prepared {
    /// Its arguments. The first is its name.
    pub(crate) argv: Vec<String>,
    /// The prompt, if the program gets one.
    pub(crate) prompt: Option<Vec<u8>>,
    /// Whether the prompt is the program's standard input.
    pub(crate) mode: InputMode,
    /// The files that the step reads.
    pub(crate) reads: Vec<String>,
}

/// Prepares a program.
///
/// # Errors
/// When something that it needs is missing or unfit. Nothing was changed then.
pub(crate) fn prepare(
    workspace: &Workspace,
    ours: &Variables,
    task: &RunTask,
) -> Result<Prepared, Failure> {
    need_secrets(&task.secrets, ours)?;
    need_values(task)?;
    let mut reads = dependencies::find(workspace, &task.depends_on)?;
    let Some(mode) = task.prompt else {
        let argv = compose(&task.words, "")?;
        return Ok(Prepared {
            argv,
            prompt: None,
            mode: InputMode::Argv,
            reads,
        });
    };
    let inject = task.depends_on.inject;
    let mut prompt = dependencies::injected(workspace, &reads, inject)?.into_bytes();
    if let Some(file) = &task.input_file {
        prompt.extend(workspace.read(file, MAX_PROMPT_BYTES)?);
        reads.push(file.clone());
    }
    let argv = compose(&task.words, prompt_text(&prompt, mode)?)?;
    Ok(Prepared {
        argv,
        prompt: Some(prompt),
        mode,
        reads,
    })
}

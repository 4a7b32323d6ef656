//! `uwf workflow …`.

mod graph;
mod named;

use std::path::Path;

use uwf_engine::{EngineError, HiddenWorkflow};
use uwf_protocol::exit::Exit;
use uwf_protocol::workflow_yaml::Diagnostic;

use crate::args::WorkflowCommand;
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::input::read_stdin;
use crate::output::{Format, print, print_long};
use crate::text::{InvalidView, RegisteredView, ValidView};

pub(crate) fn run(context: &Context, command: WorkflowCommand) -> Result<Exit, Failure> {
    let site = context.site();
    match command {
        WorkflowCommand::Put { file } => {
            let registered = match is_stdin(&file) {
                true => uwf_engine::put_workflow_text(site, read_stdin()?)?,
                false => uwf_engine::put_workflow(site, &file)?,
            };
            warn_all(&registered.warnings);
            print(&RegisteredView::from(registered), context.format)?;
        }
        WorkflowCommand::Validate { file } => {
            let checked = match is_stdin(&file) {
                true => uwf_engine::check_text(site, read_stdin()?),
                false => uwf_engine::check_file(site, &file),
            };
            let checked = match checked {
                Err(EngineError::Workflow(problems)) if context.format != Format::Text => {
                    print(&InvalidView::from(problems.as_slice()), context.format)?;
                    return Err(EngineError::Workflow(problems).into());
                }
                Err(error @ EngineError::Pipeline(_)) if context.format != Format::Text => {
                    let failure = Failure::from(error);
                    let view = InvalidView::of(failure.what.clone(), failure.hint.clone());
                    print(&view, context.format)?;
                    return Err(failure);
                }
                checked => checked?,
            };
            warn_all(&checked.warnings);
            print(&ValidView::from(&checked), context.format)?;
        }
        WorkflowCommand::Show { workflow } => {
            let view = uwf_engine::show_workflow(site, &workflow)?;
            note_hidden(view.hidden.as_ref());
            print(&view, context.format)?;
        }
        WorkflowCommand::Graph(args) => graph::run(context, &args)?,
        WorkflowCommand::List => {
            print(&uwf_engine::list_workflows(site)?, context.format)?;
        }
        WorkflowCommand::Which { workflow } => {
            print(&uwf_engine::meaning(site, &workflow)?, context.format)?;
        }
        WorkflowCommand::Diff(args) => named::diff(context, &args)?,
        WorkflowCommand::Export(args) => named::export(context, &args)?,
        WorkflowCommand::History { workflow } => {
            let history = uwf_engine::workflow_history(site, &workflow)?;
            print_long(&history, context.format, &context.pager)?;
        }
        WorkflowCommand::Rollback { workflow, version } => {
            let rolled_back = uwf_engine::roll_back(site, &workflow, version.as_deref())?;
            print(&rolled_back, context.format)?;
        }
        WorkflowCommand::Rm { workflow } => {
            print(&uwf_engine::remove_name(site, &workflow)?, context.format)?;
        }
    }
    Ok(Exit::Done)
}

/// Tells whether a file stands for standard input.
fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Warns of probable mistakes in a workflow file.
pub(crate) fn warn_all(warnings: &[Diagnostic]) {
    for warning in warnings {
        warn(&warning.to_string());
    }
}

/// Notes that a file of the project was used, although its name is also registered for another workflow.
pub(crate) fn note_hidden(hidden: Option<&HiddenWorkflow>) {
    if let Some(HiddenWorkflow {
        name,
        file,
        registered,
    }) = hidden
    {
        let file = file.display();
        note(&format!(
            "`{file}` is used; `{name}` is also registered, as another workflow: `{registered}` names that one"
        ));
    }
}

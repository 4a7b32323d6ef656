//! `uwf workflow …`.

mod graph;
use uwf_engine::{EngineError, HiddenWorkflow};
use uwf_protocol::exit::Exit;
use uwf_protocol::workflow_yaml::Diagnostic;

use crate::args::WorkflowCommand;
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::output::{Format, print};
use crate::text::{InvalidView, RegisteredView, ValidView};

pub(crate) fn run(context: &Context, command: WorkflowCommand) -> Result<Exit, Failure> {
    let site = context.site();
    match command {
        WorkflowCommand::Put { file } => {
            let registered = uwf_engine::put_workflow(site, &file)?;
            warn_all(&registered.warnings);
            print(&RegisteredView::from(registered), context.format)?;
        }
        WorkflowCommand::Validate { file } => {
            let checked = match uwf_engine::check_file(site, &file) {
                Err(EngineError::Workflow(problems)) if context.format != Format::Text => {
                    print(&InvalidView::from(problems.as_slice()), context.format)?;
                    return Err(EngineError::Workflow(problems).into());
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
    }
    Ok(Exit::Done)
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

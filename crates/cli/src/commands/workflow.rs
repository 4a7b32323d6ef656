//! `uwf workflow …`.

use uwf_protocol::exit::Exit;
use uwf_protocol::workflow_yaml::Diagnostic;

use crate::args::WorkflowCommand;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::output::print;
use crate::text::{RegisteredView, ValidView};

pub(crate) fn run(context: &Context, command: WorkflowCommand) -> Result<Exit, Failure> {
    let engine = &context.engine;
    match command {
        WorkflowCommand::Put { file } => {
            let registered = uwf_engine::put_workflow(engine, &file)?;
            warn_all(&registered.warnings);
            print(&RegisteredView::from(registered), context.format)?;
        }
        WorkflowCommand::Validate { file } => {
            let checked = uwf_engine::check_file(engine, &file)?;
            warn_all(&checked.warnings);
            print(&ValidView::from(&checked), context.format)?;
        }
        WorkflowCommand::Show { workflow } => {
            print(
                &uwf_engine::show_workflow(engine, &workflow)?,
                context.format,
            )?;
        }
        WorkflowCommand::List => {
            print(&uwf_engine::list_workflows(engine)?, context.format)?;
        }
    }
    Ok(Exit::Done)
}

/// Says what is probably not meant in a workflow file.
pub(crate) fn warn_all(warnings: &[Diagnostic]) {
    for warning in warnings {
        warn(&warning.to_string());
    }
}

//! `uwf workflow …`.

use uwf_protocol::exit::Exit;

use crate::args::WorkflowCommand;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::{RegisteredView, ValidView};

pub(crate) fn run(context: &Context, command: WorkflowCommand) -> Result<Exit, Failure> {
    let engine = &context.engine;
    match command {
        WorkflowCommand::Put { file } => {
            let registered = uwf_engine::put_workflow(engine, &file)?;
            print(&RegisteredView::from(registered), context.format)?;
        }
        WorkflowCommand::Validate { file } => {
            let workflow = uwf_engine::check_file(engine, &file)?;
            print(&ValidView::from(&workflow), context.format)?;
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

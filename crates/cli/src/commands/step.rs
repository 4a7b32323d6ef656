//! `uwf step …`, and the commands of `uwf thread …` that do the same.

use uwf_engine::StepReadOptions;
use uwf_protocol::exit::Exit;

use crate::args::{StepCommand, StepReadArgs};
use crate::commands::{Context, fork};
use crate::failure::Failure;
use crate::output::{print, print_document, write, yaml};
use crate::text::DetailView;

pub(crate) fn run(context: &Context, command: StepCommand) -> Result<Exit, Failure> {
    match command {
        StepCommand::List { thread } => list(context, &thread),
        StepCommand::Show { step } => show(context, &step),
        StepCommand::Read(args) => read(context, &args),
        StepCommand::Fork(args) => fork::fork(context, args),
    }
}

pub(crate) fn list(context: &Context, thread: &str) -> Result<Exit, Failure> {
    let steps = uwf_engine::steps(context.site(), context.thread(thread)?)?;
    print(&steps, context.format)?;
    Ok(Exit::Done)
}

fn show(context: &Context, step: &str) -> Result<Exit, Failure> {
    let details = uwf_engine::step_details(context.site(), context.hash(step)?)?;
    print(&DetailView(details), context.format)?;
    Ok(Exit::Done)
}

/// Prints what a step recorded as YAML in every format.
pub(crate) fn details_as_yaml(context: &Context, step: &str) -> Result<Exit, Failure> {
    let details = uwf_engine::step_details(context.site(), context.hash(step)?)?;
    write(&yaml(&details)?)?;
    Ok(Exit::Done)
}

fn read(context: &Context, args: &StepReadArgs) -> Result<Exit, Failure> {
    let step = context.hash(&args.step)?;
    if args.prompt {
        let prompt = uwf_engine::read_step_prompt(context.site(), step)?;
        print_document(&prompt, &prompt.document, context.asked, &context.pager)?;
    } else {
        let options = StepReadOptions { quota: args.quota };
        let turns = uwf_engine::read_step(context.site(), step, &options)?;
        print_document(&turns, &turns.document, context.asked, &context.pager)?;
    }
    Ok(Exit::Done)
}

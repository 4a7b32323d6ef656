//! `uwf config …`.

use uwf_protocol::exit::Exit;
use uwf_storage::config;

use crate::args::ConfigCommand;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::{ConfigView, SetView, ValueView};

pub(crate) fn run(context: &Context, command: ConfigCommand) -> Result<Exit, Failure> {
    let root = &context.engine.root;
    match command {
        ConfigCommand::List => {
            print(&ConfigView(config::list_masked(root)?), context.format)?;
        }
        ConfigCommand::Get { key } => {
            let value = config::get_masked(root, &key)?;
            print(&ValueView { value }, context.format)?;
        }
        ConfigCommand::Set { key, value } => {
            root.create()?;
            let value = config::set(root, &key, &value)?;
            print(&SetView { key, value }, context.format)?;
        }
    }
    Ok(Exit::Done)
}

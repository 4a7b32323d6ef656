//! The tree of commands: what the parsers derive, with examples in the help and with completions of values.

use std::collections::HashMap;

use clap::Command;

use super::examples;
use crate::completion;

/// Returns a command and those below it, with examples and completions. `path` is how the command is called, such as
/// `thread step`; it is empty for the program itself.
pub(crate) fn furnished(command: Command, path: &str) -> Command {
    furnished_with(&examples::all().collect(), command, path)
}

/// Does that with the examples of each command.
fn furnished_with(all: &HashMap<&str, &str>, command: Command, path: &str) -> Command {
    let command = match all.get(path) {
        Some(calls) => {
            let before = command.get_after_help().map(|text| format!("{text}\n\n"));
            let examples = examples::shown(calls);
            command.after_help(format!("{}{examples}", before.unwrap_or_default()))
        }
        None => command,
    };
    command
        .mut_args(completion::of_values)
        .mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            furnished_with(all, below, path.trim_start())
        })
}

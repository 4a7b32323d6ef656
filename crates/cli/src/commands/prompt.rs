//! `uwf prompt …`: reference texts for agents that use `uwf` themselves.

use clap::Command;
use uwf_protocol::exit::Exit;

use crate::args::{Cli, Topic, whole};
use crate::failure::Failure;
use crate::output;

/// Where a text lists the commands.
const COMMANDS: &str = "{{commands}}";

pub(super) fn run(topic: Topic) -> Result<Exit, Failure> {
    output::write(text(topic).trim_end())?;
    Ok(Exit::Done)
}

/// Returns the text of a topic.
pub(crate) fn text(topic: Topic) -> String {
    let text = match topic {
        Topic::Usage => include_str!("../prompts/usage.md"),
        Topic::Authoring => include_str!("../prompts/authoring.md"),
        Topic::Adapters => include_str!("../prompts/adapters.md"),
        Topic::Bootstrap => include_str!("../prompts/bootstrap.md"),
    };
    let mut commands = String::new();
    list(&whole::<Cli>(), "uwf", &mut commands);
    text.replace(COMMANDS, commands.trim_end())
}

/// Appends a line for each command that does something.
fn list(command: &Command, path: &str, lines: &mut String) {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        if below.has_subcommands() {
            list(below, &path, lines);
        } else {
            let about = below.get_about().map(ToString::to_string);
            *lines += &format!("- `{path}`: {}\n", about.unwrap_or_default());
        }
    }
}

//! Examples of calls, for the help of each command.

/// The calls of each command, below a heading with its name. Each is followed by what it does.
const EXAMPLES: &str = include_str!("examples.txt");

/// Returns the commands, each with its examples.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = EXAMPLES.split("# ").skip(1);
    sections.filter_map(|section| section.split_once('\n'))
}

/// Returns the examples of a command as its help shows them.
pub(super) fn shown(calls: &str) -> String {
    format!("Examples:\n{}", calls.trim_end())
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use uwf_util::shell_words;

    use super::*;
    use crate::args::{Cli, whole};

    /// Returns how each command without others below it is called.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        if !command.has_subcommands() {
            found.push(path.to_owned());
        }
        for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{path} {}", below.get_name());
            leaves(below, path.trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        let mut commands = Vec::new();
        leaves(&whole::<Cli>(), "", &mut commands);
        let mut with_examples: Vec<&str> = all().map(|(command, _)| command).collect();
        commands.sort_unstable();
        with_examples.sort_unstable();
        assert_eq!(with_examples, commands);
    }

    #[test]
    fn every_example_parses_as_its_command() {
        for (command, text) in all() {
            let calls: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("  uwf "))
                .collect();
            assert!(!calls.is_empty(), "{command}");
            for call in calls {
                // The shell takes redirections and pipes away before the command sees its arguments.
                let arguments = call.split(['<', '>', '|']).next().unwrap();
                let typed = format!("uwf {arguments}");
                assert!(typed.starts_with(&format!("uwf {command}")), "{typed}");
                let parsed =
                    whole::<Cli>().try_get_matches_from(shell_words::split(&typed).unwrap());
                assert!(parsed.is_ok(), "{typed}: {}", parsed.unwrap_err());
            }
        }
    }
}

//! Adapters over the agent kit, and the door through which the one binary becomes any of them.
//!
//! An adapter reads its own arguments and puts prompts to its agent; the rest of a call is the kit's.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "`uwf` needs Linux: the tools of the built-in agent are kept in their folder by `openat2`"
);

mod acp;
mod allowance;
mod answer;
mod bounded;
mod builtin;
mod call;
mod chat;
mod claude_code;
mod codex;
mod command;
mod complaint;
mod cursor;
mod gemini;
mod hermes;
mod json;
mod launch_target;
mod llm;
mod mock;
mod options;
mod program;
mod record;
mod recording;
mod shorten;
mod signs;
mod stream;
#[cfg(test)]
mod test_task;
mod told;

use std::io::{self, Write as _};

use uwf_storage::Env;
use uwf_util::printable::labelled;

use options::{Known, listed as listed_options};

pub use allowance::{Allowance, allow, can_be_allowed, leaves_open};
pub use launch_target::{LaunchTarget, launch_target};

/// The names of the adapters that are built in, without the prefix `uwf-`.
pub const BUILT_IN: &[&str] = &names();

/// An adapter as the door knows it.
struct Door {
    name: &'static str,
    /// What it is, for a list.
    about: &'static str,
    usage: &'static str,
    /// Its options, of which some lists may be shared.
    options: &'static [&'static [Known]],
    serve: fn(&[String], &Env) -> anyhow::Result<i32>,
}

const DOORS: [Door; 10] = [
    Door {
        name: "mock",
        about: "answers from a script: tests, demos, dry runs",
        usage: mock::USAGE,
        options: &[&mock::OPTIONS],
        serve: mock::serve,
    },
    Door {
        name: "command",
        about: "any program that reads a prompt and prints an answer",
        usage: command::USAGE,
        options: &[&command::OPTIONS],
        serve: command::serve,
    },
    Door {
        name: "claude-code",
        about: "Claude Code (`claude`)",
        usage: claude_code::USAGE,
        options: &[&stream::OURS, claude_code::TOOL.options],
        serve: |args, env| stream::start(&claude_code::TOOL, args, env),
    },
    Door {
        name: "codex",
        about: "Codex (`codex exec`)",
        usage: codex::USAGE,
        options: &[&stream::OURS, codex::TOOL.options],
        serve: |args, env| stream::start(&codex::TOOL, args, env),
    },
    Door {
        name: "cursor",
        about: "Cursor's command line agent",
        usage: cursor::USAGE,
        options: &[&stream::OURS, cursor::OPTIONS],
        serve: cursor::serve,
    },
    Door {
        name: "gemini",
        about: "Gemini CLI",
        usage: gemini::USAGE,
        options: &[&stream::OURS, gemini::TOOL.options],
        serve: |args, env| stream::start(&gemini::TOOL, args, env),
    },
    Door {
        name: "hermes",
        about: "Hermes: its chat, or the Agent Client Protocol",
        usage: hermes::USAGE,
        options: &[&hermes::OPTIONS],
        serve: hermes::serve,
    },
    Door {
        name: "llm",
        about: "a model of the config, which answers alone",
        usage: llm::USAGE,
        options: &[&llm::OPTIONS],
        serve: llm::serve,
    },
    Door {
        name: "builtin",
        about: "a model of the config with tools in the step's directory",
        usage: builtin::USAGE,
        options: &[&builtin::OPTIONS],
        serve: builtin::serve,
    },
    Door {
        name: "record",
        about: "runs another agent and records what it answers",
        usage: record::USAGE,
        options: &[&record::OPTIONS],
        serve: record::serve,
    },
];

/// Serves one call of a built-in agent: `args` are those after its name. Returns the exit code, or `None`
/// when there is no such adapter.
#[must_use]
pub fn run(name: &str, args: &[String], env: &Env) -> Option<i32> {
    let door = DOORS.iter().find(|door| door.name == name)?;
    if asks_for_help(args) {
        let options: Vec<String> = door
            .options
            .iter()
            .map(|some| listed_options(some))
            .collect();
        let (about, usage) = (door.about, door.usage);
        let help = format!(
            "uwf-{name}: {about}\n\nUsage: {usage}\n\nOptions:\n{}",
            options.join("\n")
        );
        // A reader that has gone has seen enough.
        let _ = writeln!(io::stdout(), "{help}");
        return Some(0);
    }
    Some((door.serve)(args, env).unwrap_or_else(|error| {
        let error = labelled("error", &error.to_string());
        let hint = labelled("hint", &format!("usage: {}", door.usage));
        let _ = writeln!(io::stderr(), "{error}\n{hint}");
        2
    }))
}

/// Returns the adapters for people: a line for each, with what it is.
#[must_use]
pub fn listed() -> String {
    let line = |door: &Door| format!("  {:<12} {}\n", door.name, door.about);
    DOORS.iter().map(line).collect()
}

/// Tells whether a person asks how the adapter is called. In a call, the same words may be values of options, and
/// after `--` they are another program's.
fn asks_for_help(args: &[String]) -> bool {
    let own = args.split(|arg| arg == "--").next().unwrap_or_default();
    own.iter().any(|arg| arg == "--help" || arg == "-h") && call::split(args).is_err()
}

const fn names() -> [&'static str; DOORS.len()] {
    let mut names = [""; DOORS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = DOORS[at].name;
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_the_usage_and_described() {
        for door in &DOORS {
            for option in door.options.iter().copied().flatten() {
                let (name, about) = match option {
                    Known::Valued(name, about) | Known::Flag(name, about) => (name, about),
                };
                assert!(door.usage.contains(name), "{}: {name}", door.name);
                assert!(about.len() > 5, "{}: {name}", door.name);
            }
            let named = door
                .usage
                .split(['[', ' ', ']', '('])
                .filter(|word| word.starts_with("--"));
            for name in named.filter(|name| *name != "--") {
                let has = door.options.iter().copied().flatten().any(|option| matches!(option, Known::Valued(known, _) | Known::Flag(known, _) if *known == name));
                assert!(has, "{}: {name}", door.name);
            }
        }
    }

    #[test]
    fn help_is_what_a_person_asks_for_and_no_value_of_a_call() {
        let check = |args: &[&str], expected: bool| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(asks_for_help(&args), expected, "{args:?}");
        };
        let thread = "01J7K9Z0000000000000000004";
        check(&["--help"], true);
        check(&["--model", "m", "-h"], true);
        check(&[], false);
        check(&["--", "tool", "--help"], false);
        check(&["--system", "-h", thread, "writer"], false);
    }
}

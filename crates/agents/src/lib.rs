//! Adapters over the agent kit, and the registry by which the one binary becomes any of them.
//!
//! An adapter reads its own arguments and sends prompts to its agent. The kit does the rest of a call.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "`uwf` needs Linux: `openat2` confines the tools of the built-in agent to their folder"
);

mod acp;
mod acp_agent;
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
mod masked_pipe;
mod mock;
mod opencode;
mod options;
mod permissions;
mod program;
mod progress;
mod record;
mod recording;
mod result_schema;
mod rpc;
mod signs;
mod stream;
#[cfg(test)]
mod test_task;
mod usual_limits;

use std::io::{self, Write as _};

use uwf_protocol::agent::RECORDER;
use uwf_storage::Env;
use uwf_util::printable::labelled;

use options::{Known, listed as listed_options};

pub use builtin::mcp_servers;
pub use launch_target::{LaunchTarget, launch_target};
pub use permissions::{
    CannotKeep, Keeping, keeping, leaves_open, said, with_permissions, without_permissions,
};
pub use usual_limits::{UsualLimits, usual_limits};

/// The names of the adapters that are built in, without the prefix `uwf-`.
pub const BUILT_IN: &[&str] = &names();

/// The entry of an adapter in the registry.
struct AdapterEntry {
    name: &'static str,
    /// What it is, in one line for a list.
    about: &'static str,
    usage: &'static str,
    /// Its options, as lists that adapters may share.
    options: &'static [&'static [Known]],
    serve: fn(&[String], &Env) -> anyhow::Result<i32>,
}

const ADAPTERS: [AdapterEntry; 12] = [
    AdapterEntry {
        name: "mock",
        about: "answers from a script: tests, demos, dry runs",
        usage: mock::USAGE,
        options: &[&mock::OPTIONS],
        serve: mock::serve,
    },
    AdapterEntry {
        name: "command",
        about: "any program that reads a prompt and prints an answer",
        usage: command::USAGE,
        options: &[&command::OPTIONS],
        serve: command::serve,
    },
    AdapterEntry {
        name: "claude-code",
        about: "Claude Code (`claude`)",
        usage: claude_code::USAGE,
        options: &[&stream::OURS, claude_code::TOOL.options],
        serve: |args, env| stream::start(&claude_code::TOOL, args, env),
    },
    AdapterEntry {
        name: "codex",
        about: "Codex (`codex exec`)",
        usage: codex::USAGE,
        options: &[&stream::OURS, codex::TOOL.options],
        serve: |args, env| stream::start(&codex::TOOL, args, env),
    },
    AdapterEntry {
        name: "cursor",
        about: "Cursor's command line agent",
        usage: cursor::USAGE,
        options: &[&stream::OURS, cursor::OPTIONS],
        serve: cursor::serve,
    },
    AdapterEntry {
        name: "gemini",
        about: "Gemini CLI",
        usage: gemini::USAGE,
        options: &[&stream::OURS, gemini::TOOL.options],
        serve: |args, env| stream::start(&gemini::TOOL, args, env),
    },
    AdapterEntry {
        name: "opencode",
        about: "opencode (`opencode run`)",
        usage: opencode::USAGE,
        options: &[&stream::OURS, opencode::TOOL.options],
        serve: opencode::serve,
    },
    AdapterEntry {
        name: "hermes",
        about: "Hermes: its chat, or the Agent Client Protocol",
        usage: hermes::USAGE,
        options: &[&hermes::OPTIONS],
        serve: hermes::serve,
    },
    AdapterEntry {
        name: "acp",
        about: "any program that speaks the Agent Client Protocol",
        usage: acp_agent::USAGE,
        options: &[&acp_agent::OPTIONS],
        serve: acp_agent::serve,
    },
    AdapterEntry {
        name: "llm",
        about: "a model of the config, which answers alone",
        usage: llm::USAGE,
        options: &[&llm::OPTIONS],
        serve: llm::serve,
    },
    AdapterEntry {
        name: "builtin",
        about: "a model of the config with tools in the step's directory",
        usage: builtin::USAGE,
        options: &[&builtin::OPTIONS],
        serve: builtin::serve,
    },
    AdapterEntry {
        name: RECORDER,
        about: "runs another agent and records what it answers",
        usage: record::USAGE,
        options: &[&record::OPTIONS],
        serve: record::serve,
    },
];

/// Serves one call of the built-in adapter of this name, with the arguments after the name. Returns the exit code, or
/// `None` when there is no such adapter.
#[must_use]
pub fn run(name: &str, args: &[String], env: &Env) -> Option<i32> {
    let entry = ADAPTERS.iter().find(|entry| entry.name == name)?;
    if asks_for_help(args) {
        let options: Vec<String> = entry
            .options
            .iter()
            .map(|some| listed_options(some))
            .collect();
        let (about, usage) = (entry.about, entry.usage);
        let help = format!(
            "uwf-{name}: {about}\n\nUsage: {usage}\n\nOptions:\n{}",
            options.join("\n")
        );
        // The reader of our output may be gone, which is no error.
        let _ = writeln!(io::stdout(), "{help}");
        return Some(0);
    }
    let served = permitted(name, args, env).and_then(|args| (entry.serve)(&args, env));
    Some(served.unwrap_or_else(|error| {
        let error = labelled("error", &error.to_string());
        let hint = labelled("hint", &format!("usage: {}", entry.usage));
        let _ = writeln!(io::stderr(), "{error}\n{hint}");
        2
    }))
}

/// Returns the arguments of an adapter as they are under the permissions that the engine gives. An agent that runs another
/// one leaves it to that.
fn permitted(name: &str, args: &[String], env: &Env) -> anyhow::Result<Vec<String>> {
    // A call that names no thread and role is refused by the adapter itself.
    let Ok((own, call)) = call::split(args) else {
        return Ok(args.to_vec());
    };
    Ok(match uwf_agent_kit::permissions(env, &call)? {
        None => args.to_vec(),
        Some(permissions) => {
            let permitted = with_permissions(name, own, permissions)?;
            [&permitted, &args[own.len()..]].concat()
        }
    })
}

/// Returns a list of the adapters for people, one line each.
#[must_use]
pub fn listed() -> String {
    let line = |entry: &AdapterEntry| format!("  {:<12} {}\n", entry.name, entry.about);
    ADAPTERS.iter().map(line).collect()
}

/// Tells whether a person asks for help. In a call by the engine, the same words can be values of options. After `--`
/// they belong to another program.
fn asks_for_help(args: &[String]) -> bool {
    let own = args.split(|arg| arg == "--").next().unwrap_or_default();
    own.iter().any(|arg| arg == "--help" || arg == "-h") && call::split(args).is_err()
}

const fn names() -> [&'static str; ADAPTERS.len()] {
    let mut names = [""; ADAPTERS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ADAPTERS[at].name;
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_the_usage_and_described() {
        for entry in &ADAPTERS {
            for option in entry.options.iter().copied().flatten() {
                let (name, about) = match option {
                    Known::Valued(name, about) | Known::Flag(name, about) => (name, about),
                };
                assert!(entry.usage.contains(name), "{}: {name}", entry.name);
                assert!(about.len() > 5, "{}: {name}", entry.name);
            }
            let named = entry
                .usage
                .split(['[', ' ', ']', '('])
                .filter(|word| word.starts_with("--"));
            for name in named.filter(|name| *name != "--") {
                let has = entry.options.iter().copied().flatten().any(|option| matches!(option, Known::Valued(known, _) | Known::Flag(known, _) if *known == name));
                assert!(has, "{}: {name}", entry.name);
            }
        }
    }

    #[test]
    fn help_is_shown_to_a_person_and_not_for_the_value_of_an_option() {
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

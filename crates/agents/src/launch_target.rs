//! What an adapter launches, found out from its name and arguments. Pure: nothing is run.

use crate::{claude_code, codex, cursor, gemini, hermes, opencode};

/// What an adapter launches or calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchTarget {
    /// The tool that the adapter is made for: a path, or a name that is looked for on PATH.
    Tool(String),
    /// Any program, named by the arguments of the adapter.
    Program(String),
    /// A model of the config.
    Model,
    /// Nothing, or something that is not known before a step.
    Unknown,
}

/// Returns what the built-in adapter of this name launches with these arguments.
#[must_use]
pub fn launch_target(adapter: &str, args: &[String]) -> LaunchTarget {
    let end = args.iter().position(|arg| arg == "--");
    let (own, rest) = args.split_at(end.unwrap_or(args.len()));
    let default = match adapter {
        "claude-code" => claude_code::TOOL.program,
        "codex" => codex::TOOL.program,
        "gemini" => gemini::TOOL.program,
        "cursor" => cursor::program(value_of(own, "--form")),
        "opencode" => opencode::TOOL.program,
        "hermes" => hermes::PROGRAM,
        "builtin" | "llm" => return LaunchTarget::Model,
        "command" | "acp" => {
            // A step fills in the placeholders of the name; without a step it is not known.
            let program = rest.get(1).filter(|program| !program.contains('{'));
            return match program {
                Some(program) => LaunchTarget::Program(program.clone()),
                None => LaunchTarget::Unknown,
            };
        }
        _ => return LaunchTarget::Unknown,
    };
    LaunchTarget::Tool(value_of(own, "--program").unwrap_or(default).to_owned())
}

/// Returns the last value of an option, given as `--name value` or `--name=value`.
fn value_of<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let mut values =
        args.iter()
            .enumerate()
            .filter_map(|(at, arg)| match arg.strip_prefix(name)? {
                "" => args.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            });
    values.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_replace_the_default_program_of_a_tool() {
        let check = |adapter: &str, args: &[&str], expected: &str| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            let expected = LaunchTarget::Tool(expected.to_owned());
            assert_eq!(
                launch_target(adapter, &args),
                expected,
                "{adapter} {args:?}"
            );
        };
        check("claude-code", &[], "claude");
        check(
            "claude-code",
            &["--model", "m", "--program", "/opt/c"],
            "/opt/c",
        );
        check("claude-code", &["--", "--program", "/opt/c"], "claude");
        check("codex", &["--program=/opt/x"], "/opt/x");
        check("gemini", &["--programme=/x"], "gemini");
        check("cursor", &[], "cursor-agent");
        check("cursor", &["--form", "cursor"], "cursor");
        check("hermes", &["--mode", "acp"], "hermes");
    }

    #[test]
    fn other_adapters_launch_any_program_call_a_model_or_are_unknown() {
        let args = ["--timeout", "5s", "--", "llm", "-m"].map(str::to_owned);
        assert_eq!(
            launch_target("command", &args),
            LaunchTarget::Program("llm".to_owned())
        );
        assert_eq!(
            launch_target("acp", &args),
            LaunchTarget::Program("llm".to_owned())
        );
        assert_eq!(launch_target("command", &[]), LaunchTarget::Unknown);
        let of_role = ["--", "./{role}.sh"].map(str::to_owned);
        assert_eq!(launch_target("command", &of_role), LaunchTarget::Unknown);
        assert_eq!(launch_target("builtin", &[]), LaunchTarget::Model);
        assert_eq!(launch_target("mock", &args), LaunchTarget::Unknown);
        assert_eq!(launch_target("record", &args), LaunchTarget::Unknown);
    }
}

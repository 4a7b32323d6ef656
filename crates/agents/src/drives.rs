//! What stands behind an adapter, told by its name and arguments, without running anything.

use crate::{claude_code, codex, cursor, gemini, hermes};

/// What an adapter drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drives {
    /// The tool that it is made for: a path, or a name that is looked for on PATH.
    Tool(String),
    /// A program that only its arguments name, and that may be anything.
    Program(String),
    /// A model of the config.
    Model,
    /// Nothing that is known.
    Nothing,
}

/// Returns what the built-in adapter of a name drives with these arguments.
#[must_use]
pub fn drives(adapter: &str, args: &[String]) -> Drives {
    let end = args.iter().position(|arg| arg == "--");
    let (own, rest) = args.split_at(end.unwrap_or(args.len()));
    let usual = match adapter {
        "claude-code" => claude_code::TOOL.program,
        "codex" => codex::TOOL.program,
        "gemini" => gemini::TOOL.program,
        "cursor" => cursor::program(value_of(own, "--form")),
        "hermes" => hermes::PROGRAM,
        "builtin" | "llm" => return Drives::Model,
        "command" => {
            // A name with placeholders is known when a step is done.
            let program = rest.get(1).filter(|program| !program.contains('{'));
            let program = program.cloned();
            return program.map_or(Drives::Nothing, Drives::Program);
        }
        _ => return Drives::Nothing,
    };
    Drives::Tool(value_of(own, "--program").unwrap_or(usual).to_owned())
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
    fn a_tool_is_the_usual_one_unless_the_arguments_name_another() {
        let check = |adapter: &str, args: &[&str], expected: &str| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            let expected = Drives::Tool(expected.to_owned());
            assert_eq!(drives(adapter, &args), expected, "{adapter} {args:?}");
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
    fn others_drive_what_follows_a_model_or_nothing_that_is_known() {
        let args = ["--timeout", "5s", "--", "llm", "-m"].map(str::to_owned);
        assert_eq!(drives("command", &args), Drives::Program("llm".to_owned()));
        assert_eq!(drives("command", &[]), Drives::Nothing);
        let of_role = ["--", "./{role}.sh"].map(str::to_owned);
        assert_eq!(drives("command", &of_role), Drives::Nothing);
        assert_eq!(drives("builtin", &[]), Drives::Model);
        assert_eq!(drives("mock", &args), Drives::Nothing);
        assert_eq!(drives("record", &args), Drives::Nothing);
    }
}

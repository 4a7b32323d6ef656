//! The options of the builtin agent.

use std::time::Duration;

use super::tools::Tool;
use super::tools::workspace::Reach;
use crate::options::{self, Known};

/// How often a model may answer in one step if nothing else is said.
const MAX_TURNS: u32 = 30;
/// The smallest window that a model may have, in tokens.
const LEAST_WINDOW: u64 = 1_000;

pub(crate) const OPTIONS: [Known; 9] = [
    Known::Valued(
        "--model",
        "The alias of a model of the config; unset: that of agents",
    ),
    Known::Valued(
        "--tools",
        "Offers only these tools, with commas between them",
    ),
    Known::Flag(
        "--allow-shell",
        "Offers `shell_exec`, which runs any command",
    ),
    Known::Flag(
        "--allow-outside",
        "Lets tools name files outside the working directory",
    ),
    Known::Valued(
        "--mcp",
        "Offers the tools of this MCP server of the config; may be repeated",
    ),
    Known::Valued(
        "--keep-env",
        "Gives commands a variable that looks like a secret; may be repeated",
    ),
    Known::Valued("--max-turns", "How often the model may answer; unset: 30"),
    Known::Valued(
        "--max-context",
        "How many tokens the model can read; unset: the server tells when it was too much",
    ),
    Known::Valued("--timeout", "After this time the model is asked no more"),
];

/// What a model may do, and how much of it.
#[derive(Debug)]
pub(super) struct Options {
    /// The alias of the model; that of agents if `None`.
    pub(super) model: Option<String>,
    /// The tools that are offered.
    pub(super) tools: Vec<Tool>,
    /// Which paths tools may name.
    pub(super) reach: Reach,
    /// The MCP servers whose tools are offered.
    pub(super) servers: Vec<String>,
    /// Variables that commands get although they look like secrets.
    pub(super) keep_env: Vec<String>,
    /// How often the model may answer.
    pub(super) max_turns: u32,
    /// How many tokens the model can read.
    pub(super) max_context: Option<u64>,
    /// After which time it is asked no more.
    pub(super) timeout: Option<Duration>,
}

impl Options {
    /// Reads the arguments before thread and role.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let arguments = options::parse(args, &OPTIONS)?;
        if arguments.rest.is_some() {
            return Err("nothing may stand after `--`".to_owned());
        }
        let mut options = Self {
            model: None,
            tools: Vec::new(),
            reach: Reach::Inside,
            servers: Vec::new(),
            keep_env: Vec::new(),
            max_turns: MAX_TURNS,
            max_context: None,
            timeout: None,
        };
        let (mut chosen, mut shell) = (None, false);
        for (name, value) in arguments.options {
            let value = value.unwrap_or_default();
            match name {
                "--model" => options.model = Some(value),
                "--tools" => chosen = Some(tools(&value)?),
                "--allow-shell" => shell = true,
                "--allow-outside" => options.reach = Reach::Everywhere,
                "--mcp" if options.servers.contains(&value) => {}
                "--mcp" => options.servers.push(value),
                "--keep-env" => options.keep_env.push(value),
                "--max-turns" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or_else(|| format!("`{value}` is no number of turns"));
                    options.max_turns = number?;
                }
                "--max-context" => options.max_context = Some(window(&value)?),
                _ => options.timeout = Some(options::duration(&value)?),
            }
        }
        options.tools = match chosen {
            Some(chosen) if chosen.contains(&Tool::ShellExec) && !shell => {
                return Err("`shell_exec` is not confined to the working directory: \
                    say `--allow-shell`, too"
                    .to_owned());
            }
            Some(chosen) => chosen,
            None => {
                let mut tools = Tool::ALL.to_vec();
                tools.retain(|tool| shell || *tool != Tool::ShellExec);
                tools
            }
        };
        Ok(options)
    }
}

/// Returns the MCP servers that the arguments of a built-in adapter name.
#[must_use]
pub fn mcp_servers(adapter: &str, args: &[String]) -> Vec<String> {
    let options = match adapter {
        "builtin" => Options::parse(args).ok(),
        _ => None,
    };
    options.map(|options| options.servers).unwrap_or_default()
}

fn window(value: &str) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| *number >= LEAST_WINDOW);
    number.ok_or_else(|| format!("`{value}` is no number of tokens from {LEAST_WINDOW}"))
}

fn tools(names: &str) -> Result<Vec<Tool>, String> {
    let names = names.split(',').map(str::trim);
    let tool = |name| {
        Tool::named(name).ok_or_else(|| {
            let all = Tool::ALL.map(Tool::name).join("`, `");
            format!("there is no tool `{name}`; the tools are `{all}`")
        })
    };
    names.map(tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn commands_are_run_only_when_that_is_allowed() {
        assert!(!parse(&[]).unwrap().tools.contains(&Tool::ShellExec));
        let allowed = parse(&["--allow-shell"]).unwrap();
        assert_eq!(allowed.tools, Tool::ALL);
        let few = parse(&["--tools", "read_file, cas_get", "--allow-shell"]).unwrap();
        assert_eq!(few.tools, [Tool::ReadFile, Tool::CasGet]);
        let refused = parse(&["--tools=shell_exec"]).unwrap_err();
        assert!(refused.contains("--allow-shell"), "{refused}");
    }

    #[test]
    fn limits_and_reach_are_read() {
        let options = parse(&[
            "--allow-outside",
            "--max-turns=3",
            "--timeout",
            "2m",
            "--keep-env",
            "A",
            "--keep-env=B",
            "--mcp=fs",
            "--mcp",
            "git",
            "--mcp=fs",
        ])
        .unwrap();
        assert_eq!(options.reach, Reach::Everywhere);
        assert_eq!(options.max_turns, 3);
        assert_eq!(options.timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.keep_env, ["A", "B"]);
        assert_eq!(options.servers, ["fs", "git"]);
        assert!(parse(&["--max-turns", "0"]).unwrap_err().contains("turns"));
        assert!(parse(&["--tools", "ls"]).unwrap_err().contains("read_file"));
        assert!(parse(&["--", "x"]).is_err());
    }
}

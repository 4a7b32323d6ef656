//! The options of the hermes agent.

use std::time::Duration;

use crate::acp::Rules;
use crate::options::{self, Known};
use crate::program::MAX_OUTPUT;

pub(crate) const OPTIONS: [Known; 11] = [
    Known::Valued(
        "--mode",
        "How to talk with Hermes: chat (unless said otherwise) or acp",
    ),
    Known::Valued("--program", "The program, if it is not `hermes` on PATH"),
    Known::Valued("--model", "The model"),
    Known::Valued("--timeout", "Ends one call of the program after this time"),
    Known::Valued("--max-output", "How long an answer may be; unset: 256MiB"),
    Known::Valued(
        "--max-turns",
        "With chat: how many rounds of tools it may take; unset: 90",
    ),
    Known::Flag("--no-yolo", "With chat: leaves `--yolo` out"),
    Known::Valued(
        "--permissions",
        "With acp: deny, read-only (unless said otherwise), allow-edits, allow-once or allow-always",
    ),
    Known::Valued(
        "--ask",
        "With acp: what becomes of other requests: refuse (unless said otherwise) or suspend",
    ),
    Known::Valued(
        "--session-mode",
        "With acp: default, accept_edits or dont_ask",
    ),
    Known::Valued(
        "--idle-timeout",
        "With acp: ends it when it has sent no message for so long",
    ),
];

/// The default limit of hermes' tool rounds.
const MAX_TURNS: u32 = 90;

/// How hermes is run.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// The program: a path, or a name that is looked for on PATH.
    pub(super) program: String,
    /// The model, in the words of hermes.
    pub(super) model: Option<String>,
    /// How long one answer may take.
    pub(super) timeout: Option<Duration>,
    /// How much hermes may print for one answer, in bytes.
    pub(super) max_output: u64,
    /// How we talk with it.
    pub(super) mode: Mode,
}

/// The two ways to talk with hermes.
#[derive(Debug, PartialEq)]
pub(super) enum Mode {
    /// `hermes chat`: one question, one answer.
    Chat(Chat),
    /// `hermes acp`: the agent client protocol.
    Acp(Rules),
}

/// How `hermes chat` is run.
#[derive(Debug, PartialEq)]
pub(super) struct Chat {
    /// How many rounds of tools it may take.
    pub(super) max_turns: u32,
    /// Whether it runs dangerous commands without asking.
    pub(super) yolo: bool,
}

impl Options {
    /// Reads the arguments before thread and role.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let arguments = options::parse(args, &OPTIONS)?;
        if arguments.rest.is_some() {
            return Err("nothing stands after the options".to_owned());
        }
        let given = arguments.options;
        let mut options = Self {
            program: super::PROGRAM.to_owned(),
            model: None,
            timeout: None,
            max_output: MAX_OUTPUT,
            mode: mode(&given)?,
        };
        for (name, value) in &given {
            options.set(name, value.as_deref().unwrap_or_default())?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match (name, &mut self.mode) {
            ("--mode", _) => {}
            ("--program", _) => value.clone_into(&mut self.program),
            ("--model", _) => self.model = Some(value.to_owned()),
            ("--timeout", _) => self.timeout = Some(options::duration(value)?),
            ("--max-output", _) => self.max_output = options::bytes(value)?,
            ("--max-turns", Mode::Chat(chat)) => chat.max_turns = max_turns(value)?,
            ("--no-yolo", Mode::Chat(chat)) => chat.yolo = false,
            (name, Mode::Chat(_)) => return Err(format!("`{name}` needs `--mode acp`")),
            (name, Mode::Acp(rules)) => {
                if !rules.set(name, value)? {
                    return Err(format!("`{name}` needs `--mode chat`"));
                }
            }
        }
        Ok(())
    }
}

/// Finds the mode first, since the other options depend on it.
fn mode(given: &[(&str, Option<String>)]) -> Result<Mode, String> {
    let last = given.iter().rev().find(|(name, _)| *name == "--mode");
    match last.and_then(|(_, value)| value.as_deref()) {
        None | Some("chat") => Ok(Mode::Chat(Chat {
            max_turns: MAX_TURNS,
            yolo: true,
        })),
        Some("acp") => Ok(Mode::Acp(Rules::default())),
        Some(other) => Err(format!(
            "`{other}` is not a mode; there are `chat` and `acp`"
        )),
    }
}

fn max_turns(value: &str) -> Result<u32, String> {
    let turns = value.parse().ok().filter(|turns| *turns > 0);
    turns.ok_or_else(|| format!("`{value}` is not a number of turns"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::Policy;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_said_is_a_chat() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.program, "hermes");
        let Mode::Chat(chat) = options.mode else {
            panic!()
        };
        assert_eq!((chat.max_turns, chat.yolo), (90, true));
    }

    #[test]
    fn each_mode_has_its_options() {
        let options = parse(&[
            "--max-turns=5",
            "--no-yolo",
            "--model",
            "m",
            "--timeout",
            "1m",
        ])
        .unwrap();
        assert_eq!(options.model.as_deref(), Some("m"));
        assert_eq!(options.timeout, Some(Duration::from_secs(60)));
        let Mode::Chat(chat) = options.mode else {
            panic!()
        };
        assert_eq!((chat.max_turns, chat.yolo), (5, false));
        let options = parse(&[
            "--permissions",
            "allow-once",
            "--session-mode=accept_edits",
            "--idle-timeout",
            "9s",
            "--mode",
            "acp",
            "--program",
            "/opt/hermes",
        ])
        .unwrap();
        assert_eq!(options.program, "/opt/hermes");
        let Mode::Acp(acp) = options.mode else {
            panic!()
        };
        assert_eq!(acp.permissions, Policy::AllowOnce);
        assert_eq!(acp.session_mode.as_deref(), Some("accept_edits"));
        assert_eq!(acp.idle, Some(Duration::from_secs(9)));
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |args: &[&str], part: &str| {
            let error = parse(args).unwrap_err();
            assert!(error.contains(part), "{args:?}: {error}");
        };
        refused(&["--mode", "tui"], "there are `chat` and `acp`");
        refused(&["--permissions", "deny"], "needs `--mode acp`");
        refused(&["--ask", "suspend"], "needs `--mode acp`");
        refused(&["--mode=acp", "--ask", "supend"], "did you mean `suspend`");
        refused(&["--mode=acp", "--max-turns", "3"], "needs `--mode chat`");
        refused(&["--max-turns", "0"], "not a number of turns");
        refused(
            &["--mode=acp", "--permissions", "alow-once"],
            "did you mean `allow-once`",
        );
        refused(&["--mode=acp", "--permissions", "x"], "`read-only`");
        refused(&["--yolo"], "did you mean `--no-yolo`");
        refused(&["--", "x"], "nothing stands after");
    }
}

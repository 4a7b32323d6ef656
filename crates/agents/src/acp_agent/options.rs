//! The options of the acp agent.

use std::time::Duration;

use crate::acp::Rules;
use crate::options::{self, Known};
use crate::program::MAX_OUTPUT;

pub(crate) const OPTIONS: [Known; 7] = [
    Known::Valued("--model", "The model, as in the agent's list of models"),
    Known::Valued(
        "--permissions",
        "What is permitted when it asks: deny, read-only (unless said otherwise), allow-edits, allow-once or allow-always",
    ),
    Known::Valued(
        "--ask",
        "What becomes of other requests: refuse (unless said otherwise) or suspend",
    ),
    Known::Valued(
        "--session-mode",
        "The mode of the session, by the agent's name for it",
    ),
    Known::Valued("--timeout", "Ends one call of the program after this time"),
    Known::Valued(
        "--idle-timeout",
        "Ends it when it has sent no message for so long",
    ),
    Known::Valued("--max-output", "How long an answer may be; unset: 256MiB"),
];

/// How an agent is run.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// The program: a path, or a name that is looked for on PATH.
    pub(super) program: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// The model, in the words of the agent.
    pub(super) model: Option<String>,
    /// How long one answer may take.
    pub(super) timeout: Option<Duration>,
    /// How much it may send for one answer, in bytes.
    pub(super) max_output: u64,
    pub(super) rules: Rules,
}

impl Options {
    /// Reads the arguments before thread and role.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let arguments = options::parse(args, &OPTIONS)?;
        let rest = arguments
            .rest
            .ok_or("a `--` is expected before the program")?;
        let [program, args @ ..] = rest else {
            return Err("a program is expected after `--`".to_owned());
        };
        let mut options = Self {
            program: program.clone(),
            args: args.to_vec(),
            model: None,
            timeout: None,
            max_output: MAX_OUTPUT,
            rules: Rules::default(),
        };
        for (name, value) in arguments.options {
            options.set(name, &value.unwrap_or_default())?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.rules.set(name, value)? {
            return Ok(());
        }
        match name {
            "--model" => self.model = Some(value.to_owned()),
            "--timeout" => self.timeout = Some(options::duration(value)?),
            _ => self.max_output = options::bytes(value)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{Otherwise, Policy};

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_before_the_program() {
        let options = parse(&[
            "--permissions",
            "allow-edits",
            "--ask=suspend",
            "--idle-timeout",
            "9s",
            "--",
            "tool",
            "acp",
            "--permissions",
            "x",
        ])
        .unwrap();
        assert_eq!(
            (&*options.program, &*options.args),
            (
                "tool",
                &["acp", "--permissions", "x"].map(str::to_owned)[..]
            )
        );
        assert_eq!(options.rules.permissions, Policy::AllowEdits);
        assert_eq!(options.rules.otherwise, Otherwise::Suspend);
        assert_eq!(options.rules.idle, Some(Duration::from_secs(9)));
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |args: &[&str], part: &str| {
            let error = parse(args).unwrap_err();
            assert!(error.contains(part), "{args:?}: {error}");
        };
        refused(&[], "`--`");
        refused(&["--"], "program");
        refused(
            &["--permissions", "alow-once", "--", "x"],
            "did you mean `allow-once`",
        );
        refused(&["--timout", "1s", "--", "x"], "did you mean `--timeout`");
    }
}

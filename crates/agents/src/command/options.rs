//! The options of the command agent.

use std::time::Duration;

use regex::Regex;
use uwf_util::shell_words;

use crate::options::{self, Known};
use crate::permissions::OBEYS;
use crate::program::MAX_OUTPUT;

use super::template;

pub(crate) const OPTIONS: [Known; 6] = [
    Known::Valued(
        "--session-regex",
        "Finds the session in what the program printed",
    ),
    Known::Valued(
        "--resume-args",
        "The arguments that continue a session, in place of `<args…>`; may be repeated",
    ),
    Known::Valued(
        "--resume-arg",
        "One such argument, with its blanks; may be repeated",
    ),
    Known::Valued("--timeout", "Ends the program after this time"),
    Known::Flag(
        OBEYS,
        "Says that the program reads UWF_PERMISSIONS and keeps to it",
    ),
    Known::Valued("--max-output", "How long an answer may be; unset: 256MiB"),
];

/// How a program is run.
#[derive(Debug)]
pub(super) struct Options {
    /// The program: a path, or a name that is looked for on PATH, with placeholders.
    pub(super) program: String,
    /// Its arguments, with placeholders.
    pub(super) args: Vec<String>,
    /// What finds a session id in the program's output.
    pub(super) session_regex: Option<Regex>,
    /// The arguments that go on with a session, in place of `args`; empty if that is not possible.
    pub(super) resume_args: Vec<String>,
    /// How long the program may take.
    pub(super) timeout: Option<Duration>,
    /// How much it may print to stdout, in bytes.
    pub(super) max_output: u64,
}

impl Options {
    /// Reads the arguments before thread and role.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let arguments = options::parse(args, &OPTIONS)?;
        let rest = arguments
            .rest
            .ok_or("a `--` is expected before the program")?;
        let [program, program_args @ ..] = rest else {
            return Err("a program is expected after `--`".to_owned());
        };
        let mut options = Self {
            program: program.clone(),
            args: program_args.to_vec(),
            session_regex: None,
            resume_args: Vec::new(),
            timeout: None,
            max_output: MAX_OUTPUT,
        };
        for (name, value) in arguments.options {
            options.set(name, &value.unwrap_or_default())?;
        }
        const NO_NAMES: [&str; 3] = ["prompt", "promptFile", "session"];
        if let Some(name) = template::first_asked_for(&options.program, &NO_NAMES) {
            return Err(format!(
                "`{{{name}}}` cannot be a part of the program's name"
            ));
        }
        if options.session_regex.is_none() != options.resume_args.is_empty() {
            return Err("`--session-regex` and the arguments to resume need each other".to_owned());
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--session-regex" => {
                let regex = Regex::new(value);
                self.session_regex = Some(regex.map_err(|error| format!("`{name}`: {error}"))?);
            }
            "--resume-args" => {
                let words = shell_words::split(value);
                let words = words.map_err(|error| format!("`{name}`: {error}"))?;
                self.resume_args.extend(words);
            }
            "--resume-arg" => self.resume_args.push(value.to_owned()),
            OBEYS => {}
            "--timeout" => self.timeout = Some(options::duration(value)?),
            _ => self.max_output = options::bytes(value)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_before_the_program() {
        let options = parse(&[
            "--session-regex",
            "id=(\\w+)",
            "--resume-args",
            "-r '{session} x'",
            "--resume-arg=a b",
            "--timeout",
            "2m",
            "--max-output=1KiB",
            "--",
            "claude",
            "-p",
            "--timeout",
            "x",
        ])
        .unwrap();
        assert_eq!(options.program, "claude");
        assert_eq!(options.args, ["-p", "--timeout", "x"]);
        assert_eq!(options.resume_args, ["-r", "{session} x", "a b"]);
        assert_eq!(options.timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.max_output, 1024);
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |args: &[&str], part: &str| {
            let error = parse(args).unwrap_err();
            assert!(error.contains(part), "{args:?}: {error}");
        };
        refused(&[], "`--`");
        refused(&["claude"], "not an option");
        refused(&["--"], "program");
        refused(&["--timout", "3", "--", "x"], "did you mean `--timeout`");
        refused(&["--timeout", "--", "x"], "needs a value");
        refused(&["--timeout", "soon", "--", "x"], "duration");
        refused(&["--session-regex", "(", "--", "x"], "--session-regex");
        refused(&["--resume-args", "-r", "--", "x"], "need each other");
        refused(&["--", "./{session}.sh"], "`{session}` cannot be a part");
        refused(&["--resume-args", "-r 'x", "--", "x"], "never closed");
    }
}

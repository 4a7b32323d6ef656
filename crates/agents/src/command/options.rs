//! The options of the command agent.

use std::time::Duration;

use regex::Regex;
use uwf_util::{size, suggest, time};

/// How long an answer may be if nothing else is said, in bytes.
const MAX_OUTPUT: u64 = 256 << 20;

const NAMES: [&str; 5] = [
    "--session-regex",
    "--resume-args",
    "--resume-arg",
    "--timeout",
    "--max-output",
];

/// How a program is run.
#[derive(Debug)]
pub(super) struct Options {
    /// The program: a path, or a name that is looked for on PATH.
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
        let end = args
            .iter()
            .position(|arg| arg == "--")
            .ok_or("a `--` is expected before the program")?;
        let [program, program_args @ ..] = &args[end + 1..] else {
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
        let mut rest = args[..end].iter();
        while let Some(arg) = rest.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            if !NAMES.contains(&name) {
                return Err(unknown(name));
            }
            let value = value.or_else(|| rest.next().cloned());
            options.set(
                name,
                &value.ok_or_else(|| format!("`{name}` needs a value"))?,
            )?;
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
                self.resume_args
                    .extend(value.split_whitespace().map(ToOwned::to_owned));
            }
            "--resume-arg" => self.resume_args.push(value.to_owned()),
            "--timeout" => {
                let ms = time::parse_duration(value)
                    .ok_or_else(|| format!("`{value}` is not a duration such as `90s` or `10m`"))?;
                self.timeout = Some(Duration::from_millis(ms));
            }
            _ => {
                self.max_output = size::parse(value)
                    .ok_or_else(|| format!("`{value}` is not a size such as `64MiB`"))?;
            }
        }
        Ok(())
    }
}

fn unknown(name: &str) -> String {
    match suggest::nearest(name, NAMES) {
        Some(near) => format!("unknown option `{name}`; did you mean `{near}`?"),
        None => format!("unknown option `{name}`"),
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
            "-r {session}",
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
        assert_eq!(options.resume_args, ["-r", "{session}", "a b"]);
        assert_eq!(options.timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.max_output, 1024);
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |args: &[&str], part: &str| {
            let error = parse(args).unwrap_err();
            assert!(error.contains(part), "{args:?}: {error}");
        };
        refused(&["claude"], "`--`");
        refused(&["--"], "program");
        refused(&["--timout", "3", "--", "x"], "did you mean `--timeout`");
        refused(&["--timeout", "--", "x"], "needs a value");
        refused(&["--timeout", "soon", "--", "x"], "duration");
        refused(&["--session-regex", "(", "--", "x"], "--session-regex");
        refused(&["--resume-args", "-r", "--", "x"], "need each other");
    }
}

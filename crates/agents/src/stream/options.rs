//! The options of the adapters of tools: ours, and those of the tool itself.

use std::time::Duration;

use crate::options::{self, Known};

use super::Tool;

pub(crate) const OURS: [Known; 2] = [
    Known::Valued(
        "--program",
        "The program, if it is not on PATH under its own name",
    ),
    Known::Valued("--timeout", "Ends one call of the program after this time"),
];

/// How a tool is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// The program: a path, or a name that is looked for on PATH.
    pub(crate) program: String,
    /// How long one call may take.
    pub(crate) timeout: Option<Duration>,
    /// Whether the answer is asked for by the tool's structured output.
    pub(crate) structured: bool,
    /// The tool's option for the schema of the answer, in a call that has one.
    pub(crate) schema: Vec<String>,
    /// The tool's own options, as they were given.
    pub(crate) passed: Vec<String>,
    /// The arguments after `--`.
    pub(crate) extra: Vec<String>,
}

impl Options {
    /// Reads the arguments before thread and role.
    pub(crate) fn parse(tool: &Tool, args: &[String]) -> Result<Self, String> {
        let known: Vec<Known> = OURS.iter().chain(tool.options).copied().collect();
        let arguments = options::parse(args, &known)?;
        let mut options = Self {
            program: tool.program.to_owned(),
            timeout: None,
            structured: false,
            schema: Vec::new(),
            passed: Vec::new(),
            extra: arguments.rest.unwrap_or_default().to_vec(),
        };
        for (name, value) in arguments.options {
            match (name, value) {
                ("--program", Some(value)) => options.program = value,
                ("--timeout", Some(value)) => options.timeout = Some(options::duration(&value)?),
                ("--structured", None) => options.structured = true,
                (name, value) => {
                    options.passed.push(name.to_owned());
                    options.passed.extend(value);
                }
            }
        }
        Ok(options)
    }

    /// Returns the arguments of a tool that continues sessions by `--resume`: ours first, then the user's.
    pub(crate) fn after(&self, fixed: &[&str], session: Option<&str>) -> Vec<String> {
        let resume = session.map(|session| ["--resume", session]);
        let ours = fixed.iter().copied().chain(resume.into_iter().flatten());
        ours.map(ToOwned::to_owned)
            .chain(self.schema.iter().cloned())
            .chain(self.passed.iter().cloned())
            .chain(self.extra.iter().cloned())
            .collect()
    }

    /// Returns the model that the options name.
    pub(crate) fn model(&self) -> Option<String> {
        let at = self.passed.iter().position(|arg| arg == "--model")?;
        self.passed.get(at + 1).cloned()
    }

    /// Removes an option that is ours and not the tool's, and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.passed.iter().position(|arg| arg == name)?;
        self.passed.drain(at..at + 2).nth(1)
    }
}

//! What is wrong with a workflow file, as data.

use std::fmt;

use uwf_yaml::At;

/// A place in a workflow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the file as the caller gave it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// One thing that is wrong with a workflow file, or that its author probably did not mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// Which rule it breaks.
    pub code: Code,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What was probably meant, or how to write it.
    pub hint: Option<String>,
}

/// The rules of workflow files. A file that breaks a `V` rule is refused; a `W` rule only warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// V01: the text is no YAML, has no mapping, or has a key twice.
    NotYaml,
    /// V02: a key is unknown.
    UnknownKey,
    /// V03: a value has the wrong type.
    WrongType,
    /// V04: there are no steps.
    NoSteps,
    /// V05: a name is bad or used twice.
    BadName,
    /// V06: keys exclude each other.
    Exclusion,
    /// V07: a jump leads nowhere.
    UnknownTarget,
    /// V08: a variable reads the environment.
    EnvVariable,
    /// V09: a variable is malformed, or its name means nothing here.
    BadVariable,
    /// V10: a step is nowhere in scope.
    UnknownStep,
    /// V11: a path could leave the workspace.
    BadPath,
    /// V12: a provider is unknown.
    UnknownProvider,
    /// V13: `${PROMPT}` has no place here.
    MisplacedPrompt,
    /// V14: `items_from` names no list.
    BadPointer,
    /// V15: a loop has no items, or gets them twice.
    LoopItems,
    /// V16: the name of a loop's item is no identifier, or is taken.
    BadAlias,
    /// V17: loops are nested too deeply.
    TooDeep,
    /// V18: a number is out of range.
    OutOfRange,
    /// V19: a condition is not exactly one.
    BadCondition,
    /// V20: the file needs a later `version`.
    LaterVersion,
    /// V21: a variable of the context has no value in this run.
    NoValue,
    /// W01: a command in one text has a word of shells, which means nothing without a shell.
    ShellWord,
    /// W02: `command_override` should be `command`.
    Override,
    /// W03: a variable stands within a JSON literal, where a value with quotes breaks it.
    InsideJson,
    /// W04: a key has no effect on this kind of step.
    NoEffect,
    /// W05: `${PROMPT}` is empty, because the step has no `input_file` and injects nothing.
    EmptyPrompt,
    /// W06: the value of a secret stands in the file.
    SecretInFile,
    /// W07: a variable stands in `env`, whose values are literal.
    LiteralVariable,
    /// W08: a pattern has `**`, which is no more than `*`.
    TwoStars,
}

impl Code {
    /// Returns the code as messages and scripts know it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotYaml => "V01",
            Self::UnknownKey => "V02",
            Self::WrongType => "V03",
            Self::NoSteps => "V04",
            Self::BadName => "V05",
            Self::Exclusion => "V06",
            Self::UnknownTarget => "V07",
            Self::EnvVariable => "V08",
            Self::BadVariable => "V09",
            Self::UnknownStep => "V10",
            Self::BadPath => "V11",
            Self::UnknownProvider => "V12",
            Self::MisplacedPrompt => "V13",
            Self::BadPointer => "V14",
            Self::LoopItems => "V15",
            Self::BadAlias => "V16",
            Self::TooDeep => "V17",
            Self::OutOfRange => "V18",
            Self::BadCondition => "V19",
            Self::LaterVersion => "V20",
            Self::NoValue => "V21",
            Self::ShellWord => "W01",
            Self::Override => "W02",
            Self::InsideJson => "W03",
            Self::NoEffect => "W04",
            Self::EmptyPrompt => "W05",
            Self::SecretInFile => "W06",
            Self::LiteralVariable => "W07",
            Self::TwoStars => "W08",
        }
    }

    /// Tells whether the file can be used in spite of it.
    #[must_use]
    pub fn is_warning(self) -> bool {
        self >= Self::ShellWord
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Problem {
    /// Writes `file:line:column: code: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column } = &self.place;
        write!(f, "{file}:{line}:{column}: {}: {}", self.code, self.message)
    }
}

/// Returns a place in a file of this name.
pub(crate) fn at_place(at: At, file: &str) -> Place {
    Place {
        file: file.to_owned(),
        line: at.line,
        column: at.column,
    }
}

/// A problem that does not know the name of its file yet.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) at: At,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Finding {
    pub(crate) fn new(at: At, code: Code, message: impl Into<String>) -> Self {
        Self {
            at,
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn in_file(self, file: &str) -> Problem {
        Problem {
            place: at_place(self.at, file),
            code: self.code,
            message: self.message,
            hint: self.hint,
        }
    }
}

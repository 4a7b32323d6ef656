//! What a variable names.

use uwf_util::suggest;

use super::parse::NameError;

/// What a variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `PROMPT`: the prompt of a provider.
    Prompt,
    /// A name without a namespace: a parameter of a provider, or the item of a loop.
    Bare(String),
    /// A fact about the run.
    Run(RunField),
    /// The index of a loop's item, from 0. 0 `parent`s is the innermost loop.
    LoopIndex(usize),
    /// How many items a loop has.
    LoopTotal(usize),
    /// A result of a step.
    Step {
        /// The name of the step.
        step: String,
        /// Which result.
        field: StepField,
        /// The part of the JSON.
        path: Vec<String>,
    },
    /// A value of the context and a path into it.
    Context(Vec<String>),
}

/// A fact about the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunField {
    /// When it started, as `YYYYMMDDTHHMMSSZ`.
    TimestampUtc,
    /// Its id.
    Id,
    /// Its folder, relative to the workspace.
    Root,
}

/// A result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of a result with its name")]
pub enum StepField {
    ExitCode,
    Output,
    Lines,
    Json,
    Duration,
    Status,
    Truncated,
    Files,
    TimedOut,
    WaitDuration,
    PollCount,
    Count,
    Failed,
}

const RUN_FIELDS: [(&str, RunField); 3] = [
    ("timestamp_utc", RunField::TimestampUtc),
    ("id", RunField::Id),
    ("root", RunField::Root),
];

const STEP_FIELDS: [(&str, StepField); 15] = [
    ("exit_code", StepField::ExitCode),
    ("output", StepField::Output),
    ("lines", StepField::Lines),
    ("json", StepField::Json),
    ("duration", StepField::Duration),
    ("duration_ms", StepField::Duration),
    ("status", StepField::Status),
    ("truncated", StepField::Truncated),
    ("files", StepField::Files),
    ("timed_out", StepField::TimedOut),
    ("wait_duration", StepField::WaitDuration),
    ("wait_duration_ms", StepField::WaitDuration),
    ("poll_count", StepField::PollCount),
    ("count", StepField::Count),
    ("failed", StepField::Failed),
];

impl StepField {
    /// Returns its name in a variable.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = STEP_FIELDS.iter().find(|(_, field)| *field == self);
        found.map_or("", |(name, _)| name)
    }
}

const NAMESPACES: [&str; 4] = ["run", "loop", "steps", "context"];

impl Reference {
    /// Reads what stands between the braces of a variable.
    pub(super) fn parse(written: &str) -> Result<Self, NameError> {
        if written.is_empty() {
            return Err(NameError::Empty);
        }
        let name = || written.to_owned();
        let parts = parts(written).ok_or_else(|| NameError::Malformed(name()))?;
        let (first, rest) = parts.split_first().ok_or(NameError::Empty)?;
        match (first.as_str(), rest) {
            ("env", _) => Err(NameError::Env(name())),
            ("PROMPT", []) => Ok(Self::Prompt),
            ("run", [field]) => field_of(&RUN_FIELDS, field, written).map(Self::Run),
            ("loop", rest) => loop_value(rest).ok_or_else(|| NameError::Field(name(), None)),
            ("steps", [step, field, path @ ..]) => step_value(step, field, path, written),
            ("context", [_, ..]) => Ok(Self::Context(rest.to_vec())),
            ("run" | "steps" | "context", _) => Err(NameError::Field(name(), None)),
            (bare, []) if is_identifier(bare) => Ok(Self::Bare(bare.to_owned())),
            (_, []) => Err(NameError::Malformed(name())),
            (first, _) => Err(NameError::Namespace(
                name(),
                suggest::nearest(first, NAMESPACES),
            )),
        }
    }
}

fn loop_value(rest: &[String]) -> Option<Reference> {
    let (field, parents) = rest.split_last()?;
    if parents.iter().any(|parent| parent != "parent") {
        return None;
    }
    match field.as_str() {
        "index" => Some(Reference::LoopIndex(parents.len())),
        "total" => Some(Reference::LoopTotal(parents.len())),
        _ => None,
    }
}

fn step_value(
    step: &str,
    field: &str,
    path: &[String],
    written: &str,
) -> Result<Reference, NameError> {
    let field = field_of(&STEP_FIELDS, field, written)?;
    if !path.is_empty() && field != StepField::Json {
        return Err(NameError::Part(written.to_owned(), field));
    }
    Ok(Reference::Step {
        step: step.to_owned(),
        field,
        path: path.to_vec(),
    })
}

fn field_of<F: Copy>(
    fields: &[(&'static str, F)],
    name: &str,
    written: &str,
) -> Result<F, NameError> {
    let found = fields.iter().find(|(field, _)| *field == name);
    found.map(|(_, field)| *field).ok_or_else(|| {
        let near = suggest::nearest(name, fields.iter().map(|(field, _)| *field));
        let near = near.and_then(|near| fields.iter().find(|(field, _)| *field == near));
        NameError::Field(written.to_owned(), near.map(|(field, _)| *field))
    })
}

/// Splits a name at its dots. A part in quotes may contain any character but quotes. `None`: this is not a name.
pub(crate) fn parts(written: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = written;
    loop {
        let end = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.find('"')? + 2
        } else {
            rest.find('.').unwrap_or(rest.len())
        };
        let part = rest[..end].trim_matches('"');
        let is_quoted = rest.starts_with('"');
        let is_word = |part: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            !part.is_empty() && part.chars().all(fits)
        };
        if !is_quoted && !is_word(part) {
            return None;
        }
        parts.push(part.to_owned());
        rest = &rest[end..];
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// Returns the name that was probably meant if the name of a step has blanks or dots, and no quotes: `steps.my step.output`.
pub(super) fn in_quotes(written: &str) -> Option<String> {
    let parts: Vec<&str> = written.strip_prefix("steps.")?.split('.').collect();
    let is_field = |part: &&str| STEP_FIELDS.iter().any(|(field, _)| field == part);
    let end = 1 + parts.iter().skip(1).position(is_field)?;
    let (name, rest) = (parts[..end].join("."), parts[end..].join("."));
    let needs_quotes = name.contains([' ', '.']) && !name.contains('"');
    needs_quotes.then(|| format!("steps.\"{name}\".{rest}"))
}

/// Returns which values a namespace has.
pub(super) fn values_of(written: &str) -> String {
    let fields = || {
        let names = STEP_FIELDS.map(|(name, _)| name);
        format!("the values of a step are `{}`", names.join("`, `"))
    };
    match written.split('.').next() {
        Some("run") => format!(
            "`run` has `{}`",
            RUN_FIELDS.map(|(name, _)| name).join("`, `")
        ),
        Some("loop") => {
            "`loop` has `index`, `total`, and `parent` with those of the loop around".to_owned()
        }
        Some("context") => "name a key of the context: `${context.<key>}`".to_owned(),
        _ => fields(),
    }
}

/// Tells whether a text can name the item of a loop or a parameter.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_once() {
        let step = |step: &str, field, path: &[&str]| Reference::Step {
            step: step.to_owned(),
            field,
            path: path.iter().map(ToString::to_string).collect(),
        };
        let check = |written: &str, expected| {
            assert_eq!(Reference::parse(written), Ok(expected), "{written}");
        };
        check("PROMPT", Reference::Prompt);
        check("task_file", Reference::Bare("task_file".into()));
        check("run.id", Reference::Run(RunField::Id));
        check("loop.index", Reference::LoopIndex(0));
        check("loop.parent.parent.total", Reference::LoopTotal(2));
        check("steps.A-1.output", step("A-1", StepField::Output, &[]));
        check(
            "steps.\"a b.c\".json.x.0",
            step("a b.c", StepField::Json, &["x", "0"]),
        );
        check(
            "context.a.b",
            Reference::Context(vec!["a".into(), "b".into()]),
        );
    }

    #[test]
    fn hints_say_what_can_be_written() {
        let check = |written: &str, hint: &str| {
            let error = Reference::parse(written).unwrap_err();
            assert_eq!(error.hint(), hint, "{written}");
        };
        check(
            "steps.A.lines.0",
            "only `json` has parts: give the step `output_capture: json`, or let a loop go through `lines` with `items_from`",
        );
        let no_parts = "only `json` has parts: write `${steps.A.status}`";
        check("steps.A.status.x", no_parts);
        check(
            "steps.\"a b\".status.x",
            "only `json` has parts: write `${steps.\"a b\".status}`",
        );
        let quoted = "put a name with blanks or dots in quotes: `${steps.\"a b\".output}`";
        check("steps.a b.output", quoted);
        let quoted = "put a name with blanks or dots in quotes: `${steps.\"my.step\".json.0}`";
        check("steps.my.step.json.0", quoted);
        check("run.x", "`run` has `timestamp_utc`, `id`, `root`");
        check("context", "name a key of the context: `${context.<key>}`");
        check(
            "loop.up.index",
            "`loop` has `index`, `total`, and `parent` with those of the loop around",
        );
        assert!(
            Reference::parse("steps.A")
                .unwrap_err()
                .hint()
                .contains("`exit_code`, ")
        );
        assert!(
            Reference::parse("steps.A.xyz")
                .unwrap_err()
                .hint()
                .contains("`json`, ")
        );
        check("X:-y", "write `$${` for a `${` that is no variable");
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_nearest_name() {
        let check = |written: &str, expected| {
            assert_eq!(Reference::parse(written), Err(expected), "{written}");
        };
        let name = |written: &str| written.to_owned();
        check("env", NameError::Env(name("env")));
        check("env.A.b", NameError::Env(name("env.A.b")));
        check(
            "step.A.output",
            NameError::Namespace(name("step.A.output"), Some("steps")),
        );
        check("inputs.x", NameError::Namespace(name("inputs.x"), None));
        check("run.idd", NameError::Field(name("run.idd"), Some("id")));
        check(
            "steps.A.ouput",
            NameError::Field(name("steps.A.ouput"), Some("output")),
        );
        check(
            "steps.A.lines.0",
            NameError::Part(name("steps.A.lines.0"), StepField::Lines),
        );
        check("steps.A", NameError::Field(name("steps.A"), None));
        check(
            "loop.up.index",
            NameError::Field(name("loop.up.index"), None),
        );
        check("context", NameError::Field(name("context"), None));
        for written in ["a..b", ".a", "a.", "a:-b", "x y", "1a", "\"a", "a.\"b\"c"] {
            check(written, NameError::Malformed(name(written)));
        }
    }
}

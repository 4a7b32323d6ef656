//! Extracts the data of a role from an agent's answer: front matter, real YAML, the role's schema.
//!
//! Pure: the result depends on the answer and the schema alone. [`crate::conversation`] asks for corrections.
//! [`crate::extractor`] has a model read an answer; what the model returns is checked here.

mod candidate;
mod denial;
pub(crate) mod echo;
pub(crate) mod grounding;
mod yaml;

use serde_json::{Value, json};
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD, is_suspension};
use uwf_protocol::ids::{CasRef, Status};
use uwf_protocol::schemas;
use uwf_schema::{SchemaError, Validator, Violation};
use uwf_util::front_matter::{self, NoFrontMatter};
use uwf_util::mask::Masks;
use uwf_yaml::{At, Problem};

use yaml::Yaml;

/// The schema of a role's answers, ready to check them.
pub struct RoleSchema {
    hash: CasRef,
    schema: Value,
    validator: Validator,
    /// What the data must not show.
    masks: Masks,
}

/// The data of an answer that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// The type of the output node: the role's schema, or the plain object of an answer that suspends.
    pub type_hash: CasRef,
    /// The data.
    pub output: Value,
    /// The Markdown after the front matter.
    pub body: String,
}

/// Why an answer was not accepted. The messages help the agent to correct it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejected {
    /// The answer is blank.
    #[error(
        "the answer is empty: nothing was printed; it must begin with front matter, after a line that is exactly `---`"
    )]
    Empty,
    /// No front matter was found.
    #[error(transparent)]
    NoFrontMatter(#[from] NoFrontMatter),
    /// The front matter is not YAML: the parser's message, with the place in the whole answer.
    #[error("the front matter is not valid YAML: {0}")]
    Yaml(String),
    /// The front matter is a list or a scalar.
    #[error("the front matter is not a mapping of `field: value` lines")]
    NotAMapping,
    /// The answer repeats the prompt.
    #[error(
        "the answer is the prompt itself: the program printed what it was asked, and nothing of its own"
    )]
    Echo,
    /// The answer repeats the example of the prompt, or a part of it.
    #[error("the answer repeats the example of the prompt: {place} is still `{stand_in}`")]
    Example {
        /// The field or the report that repeats it.
        place: String,
        /// The stand-in of the prompt that is still there.
        stand_in: String,
    },
    /// The data does not fit the role's schema.
    #[error("the front matter does not fit the schema of the role: {}", .0.join("; "))]
    Unfit(Vec<String>),
}

impl RoleSchema {
    /// Returns the schema of a role, ready to check answers, with the hash of its node.
    ///
    /// # Errors
    /// When it is not a schema that the store accepts.
    pub fn new(hash: CasRef, schema: Value) -> Result<Self, SchemaError> {
        let validator = Validator::new(&schema)?;
        Ok(Self {
            hash,
            schema,
            validator,
            masks: Masks::default(),
        })
    }

    /// Returns the same schema for the answers of an agent with secrets: they are masked before the data is checked.
    #[must_use]
    pub fn masking(self, masks: Masks) -> Self {
        Self { masks, ..self }
    }

    /// Returns the JSON Schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks data that a model read out of an answer. Fields that the schema does not know are dropped. The rest must
    /// fit the schema; names of things and the status must occur in the answer.
    ///
    /// # Errors
    /// What is wrong with the data, one line each, for the model.
    pub fn take(&self, mut output: Value, answer: &str) -> Result<Extracted, Vec<String>> {
        candidate::drop_unknown(&mut output, &self.schema);
        if let Err(violations) = self.validator.validate(&output) {
            return Err(describe(&violations, &[]));
        }
        match grounding::ungrounded(&output, &self.schema, answer) {
            problems if !problems.is_empty() => Err(problems),
            _ => Ok(Extracted {
                type_hash: self.hash,
                output,
                body: front_matter::split(answer)
                    .map_or_else(|_| answer.to_owned(), |parts| parts.body.to_owned()),
            }),
        }
    }

    /// Extracts the data from an answer.
    ///
    /// # Errors
    /// When the answer has no front matter, or its data does not fit.
    pub fn extract(&self, answer: &str) -> Result<Extracted, Rejected> {
        self.data(answer).map_err(|rejected| match rejected {
            Rejected::Yaml(problem) => Rejected::Yaml(self.masks.text(&problem)),
            Rejected::Unfit(lines) => {
                Rejected::Unfit(lines.iter().map(|line| self.masks.text(line)).collect())
            }
            other => other,
        })
    }

    fn data(&self, answer: &str) -> Result<Extracted, Rejected> {
        if answer.trim().is_empty() {
            return Err(Rejected::Empty);
        }
        let parts = front_matter::split(answer)?;
        let lines_before = parts.line - 1;
        let tree = Yaml::parse(&parts.block, lines_before)
            .map_err(|problem| with_line(problem, &parts.block, lines_before))?;
        let Yaml::Map(block) = tree else {
            return Err(Rejected::NotAMapping);
        };
        echo::refuse_example(&block, parts.body, &self.schema)?;
        let suspension = suspension(&block).map(|output| self.masks.json(&output));
        let mut candidate = candidate::pick(block, &self.schema);
        candidate.output = self.masks.json(&candidate.output);
        let violations = self
            .validator
            .validate(&candidate.output)
            .err()
            .unwrap_or_default();
        let inexact = candidate::inexact(&candidate.output);
        if !inexact.is_empty() {
            let lines = inexact.into_iter().map(|number| {
                format!("{number} has more digits than a number can keep; write a smaller one, or text in quotes")
            });
            return Err(Rejected::Unfit(lines.collect()));
        }
        let (type_hash, output) = match suspension {
            // A role whose own schema allows to suspend keeps its own fields.
            Some(output)
                if !violations.is_empty() || is_suspension(&candidate.output).is_none() =>
            {
                (schemas::OBJECT, with_reason(output)?)
            }
            None if !violations.is_empty() => {
                return Err(Rejected::Unfit(describe(&violations, &candidate.unknown)));
            }
            _ => (self.hash, candidate.output),
        };
        Ok(Extracted {
            type_hash,
            output,
            body: self.masks.text(parts.body),
        })
    }
}

/// Returns the error with the line that it is about.
fn with_line(problem: Problem, block: &str, lines_before: usize) -> Rejected {
    let At { line, column, .. } = problem.at;
    let hint = problem.hint.map(|hint| format!(" ({hint})"));
    let shown =
        uwf_yaml::excerpt(block, problem.at, lines_before).map(|shown| format!("\n{shown}"));
    Rejected::Yaml(format!(
        "line {line}, column {column}: {}{}{}",
        problem.message,
        hint.unwrap_or_default(),
        shown.unwrap_or_default()
    ))
}

/// Returns the output of an answer that suspends the thread: the status, and the reason if it has one.
fn suspension(block: &[(String, Yaml)]) -> Option<Value> {
    let text = |name: &str| block.iter().find(|(key, _)| key == name)?.1.text();
    (text(STATUS_FIELD)? == Status::SUSPEND).then(|| {
        let mut output = json!({ STATUS_FIELD: Status::SUSPEND });
        if let Some(reason) = text(REASON_FIELD) {
            output[REASON_FIELD] = reason.into();
        }
        output
    })
}

fn with_reason(output: Value) -> Result<Value, Rejected> {
    if is_suspension(&output).is_some() {
        return Ok(output);
    }
    let problem = format!(
        "`{STATUS_FIELD}: {}` needs a `{REASON_FIELD}`",
        Status::SUSPEND
    );
    Err(Rejected::Unfit(vec![problem]))
}

/// Returns one line for each violation, and one for the fields that were dropped: one of those may be a missing field
/// under a wrong name.
fn describe(violations: &[Violation], unknown: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    if !unknown.is_empty() {
        lines.push(format!(
            "the schema does not know `{}`",
            unknown.join("`, `")
        ));
    }
    lines
}

#[cfg(test)]
mod tests;

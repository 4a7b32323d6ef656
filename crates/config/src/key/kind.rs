//! What the value of a key must be: how it is typed on a command line, and what is wrong with it in a file.

use std::ops::RangeInclusive;

use serde_json::Value;
use uwf_protocol::agent::env;
use uwf_protocol::config::Retry;
use uwf_protocol::endpoint;
use uwf_protocol::limits;
use uwf_protocol::policy::ContextPolicy;
use uwf_protocol::prices::Rate;
use uwf_util::time;

use super::Fields;
use crate::check::NO_MAPPING;

/// The highest number of agents that may run at once. A step looks at a lock file for each of them.
const MAX_COUNT: u32 = 1_000;

/// The highest number of characters.
const MAX_CHARS: u32 = 10_000_000;

/// The error for a value in the place of variables.
const NO_VARIABLES: &str =
    "a mapping of variables is needed here; `uwf config set <key>.<variable> <value>` sets one";

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// The address of an endpoint.
    Url,
    /// The name of an environment variable.
    Variable,
    Duration,
    /// A duration of so many milliseconds at least, and so many at most.
    DurationWithin(u64, u64),
    TextList,
    /// The value of a variable.
    VariableValue,
    /// Variables with their values, each with a key of its own.
    Variables,
    /// A list of names of variables.
    VariableList,
    /// A whole number from 1 to [`MAX_COUNT`].
    Count,
    /// How many attempts may follow a failed one.
    Retries,
    /// A number of characters.
    Chars,
    /// `true` or `false`.
    Flag,
    /// The value of a limit.
    Limit,
    /// US dollars for a million tokens.
    Rate,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of some of these words, one at least.
    Words(&'static [&'static str]),
    /// A mapping with fields of its own.
    Group(Fields),
}

impl Kind {
    /// Reads a value as it is typed on a command line.
    pub(super) fn parse(self, key: &str, text: &str) -> Result<Value, String> {
        let value = match self {
            Self::Limit => limit(key, text)?.value(),
            // `problem_with` refuses a text of the wrong kind.
            Self::Count | Self::Retries | Self::Chars | Self::Flag | Self::Rate => {
                serde_json::from_str(text.trim()).unwrap_or_else(|_| text.into())
            }
            Self::TextList | Self::Words(_) => list(text, "[\"-v\"]")?,
            Self::VariableList => list(text, "[\"GH_TOKEN\"]")?,
            Self::Variables => return Err(NO_VARIABLES.to_owned()),
            Self::Text
            | Self::Url
            | Self::Variable
            | Self::VariableValue
            | Self::Duration
            | Self::DurationWithin(..)
            | Self::Word(_)
            | Self::Group(_) => text.into(),
        };
        match self.problem_with(key, &value) {
            Some(problem) => Err(problem),
            None => Ok(value),
        }
    }

    /// Returns why a value is not of this kind; `key` is its dotted key. The message does not quote a text that may be a
    /// secret.
    pub(crate) fn problem_with(self, key: &str, value: &Value) -> Option<String> {
        match self {
            Self::TextList
            | Self::VariableList
            | Self::Variables
            | Self::Words(_)
            | Self::Group(_) => self.problem_with_many(key, value),
            _ => self.problem_with_one(key, value),
        }
    }

    /// Does the same for a kind of lists or mappings.
    fn problem_with_many(self, key: &str, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::TextList, Value::Array(items)) if !items.iter().any(is_compound) => None,
            (Self::TextList, _) => Some("a list of texts is needed, such as `[\"-v\"]`".to_owned()),
            (Self::VariableList, Value::Array(items)) => items.iter().find_map(|item| {
                let name = item.as_str().unwrap_or_default();
                variable_problem(name)
            }),
            (Self::VariableList, _) => {
                Some("a list of names of variables is needed, such as `[\"GH_TOKEN\"]`".to_owned())
            }
            // Each of its variables is checked for itself.
            (Self::Variables, Value::Object(_)) => None,
            (Self::Variables, _) => Some(NO_VARIABLES.to_owned()),
            (Self::Words(words), Value::Array(items)) if !items.is_empty() => {
                let mut items = items.iter();
                items.find_map(|item| Self::Word(words).problem_with(key, item))
            }
            (Self::Words(words), _) => Some(format!(
                "a list is needed, of one or more of `{}`",
                words.join("`, `")
            )),
            (_, _) => Some(NO_MAPPING.to_owned()),
        }
    }

    /// Does the same for a kind of single values.
    fn problem_with_one(self, key: &str, value: &Value) -> Option<String> {
        match (self, value) {
            (_, Value::Array(_) | Value::Object(_)) => Some("a single value is needed".to_owned()),
            (
                Self::Text
                | Self::TextList
                | Self::VariableList
                | Self::Variables
                | Self::Words(_)
                | Self::Group(_),
                _,
            ) => None,
            (Self::VariableValue, value) => plain(value)
                .contains('\0')
                .then(|| "no variable can hold a zero byte".to_owned()),
            (Self::Limit, value) => limit(key, &plain(value)).err(),
            (Self::Rate, value) => {
                let rate = plain(value).parse::<Rate>();
                rate.err().map(|error| error.to_string())
            }
            (Self::Count, value) => no_number(value, 1, MAX_COUNT),
            (Self::Retries, value) => no_number(value, 1, Retry::MOST),
            (Self::Chars, value) => no_number(value, ContextPolicy::LEAST_CHARS, MAX_CHARS),
            (Self::Flag, value) => (!value.is_boolean())
                .then(|| format!("`{}` is not `true` or `false`", plain(value))),
            (Self::Url, value) => endpoint::base_url(value.as_str().unwrap_or_default()).err(),
            (Self::Variable, value) => {
                let is_variable = value.as_str().is_some_and(endpoint::is_variable);
                (!is_variable).then(|| endpoint::NO_VARIABLE.to_owned())
            }
            (Self::Duration, value) => no_duration(value, 0..=u64::MAX),
            (Self::DurationWithin(least, most), value) => no_duration(value, least..=most),
            (Self::Word(words), value) => {
                let is_one = value.as_str().is_some_and(|text| words.contains(&text));
                (!is_one).then(|| {
                    format!(
                        "`{}` is not one of `{}`",
                        plain(value),
                        words.join("` or `")
                    )
                })
            }
        }
    }
}

/// Returns why a value is no whole number within these bounds.
fn no_number(value: &Value, least: u32, most: u32) -> Option<String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let fits = number.is_some_and(|number| (least..=most).contains(&number));
    let value = plain(value);
    (!fits).then(|| format!("`{value}` is not a whole number from {least} to {most}"))
}

/// Returns why a value is no duration within a range of milliseconds.
fn no_duration(value: &Value, range: RangeInclusive<u64>) -> Option<String> {
    time::duration_within(&plain(value), range).err()
}

/// Parses the value of the limit that a dotted key names.
fn limit(key: &str, text: &str) -> Result<limits::Setting, String> {
    let name = key.split_once('.').map_or(key, |(_, name)| name);
    limits::Setting::parse(name, text).map_err(|error| error.to_string())
}

/// Reads a list as it is typed on a command line.
fn list(text: &str, example: &str) -> Result<Value, String> {
    let list = serde_json::from_str::<Vec<String>>(text);
    list.map(Value::from)
        .map_err(|error| format!("not a JSON array of texts, such as `{example}`: {error}"))
}

/// Returns why a variable cannot be given to an agent, if it cannot. The message does not quote a text that may be a secret.
pub(crate) fn variable_problem(name: &str) -> Option<String> {
    if name.is_empty() || !endpoint::is_variable(name) {
        return Some(endpoint::NO_VARIABLE.to_owned());
    }
    let is_ours = env::CONTRACT.contains(&name);
    is_ours.then(|| format!("`{name}` cannot be set: `uwf` sets it for every agent"))
}

fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// Returns a scalar as text, a string without quotes.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

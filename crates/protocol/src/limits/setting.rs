//! One limit with its value, as a text: `maxSteps=20`, `maxVisits.writer=3`.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_util::suggest;

use super::{Limits, Span, UnknownUsage, Usd};
use crate::ids::{IdError, RoleName};

/// One limit with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Setting {
    /// `maxSteps`.
    MaxSteps(NonZeroU64),
    /// `maxVisits` for every role, or `maxVisits.<role>` for one.
    MaxVisits(Option<RoleName>, NonZeroU64),
    /// `maxCostUsd`.
    MaxCostUsd(Usd),
    /// `maxTokens`.
    MaxTokens(NonZeroU64),
    /// `maxDuration`.
    MaxDuration(Span),
    /// `unknownUsage`.
    UnknownUsage(UnknownUsage),
}

/// Says why a text is no limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// There is no value.
    #[error("`{0}` has no value: `<limit>=<value>` is expected")]
    NoValue(String),
    /// No limit has this name.
    #[error("`{word}` is no limit{}", suggestion(.word))]
    Key {
        /// What was written.
        word: String,
    },
    /// The value cannot be one.
    #[error("`{0}` is not {1}")]
    Value(String, &'static str),
    /// The name after `maxVisits.` is no role's.
    #[error(transparent)]
    Role(#[from] IdError),
}

impl Setting {
    /// Parses the value of a key.
    ///
    /// # Errors
    /// When there is no such limit, or it cannot have this value.
    pub fn parse(key: &str, value: &str) -> Result<Self, LimitError> {
        if let Some(role) = key.strip_prefix("maxVisits.") {
            return Ok(Self::MaxVisits(Some(role.parse()?), count(value)?));
        }
        match key {
            "maxSteps" => count(value).map(Self::MaxSteps),
            "maxVisits" => Ok(Self::MaxVisits(None, count(value)?)),
            "maxCostUsd" => amount(value).map(Self::MaxCostUsd),
            "maxTokens" => count(value).map(Self::MaxTokens),
            "maxDuration" => Span::try_from(value.to_owned()).map(Self::MaxDuration),
            "unknownUsage" => meaning(value).map(Self::UnknownUsage),
            _ => Err(LimitError::Key {
                word: key.to_owned(),
            }),
        }
    }

    /// Returns the value alone, as it stands in a file.
    #[must_use]
    pub fn value(&self) -> Value {
        match self {
            Self::MaxSteps(count) | Self::MaxVisits(_, count) | Self::MaxTokens(count) => {
                count.get().into()
            }
            Self::MaxCostUsd(amount) => amount.get().into(),
            Self::MaxDuration(span) => span.to_string().into(),
            Self::UnknownUsage(UnknownUsage::Suspend) => "suspend".into(),
            Self::UnknownUsage(UnknownUsage::Ignore) => "ignore".into(),
        }
    }
}

impl TryFrom<String> for Setting {
    type Error = LimitError;

    fn try_from(text: String) -> Result<Self, LimitError> {
        text.parse()
    }
}

impl From<Setting> for String {
    fn from(setting: Setting) -> Self {
        setting.to_string()
    }
}

fn count(text: &str) -> Result<NonZeroU64, LimitError> {
    text.trim()
        .parse()
        .map_err(|_| LimitError::Value(text.to_owned(), "a whole number from 1"))
}

fn amount(text: &str) -> Result<Usd, LimitError> {
    let amount = text.trim().parse().ok();
    amount
        .and_then(|amount: f64| Usd::try_from(amount).ok())
        .ok_or_else(|| LimitError::Value(text.to_owned(), "an amount above 0, such as `2.50`"))
}

fn meaning(text: &str) -> Result<UnknownUsage, LimitError> {
    match text.trim() {
        "suspend" => Ok(UnknownUsage::Suspend),
        "ignore" => Ok(UnknownUsage::Ignore),
        _ => Err(LimitError::Value(text.to_owned(), "`suspend` or `ignore`")),
    }
}

/// Returns the nearest limit, or the list of all limits.
fn suggestion(word: &str) -> String {
    match suggest::nearest(word, Limits::KEYS) {
        Some(near) => format!(", did you mean `{near}`?"),
        None => format!(" (there are `{}`)", Limits::KEYS.join("`, `")),
    }
}

/// Reads `<limit>=<value>`.
impl FromStr for Setting {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        // The name of a role may have an equals sign, a value has none.
        let (key, value) = text
            .rsplit_once('=')
            .ok_or_else(|| LimitError::NoValue(text.to_owned()))?;
        Self::parse(key.trim(), value)
    }
}

/// Writes `<limit>=<value>`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxSteps(max) => write!(f, "maxSteps={max}"),
            Self::MaxVisits(None, max) => write!(f, "maxVisits={max}"),
            Self::MaxVisits(Some(role), max) => write!(f, "maxVisits.{role}={max}"),
            Self::MaxCostUsd(max) => write!(f, "maxCostUsd={}", max.get()),
            Self::MaxTokens(max) => write!(f, "maxTokens={max}"),
            Self::MaxDuration(max) => write!(f, "maxDuration={max}"),
            Self::UnknownUsage(UnknownUsage::Suspend) => f.write_str("unknownUsage=suspend"),
            Self::UnknownUsage(UnknownUsage::Ignore) => f.write_str("unknownUsage=ignore"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_they_are_read() {
        for text in [
            "maxSteps=20",
            "maxVisits=3",
            "maxVisits.a=b.c=3",
            "maxCostUsd=2.5",
            "maxTokens=18446744073709551615",
            "maxDuration=1d12h",
            "unknownUsage=suspend",
            "unknownUsage=ignore",
        ] {
            assert_eq!(text.parse::<Setting>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_would_do() {
        let refused = |text: &str, part: &str| {
            let error = text.parse::<Setting>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        refused("maxSteps", "`<limit>=<value>`");
        refused("maxStep=3", "did you mean `maxSteps`?");
        refused("zzz=3", "`maxVisits`, `maxCostUsd`");
        refused("maxSteps=0", "a whole number from 1");
        refused("maxSteps=-1", "a whole number from 1");
        refused("maxSteps=1.5", "a whole number from 1");
        refused("maxCostUsd=nan", "an amount above 0");
        refused("maxCostUsd=inf", "an amount above 0");
        refused("maxDuration=10", "a duration such as");
        refused("unknownUsage=maybe", "`suspend` or `ignore`");
        refused("maxVisits.=3", "is not a role name");
    }
}

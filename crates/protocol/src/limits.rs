//! The limits of a thread, as workflows and configs write them. `reached` decides when a limit is reached, `used` sums what
//! runs used up, and `setting` reads and writes one limit as a text.

mod reached;
mod setting;
mod used;

use std::fmt;
use std::num::NonZeroU64;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use uwf_util::time;

use crate::ids::RoleName;

pub use reached::{Amount, Key, RaiseError, Reached, Rules, SetBy, Spent};
pub use setting::{LimitError, Setting};
pub use used::Used;

/// How far a thread may go by itself. A limit that is absent does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// How many steps the thread may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<NonZeroU64>,
    /// How many steps a role may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_visits: Option<MaxVisits>,
    /// What all runs of agents may cost together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
    /// How many tokens all runs may read and write together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<NonZeroU64>,
    /// How long agents may work on the thread, all runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Span>,
    /// How a run with unknown usage counts; it suspends the thread if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_usage: Option<UnknownUsage>,
}

/// How many steps a role may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a number from 1, or a mapping from role to such a number"
)]
pub enum MaxVisits {
    /// The same number for every role.
    Each(NonZeroU64),
    /// Some roles; the others have no limit.
    ByRole(IndexMap<RoleName, NonZeroU64>),
}

/// How a run with unknown usage counts for limits of cost, tokens and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownUsage {
    /// It counts as reaching the limit.
    Suspend,
    /// It counts as nothing.
    Ignore,
}

/// An amount of money above zero, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Usd(f64);

// An amount is always finite.
impl Eq for Usd {}

/// A length of time above zero, written like `2h` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(u64);

impl Limits {
    /// The keys, as they are written.
    pub const KEYS: [&str; 6] = [
        "maxSteps",
        "maxVisits",
        "maxCostUsd",
        "maxTokens",
        "maxDuration",
        "unknownUsage",
    ];

    /// Tells whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets one limit, in place of what it was.
    pub fn set(&mut self, setting: Setting) {
        match setting {
            Setting::MaxSteps(max) => self.max_steps = Some(max),
            Setting::MaxVisits(None, max) => self.max_visits = Some(MaxVisits::Each(max)),
            Setting::MaxVisits(Some(role), max) => match &mut self.max_visits {
                Some(MaxVisits::ByRole(roles)) => {
                    roles.insert(role, max);
                }
                Some(MaxVisits::Each(_)) | None => {
                    let roles = IndexMap::from([(role, max)]);
                    self.max_visits = Some(MaxVisits::ByRole(roles));
                }
            },
            Setting::MaxCostUsd(max) => self.max_cost_usd = Some(max),
            Setting::MaxTokens(max) => self.max_tokens = Some(max),
            Setting::MaxDuration(max) => self.max_duration = Some(max),
            Setting::UnknownUsage(meaning) => self.unknown_usage = Some(meaning),
        }
    }
}

impl MaxVisits {
    /// Returns how many steps this role may do, if that is limited.
    #[must_use]
    pub fn of(&self, role: &RoleName) -> Option<NonZeroU64> {
        match self {
            Self::Each(max) => Some(*max),
            Self::ByRole(roles) => roles.get(role).copied(),
        }
    }
}

impl Usd {
    /// Returns the amount.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Usd {
    type Error = LimitError;

    fn try_from(amount: f64) -> Result<Self, LimitError> {
        match amount.is_finite() && amount > 0.0 {
            true => Ok(Self(amount)),
            false => Err(LimitError::Value(amount.to_string(), "an amount above 0")),
        }
    }
}

impl From<Usd> for f64 {
    fn from(amount: Usd) -> Self {
        amount.0
    }
}

impl Span {
    /// Returns the length in milliseconds.
    #[must_use]
    pub fn ms(self) -> u64 {
        self.0
    }
}

impl TryFrom<String> for Span {
    type Error = LimitError;

    fn try_from(text: String) -> Result<Self, LimitError> {
        match time::parse_duration(&text).filter(|ms| *ms > 0) {
            Some(ms) => Ok(Self(ms)),
            None => Err(LimitError::Value(
                text,
                "a duration such as `90s`, `10m` or `2h`",
            )),
        }
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&time::exact_duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn limits_are_written_as_they_are_read() {
        let all = json!({
            "maxSteps": 10,
            "maxVisits": { "writer": 3 },
            "maxCostUsd": 2.5,
            "maxTokens": 100_000,
            "maxDuration": "1h30m",
            "unknownUsage": "ignore",
        });
        let limits: Limits = serde_json::from_value(all.clone()).unwrap();
        assert_eq!(serde_json::to_value(&limits).unwrap(), all);
        assert_eq!(serde_json::to_value(Limits::default()).unwrap(), json!({}));
        let each: Limits = serde_json::from_value(json!({ "maxVisits": 3 })).unwrap();
        let role: RoleName = "anyone".parse().unwrap();
        assert_eq!(each.max_visits.unwrap().of(&role).unwrap().get(), 3);
    }

    #[test]
    fn a_limit_of_zero_is_refused() {
        let refused = |value: Value, part: &str| {
            let error = serde_json::from_value::<Limits>(value).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        };
        refused(json!({ "maxSteps": 0 }), "nonzero");
        refused(json!({ "maxVisits": 0 }), "a number from 1");
        refused(json!({ "maxCostUsd": 0 }), "an amount above 0");
        refused(json!({ "maxCostUsd": -1.5 }), "an amount above 0");
        refused(json!({ "maxDuration": "0s" }), "a duration such as");
        refused(json!({ "maxDuration": "soon" }), "a duration such as");
        refused(json!({ "maxStep": 1 }), "maxStep");
    }

    #[test]
    fn the_keys_are_those_that_are_read() {
        for key in Limits::KEYS {
            let error = serde_json::from_value::<Limits>(json!({ key: [] })).unwrap_err();
            assert!(!error.to_string().contains("unknown field"), "{error}");
        }
    }
}

//! What the config says about failed attempts of an agent: whether another attempt follows, when it does, and which agent makes it.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;

/// Whether and when an agent is tried again that has failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retry {
    /// How many more attempts follow the first failed one at the same place, up to [`MOST`](Self::MOST); none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<NonZeroU32>,
    /// The time before the second attempt, such as `1m`; [`USUAL_BACKOFF_MS`](Self::USUAL_BACKOFF_MS) if absent. It doubles
    /// with each attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<String>,
    /// The classes of failures that count; [`USUAL`](Self::USUAL) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<FailureClass>>,
}

impl Retry {
    /// The time before the second attempt if the config does not say, in milliseconds.
    pub const USUAL_BACKOFF_MS: u64 = 30_000;

    /// The highest number of attempts that may follow. With the first one, they are fewer than
    /// [`Attempt::KEPT`](crate::run::Attempt::KEPT), so all of them are on record when the fallback is reached.
    pub const MOST: u32 = 40;

    /// The classes of failures that count if the config does not say: failures that pass with time, or that another provider
    /// does not have.
    pub const USUAL: [FailureClass; 2] = [FailureClass::RateLimit, FailureClass::Overloaded];

    /// The words for the classes that may count: all but that of attempts that were told to stop.
    pub const CLASSES: &[&str] = &[
        "not-installed",
        "auth",
        "rate-limit",
        "overloaded",
        "context-too-long",
        "permission",
        "timeout",
        "crash",
        "no-answer",
        "bad-answer",
        "checks-failed",
    ];

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Attempt;

    #[test]
    fn a_fallback_is_reached_while_all_attempts_before_it_are_on_record() {
        assert!((Retry::MOST as usize) + 1 < Attempt::KEPT);
    }

    #[test]
    fn every_class_may_count_but_that_of_attempts_that_were_told_to_stop() {
        let all = FailureClass::ALL.map(FailureClass::as_str);
        let may: Vec<&str> = all.into_iter().filter(|one| *one != "cancelled").collect();
        assert_eq!(Retry::CLASSES, may);
    }
}

//! The class of a failed attempt: one word that programs can act on.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The hint for a full disk. The engine, the agent kit and the command line use the same text.
pub const FULL_DISK_HINT: &str =
    "the disk is full: make room on it, then run the same command again";

/// The kinds of failures, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// The agent or its program does not exist or cannot be run.
    NotInstalled,
    /// The agent is not logged in, or its key is refused.
    Auth,
    /// The provider allows no more calls for a while, or the quota is used up.
    RateLimit,
    /// The provider is overloaded, fails, or cannot be reached.
    Overloaded,
    /// The prompt or the session is longer than the model can read.
    ContextTooLong,
    /// The agent lacked a permission that the step needs.
    Permission,
    /// A time limit was reached.
    Timeout,
    /// Any other failure.
    Crash,
    /// The agent succeeded without an answer.
    NoAnswer,
    /// The answer cannot be used.
    BadAnswer,
    /// The checks of the role failed to the end.
    ChecksFailed,
    /// The agent was told to stop from outside.
    Cancelled,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [Self; 12] = [
        Self::NotInstalled,
        Self::Auth,
        Self::RateLimit,
        Self::Overloaded,
        Self::ContextTooLong,
        Self::Permission,
        Self::Timeout,
        Self::Crash,
        Self::NoAnswer,
        Self::BadAnswer,
        Self::ChecksFailed,
        Self::Cancelled,
    ];

    /// Returns the word for it, as it is recorded and printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotInstalled => "not-installed",
            Self::Auth => "auth",
            Self::RateLimit => "rate-limit",
            Self::Overloaded => "overloaded",
            Self::ContextTooLong => "context-too-long",
            Self::Permission => "permission",
            Self::Timeout => "timeout",
            Self::Crash => "crash",
            Self::NoAnswer => "no-answer",
            Self::BadAnswer => "bad-answer",
            Self::ChecksFailed => "checks-failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Tells whether the provider is the cause, so that neither the agent nor its session is to blame, and waiting helps.
    #[must_use]
    pub fn is_of_provider(self) -> bool {
        matches!(self, Self::RateLimit | Self::Overloaded)
    }

    /// Returns the class for the end of a process, by the codes and signals that shells use.
    #[must_use]
    pub fn of_exit(code: Option<i32>, signal: Option<i32>) -> Self {
        const STOPS: [i32; 3] = [1, 2, 15];
        let stopped = |signal: i32| STOPS.contains(&signal);
        match (code, signal) {
            (Some(126 | 127), _) => Self::NotInstalled,
            (Some(code), _) if stopped(code - 128) => Self::Cancelled,
            (None, Some(signal)) if stopped(signal) => Self::Cancelled,
            (_, _) => Self::Crash,
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads a class from a record. An unknown word, such as one of a newer version, is `None`.
///
/// # Errors
/// When it is not a word.
pub(crate) fn if_known<'de, D: Deserializer<'de>>(
    record: D,
) -> Result<Option<FailureClass>, D::Error> {
    let word: Option<String> = Option::deserialize(record)?;
    let mut classes = FailureClass::ALL.into_iter();
    Ok(word.and_then(|word| classes.find(|class| class.as_str() == word)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_class_is_written_as_its_word() {
        for class in FailureClass::ALL {
            assert_eq!(json!(class), json!(class.as_str()));
            assert_eq!(if_known(json!(class)).unwrap(), Some(class));
        }
        assert_eq!(if_known(json!("from-the-future")).unwrap(), None);
        assert_eq!(if_known(json!(null)).unwrap(), None);
    }

    #[test]
    fn the_end_of_a_process_says_what_shells_say_with_it() {
        let check = |code, signal, class| {
            assert_eq!(
                FailureClass::of_exit(code, signal),
                class,
                "{code:?} {signal:?}"
            );
        };
        check(Some(127), None, FailureClass::NotInstalled);
        check(Some(126), None, FailureClass::NotInstalled);
        check(Some(130), None, FailureClass::Cancelled);
        check(Some(143), None, FailureClass::Cancelled);
        check(None, Some(15), FailureClass::Cancelled);
        check(None, Some(9), FailureClass::Crash);
        check(Some(137), None, FailureClass::Crash);
        check(Some(1), None, FailureClass::Crash);
    }
}

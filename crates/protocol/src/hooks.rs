//! Hooks: commands of a person that are told what became of a step.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names the event to a hook. A call that has the variable runs no hooks, so hooks cannot start each other without end.
pub const EVENT_VARIABLE: &str = "UWF_HOOK";
/// Names the thread to a hook.
pub const THREAD_VARIABLE: &str = "UWF_HOOK_THREAD";
/// How long a hook may take if the config does not say, in seconds.
pub const USUAL_SECONDS: u64 = 10;

/// What a hook is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookEvent {
    /// A step was recorded.
    Step,
    /// The thread waits for a person.
    Suspended,
    /// The thread has no edge that applies.
    Blocked,
    /// An attempt at a step failed.
    Failed,
    /// The thread reached the end of its workflow.
    Completed,
}

impl HookEvent {
    /// The words for all events.
    pub const NAMES: &[&str] = &["step", "suspended", "blocked", "failed", "completed"];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Suspended => "suspended",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Completed => "completed",
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The command for an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hook {
    /// The command line, for `sh`. An entry without one does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How long it may take, such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_word_in_a_config() {
        for name in HookEvent::NAMES {
            let event: HookEvent = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(event.as_str(), *name);
        }
    }
}

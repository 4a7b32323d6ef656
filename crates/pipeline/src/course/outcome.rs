//! How a run ends, and with which exit code.

use super::key::StepKey;
use crate::StepResult;

/// The exit code of a run, and of a step, that a cycle guard stopped.
pub const GUARD_EXIT_CODE: i64 = 3;

/// Why a run has failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The innermost step that stopped it.
    pub key: StepKey,
    /// What came of that step.
    pub result: StepResult,
}

/// How a run was completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The steps that failed while the run went on.
    pub failed_steps: Vec<String>,
    /// The exit code of the run: 0, or that of its only step.
    pub exit_code: i64,
}

impl Stop {
    /// Returns the exit code of the run: that of the step, if it is one that a program can have.
    #[must_use]
    pub fn exit_code(&self) -> i64 {
        match self.result.exit_code {
            code @ 1..=127 => code,
            _ => 1,
        }
    }

    /// Returns why the run has failed, for people.
    #[must_use]
    pub fn message(&self) -> String {
        let code = self.result.exit_code;
        match &self.result.error {
            Some(error) => format!("step `{}` failed: {}", self.key, error.message),
            None => format!("step `{}` failed with exit code {code}", self.key),
        }
    }
}

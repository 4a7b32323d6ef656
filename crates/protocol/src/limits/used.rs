//! The usage of runs of agents, summed as far as it is known.

use serde::{Deserialize, Serialize};

use super::Key;
use crate::nodes::Usage;
use crate::run::{Attempt, Phase};
use crate::schemas::CostKind;

/// The usage of runs of agents, as far as it is known. Runs are steps and failed attempts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    /// How many runs there were.
    pub runs: u64,
    /// What they cost, in US dollars.
    pub cost_usd: f64,
    /// Whether that includes amounts that were computed from tokens and prices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// How many runs have an unknown cost.
    pub cost_unknown: u64,
    /// How many tokens they read and wrote.
    pub tokens: u64,
    /// How many runs have an unknown number of tokens.
    pub tokens_unknown: u64,
    /// How long they took, in milliseconds.
    pub duration_ms: u64,
    /// How many runs have an unknown duration.
    pub duration_unknown: u64,
    /// How many of the runs are steps of child threads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_steps: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// More dollars than anybody pays for a thread.
const MOST_USD: f64 = 1e12;
/// Fewer dollars than any run costs.
const LEAST_USD: f64 = 1e-9;
/// More runs, tokens or milliseconds than a thread can have. Programs that count with doubles know them exactly.
const MOST: u64 = 1 << 53;

impl Used {
    /// Returns how the cost is known.
    #[must_use]
    pub fn cost_kind(&self) -> CostKind {
        CostKind::of(self.cost_estimated)
    }

    /// Tells whether a thread can have used up this much.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let counts = [
            self.runs,
            self.cost_unknown,
            self.tokens,
            self.tokens_unknown,
            self.duration_ms,
            self.duration_unknown,
            self.child_steps,
        ];
        Self::is_possible_cost(self.cost_usd) && counts.iter().all(|count| *count <= MOST)
    }

    /// Tells whether runs can have cost so many dollars.
    #[must_use]
    pub fn is_possible_cost(usd: f64) -> bool {
        (0.0..=MOST_USD).contains(&usd)
    }

    /// Adds dollars. The sum stays finite: JSON has no other numbers, and a line with one could not be read again.
    fn add_cost(&mut self, usd: f64) {
        self.cost_usd = (self.cost_usd + usd).min(f64::MAX);
    }

    /// Adds one run.
    pub fn add(&mut self, usage: Option<&Usage>, duration_ms: Option<u64>) {
        self.runs = self.runs.saturating_add(1);
        match usage.and_then(|usage| usage.cost_usd) {
            Some(cost) if cost.is_finite() && cost >= 0.0 => {
                self.add_cost(cost);
                self.cost_estimated |= usage.is_some_and(|usage| usage.cost_estimated);
            }
            Some(_) | None => self.cost_unknown = self.cost_unknown.saturating_add(1),
        }
        let tokens = usage.and_then(|usage| {
            let (input, output) = (usage.input_tokens?, usage.output_tokens?);
            Some(input.saturating_add(output))
        });
        match tokens {
            Some(tokens) => self.tokens = self.tokens.saturating_add(tokens),
            None => self.tokens_unknown = self.tokens_unknown.saturating_add(1),
        }
        match duration_ms {
            Some(ms) => self.duration_ms = self.duration_ms.saturating_add(ms),
            None => self.duration_unknown = self.duration_unknown.saturating_add(1),
        }
    }

    /// Adds a failed attempt.
    ///
    /// An agent that could not be started used nothing. What an attempt used that a step counts is not counted again. If a
    /// person accepted the unknown usage, the attempt counts with what is known.
    pub fn add_attempt(&mut self, attempt: &Attempt) {
        self.add_all(&Self::of_attempt(attempt));
    }

    /// Returns what one failed attempt used up.
    #[must_use]
    pub fn of_attempt(attempt: &Attempt) -> Self {
        let mut used = Self::default();
        let took = attempt.ended_at_ms.saturating_sub(attempt.started_at_ms);
        let nothing = Usage::nothing();
        let usage = match (&attempt.usage, attempt.phase) {
            _ if attempt.counted_in.is_some() => Some(&nothing),
            (None, Phase::Spawn) => Some(&nothing),
            (usage, _) => usage.as_ref(),
        };
        let took = u64::try_from(took).unwrap_or(0);
        let (took, is_known) = match attempt.counted_in {
            // A step that has the answer counts the time, too.
            Some(_) => (0, true),
            None => (took, !attempt.end_unseen),
        };
        used.add(usage, is_known.then_some(took));
        if !is_known {
            used.duration_ms = took;
        }
        if attempt.unknown_accepted {
            (used.cost_unknown, used.tokens_unknown) = (0, 0);
            used.duration_unknown = 0;
        }
        used
    }

    /// Returns how many runs have unknown usage of the kind that a limit is about.
    pub(super) fn unknown(&self, key: Key) -> u64 {
        match key {
            Key::MaxSteps | Key::MaxVisits => 0,
            Key::MaxCostUsd => self.cost_unknown,
            Key::MaxTokens => self.tokens_unknown,
            Key::MaxDuration => self.duration_unknown,
        }
    }

    /// Tells whether another sum can be a part of this one.
    #[must_use]
    pub fn has(&self, part: &Self) -> bool {
        self.runs >= part.runs
            && self.cost_usd + LEAST_USD >= part.cost_usd
            && self.cost_unknown >= part.cost_unknown
            && self.tokens >= part.tokens
            && self.tokens_unknown >= part.tokens_unknown
            && self.duration_ms >= part.duration_ms
            && self.duration_unknown >= part.duration_unknown
    }

    /// Returns what of each amount is beyond another sum.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let cost_usd = self.cost_usd - other.cost_usd;
        Self {
            runs: self.runs.saturating_sub(other.runs),
            // Sums of the same costs in another order differ by less than this.
            cost_usd: if cost_usd > LEAST_USD { cost_usd } else { 0.0 },
            cost_estimated: self.cost_estimated && cost_usd > LEAST_USD,
            cost_unknown: self.cost_unknown.saturating_sub(other.cost_unknown),
            tokens: self.tokens.saturating_sub(other.tokens),
            tokens_unknown: self.tokens_unknown.saturating_sub(other.tokens_unknown),
            duration_ms: self.duration_ms.saturating_sub(other.duration_ms),
            duration_unknown: self.duration_unknown.saturating_sub(other.duration_unknown),
            child_steps: self.child_steps.saturating_sub(other.child_steps),
        }
    }

    /// Takes the larger of each amount.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        self.runs = self.runs.max(other.runs);
        self.cost_usd = self.cost_usd.max(other.cost_usd);
        self.cost_estimated |= other.cost_estimated;
        self.cost_unknown = self.cost_unknown.max(other.cost_unknown);
        self.tokens = self.tokens.max(other.tokens);
        self.tokens_unknown = self.tokens_unknown.max(other.tokens_unknown);
        self.duration_ms = self.duration_ms.max(other.duration_ms);
        self.duration_unknown = self.duration_unknown.max(other.duration_unknown);
        self.child_steps = self.child_steps.max(other.child_steps);
    }

    /// Adds what other runs used up.
    pub fn add_all(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.add_cost(other.cost_usd);
        self.cost_estimated |= other.cost_estimated;
        self.cost_unknown = self.cost_unknown.saturating_add(other.cost_unknown);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.tokens_unknown = self.tokens_unknown.saturating_add(other.tokens_unknown);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
        self.duration_unknown = self.duration_unknown.saturating_add(other.duration_unknown);
        self.child_steps = self.child_steps.saturating_add(other.child_steps);
    }
}

//! What a step, an attempt or a call of a model used up.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use uwf_pipeline::nodes::AttemptRecord;
use uwf_util::amount::without_noise;
use uwf_util::text::counted;

use crate::ids::CasRef;
use crate::schemas::{self, CostKind};

/// What a step used up. `None` means unknown, which is not zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens that the model read.
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    pub output_tokens: Option<u64>,
    /// Tokens of the input that were read from a cache.
    pub cached_tokens: Option<u64>,
    /// Tokens of the input that were written to a cache. A node has them only if they explain an estimated cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Turns that the model took.
    pub turns: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Whether the cost, or a part of it, was computed from tokens and prices. A node with such a cost has a type of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// Time spent, in milliseconds.
    pub duration_ms: Option<u64>,
}

impl Usage {
    /// Returns how the cost is known.
    #[must_use]
    pub fn cost_kind(&self) -> CostKind {
        CostKind::of(self.cost_estimated)
    }

    /// Returns the sum of both. An unknown and a known amount make the known amount: it is a lower bound.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        fn add<T: Copy + std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            }
        }
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            output_tokens: add(self.output_tokens, other.output_tokens),
            cached_tokens: add(self.cached_tokens, other.cached_tokens),
            cache_write_tokens: add(self.cache_write_tokens, other.cache_write_tokens),
            turns: add(self.turns, other.turns),
            cost_usd: add(self.cost_usd, other.cost_usd).map(without_noise),
            cost_estimated: self.cost_estimated || other.cost_estimated,
            duration_ms: add(self.duration_ms, other.duration_ms),
        }
    }

    /// Returns the larger of each amount, as far as one of them is known.
    #[must_use]
    pub fn raised_to(&self, other: &Self) -> Self {
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cached_tokens: self.cached_tokens.max(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.max(other.cache_write_tokens),
            turns: self.turns.max(other.turns),
            cost_usd,
            cost_estimated: self.cost_estimated || other.cost_estimated,
            duration_ms: self.duration_ms.max(other.duration_ms),
        }
    }

    /// Returns the usage of something that has asked no model, or only calls that were refused: nothing, and that is known.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            input_tokens: Some(0),
            output_tokens: Some(0),
            turns: Some(0),
            cost_usd: Some(0.0),
            ..Self::default()
        }
    }

    /// Returns what of each amount is beyond another usage, which is a part of this one.
    #[must_use]
    pub fn beyond(&self, part: &Self) -> Self {
        let beyond = |one: Option<u64>, part: Option<u64>| {
            one.map(|one| one.saturating_sub(part.unwrap_or_default()))
        };
        let cost = |cost: f64| without_noise((cost - part.cost_usd.unwrap_or_default()).max(0.0));
        let cost_usd = self.cost_usd.map(cost);
        Self {
            input_tokens: beyond(self.input_tokens, part.input_tokens),
            output_tokens: beyond(self.output_tokens, part.output_tokens),
            cached_tokens: beyond(self.cached_tokens, part.cached_tokens),
            cache_write_tokens: beyond(self.cache_write_tokens, part.cache_write_tokens),
            turns: beyond(self.turns, part.turns),
            cost_usd,
            cost_estimated: self.cost_estimated && cost_usd.is_some_and(|cost| cost > 0.0),
            duration_ms: beyond(self.duration_ms, part.duration_ms),
        }
    }

    /// Returns a note for people, such as "1200 tokens in, 80 out, 3 turns, $0.02"; `None` if nothing but the time is known.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let cached = |tokens: u64| match self.cached_tokens {
            Some(cached) if cached > 0 => format!("{tokens} tokens in ({cached} cached)"),
            Some(_) | None => format!("{tokens} tokens in"),
        };
        let out = |tokens: u64| match self.input_tokens {
            Some(_) => format!("{tokens} out"),
            None => format!("{tokens} tokens out"),
        };
        let parts = [
            self.input_tokens.map(cached),
            self.output_tokens.map(out),
            self.turns.map(|turns| counted(turns, "turn")),
            self.cost_usd.map(|usd| self.cost_kind().show(usd)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Reads the usage from the payload of a detail node: ours, or one of another program that has `usage` and
    /// `totalCostUsd`. In the latter, zero also means unknown.
    #[must_use]
    pub fn of_detail(detail: &Value) -> Self {
        let mut usage: Self = detail
            .get("usage")
            .and_then(|usage| Self::deserialize(usage).ok())
            .unwrap_or_default();
        if let Some(cost) = detail.get("totalCostUsd") {
            usage.cost_usd = cost.as_f64().filter(|cost| *cost > 0.0);
            usage.input_tokens = usage.input_tokens.filter(|tokens| *tokens > 0);
            usage.output_tokens = usage.output_tokens.filter(|tokens| *tokens > 0);
        }
        usage
    }

    /// Returns what a step used up, by the type and the payload of its detail. Of the steps of a pipeline, only a provider uses
    /// up what nobody tells: commands, waits and loops call no model.
    #[must_use]
    pub fn of_step(agent: &str, detail_type: CasRef, detail: &Value) -> Self {
        let is_told = detail.get("usage").is_some_and(|usage| !usage.is_null());
        if !schemas::VISITS.contains(&detail_type) || is_told {
            return Self::of_detail(detail);
        }
        let attempts = detail.get("attempts").map(Vec::deserialize);
        Self::of_visit(agent, &attempts.and_then(Result::ok).unwrap_or_default())
    }

    /// Returns what a step of a pipeline used up that tells nothing about it: a provider something unknown, if its program ran.
    #[must_use]
    pub fn of_visit(agent: &str, attempts: &[AttemptRecord]) -> Self {
        let is_unknown = attempts.is_empty() || attempts.iter().any(AttemptRecord::ran);
        if agent.starts_with("provider:") && is_unknown {
            return Self::default();
        }
        Self {
            turns: None,
            ..Self::nothing()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_about_usage_tells_what_is_known() {
        let nothing = Usage {
            duration_ms: Some(5),
            ..Usage::default()
        };
        assert_eq!(nothing.note(), None);
        let usage = Usage {
            input_tokens: Some(1200),
            output_tokens: Some(80),
            cached_tokens: Some(1000),
            turns: Some(1),
            cost_usd: Some(0.0214),
            ..Usage::default()
        };
        let note = "1200 tokens in (1000 cached), 80 out, 1 turn, $0.02";
        assert_eq!(usage.note().as_deref(), Some(note));
        let estimated = Usage {
            cost_estimated: true,
            ..usage
        };
        assert!(estimated.note().unwrap().ends_with("1 turn, ~$0.02"));
        let cheap = Usage {
            output_tokens: Some(3),
            cost_usd: Some(0.000_25),
            ..Usage::default()
        };
        assert_eq!(cheap.note().as_deref(), Some("3 tokens out, $0.00025"));
    }

    #[test]
    fn usage_is_read_from_details_of_any_program_that_tells_it() {
        let check = |detail: Value, expected: (Option<f64>, Option<u64>)| {
            let usage = Usage::of_detail(&detail);
            assert_eq!((usage.cost_usd, usage.input_tokens), expected, "{detail}");
        };
        check(
            json!({ "usage": { "inputTokens": 0, "costUsd": 0.0 } }),
            (Some(0.0), Some(0)),
        );
        check(json!({ "usage": null }), (None, None));
        check(json!({ "turns": [] }), (None, None));
        check(
            json!({ "totalCostUsd": 0.5, "usage": { "inputTokens": 7 } }),
            (Some(0.5), Some(7)),
        );
        check(
            json!({ "totalCostUsd": 0, "usage": { "inputTokens": 0 } }),
            (None, None),
        );
        check(json!("text"), (None, None));
    }

    #[test]
    fn what_is_beyond_a_part_makes_the_whole_with_it() {
        let whole = Usage {
            input_tokens: Some(120),
            turns: Some(3),
            cost_usd: Some(0.3),
            cost_estimated: true,
            ..Usage::default()
        };
        let part = Usage {
            input_tokens: Some(100),
            output_tokens: Some(7),
            cost_usd: Some(0.1),
            ..Usage::default()
        };
        let beyond = whole.beyond(&part);
        let amounts = (beyond.input_tokens, beyond.output_tokens, beyond.turns);
        assert_eq!(amounts, (Some(20), None, Some(3)));
        assert_eq!((beyond.cost_usd, beyond.cost_estimated), (Some(0.2), true));
        let nothing = whole.beyond(&whole);
        assert_eq!(
            (nothing.cost_usd, nothing.cost_estimated),
            (Some(0.0), false)
        );
    }
}

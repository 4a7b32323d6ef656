//! What runs of agents used up, as commands show it.

use serde::Serialize;
use uwf_protocol::limits::Used;
use uwf_protocol::schemas::CostKind;
use uwf_util::amount::without_noise;

/// What runs of agents used up. Runs are steps and failed attempts, and each counts once, as for limits. `None` means that no
/// run told it, which is not zero. If some runs did not tell it, the amount is what the others used up.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotal {
    /// How many runs there were.
    pub runs: u64,
    /// What they cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Whether it includes amounts that were computed from tokens and prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// How many runs have an unknown cost.
    pub cost_unknown: u64,
    /// How many tokens they read and wrote.
    pub tokens: Option<u64>,
    /// How many runs have an unknown number of tokens.
    pub tokens_unknown: u64,
    /// How long they took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// How many runs have an unknown duration.
    pub duration_unknown: u64,
}

impl UsageTotal {
    /// Returns how the cost is known.
    #[must_use]
    pub fn cost_kind(&self) -> CostKind {
        CostKind::of(self.cost_estimated)
    }
}

impl From<&Used> for UsageTotal {
    fn from(used: &Used) -> Self {
        let is_known =
            |unknown: u64, is_zero: bool| unknown == 0 || unknown < used.runs || !is_zero;
        Self {
            runs: used.runs,
            cost_usd: is_known(used.cost_unknown, used.cost_usd == 0.0)
                .then(|| without_noise(used.cost_usd)),
            cost_estimated: used.cost_estimated,
            cost_unknown: used.cost_unknown,
            tokens: is_known(used.tokens_unknown, used.tokens == 0).then_some(used.tokens),
            tokens_unknown: used.tokens_unknown,
            duration_ms: is_known(used.duration_unknown, used.duration_ms == 0)
                .then_some(used.duration_ms),
            duration_unknown: used.duration_unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_protocol::nodes::Usage;

    use super::*;

    fn of(runs: &[Option<f64>]) -> UsageTotal {
        let mut used = Used::default();
        for cost_usd in runs {
            let usage = Usage {
                cost_usd: *cost_usd,
                ..Usage::default()
            };
            used.add(Some(&usage), Some(5));
        }
        UsageTotal::from(&used)
    }

    #[test]
    fn an_unknown_amount_is_not_zero() {
        assert_eq!(of(&[]).cost_usd, Some(0.0));
        assert_eq!(of(&[None, None]).cost_usd, None);
        assert_eq!(of(&[Some(0.0)]).cost_usd, Some(0.0));
        let some = of(&[None, Some(0.5)]);
        assert_eq!((some.cost_usd, some.cost_unknown), (Some(0.5), 1));
        assert_eq!((some.tokens, some.tokens_unknown), (None, 2));
        assert_eq!((some.runs, some.duration_ms), (2, Some(10)));
    }

    #[test]
    fn a_sum_of_dollars_has_no_binary_noise() {
        assert_eq!(of(&[Some(0.1), Some(0.2)]).cost_usd, Some(0.3));
    }
}

//! What a thread used up beyond its chain, as one value that can move with it.

use serde::{Deserialize, Serialize};

use super::Attempt;
use crate::chain::ChainUsage;
use crate::ids::CasRef;
use crate::limits::{Setting, Used};
use crate::review::{Reviews, Summaries};

/// What a thread used up, and what it may use up, beyond its chain: everything that its limits depend on and that no node
/// has. It can move with the thread to another root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRecord {
    /// The failed attempts that are kept, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// What older attempts used up, and steps that were replaced.
    #[serde(default)]
    pub dropped: Used,
    /// The last replaced step that `dropped` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<CasRef>,
    /// What the steps up to a head used up, if that was summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainUsage>,
    /// The limits that a person raised.
    #[serde(default)]
    pub raises: Vec<Setting>,
    /// The verdicts on it.
    #[serde(default, skip_serializing_if = "Reviews::is_empty")]
    pub reviews: Reviews,
    /// Its summary.
    #[serde(default, skip_serializing_if = "Summaries::is_empty")]
    pub summaries: Summaries,
}

/// More attempts than a thread can have.
const MOST_ATTEMPTS: u64 = 1 << 32;

impl ThreadRecord {
    /// Tells whether it says that a run or a sum of runs used up less than nothing, or more than anybody can: such a record
    /// would make other sums useless.
    #[must_use]
    pub fn has_impossible_sum(&self) -> bool {
        let attempts = self.attempts.iter().map(Used::of_attempt);
        let mut sums: Vec<Used> = attempts.collect();
        sums.push(self.dropped.clone());
        sums.push(self.reviews.used.clone());
        sums.push(self.summaries.used.clone());
        sums.extend(self.chain.iter().map(|chain| chain.used.clone()));
        let costs = self.attempts.iter();
        let mut costs = costs.filter_map(|attempt| attempt.usage.as_ref()?.cost_usd);
        costs.any(|cost| !Used::is_possible_cost(cost)) || !sums.iter().all(Used::is_possible)
    }

    /// Returns the nodes that it names and that no chain needs to have: texts and turns of attempts, verdicts, and the summary.
    /// Some may be missing. A node may come twice.
    pub fn nodes(&self) -> impl Iterator<Item = CasRef> {
        let attempts = self.attempts.iter();
        let texts = attempts.flat_map(|attempt| attempt.raw.iter().chain(&attempt.turns));
        let verdicts = self.reviews.verdicts.iter().map(|verdict| verdict.node);
        let summary = self.summaries.newest.map(|summary| summary.node);
        texts.copied().chain(verdicts).chain(summary)
    }

    /// Tells whether an attempt has a number that no attempt can have. They are counted.
    #[must_use]
    pub fn has_impossible_number(&self) -> bool {
        let mut attempts = self.attempts.iter();
        attempts.any(|attempt| attempt.number > MOST_ATTEMPTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{Decision, RecordedSummary, RecordedVerdict};

    #[test]
    fn a_record_names_texts_turns_verdicts_and_its_summary() {
        let hash = CasRef::from_u64;
        let attempt = Attempt {
            raw: Some(hash(2)),
            turns: vec![hash(3), hash(4)],
            ..Attempt::of(hash(1), "writer".parse().unwrap())
        };
        let mut record = ThreadRecord {
            attempts: vec![attempt],
            replaced: Some(hash(1)),
            ..ThreadRecord::default()
        };
        record.reviews.add_verdict(RecordedVerdict {
            node: hash(5),
            head: hash(1),
            decision: Decision::Continue,
            released: false,
        });
        record.summaries.newest = Some(RecordedSummary {
            node: hash(6),
            at_ms: 0,
        });
        let nodes: Vec<CasRef> = record.nodes().collect();
        assert_eq!(nodes, [2, 3, 4, 5, 6].map(hash));
        assert_eq!(ThreadRecord::default().nodes().count(), 0);
    }
}

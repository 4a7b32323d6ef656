//! The chain of a thread: a step with its data, and summaries that save walking the chain.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_util::base32::U64_DIGITS;

use crate::ids::{CasRef, RoleName};
use crate::limits::Used;
use crate::nodes::StepNode;

/// How many of the newest known steps are compared with a step of a chain. The last ones may have been replaced.
const NEWEST: usize = 8;

/// One step with the data of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct StepContext {
    /// The step's own hash.
    pub hash: CasRef,
    /// The step.
    pub node: StepNode,
    /// The payload of the output node.
    pub output: Value,
}

/// The summary of the chain up to a head. It is a cache: walking the chain gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSummary {
    /// The head that it describes.
    pub head: CasRef,
    /// How many steps the chain has.
    pub steps: u64,
    /// The visits of each role that did a step.
    pub visits: IndexMap<RoleName, Visits>,
}

/// What the steps up to a head used up. It is a cache like [`ChainSummary`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainUsage {
    /// The head that it describes.
    pub head: CasRef,
    /// What was used up.
    pub used: Used,
}

/// The steps of a chain by their numbers. It is a cache like [`ChainSummary`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainPositions {
    /// Their hashes, one after the other: all have the same length.
    hashes: String,
}

impl ChainPositions {
    /// Returns how many steps are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.hashes.len() / U64_DIGITS
    }

    /// Returns the step with a number, from 1.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<CasRef> {
        let start = number.checked_sub(1)?.checked_mul(U64_DIGITS)?;
        let end = start.checked_add(U64_DIGITS)?;
        self.hashes.get(start..end)?.parse().ok()
    }

    /// Returns the number of a step, if it is one of the newest that are known.
    #[must_use]
    pub fn number_of_new(&self, step: CasRef) -> Option<usize> {
        let mut newest = (1..=self.count()).rev().take(NEWEST);
        newest.find(|number| self.get(*number) == Some(step))
    }

    /// Forgets the steps after this number, and adds those that follow it, oldest first.
    pub fn continue_after(&mut self, number: usize, steps: impl Iterator<Item = CasRef>) {
        let kept = number.min(self.count()) * U64_DIGITS;
        self.hashes.truncate(kept);
        steps.for_each(|step| self.hashes.push_str(step.as_str()));
    }
}

/// The visits of one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visits {
    /// How many steps the role did.
    pub count: u64,
    /// Its newest step.
    pub last: CasRef,
}

impl ChainSummary {
    /// Returns the summary of a thread that has a start node and no step.
    #[must_use]
    pub fn of_start(start: CasRef) -> Self {
        Self {
            head: start,
            steps: 0,
            visits: IndexMap::new(),
        }
    }

    /// Returns how many steps a role did.
    #[must_use]
    pub fn visits_of(&self, role: &RoleName) -> u64 {
        self.visits.get(role).map_or(0, |visits| visits.count)
    }

    /// Adds the step that follows the head.
    pub fn push(&mut self, step: CasRef, role: &RoleName) {
        self.head = step;
        self.steps += 1;
        let visits = self.visits.entry(role.clone()).or_insert(Visits {
            count: 0,
            last: step,
        });
        visits.count += 1;
        visits.last = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> CasRef {
        CasRef::from_u64(number)
    }

    #[test]
    fn steps_are_known_by_their_numbers() {
        let mut positions = ChainPositions::default();
        assert_eq!(
            (positions.count(), positions.get(0), positions.get(1)),
            (0, None, None)
        );
        positions.continue_after(0, (1..=20).map(step));
        assert_eq!(positions.count(), 20);
        for number in 1..=20 {
            assert_eq!(positions.get(number), Some(step(number as u64)));
        }
        assert_eq!((positions.get(0), positions.get(21)), (None, None));
        assert_eq!(positions.get(usize::MAX), None);
        let new = |one| positions.number_of_new(step(one));
        assert_eq!(
            (new(20), new(13), new(12), new(21)),
            (Some(20), Some(13), None, None)
        );
        // The last step was replaced.
        positions.continue_after(19, [step(99), step(100)].into_iter());
        assert_eq!(
            (positions.get(19), positions.get(20)),
            (Some(step(19)), Some(step(99)))
        );
        assert_eq!(positions.count(), 21);
    }

    #[test]
    fn what_is_no_hash_is_no_position() {
        for text in [
            r#"{"hashes":"ä0123456789AB"}"#,
            r#"{"hashes":"short"}"#,
            r#"{"hashes":"0123456789ABü"}"#,
        ] {
            let positions: ChainPositions = serde_json::from_str(text).unwrap();
            assert_eq!(positions.get(1), None, "{text}");
        }
    }
}

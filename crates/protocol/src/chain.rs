//! The chain of a thread: a step with its data, and summaries that save walking the chain.

use indexmap::{IndexMap, IndexSet};
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

/// The steps of a chain by their numbers, with their roles. It is a cache like [`ChainSummary`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainPositions {
    /// The steps, one after the other. Each is its hash and the index of its role, so all have the same length.
    steps: String,
    /// The roles.
    roles: IndexSet<RoleName>,
}

/// The length of a step in [`ChainPositions`].
const ENTRY: usize = 2 * U64_DIGITS;

impl ChainPositions {
    /// Returns how many steps are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.steps.len() / ENTRY
    }

    /// Returns the step with a number, from 1.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<CasRef> {
        self.entry(number)?.get(..U64_DIGITS)?.parse().ok()
    }

    /// Returns the newest step of a role.
    #[must_use]
    pub fn last_of(&self, role: &RoleName) -> Option<CasRef> {
        let index = index_digits(self.roles.get_index_of(role)?);
        let mut newest_first = (1..=self.count()).rev();
        let is_of_role = |number: &usize| {
            let entry = self.entry(*number);
            entry.is_some_and(|entry| entry.ends_with(index.as_str()))
        };
        self.get(newest_first.find(is_of_role)?)
    }

    /// Returns the number of a step, if it is one of the newest that are known.
    #[must_use]
    pub fn number_of_new(&self, step: CasRef) -> Option<usize> {
        let mut newest = (1..=self.count()).rev().take(NEWEST);
        newest.find(|number| self.get(*number) == Some(step))
    }

    /// Forgets the steps after this number, and adds those that follow it, oldest first.
    pub fn continue_after(
        &mut self,
        number: usize,
        steps: impl Iterator<Item = (CasRef, RoleName)>,
    ) {
        self.steps.truncate(number.min(self.count()) * ENTRY);
        for (step, role) in steps {
            let (index, _) = self.roles.insert_full(role);
            self.steps.push_str(step.as_str());
            self.steps.push_str(index_digits(index).as_str());
        }
    }

    fn entry(&self, number: usize) -> Option<&str> {
        let start = number.checked_sub(1)?.checked_mul(ENTRY)?;
        self.steps.get(start..start.checked_add(ENTRY)?)
    }
}

/// Returns the index of a role as it is in an entry.
fn index_digits(index: usize) -> CasRef {
    CasRef::from_u64(index as u64)
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

    fn step(number: u64) -> (CasRef, RoleName) {
        let role = if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        };
        (CasRef::from_u64(number), role.parse().unwrap())
    }

    fn of_steps(numbers: std::ops::RangeInclusive<u64>) -> ChainPositions {
        let mut positions = ChainPositions::default();
        positions.continue_after(0, numbers.map(step));
        positions
    }

    #[test]
    fn steps_are_known_by_their_numbers() {
        let nothing = ChainPositions::default();
        assert_eq!((nothing.count(), nothing.get(1)), (0, None));
        let mut positions = of_steps(1..=20);
        assert_eq!(positions.count(), 20);
        for number in 1..=20 {
            assert_eq!(positions.get(number), Some(step(number as u64).0));
        }
        for number in [0, 21, usize::MAX] {
            assert_eq!(positions.get(number), None);
        }
        let new = |one| positions.number_of_new(step(one).0);
        assert_eq!(
            (new(20), new(13), new(12), new(21)),
            (Some(20), Some(13), None, None)
        );
        // The last step was replaced.
        positions.continue_after(19, [step(99), step(100)].into_iter());
        let found = [19, 20, 21, 22].map(|number| positions.get(number));
        assert_eq!(
            found,
            [Some(step(19).0), Some(step(99).0), Some(step(100).0), None]
        );
    }

    #[test]
    fn the_newest_step_of_a_role_is_known() {
        let mut positions = of_steps(1..=20);
        let last =
            |positions: &ChainPositions, role: &str| positions.last_of(&role.parse().unwrap());
        assert_eq!(last(&positions, "odd"), Some(step(19).0));
        assert_eq!(last(&positions, "even"), Some(step(20).0));
        assert_eq!(last(&positions, "other"), None);
        positions.continue_after(2, [step(7)].into_iter());
        assert_eq!(last(&positions, "even"), Some(step(2).0));
        assert_eq!(last(&positions, "odd"), Some(step(7).0));
    }

    #[test]
    fn what_is_no_hash_is_no_position() {
        for steps in [
            "short",
            "ä0123456789AB0123456789ABC",
            "0123456789ABü0123456789ABC",
        ] {
            let text = format!(r#"{{"steps":"{steps}","roles":[]}}"#);
            let positions: ChainPositions = serde_json::from_str(&text).unwrap();
            assert_eq!(positions.get(1), None, "{text}");
        }
    }
}

//! The chain of a thread: a step with its data, and summaries that save walking the chain.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CasRef, RoleName};
use crate::limits::Used;
use crate::nodes::StepNode;

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

//! Which number a visit has: how often its very key was visited before.
//!
//! Keys of a body come again when its loop is entered again. Instead of all keys, the highest numbers of any item are kept, so
//! that memory grows with the file and not with the items. A number may therefore be higher than the visits of its own key, and
//! is never that of an earlier visit.

use std::collections::BTreeMap;

use crate::Step;

/// The highest numbers of the steps of a list, and of the loops in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    visits: Vec<u64>,
    inner: BTreeMap<usize, Tally>,
}

impl Tally {
    /// Returns the number of the last visit of a step; 0 if there was none.
    pub(super) fn last(&self, at: usize) -> u64 {
        self.visits.get(at).copied().unwrap_or(0)
    }

    pub(super) fn count(&mut self, at: usize) {
        self.raise(at, self.last(at) + 1);
    }

    /// Returns the numbers in the body of a loop.
    pub(super) fn body(&self, at: usize) -> Self {
        self.inner.get(&at).cloned().unwrap_or_default()
    }

    pub(super) fn set_body(&mut self, at: usize, body: Self) {
        // What is left out is zero.
        if body != Self::default() {
            self.inner.insert(at, body);
        }
    }

    /// Takes over what is higher in the other one.
    pub(super) fn raise_to(&mut self, other: &Self) {
        for (at, number) in other.visits.iter().enumerate() {
            self.raise(at, *number);
        }
        for (at, body) in &other.inner {
            self.inner.entry(*at).or_default().raise_to(body);
        }
    }

    /// Returns the numbers for another list of steps: they follow the names.
    pub(super) fn reordered(&self, old: &[Step], new: &[Step]) -> Self {
        let mut reordered = Self::default();
        for (at, step) in new.iter().enumerate() {
            let Some(before) = old.iter().position(|old| old.name == step.name) else {
                continue;
            };
            if self.last(before) > 0 {
                reordered.raise(at, self.last(before));
            }
            if let (Some(old), Some(new)) = (old[before].body(), step.body()) {
                let body = self.body(before).reordered(&old.steps, &new.steps);
                reordered.set_body(at, body);
            }
        }
        reordered
    }

    fn raise(&mut self, at: usize, number: u64) {
        if self.visits.len() <= at {
            self.visits.resize(at + 1, 0);
        }
        self.visits[at] = self.visits[at].max(number);
    }
}

//! One list of steps that is being run: that of the pipeline, or the body of a loop for one item.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::tally::Tally;
use crate::Step;
use crate::scope::{Item, Results};

/// A list of steps that is being run.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    /// The step that it is at.
    pub(super) at: usize,
    /// The newest results.
    pub(super) results: Results,
    /// How often each step was entered.
    entries: Vec<u64>,
    /// The number of the visit with which the newest entry of a step began.
    begun: u64,
    /// How many transitions were made.
    pub(super) transitions: u64,
    /// The numbers of visits.
    now: Tally,
    /// The loop, if this is a body.
    pub(super) body: Option<Body>,
}

/// The loop of a body.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) items: Arc<[Value]>,
    pub(super) index: usize,
    /// How many items have failed.
    pub(super) failed: u64,
    /// The names of the steps that were completed for any item.
    pub(super) done: BTreeSet<String>,
    /// The numbers of visits before the loop was entered.
    base: Tally,
    /// The highest numbers of visits of its items.
    seen: Tally,
}

impl Frame {
    /// Returns the body of the loop that this frame is at, for its first item.
    pub(super) fn enter(&self, items: Arc<[Value]>) -> Self {
        let base = self.now.body(self.at);
        Self {
            now: base.clone(),
            body: Some(Body {
                items,
                index: 0,
                failed: 0,
                done: BTreeSet::new(),
                seen: base.clone(),
                base,
            }),
            ..Self::default()
        }
    }

    /// Goes to the first step for the next item, and forgets this one.
    pub(super) fn next_item(&mut self) {
        let Some(mut body) = self.body.take() else {
            return;
        };
        body.index += 1;
        body.seen.raise_to(&self.now);
        // The map keeps its room, so that an item costs the same whichever it is.
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        *self = Self {
            results,
            now: body.base.clone(),
            body: Some(body),
            ..Self::default()
        };
    }

    /// Takes the numbers over from a body that is left.
    pub(super) fn leave(&mut self, inner: &Self) {
        let mut seen = match &inner.body {
            Some(body) => body.seen.clone(),
            None => Tally::default(),
        };
        seen.raise_to(&inner.now);
        self.now.set_body(self.at, seen);
    }

    /// Returns the item that the frame is for.
    pub(super) fn item<'f>(&'f self, alias: &'f str) -> Option<Item<'f>> {
        let body = self.body.as_ref()?;
        Some(Item {
            alias,
            value: &body.items[body.index],
            index: body.index,
            total: body.items.len(),
        })
    }

    /// Returns the number of the item that the frame is for.
    pub(super) fn index(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.index)
    }

    /// Returns how often a step was entered.
    pub(super) fn entries(&self, at: usize) -> u64 {
        self.entries.get(at).copied().unwrap_or(0)
    }

    pub(super) fn count_entry(&mut self) {
        if self.entries.len() <= self.at {
            self.entries.resize(self.at + 1, 0);
        }
        self.entries[self.at] += 1;
    }

    /// Returns the number of the next visit of the step that the frame is at.
    pub(super) fn visit_number(&self) -> u64 {
        self.now.last(self.at) + 1
    }

    /// Returns the number of the visit with which the newest entry of a step began.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Notes that the next visit is a new entry, and not a repetition.
    pub(super) fn begin(&mut self) {
        self.begun = self.visit_number();
    }

    pub(super) fn count_visit(&mut self) {
        self.now.count(self.at);
    }

    /// Moves to another list of the same loop: counts follow the names of their steps.
    pub(super) fn reorder(&mut self, at: usize, old: &[Step], new: &[Step]) {
        let entries = new.iter().map(|step| {
            let old = old.iter().position(|old| old.name == step.name);
            old.map_or(0, |old| self.entries(old))
        });
        self.entries = entries.collect();
        self.now = self.now.reordered(old, new);
        if let Some(body) = &mut self.body {
            body.base = body.base.reordered(old, new);
            body.seen = body.seen.reordered(old, new);
        }
        self.at = at;
    }
}

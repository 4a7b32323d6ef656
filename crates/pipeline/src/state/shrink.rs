//! How the file stays small: output gives way to references, the largest first.

use std::collections::{BinaryHeap, HashMap, HashSet};

use super::record::Record;
use super::tree::Members;
use crate::course::{Course, StepKey};

/// The size up to which finished items keep their output.
const MAX_WITH_ITEMS: usize = 1 << 20;
/// The size up to which steps of the pipeline keep theirs.
const MAX_BYTES: usize = 64 << 20;

/// The sizes of records, and which of them can shrink. A step that is done again and again is in it once.
#[derive(Debug, Default)]
pub(super) struct Shrink {
    /// The bytes of all records together.
    bytes: usize,
    /// Records of open items.
    open: HashSet<StepKey>,
    /// Records of finished items, with what they can lose.
    finished: BinaryHeap<(usize, String)>,
    /// Records of steps of the pipeline, with what they can lose.
    top: HashMap<StepKey, usize>,
}

impl Shrink {
    /// Counts a record.
    pub(super) fn add(&mut self, key: &StepKey, record: &Record) {
        self.bytes += record.len();
        let spare = record.spare();
        if spare == 0 {
            return;
        }
        if key.depth() == 0 {
            self.top.insert(key.clone(), spare);
        } else {
            self.open.insert(key.clone());
        }
    }

    /// Stops counting bytes of records that are gone.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Lets output give way as long as the file is too large.
    pub(super) fn keep_small(&mut self, steps: &mut Members, course: &Course) {
        self.close_items(steps, course);
        while self.bytes > MAX_WITH_ITEMS
            && let Some((spare, key)) = self.finished.pop()
        {
            if let Ok(key) = key.parse() {
                self.shrink(steps, &key, spare);
            }
        }
        while self.bytes > MAX_BYTES
            && let Some(largest) = self.top.iter().max_by_key(|(_, spare)| **spare)
        {
            let (key, spare) = (largest.0.clone(), *largest.1);
            self.top.remove(&key);
            self.shrink(steps, &key, spare);
        }
        if self.bytes > MAX_WITH_ITEMS {
            // No finished item has anything left that it could lose.
            steps.freeze(&course.open_items());
        }
    }

    /// Takes from a record what it can lose, unless it was replaced since.
    fn shrink(&mut self, steps: &mut Members, key: &StepKey, spare: usize) {
        let record = steps.record(key);
        if let Some(record) = record.filter(|record| record.spare() == spare) {
            record.shrink();
            self.bytes -= spare;
        }
    }

    /// Finds the records whose items are done.
    fn close_items(&mut self, steps: &mut Members, course: &Course) {
        let path = course.open_items();
        let keys = std::mem::take(&mut self.open);
        for key in keys {
            if path.starts_with(key.items()) {
                self.open.insert(key);
            } else if let Some(record) = steps.record(&key) {
                self.finished.push((record.spare(), key.to_string()));
            }
        }
    }
}

//! The bookkeeping of loops: `for_each` of the file.

use std::sync::Arc;

use serde_json::{Value, json};
use uwf_util::mask::Masks;

use crate::course::{Course, OpenLoop, StepKey, Visit};

/// The loops of a run, by the order in which they were entered. An inner one stays until the item around it is done.
#[derive(Debug, Default)]
pub(super) struct Loops(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    key: String,
    /// The item around it.
    around: StepKey,
    /// The items of an open loop: each entry of a loop has its own.
    open: Option<Arc<[Value]>>,
    /// The items as text.
    items: String,
    /// The numbers of the finished items, with commas.
    done: String,
    done_count: usize,
    index: Option<usize>,
    status: String,
    exit_code: Option<i64>,
    failed: u64,
}

impl Loops {
    /// Tells whether a loop is open.
    pub(super) fn is_open(&self, key: &str) -> bool {
        let mut open = self.0.iter().filter(|entry| entry.open.is_some());
        open.any(|entry| entry.key == key)
    }

    /// Follows the open loops of a course. Returns the keys of those that were entered.
    pub(super) fn follow(&mut self, course: &Course, masks: &Masks) -> Vec<StepKey> {
        let open = course.open_loops();
        let mut entered = Vec::new();
        for open in &open {
            let key = open.key.to_string();
            let is_same = |entry: &&mut Entry| {
                let items = entry.open.as_ref();
                entry.key == key && items.is_some_and(|items| Arc::ptr_eq(items, open.items))
            };
            if let Some(entry) = self.0.iter_mut().find(is_same) {
                entry.finish_up_to(open.index);
                (entry.index, entry.failed) = (Some(open.index), open.failed);
            } else {
                self.0.retain(|entry| entry.key != key);
                self.0.push(Entry::entered(open, masks));
                entered.push(open.key.clone());
            }
        }
        // An item that is done takes the loops in it along.
        let path = course.open_items();
        self.0
            .retain(|entry| path.starts_with(entry.around.items()));
        entered
    }

    /// Notes the end of a loop.
    pub(super) fn settled(&mut self, visit: &Visit) {
        let result = &visit.result;
        let key = visit.key.to_string();
        let mut entries = self.0.iter_mut();
        let Some(entry) = entries.find(|entry| entry.key == key) else {
            if result.looped.is_some() {
                self.0.push(Entry::empty(&visit.key));
                self.settled(visit);
            }
            return;
        };
        let count = result.looped.map_or(0, |looped| looped.count);
        entry.finish_up_to(usize::try_from(count).unwrap_or(usize::MAX));
        entry.open = None;
        entry.index = None;
        result.status.as_str().clone_into(&mut entry.status);
        entry.exit_code = Some(result.exit_code);
        entry.failed = result.looped.map_or(0, |looped| looped.failed);
    }

    /// Returns all loops as JSON.
    pub(super) fn text(&self) -> String {
        let entries: Vec<String> = self.0.iter().map(Entry::text).collect();
        format!("{{{}}}", entries.join(",\n"))
    }
}

impl Entry {
    fn entered(open: &OpenLoop<'_>, masks: &Masks) -> Self {
        let items: Value = open.items.iter().map(|item| masks.json(item)).collect();
        let mut entry = Self {
            open: Some(Arc::clone(open.items)),
            items: items.to_string(),
            index: Some(open.index),
            failed: open.failed,
            ..Self::empty(&open.key)
        };
        entry.finish_up_to(open.index);
        entry
    }

    fn empty(key: &StepKey) -> Self {
        Self {
            key: key.to_string(),
            around: key.around(),
            open: None,
            items: "[]".to_owned(),
            done: String::new(),
            done_count: 0,
            index: None,
            status: "running".to_owned(),
            exit_code: None,
            failed: 0,
        }
    }

    fn finish_up_to(&mut self, count: usize) {
        while self.done_count < count {
            if self.done_count > 0 {
                self.done.push(',');
            }
            self.done.push_str(&self.done_count.to_string());
            self.done_count += 1;
        }
    }

    fn text(&self) -> String {
        let Self {
            items,
            done,
            failed,
            ..
        } = self;
        let (key, status) = (json!(self.key), json!(self.status));
        let (index, exit_code) = (json!(self.index), json!(self.exit_code));
        format!(
            "{key}:{{\"items\":{items},\"completed_indices\":[{done}],\"current_index\":{index},\"status\":{status},\"exit_code\":{exit_code},\"failed\":{failed}}}"
        )
    }
}

//! The state as plain data, and how several places of it become one.

use std::collections::BTreeMap;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::Reason;

/// Threads and names of workflows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignState {
    /// The threads, active or ended.
    pub threads: BTreeMap<ThreadId, ForeignThread>,
    /// What the names of workflows stand for.
    pub workflows: BTreeMap<String, CasRef>,
}

/// A thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignThread {
    /// The last node of its chain.
    pub head: CasRef,
    /// How it ended; `None` if it is active.
    pub end: Option<End>,
}

/// The end of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// When, in milliseconds since 1970.
    pub completed_at: i64,
    /// How.
    pub reason: Reason,
    /// Its workflow, if that is on record.
    pub workflow: Option<CasRef>,
}

impl ForeignState {
    /// Adds an active thread. A thread that has ended, too, was resumed: it is active.
    pub(crate) fn add_active(&mut self, thread: ThreadId, head: CasRef) {
        self.threads
            .insert(thread, ForeignThread { head, end: None });
    }

    /// Adds the end of a thread, unless the thread is active. The last end of a thread counts.
    pub(crate) fn add_ended(&mut self, thread: ThreadId, head: CasRef, end: End) {
        let known = self.threads.get(&thread);
        if known.is_none_or(|known| known.end.is_some()) {
            let end = Some(end);
            self.threads.insert(thread, ForeignThread { head, end });
        }
    }

    /// Adds what an older place says about threads and names that are not known yet.
    pub(crate) fn add_older(&mut self, older: Self) {
        for (thread, one) in older.threads {
            self.threads.entry(thread).or_insert(one);
        }
        for (name, hash) in older.workflows {
            self.workflows.entry(name).or_insert(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(last: char) -> ThreadId {
        format!("01J7K9Z000000000000000000{last}").parse().unwrap()
    }

    fn end(completed_at: i64) -> End {
        End {
            completed_at,
            reason: Reason::Completed,
            workflow: None,
        }
    }

    #[test]
    fn an_active_thread_stays_active_and_the_last_end_counts() {
        let hash = CasRef::from_u64;
        let mut state = ForeignState::default();
        state.add_ended(thread('A'), hash(1), end(1));
        state.add_ended(thread('A'), hash(2), end(2));
        state.add_ended(thread('B'), hash(1), end(1));
        state.add_active(thread('B'), hash(3));
        state.add_ended(thread('B'), hash(2), end(2));
        let found = |last| {
            let one: ForeignThread = state.threads[&thread(last)];
            (one.head, one.end.map(|end| end.completed_at))
        };
        assert_eq!(found('A'), (hash(2), Some(2)));
        assert_eq!(found('B'), (hash(3), None));
    }

    #[test]
    fn an_older_place_only_adds() {
        let hash = CasRef::from_u64;
        let mut state = ForeignState::default();
        state.add_ended(thread('A'), hash(2), end(2));
        state.workflows.insert("w".to_owned(), hash(7));
        let mut older = ForeignState::default();
        older.add_active(thread('A'), hash(1));
        older.add_active(thread('B'), hash(1));
        older.workflows.insert("w".to_owned(), hash(6));
        older.workflows.insert("v".to_owned(), hash(5));
        state.add_older(older);
        assert_eq!(state.threads[&thread('A')].head, hash(2));
        assert_eq!(state.threads[&thread('B')].head, hash(1));
        assert_eq!(state.workflows["w"], hash(7));
        assert_eq!(state.workflows["v"], hash(5));
    }
}

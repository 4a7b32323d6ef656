//! The records of threads that this client got from the server, so that its next record replaces them.
//!
//! The server cannot merge records, so it keeps several of one thread. A client that got them with a lease merges them with its own
//! record, and sends the result with the list of the records that it replaces. Records that others have added since stay.

use std::collections::VecDeque;

use uwf_protocol::ids::ThreadId;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::RemoteError;

use crate::rows::{numbers, record, record_bytes};

/// Of how many threads the records are remembered.
const THREADS: usize = 64;

/// The stored records of the threads that this client has looked at last. A record that is forgotten stays at the server until a
/// client that gets it with a lease replaces it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The thread that was looked at last is the last one.
    threads: VecDeque<(ThreadId, Vec<Vec<u8>>)>,
}

/// A record that is to be stored, and the stored records that it replaces.
#[derive(Debug)]
pub(crate) struct Replacing {
    pub(crate) record: Vec<u8>,
    pub(crate) replaced: Vec<Vec<u8>>,
    /// The nodes that it names.
    pub(crate) named_nodes: Vec<i64>,
}

impl Seen {
    /// Returns all stored records of a thread as one, and remembers them.
    pub(crate) fn merged(
        &mut self,
        thread: ThreadId,
        stored: Vec<Vec<u8>>,
    ) -> Result<ThreadRecord, RemoteError> {
        let merged = merged(&stored)?;
        self.remember(thread, stored);
        Ok(merged)
    }

    /// Returns the record that is to be stored when a caller sends this one.
    pub(crate) fn replacing(
        &self,
        thread: ThreadId,
        sent: &ThreadRecord,
    ) -> Result<Replacing, RemoteError> {
        let seen = self.threads.iter().find(|(known, _)| *known == thread);
        let replaced = seen.map(|(_, stored)| stored.clone()).unwrap_or_default();
        let whole = if replaced.is_empty() {
            sent.clone()
        } else {
            merged(&replaced)?.merged(sent)
        };
        Ok(Replacing {
            record: record_bytes(&whole)?,
            replaced,
            named_nodes: named_nodes(&whole),
        })
    }

    /// Remembers that a record is stored now.
    pub(crate) fn stored(&mut self, thread: ThreadId, record: Vec<u8>) {
        self.remember(thread, vec![record]);
    }

    fn remember(&mut self, thread: ThreadId, stored: Vec<Vec<u8>>) {
        self.threads.retain(|(known, _)| *known != thread);
        self.threads.push_back((thread, stored));
        if self.threads.len() > THREADS {
            self.threads.pop_front();
        }
    }
}

/// Returns the nodes that a record names, as the server keeps them beside it in the column `roots`.
pub(crate) fn named_nodes(record: &ThreadRecord) -> Vec<i64> {
    numbers(&record.nodes().collect::<Vec<_>>())
}

/// Returns all stored records of a thread as one.
pub(crate) fn merged(stored: &[Vec<u8>]) -> Result<ThreadRecord, RemoteError> {
    let mut all = stored.iter();
    let Some(first) = all.next() else {
        return Ok(ThreadRecord::default());
    };
    all.try_fold(record(first)?, |known, next| {
        Ok(known.merged(&record(next)?))
    })
}

#[cfg(test)]
mod tests {
    use uwf_remote::suite::small::thread;

    use super::*;

    #[test]
    fn the_records_of_the_threads_that_were_looked_at_last_are_replaced() {
        let (mut seen, record) = (Seen::default(), ThreadRecord::default());
        let replaced = |seen: &Seen, number| {
            let next = seen.replacing(thread(number), &record);
            next.expect("a record can be made").replaced
        };
        let stored = record_bytes(&record).expect("a record can be written");
        for number in 0..THREADS as u64 {
            let known = seen.merged(thread(number), vec![stored.clone()]);
            assert_eq!(known.expect("it can be read"), record);
        }
        seen.stored(thread(0), stored.clone());
        assert_eq!(seen.threads.len(), THREADS);
        seen.stored(thread(THREADS as u64), stored.clone());
        assert_eq!(seen.threads.len(), THREADS);
        assert_eq!(replaced(&seen, 0), [stored]);
        assert!(replaced(&seen, 1).is_empty(), "it is the oldest one");
    }
}

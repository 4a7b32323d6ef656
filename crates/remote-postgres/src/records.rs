//! The records of threads that this client got from the server, so that its next record replaces them.
//!
//! The server cannot merge records, so it keeps several of one thread. A client that got them with a lease merges them with its own
//! record, and sends the result with the list of the records that it replaces. Records that others have added since stay.

use std::collections::BTreeMap;

use uwf_protocol::ids::ThreadId;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::RemoteError;

use crate::rows::{numbers, record, record_bytes};

/// The stored records that this client has seen last, by thread.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    threads: BTreeMap<ThreadId, Vec<Vec<u8>>>,
}

/// A record that is to be stored, and the stored records that it replaces.
#[derive(Debug)]
pub(crate) struct Replacing {
    pub(crate) record: Vec<u8>,
    pub(crate) replaced: Vec<Vec<u8>>,
    /// The nodes that it names.
    pub(crate) roots: Vec<i64>,
}

impl Seen {
    /// Returns all stored records of a thread as one, and remembers them.
    pub(crate) fn merged(
        &mut self,
        thread: ThreadId,
        stored: Vec<Vec<u8>>,
    ) -> Result<ThreadRecord, RemoteError> {
        let merged = merged(&stored)?;
        self.threads.insert(thread, stored);
        Ok(merged)
    }

    /// Returns the record that is to be stored when a caller sends this one.
    pub(crate) fn replacing(
        &self,
        thread: ThreadId,
        sent: &ThreadRecord,
    ) -> Result<Replacing, RemoteError> {
        let replaced = self.threads.get(&thread).cloned().unwrap_or_default();
        let whole = if replaced.is_empty() {
            sent.clone()
        } else {
            merged(&replaced)?.merged(sent)
        };
        Ok(Replacing {
            record: record_bytes(&whole)?,
            replaced,
            roots: roots(&whole),
        })
    }

    /// Remembers that a record is stored now.
    pub(crate) fn stored(&mut self, thread: ThreadId, record: Vec<u8>) {
        self.threads.insert(thread, vec![record]);
    }
}

/// Returns the nodes that a record names, as the server keeps them beside it.
pub(crate) fn roots(record: &ThreadRecord) -> Vec<i64> {
    numbers(&record.nodes().collect::<Vec<_>>())
}

fn merged(stored: &[Vec<u8>]) -> Result<ThreadRecord, RemoteError> {
    let mut all = stored.iter();
    let Some(first) = all.next() else {
        return Ok(ThreadRecord::default());
    };
    all.try_fold(record(first)?, |known, next| {
        Ok(known.merged(&record(next)?))
    })
}

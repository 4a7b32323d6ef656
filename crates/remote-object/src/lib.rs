//! A remote in an object storage, such as Amazon S3 or Azure Blob Storage.
//!
//! Everything is an object. A node is made once and never changes. A thread is one small object, which changes by compare-and-set:
//! a write says which content its writer has read, and the store refuses it if the object has another one. "Threads in an object
//! storage" in `docs/architecture.md` argues why no change is lost. Comments here name its points.
//!
//! ```text
//! remote.json            what the remote is
//! nodes/HASH             a node: its type, time, references and digest, and its payload
//! threads/ID             a thread: its head, lease, record, and last moves
//! history/ID/NUMBER      256 older moves of its head
//! workflows/NAME         what the name of a workflow stands for, and stood for before
//! races/MARK-ROUND       an object of the check of the store, which is removed afterwards
//! ```
//!
//! Such a store has no line of ready threads, so this remote gives no next thread. It removes no node, no thread and no name. Its
//! time is that of the [store](Clock), in whole seconds.

mod address;
mod bucket;
mod care;
mod change;
mod clock;
mod failure;
mod http;
mod leases;
mod names;
mod nodes;
mod race;
mod stored_node;
mod thread;
mod walk;
mod workflows;

use std::collections::HashSet;
use std::sync::Arc;

use object_store::ObjectStore;
use serde::{Deserialize, Serialize};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{
    Abilities, Acquired, Advanced, Found, FoundOne, Given, Hello, Lease, Listed, Named, NewThread,
    Part, Push, Put, Query, Released, Remote, RemoteError, Renewed, SharedName, Standing, Want,
    Which,
};

pub use address::{Address, AddressError};
pub use clock::Clock;

use bucket::Bucket;
use thread::{Now, Thread};
use walk::{Trail, Walk};

/// The version of what this program stores, and its version as a client.
const VERSION: u32 = 1;
/// How many threads are read at once.
const PAGE: usize = 64;
/// How many nodes a connection that [rests](Remote::rest) may remember as present.
const PRESENT: usize = 100_000;

/// A remote in an object storage.
pub struct Object {
    bucket: Bucket,
    /// The id of the remote, if this connection has seen that it is there, and that this program is new enough for it.
    checked: Option<String>,
    /// Some of the nodes that are there, so that nobody needs to ask for them.
    present: HashSet<CasRef>,
    /// The last walk, until all its nodes were given.
    walk: Option<Walk>,
    /// The heads of the threads that were looked at last.
    trail: Trail,
}

/// What is stored about the remote.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    version: u32,
    least_client: u32,
    store: String,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").finish_non_exhaustive()
    }
}

impl Object {
    /// Uses a store. All names of objects begin with the prefix, unless it is empty. Nothing is sent before the first call.
    ///
    /// # Errors
    /// [`RemoteError::Unprepared`] if the system has no room for connections.
    pub fn over(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            bucket: Bucket::new(store, prefix.to_owned(), clock)?,
            checked: None,
            present: HashSet::new(),
            walk: None,
            trail: Trail::default(),
        })
    }

    /// Returns what is known about a thread whose object has this content, and what was walked to learn it.
    fn found_in(
        &self,
        content: &[u8],
        (id, head): (ThreadId, CasRef),
        now: Now,
    ) -> Result<(Found, Trail), RemoteError> {
        let known = Thread::read(content)?;
        let walked = Trail::of(&self.bucket, id, &known, &[head])?;
        let found = Found {
            listed: known.listed(id, now)?,
            had: change::had(&self.bucket, id, &known, head)?,
            record: known.record,
        };
        Ok((found, walked))
    }

    /// Checks that the remote is there, and that this program is new enough for it, once until it [rests](Remote::rest). Returns its
    /// id.
    fn check(&mut self) -> Result<String, RemoteError> {
        match &self.checked {
            Some(store) => Ok(store.clone()),
            None => self.hello().map(|hello| hello.store),
        }
    }
}

impl Remote for Object {
    fn hello(&mut self) -> Result<Hello, RemoteError> {
        let found = self.bucket.get(names::REMOTE)?;
        let found = found.ok_or(RemoteError::NotMade)?;
        let made: Made = serde_json::from_slice(&found.content).map_err(|problem| {
            RemoteError::Broken(format!("{} cannot be read: {problem}", names::REMOTE))
        })?;
        if made.least_client > VERSION {
            return Err(RemoteError::TooOld {
                least: made.least_client,
                ours: VERSION,
            });
        }
        self.checked = Some(made.store.clone());
        Ok(Hello {
            version: made.version,
            least_client: made.least_client,
            store: made.store,
            abilities: Abilities { gives_next: false },
        })
    }

    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError> {
        self.check()?;
        match which {
            Which::Thread(id) => leases::acquire(self, id, want),
            Which::Next { .. } => Err(RemoteError::Unable(
                "an object storage has no line of ready threads, so it gives no next one; name the thread, or share threads by \
                 a database"
                    .into(),
            )),
        }
    }

    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError> {
        self.check()?;
        leases::renew(self, lease)
    }

    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError> {
        self.check()?;
        leases::advance(self, lease, push)
    }

    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError> {
        self.check()?;
        leases::release(self, lease, record)
    }

    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError> {
        self.check()?;
        leases::standing(self, thread)
    }

    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError> {
        self.check()?;
        leases::end(self, lease)
    }

    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError> {
        self.check()?;
        leases::put(self, nodes, new)
    }

    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError> {
        self.check()?;
        nodes::missing(&self.bucket, &mut self.present, hashes)
    }

    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError> {
        self.check()?;
        walk::closure(self, from, have, part)
    }

    fn rest(&mut self) {
        self.checked = None;
        self.walk = None;
        if self.present.len() > PRESENT {
            self.present = HashSet::new();
        }
    }

    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError> {
        self.check()?;
        let (found, now) = change::read(&self.bucket, thread)?;
        let Some(known) = found else { return Ok(None) };
        let had = change::had(&self.bucket, thread, &known, head)?;
        self.trail = Trail::of(&self.bucket, thread, &known, &[head])?;
        Ok(Some(Found {
            listed: known.listed(thread, now)?,
            record: known.record,
            had,
        }))
    }

    fn find_each(&mut self, threads: &[(ThreadId, CasRef)]) -> Result<Vec<FoundOne>, RemoteError> {
        self.check()?;
        let mut all = Vec::new();
        let mut trail = Trail::default();
        for page in threads.chunks(PAGE) {
            let names: Vec<String> = page.iter().map(|(id, _)| names::thread(*id)).collect();
            let found = self.bucket.get_each(&names)?;
            let now = change::now(&self.bucket)?;
            for ((id, head), found) in page.iter().zip(found) {
                let Some(found) = found else { continue };
                let found = match self.found_in(&found.content, (*id, *head), now) {
                    Ok((found, walked)) => {
                        trail.add(walked);
                        Ok(found)
                    }
                    Err(error @ RemoteError::Broken(_)) => Err(error),
                    Err(error) => return Err(error),
                };
                all.push((*id, found));
            }
        }
        self.trail = trail;
        Ok(all)
    }

    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError> {
        self.check()?;
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let names = self.bucket.list(names::THREADS)?;
        // Other programs may have put other objects there.
        let ids = names
            .iter()
            .filter_map(|name| name.parse::<ThreadId>().ok());
        let mut ids: Vec<ThreadId> = ids
            .filter(|id| after.is_none_or(|after| *id > after))
            .collect();
        ids.sort_unstable();
        let mut listed = Vec::new();
        for page in ids.chunks(PAGE) {
            let names: Vec<String> = page.iter().map(|id| names::thread(*id)).collect();
            let found = self.bucket.get_each(&names)?;
            let now = change::now(&self.bucket)?;
            for (id, found) in page.iter().zip(found) {
                let Some(found) = found else { continue };
                let thread = Thread::read(&found.content)?;
                if thread.is_in(query) {
                    listed.push(thread.listed(*id, now)?);
                }
                if listed.len() == at_most {
                    return Ok(listed);
                }
            }
        }
        Ok(listed)
    }

    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError> {
        self.check()?;
        leases::set_label(self, thread, label)
    }

    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError> {
        self.check()?;
        workflows::set(self, name, known, to)
    }

    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError> {
        self.check()?;
        workflows::list(self, after, at_most)
    }
}

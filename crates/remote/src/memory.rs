//! A remote in memory, for tests: connections of one process share it.
//!
//! Every call takes the lock, so each happens as a whole, as at a server. Time passes only when a test says so.

mod nodes;
mod thread;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

use self::nodes::Nodes;
use self::thread::Thread;
use crate::lease::{Acquired, Lease, Leased, Owner, Released, Renewed, Standing, Want, Which};
use crate::names::{Named, SharedName};
use crate::nodes::{Closure, Given, Part};
use crate::push::{Advanced, After, NewThread, Push, Put};
use crate::threads::{Abilities, Found, FoundOne, Hello, Listed, Query};
use crate::{Remote, RemoteError};

/// The version of what is stored here, and of its clients.
const VERSION: u32 = 1;

/// A connection to a remote in memory. A clone is another connection to the same remote.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
}

/// What the connections share.
#[derive(Debug, Default)]
struct Shared {
    nodes: Nodes,
    threads: BTreeMap<ThreadId, Thread>,
    names: BTreeMap<String, SharedName>,
    /// The time since the remote was made.
    now: Duration,
    /// How many times a thread was put at the end of the line of ready threads.
    turns: u64,
}

impl Memory {
    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.shared().now += time;
    }

    fn store(&self) -> String {
        format!("memory {:p}", Arc::as_ptr(&self.shared))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // A test that panics with the lock has failed anyway.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remote for Memory {
    fn hello(&mut self) -> Result<Hello, RemoteError> {
        Ok(Hello {
            version: VERSION,
            least_client: VERSION,
            store: self.store(),
            abilities: Abilities { gives_next: true },
        })
    }

    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError> {
        let store = self.store();
        Ok(self.shared().acquire(which, want, store))
    }

    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError> {
        let mut shared = self.shared();
        let until = shared.now + lease.lasts;
        Ok(match shared.leased(lease) {
            Some(thread) => {
                thread.hold(&lease.owner, until);
                Renewed::Yes
            }
            None => Renewed::Lost,
        })
    }

    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError> {
        Ok(self.shared().advance(lease, push))
    }

    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError> {
        let mut shared = self.shared();
        shared.keep_record(lease.thread, record);
        Ok(match shared.give_back(lease) {
            true => Released::Yes,
            false => Released::Lost,
        })
    }

    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError> {
        let shared = self.shared();
        Ok(match shared.threads.get(&thread) {
            None => Standing::Unknown,
            Some(known) => match known.busy(shared.now) {
                None => Standing::Free,
                Some((owner, lasts)) => Standing::Leased(Lease {
                    thread,
                    fence: known.fence,
                    owner,
                    lasts,
                }),
            },
        })
    }

    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError> {
        let mut shared = self.shared();
        if shared.give_back(lease)
            && let Some(thread) = shared.threads.get_mut(&lease.thread)
        {
            thread.fence += 1;
        }
        Ok(())
    }

    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError> {
        Ok(self.shared().put(nodes, new))
    }

    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError> {
        let shared = self.shared();
        let missing = hashes.iter().filter(|hash| !shared.nodes.has(**hash));
        Ok(missing.copied().collect())
    }

    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError> {
        let shared = self.shared();
        let lacking = from
            .iter()
            .filter(|hash| !have.contains(hash) && !shared.nodes.has(**hash));
        let lacking: Vec<CasRef> = lacking.copied().collect();
        if !lacking.is_empty() {
            return Ok(Given::Lacking(lacking));
        }
        let Part { skip, at_most } = part;
        Ok(Given::Nodes(shared.nodes.closure(
            from,
            have,
            (skip, at_most.get()),
        )))
    }

    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError> {
        let mut found = self.find_each(&[(thread, head)])?;
        found.pop().map(|(_, found)| found).transpose()
    }

    fn find_each(&mut self, threads: &[(ThreadId, CasRef)]) -> Result<Vec<FoundOne>, RemoteError> {
        let shared = self.shared();
        let found = threads.iter().filter_map(|(thread, head)| {
            let known = shared.threads.get(thread)?;
            let found = Found {
                listed: known.listed(*thread, shared.now),
                record: known.record.clone(),
                had: known.had(*head),
            };
            Some((*thread, Ok(found)))
        });
        Ok(found.collect())
    }

    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError> {
        let shared = self.shared();
        let threads = shared.threads.iter();
        let behind = threads.filter(|(id, _)| after.is_none_or(|after| **id > after));
        let wanted = behind.filter(|(_, thread)| thread.is_in(query));
        let listed = wanted.map(|(id, thread)| thread.listed(*id, shared.now));
        Ok(listed.take(at_most).collect())
    }

    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError> {
        if let Some(thread) = self.shared().threads.get_mut(&thread) {
            thread.label = label.cloned();
        }
        Ok(())
    }

    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError> {
        Ok(self.shared().set_name(name, known, to))
    }

    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError> {
        let shared = self.shared();
        let names = shared.names.values();
        let behind = names.filter(|one| after.is_none_or(|after| one.name.as_str() > after));
        Ok(behind.take(at_most).cloned().collect())
    }
}

impl Shared {
    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>, store: String) -> Acquired {
        let id = match which {
            Which::Thread(id) => id,
            Which::Next { labels, except } => match self.next(want.owner, labels, except) {
                Some(id) => id,
                None => return Acquired::Nothing,
            },
        };
        let now = self.now;
        let Some(thread) = self.threads.get_mut(&id) else {
            return Acquired::Unknown;
        };
        if let Some((owner, left)) = thread.busy(now)
            && owner != *want.owner
        {
            return Acquired::Busy { owner, left };
        }
        if thread.status == HeadStatus::Ended {
            return Acquired::Ended;
        }
        if !thread.is_held_by(want.owner) {
            thread.fence += 1;
        }
        thread.hold(want.owner, now + want.lasts);
        let Closure { nodes, complete } =
            self.nodes
                .closure(&[thread.head], want.have, (0, want.at_most));
        Acquired::Leased(Box::new(Leased {
            store,
            lease: Lease {
                thread: id,
                fence: thread.fence,
                owner: want.owner.clone(),
                lasts: want.lasts,
            },
            head: thread.head,
            status: thread.status,
            nodes,
            complete,
            record: thread.record.clone(),
        }))
    }

    /// Returns a thread that the owner has leased already, or else the next one.
    fn next(&self, owner: &Owner, labels: &[Label], except: &[ThreadId]) -> Option<ThreadId> {
        let held = |(_, thread): &(&ThreadId, &Thread)| {
            thread.is_held_by(owner) && thread.status != HeadStatus::Ended
        };
        if let Some((id, _)) = self.threads.iter().find(held) {
            return Some(*id);
        }
        let may_take = |thread: &Thread| {
            thread
                .label
                .as_ref()
                .is_none_or(|label| labels.contains(label))
        };
        let threads = self.threads.iter();
        let free = threads.filter(|(id, thread)| {
            thread.status == HeadStatus::Ready
                && !except.contains(id)
                && thread.busy(self.now).is_none()
                && may_take(thread)
        });
        let first = free.min_by_key(|(id, thread)| (thread.turn, **id));
        first.map(|(id, _)| *id)
    }

    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Advanced {
        let known = self.threads.get(&lease.thread);
        if known.is_some_and(|thread| thread.has_moved(push.from, push.to)) {
            self.keep_record(lease.thread, push.record);
            self.end_push(lease, push);
            return Advanced::Already;
        }
        if let Err(unfit) = self.nodes.add(push.nodes, Some(push.to)) {
            return unfit.into();
        }
        self.keep_record(lease.thread, push.record);
        let Some(thread) = self.leased(lease) else {
            return Advanced::LeaseLost;
        };
        if thread.head != push.from {
            return Advanced::HeadIs(thread.head);
        }
        thread.move_head(push);
        self.end_push(lease, push);
        Advanced::Moved
    }

    /// Gives the lease back after a head was moved, unless the push keeps it.
    fn end_push(&mut self, lease: &Lease, push: &Push<'_>) {
        if push.lease == After::GiveBack {
            self.give_back(lease);
        }
    }

    /// Adds a record to that of the thread, even if the lease is lost: the record is about work that was paid for.
    fn keep_record(&mut self, thread: ThreadId, record: &ThreadRecord) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.record = thread.record.merged(record);
        }
    }

    /// Gives a lease back, if it counts, and tells whether it did.
    fn give_back(&mut self, lease: &Lease) -> bool {
        let turn = self.next_turn();
        let Some(thread) = self.leased(lease) else {
            return false;
        };
        thread.give_back(turn);
        true
    }

    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Put {
        if let Err(unfit) = self.nodes.add(nodes, new.map(|new| new.head)) {
            return unfit.into();
        }
        let Some(new) = new else { return Put::Done };
        match self.threads.get(&new.thread) {
            Some(known) if known.had(new.head) => Put::Already,
            Some(known) => Put::HeadIs(known.head),
            None => {
                let turn = self.next_turn();
                self.threads.insert(new.thread, Thread::new(new, turn));
                Put::Done
            }
        }
    }

    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Named {
        let stored = self.names.get_mut(name);
        if stored.as_ref().is_some_and(|one| one.was_set(known, to)) {
            return Named::Already;
        }
        if !self.nodes.has(to) {
            return Named::Lacking;
        }
        match stored {
            Some(stored) if stored.version != known => return Named::StandsFor(stored.clone()),
            Some(stored) => {
                stored.earlier.push(stored.hash);
                stored.hash = to;
                stored.version += 1;
            }
            None => {
                let new = SharedName {
                    name: name.to_owned(),
                    hash: to,
                    version: 1,
                    earlier: Vec::new(),
                };
                self.names.insert(name.to_owned(), new);
            }
        }
        Named::Done
    }

    /// Returns the thread of a lease, if the lease counts. Its time may be over: the owner may go on as long as no other owner has
    /// taken the thread.
    fn leased(&mut self, lease: &Lease) -> Option<&mut Thread> {
        let thread = self.threads.get_mut(&lease.thread)?;
        (thread.fence == lease.fence && thread.is_held_by(&lease.owner)).then_some(thread)
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

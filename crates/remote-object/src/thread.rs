//! A thread as an object, and its changes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::naming::Label;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Lease, Listed, NewThread, Owner, Push, Query, RemoteError, Want};

/// How many moves a part of the history has. Each part is an object of its own.
pub(crate) const PART: usize = 256;
/// How many of its last writes a thread knows. A writer without an answer finds its own write among them, unless as many others
/// came since.
const WRITES: usize = 32;

/// A move of a head: from where, and to where.
pub(crate) type Move = (CasRef, CasRef);

/// What is stored about a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thread {
    workflow: CasRef,
    pub(crate) head: CasRef,
    pub(crate) status: HeadStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The number of the last lease.
    pub(crate) fence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Holder>,
    pub(crate) record: ThreadRecord,
    /// How many parts of the history have objects of their own.
    #[serde(default)]
    pub(crate) parts: u64,
    /// The moves after those, oldest first.
    pub(crate) moves: Vec<Move>,
    /// The marks of the last writes, oldest first. So a writer without an answer can tell whether its write was done.
    writes: Vec<String>,
}

/// Who has the lease. Its time may be over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Holder {
    machine: MachineId,
    name: String,
    mark: String,
    /// When its time is over, in milliseconds since 1970, by the time of the store.
    until_ms: u64,
    /// How long it was given for.
    lasts_ms: u64,
}

/// The time of a store, and how far it may be behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) told: Duration,
    pub(crate) precision: Duration,
}

impl Thread {
    pub(crate) fn new(new: &NewThread) -> Self {
        Self {
            workflow: new.workflow,
            head: new.head,
            status: new.status,
            label: new.label.as_ref().map(ToString::to_string),
            fence: 0,
            lease: None,
            record: new.record.clone(),
            parts: 0,
            moves: Vec::new(),
            writes: Vec::new(),
        }
    }

    pub(crate) fn read(content: &[u8]) -> Result<Self, RemoteError> {
        serde_json::from_slice(content)
            .map_err(|problem| broken(&format!("a thread cannot be read: {problem}")))
    }

    pub(crate) fn content(&self) -> Result<Vec<u8>, RemoteError> {
        serde_json::to_vec(self).map_err(|problem| broken(&problem.to_string()))
    }

    /// Returns the owner of the lease and how long the lease still lasts, if its time is not over.
    pub(crate) fn busy(&self, now: Now) -> Option<(Owner, Duration)> {
        let holder = self.lease.as_ref()?;
        let until = Duration::from_millis(holder.until_ms);
        let left = until.checked_sub(now.told).filter(|left| !left.is_zero())?;
        Some((
            holder.owner(),
            left.min(Duration::from_millis(holder.lasts_ms)),
        ))
    }

    /// Returns the lease, if its time is not over. It lasts for the time that is left.
    pub(crate) fn lease(&self, thread: ThreadId, now: Now) -> Option<Lease> {
        let (owner, lasts) = self.busy(now)?;
        Some(Lease {
            thread,
            fence: self.fence,
            owner,
            lasts,
        })
    }

    /// Gives the lease to an owner. If the owner has it already, the fence stays the same.
    pub(crate) fn take(&mut self, thread: ThreadId, want: &Want<'_>, now: Now) -> Lease {
        if !self.is_held_by(want.owner) {
            self.fence += 1;
        }
        let lease = Lease {
            thread,
            fence: self.fence,
            owner: want.owner.clone(),
            lasts: want.lasts,
        };
        self.hold(&lease, now);
        lease
    }

    /// Makes a lease last for its whole time.
    pub(crate) fn hold(&mut self, lease: &Lease, now: Now) {
        let Owner {
            machine,
            name,
            mark,
        } = lease.owner.clone();
        // The told time may be behind. So the end of the lease is written down later by as much.
        let until = now.told + now.precision + lease.lasts;
        self.lease = Some(Holder {
            machine,
            name,
            mark,
            until_ms: millis(until),
            lasts_ms: millis(lease.lasts),
        });
    }

    /// Tells whether a lease counts. Its time may be over: the owner may go on as long as no other owner has taken the thread.
    pub(crate) fn counts(&self, lease: &Lease) -> bool {
        self.fence == lease.fence && self.is_held_by(&lease.owner)
    }

    /// Gives a lease back, if it counts, and tells whether it did.
    pub(crate) fn give_back(&mut self, lease: &Lease) -> bool {
        let counts = self.counts(lease);
        if counts {
            self.lease = None;
        }
        counts
    }

    /// Makes a lease void, if it counts. Its owner cannot renew it any more.
    pub(crate) fn end(&mut self, lease: &Lease) {
        if self.give_back(lease) {
            self.fence += 1;
        }
    }

    /// Adds a record, even if the lease is lost: the record is about work that was paid for.
    pub(crate) fn keep(&mut self, record: &ThreadRecord) {
        self.record = self.record.merged(record);
    }

    pub(crate) fn move_head(&mut self, push: &Push<'_>) {
        self.moves.push((push.from, push.to));
        self.head = push.to;
        self.status = push.status;
    }

    /// Removes the oldest moves from a long history, and returns them with the number of their part. The caller writes them as an
    /// object of their own (point 6 of "Threads in an object storage" in `docs/architecture.md`).
    pub(crate) fn take_part(&mut self) -> Option<(u64, Vec<Move>)> {
        if self.moves.len() <= 2 * PART {
            return None;
        }
        let part = self.moves.drain(..PART).collect();
        let number = self.parts;
        self.parts += 1;
        Some((number, part))
    }

    /// Adds the mark of a write.
    pub(crate) fn sign(&mut self, mark: String) {
        self.writes.push(mark);
        let too_many = self.writes.len().saturating_sub(WRITES);
        self.writes.drain(..too_many);
    }

    pub(crate) fn is_signed(&self, mark: &str) -> bool {
        self.writes.iter().any(|one| one == mark)
    }

    pub(crate) fn is_in(&self, query: &Query) -> bool {
        let label = query.label.as_ref();
        let label = label.map(ToString::to_string);
        (query.statuses.is_empty() || query.statuses.contains(&self.status))
            && (label.is_none() || label == self.label)
    }

    pub(crate) fn listed(&self, thread: ThreadId, now: Now) -> Result<Listed, RemoteError> {
        let label = self.label.as_deref().map(str::parse).transpose();
        Ok(Listed {
            thread,
            workflow: self.workflow,
            head: self.head,
            status: self.status,
            label: label.map_err(|_| broken("a label is not `key=value`"))?,
            busy: self.busy(now),
        })
    }

    pub(crate) fn set_label(&mut self, label: Option<&Label>) {
        self.label = label.map(ToString::to_string);
    }

    fn is_held_by(&self, owner: &Owner) -> bool {
        let holder = self.lease.as_ref();
        holder.is_some_and(|holder| holder.owner() == *owner)
    }
}

impl Holder {
    fn owner(&self) -> Owner {
        Owner {
            machine: self.machine,
            name: self.name.clone(),
            mark: self.mark.clone(),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn broken(problem: &str) -> RemoteError {
    RemoteError::Broken(problem.to_owned())
}

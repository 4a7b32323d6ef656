//! Leases, pushes and new threads: each is one change of a thread.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{
    Acquired, Advanced, After, Closure, Lease, Leased, NewThread, Push, Put, Released, RemoteError,
    Renewed, Standing, Want,
};

use crate::Object;
use crate::bucket::Bucket;
use crate::change::{Change, change, had, has_moved, read};
use crate::nodes;
use crate::thread::Thread;
use crate::walk::{self, Trail};

/// What came of asking for a lease, before the nodes are read.
#[derive(Clone)]
enum Taken {
    Yes(Box<Took>),
    No(Acquired),
}

/// A lease that was taken.
#[derive(Clone)]
struct Took {
    lease: Lease,
    thread: Thread,
    /// Whether the owner did not have the lease before.
    is_new: bool,
}

pub(crate) fn acquire(
    remote: &mut Object,
    id: ThreadId,
    want: &Want<'_>,
) -> Result<Acquired, RemoteError> {
    let taken = change(&remote.bucket, id, |thread, now| {
        let leave = |acquired| Ok(Change::Leave(Taken::No(acquired)));
        let Some(mut thread) = thread else {
            return leave(Acquired::Unknown);
        };
        match thread.busy(now) {
            Some((owner, left)) if owner != *want.owner => {
                return leave(Acquired::Busy { owner, left });
            }
            _ if thread.status == HeadStatus::Ended => return leave(Acquired::Ended),
            _ => {}
        }
        let before = thread.fence;
        let lease = thread.take(id, want, now);
        let took = Took {
            is_new: lease.fence != before,
            lease,
            thread: thread.clone(),
        };
        Ok(Change::Store(Box::new(thread), Taken::Yes(Box::new(took))))
    })?;
    let Took {
        lease,
        thread,
        is_new,
    } = match taken {
        Taken::Yes(took) => *took,
        Taken::No(acquired) => return Ok(acquired),
    };
    let closure = match first_nodes(remote, &thread, id, want) {
        Ok(closure) => closure,
        Err(error) => {
            // The caller gets no lease, so it is given back. If this fails, it ends by its time. A lease that the owner had before
            // stays: a finished step may wait for it.
            if is_new {
                let _ = release(remote, &lease, &thread.record);
            }
            return Err(error);
        }
    };
    Ok(Acquired::Leased(Box::new(Leased {
        store: remote.check()?,
        lease,
        head: thread.head,
        status: thread.status,
        nodes: closure.nodes,
        complete: closure.complete,
        record: thread.record,
    })))
}

/// Returns the nodes that come with a lease.
fn first_nodes(
    remote: &mut Object,
    thread: &Thread,
    id: ThreadId,
    want: &Want<'_>,
) -> Result<Closure, RemoteError> {
    if want.at_most > 0 {
        remote.trail = Trail::of(&remote.bucket, id, thread, want.have)?;
    }
    walk::first(remote, thread.head, want.have, want.at_most)
}

pub(crate) fn renew(remote: &Object, lease: &Lease) -> Result<Renewed, RemoteError> {
    change(&remote.bucket, lease.thread, |thread, now| {
        Ok(match thread {
            Some(mut thread) if thread.counts(lease) => {
                thread.hold(lease, now);
                Change::Store(Box::new(thread), Renewed::Yes)
            }
            _ => Change::Leave(Renewed::Lost),
        })
    })
}

pub(crate) fn release(
    remote: &Object,
    lease: &Lease,
    record: &ThreadRecord,
) -> Result<Released, RemoteError> {
    change(&remote.bucket, lease.thread, |thread, _| {
        let Some(before) = thread else {
            return Ok(Change::Leave(Released::Lost));
        };
        let mut after = before.clone();
        after.keep(record);
        let answer = match after.give_back(lease) {
            true => Released::Yes,
            false => Released::Lost,
        };
        Ok(stored_if_changed(&before, after, answer))
    })
}

/// Moves the head. The nodes are stored first, so the nodes of a head are always there.
pub(crate) fn advance(
    remote: &mut Object,
    lease: &Lease,
    push: &Push<'_>,
) -> Result<Advanced, RemoteError> {
    if let Err(unfit) = nodes::add(remote, push.nodes, Some(push.to))? {
        return Ok(unfit.into());
    }
    let bucket = &remote.bucket;
    change(bucket, lease.thread, |thread, _| {
        let Some(before) = thread else {
            return Ok(Change::Leave(Advanced::LeaseLost));
        };
        let mut after = before.clone();
        after.keep(push.record);
        let answer = moved(bucket, &mut after, lease, push)?;
        Ok(stored_if_changed(&before, after, answer))
    })
}

fn moved(
    bucket: &Bucket,
    thread: &mut Thread,
    lease: &Lease,
    push: &Push<'_>,
) -> Result<Advanced, RemoteError> {
    if has_moved(bucket, lease.thread, thread, (push.from, push.to))? {
        end_push(thread, lease, push);
        return Ok(Advanced::Already);
    }
    if !thread.counts(lease) {
        return Ok(Advanced::LeaseLost);
    }
    if thread.head != push.from {
        return Ok(Advanced::HeadIs(thread.head));
    }
    thread.move_head(push);
    end_push(thread, lease, push);
    Ok(Advanced::Moved)
}

/// Gives the lease back after a head was moved, unless the push keeps it.
fn end_push(thread: &mut Thread, lease: &Lease, push: &Push<'_>) {
    if push.lease == After::GiveBack {
        thread.give_back(lease);
    }
}

pub(crate) fn put(
    remote: &mut Object,
    nodes: &[LinkedNode],
    new: Option<&NewThread>,
) -> Result<Put, RemoteError> {
    if let Err(unfit) = nodes::add(remote, nodes, new.map(|new| new.head))? {
        return Ok(unfit.into());
    }
    let Some(new) = new else {
        return Ok(Put::Done);
    };
    let bucket = &remote.bucket;
    change(bucket, new.thread, |thread, _| {
        Ok(match thread {
            None => Change::Store(Box::new(Thread::new(new)), Put::Done),
            Some(thread) if had(bucket, new.thread, &thread, new.head)? => {
                Change::Leave(Put::Already)
            }
            Some(thread) => Change::Leave(Put::HeadIs(thread.head)),
        })
    })
}

/// Returns who works on a thread.
pub(crate) fn standing(remote: &Object, id: ThreadId) -> Result<Standing, RemoteError> {
    let (thread, now) = read(&remote.bucket, id)?;
    Ok(match thread.map(|thread| thread.lease(id, now)) {
        None => Standing::Unknown,
        Some(None) => Standing::Free,
        Some(Some(lease)) => Standing::Leased(lease),
    })
}

/// Ends a lease in the place of its owner. Another lease of the thread is left alone. The thread is stored in each case, so that a user
/// whose keys only read is refused.
pub(crate) fn end(remote: &Object, lease: &Lease) -> Result<(), RemoteError> {
    change(&remote.bucket, lease.thread, |thread, _| {
        let Some(mut after) = thread else {
            return Ok(Change::Leave(()));
        };
        after.end(lease);
        Ok(Change::Store(Box::new(after), ()))
    })
}

/// Gives a thread another label, or none.
pub(crate) fn set_label(
    remote: &Object,
    id: ThreadId,
    label: Option<&Label>,
) -> Result<(), RemoteError> {
    change(&remote.bucket, id, |thread, _| {
        let Some(before) = thread else {
            return Ok(Change::Leave(()));
        };
        let mut after = before.clone();
        after.set_label(label);
        Ok(stored_if_changed(&before, after, ()))
    })
}

fn stored_if_changed<T>(before: &Thread, after: Thread, answer: T) -> Change<T> {
    match *before == after {
        true => Change::Leave(answer),
        false => Change::Store(Box::new(after), answer),
    }
}

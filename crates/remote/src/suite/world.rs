//! What the tests work with: records, threads that are shared, and connections with short words for their calls.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

use super::Place;
use super::small::{SCHEMA, WORKFLOW};
pub(super) use super::small::{START, hash, hashes, node, owner, thread};
use crate::Remote;
use crate::lease::{Acquired, Lease, Leased, Owner, Released, Want, Which};
use crate::nodes::{Closure, Given, Part};
use crate::push::{Advanced, After, NewThread, Push, Put};

/// How long a lease lasts that is to end in a test.
pub(super) const SHORT: Duration = Duration::from_millis(400);
/// How long a lease lasts that is not to end.
const LONG: Duration = Duration::from_secs(600);

/// The next thread that needs no label.
pub(super) const ANY: Which<'static> = Which::Next {
    labels: &[],
    except: &[],
};

/// A record that is told from others by a raised limit.
pub(super) fn record(raised: u64) -> ThreadRecord {
    let raise = format!("maxSteps={raised}");
    ThreadRecord {
        raises: raise.parse().into_iter().collect(),
        ..ThreadRecord::default()
    }
}

/// The record that holds what all these records hold.
pub(super) fn records(raised: &[u64]) -> ThreadRecord {
    let all = raised.iter().copied().map(record);
    all.fold(ThreadRecord::default(), |all, one| all.merged(&one))
}

/// A thread at its start.
pub(super) fn new_thread(number: u64) -> NewThread {
    NewThread {
        thread: thread(number),
        workflow: hash(WORKFLOW),
        head: hash(START),
        status: HeadStatus::Ready,
        label: None,
        record: record(number),
    }
}

/// The nodes of a thread at its start.
pub(super) fn start_nodes() -> Vec<LinkedNode> {
    vec![
        node(SCHEMA, &[]),
        node(WORKFLOW, &[]),
        node(START, &[WORKFLOW]),
    ]
}

/// The nodes of a step with this number: an output and the step itself.
pub(super) fn step_nodes(number: u64, before: u64) -> Vec<LinkedNode> {
    let output = number + 1000;
    vec![node(output, &[]), node(number, &[before, START, output])]
}

/// A connection, and short words for its calls. Every call must be answered.
pub(super) struct Client {
    pub(super) remote: Box<dyn Remote + Send>,
    owner: Owner,
}

impl Client {
    pub(super) fn new(place: &dyn Place, number: u64) -> Self {
        Self {
            remote: place.connect(),
            owner: owner(number),
        }
    }

    /// The same owner, after its machine got another name.
    pub(super) fn renamed(mut self) -> Self {
        self.owner.name = "renamed".to_owned();
        self
    }

    /// A lease as this owner names it.
    pub(super) fn own(&self, lease: &Lease) -> Lease {
        Lease {
            owner: self.owner.clone(),
            ..lease.clone()
        }
    }

    /// Shares the threads with these numbers, each at its start.
    pub(super) fn share(&mut self, threads: &[u64]) {
        for number in threads {
            let put = self.put(&start_nodes(), Some(&new_thread(*number)));
            assert_eq!(put, Put::Done);
        }
    }

    pub(super) fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Put {
        self.remote.put(nodes, new).expect("nodes can be put")
    }

    pub(super) fn ask(&mut self, which: Which<'_>, want: &Want<'_>) -> Acquired {
        self.remote
            .acquire(which, want)
            .expect("a lease can be asked for")
    }

    /// Asks for a thread for a short or long time.
    pub(super) fn acquire_for(&mut self, number: u64, lasts: Duration) -> Acquired {
        let owner = self.owner.clone();
        let want = Want {
            owner: &owner,
            lasts,
            have: &[],
            at_most: usize::MAX,
        };
        self.ask(Which::Thread(thread(number)), &want)
    }

    pub(super) fn acquire(&mut self, number: u64) -> Acquired {
        self.acquire_for(number, LONG)
    }

    /// Asks for the next thread.
    pub(super) fn next(&mut self) -> Acquired {
        let owner = self.owner.clone();
        let want = Want {
            owner: &owner,
            lasts: LONG,
            have: &[],
            at_most: 0,
        };
        self.ask(ANY, &want)
    }

    pub(super) fn take(&mut self, number: u64) -> Lease {
        leased(self.acquire(number)).lease
    }

    pub(super) fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Advanced {
        self.remote
            .advance(lease, push)
            .expect("a head can be pushed")
    }

    /// Moves the head of a leased thread from one step to another.
    pub(super) fn step(&mut self, lease: &Lease, from: u64, to: u64) -> Advanced {
        let nodes = step_nodes(to, from);
        self.advance(lease, &push(&nodes, from, to, &record(to)))
    }

    /// Moves the head of a leased thread from one step to another, and keeps the lease.
    pub(super) fn step_on(&mut self, lease: &Lease, from: u64, to: u64) -> Advanced {
        let (nodes, record) = (step_nodes(to, from), record(to));
        let push = Push {
            lease: After::Keep,
            ..push(&nodes, from, to, &record)
        };
        self.advance(lease, &push)
    }

    /// Moves the head of a leased thread to a new step after whatever it is.
    pub(super) fn step_from(&mut self, lease: &Lease, from: CasRef, to: u64) -> Advanced {
        let mut nodes = step_nodes(to, START);
        nodes[1].refs.push(from);
        let record = record(to);
        let push = Push {
            from,
            ..push(&nodes, START, to, &record)
        };
        self.advance(lease, &push)
    }

    /// Moves the head of a leased thread to a node that may be there already.
    pub(super) fn step_to(&mut self, lease: &Lease, from: u64, to: u64) -> Advanced {
        let nodes = match to {
            START => Vec::new(),
            step => step_nodes(step, START),
        };
        self.advance(lease, &push(&nodes, from, to, &record(to)))
    }

    pub(super) fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Released {
        self.remote
            .release(lease, record)
            .expect("a lease can be given back")
    }

    /// Asks for nodes, at most so many.
    pub(super) fn closure(&mut self, from: &[u64], have: &[u64], part: Part) -> Given {
        self.remote
            .closure(&hashes(from), &hashes(have), part)
            .expect("nodes can be asked for")
    }

    /// Returns the nodes of these that the remote does not have.
    pub(super) fn missing(&mut self, numbers: &[u64]) -> Vec<CasRef> {
        self.remote
            .missing(&hashes(numbers))
            .expect("nodes can be asked for")
    }

    /// Returns the head of a thread, by a list.
    pub(super) fn head(&mut self, number: u64) -> CasRef {
        let listed = self.remote.list(&crate::Query::default(), None, usize::MAX);
        let listed = listed.expect("threads can be listed");
        let found = listed.into_iter().find(|one| one.thread == thread(number));
        found.expect("the thread is shared").head
    }
}

/// A push of a head at which a step can be done.
pub(super) fn push<'a>(
    nodes: &'a [LinkedNode],
    from: u64,
    to: u64,
    record: &'a ThreadRecord,
) -> Push<'a> {
    Push {
        nodes,
        from: hash(from),
        to: hash(to),
        status: HeadStatus::Ready,
        record,
        lease: After::GiveBack,
    }
}

/// The first nodes of a closure, at most so many.
pub(super) fn first(at_most: usize) -> Part {
    part(0, at_most)
}

/// The nodes of a closure after the first ones, at most so many.
pub(super) fn part(skip: usize, at_most: usize) -> Part {
    Part {
        skip,
        at_most: at_most.try_into().expect("nobody asks for no nodes"),
    }
}

/// Returns the nodes that were given.
#[track_caller]
pub(super) fn given(given: Given) -> Closure {
    match given {
        Given::Nodes(nodes) => nodes,
        Given::Lacking(hashes) => panic!("nodes are expected, and these are not there: {hashes:?}"),
    }
}

/// Returns what was leased.
#[track_caller]
pub(super) fn leased(acquired: Acquired) -> Leased {
    match acquired {
        Acquired::Leased(leased) => *leased,
        other => panic!("a lease is expected: {other:?}"),
    }
}

//! The remote in memory passes the tests of every remote.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::memory::Memory;
use uwf_remote::suite::{Place, cases, check};
use uwf_remote::{Acquired, NewThread, Owner, Put, Remote, RemoteError, Want, Which};

struct InMemory(Memory);

impl Place for InMemory {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(self.0.clone())
    }

    fn pass(&self, time: Duration) {
        self.0.pass(time);
    }
}

#[test]
fn a_remote_in_memory_is_a_remote() {
    let passed = check(&|| Box::new(InMemory(Memory::default())));
    assert_eq!(passed.len(), cases().len());
    assert!(passed.len() >= 30, "{passed:#?}");
}

#[test]
fn a_lease_is_over_when_its_time_is() -> Result<(), RemoteError> {
    let place = InMemory(Memory::default());
    let lasts = Duration::from_secs(9);
    let (mut one, mut other) = (place.connect(), place.connect());
    let thread = NewThread {
        thread: ThreadId::new(1, 1),
        workflow: CasRef::from_u64(1),
        head: CasRef::from_u64(1),
        status: HeadStatus::Ready,
        label: None,
        record: ThreadRecord::default(),
    };
    let node = LinkedNode {
        node: RawNode {
            hash: thread.head,
            type_hash: thread.head,
            payload: Vec::new(),
            timestamp_ms: 0,
        },
        refs: Vec::new(),
    };
    assert_eq!(one.put(&[node], Some(&thread))?, Put::Done);
    let owners = [1, 2].map(|number| Owner {
        machine: MachineId::from_u64(number),
        name: String::new(),
        mark: String::new(),
    });
    let [first, second] = owners.each_ref().map(|owner| Want {
        owner,
        lasts,
        have: &[],
        at_most: 0,
    });
    let which = Which::Thread(thread.thread);
    assert!(matches!(one.acquire(which, &first)?, Acquired::Leased(_)));
    place.pass(lasts - Duration::from_millis(1));
    let left = Duration::from_millis(1);
    let owner = owners[0].clone();
    assert_eq!(
        other.acquire(which, &second)?,
        Acquired::Busy { owner, left }
    );
    place.pass(left);
    assert!(matches!(
        other.acquire(which, &second)?,
        Acquired::Leased(_)
    ));
    Ok(())
}

#[test]
fn two_remotes_share_nothing_and_clones_share_everything() -> Result<(), RemoteError> {
    let (mut one, mut other) = (Memory::default(), Memory::default());
    assert_ne!(one.hello()?, other.hello()?);
    assert_eq!(one.clone().hello()?, one.hello()?);
    Ok(())
}

//! The remote in memory passes the tests of every remote.

use std::time::Duration;

use uwf_remote::memory::Memory;
use uwf_remote::suite::{Place, cases, check};
use uwf_remote::{Remote, RemoteError};

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
    let passed = check(&|| Box::new(InMemory(Memory::default())), &|name| {
        println!("{name}")
    });
    assert_eq!(passed.len(), cases().len());
    assert!(passed.len() >= 30, "{passed:#?}");
}

#[test]
fn two_remotes_share_nothing_and_clones_share_everything() -> Result<(), RemoteError> {
    let (mut one, mut other) = (Memory::default(), Memory::default());
    assert_ne!(one.hello()?, other.hello()?);
    assert_eq!(one.clone().hello()?, one.hello()?);
    Ok(())
}

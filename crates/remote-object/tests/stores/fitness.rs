//! Which stores are refused, and what is said about a remote that cannot be used.

use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use uwf_remote::care::Cared;
use uwf_remote::{Advanced, Given, Part, Remote, RemoteError, Renewed, Standing, Want, Which};
use uwf_remote_object::Object;

use crate::faulty::{Fault, Faulty};
use crate::time::MovedClock;
use crate::world::{START, hash, new_thread, node, owner, share, step_with, take, thread};

fn open(store: Arc<dyn ObjectStore>) -> Object {
    let clock = Arc::new(MovedClock::new(Duration::ZERO));
    Object::over(store, "", clock).expect("there is room for a connection")
}

/// Returns the names of all objects in these folders, and whether the remote was made.
fn left(store: &dyn ObjectStore) -> (usize, bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let races = Path::from("races");
        let races = store.list_with_delimiter(Some(&races)).await.unwrap();
        let made = store.head(&Path::from("remote.json")).await;
        (races.objects.len(), made.is_ok())
    })
}

fn write(store: &dyn ObjectStore, name: &str, content: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let path = Path::from(name);
    runtime
        .block_on(store.put(&path, PutPayload::from(content)))
        .unwrap();
}

fn remove(store: &dyn ObjectStore, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let path = Path::from(name);
    runtime.block_on(store.delete(&path)).unwrap();
}

#[test]
fn a_store_in_which_two_writers_win_is_refused_and_left_clean() {
    for fault in [Fault::IgnoresConditions, Fault::LooksFirst] {
        let store = Arc::new(Faulty::new(fault));
        let made = open(store.clone()).make();
        let Err(RemoteError::Unable(said)) = made else {
            panic!("{fault:?}: {made:?}");
        };
        assert!(said.contains("conditional writes"), "{said}");
        assert_eq!(left(store.as_ref()), (0, false), "{fault:?}");
    }
}

#[test]
fn a_remote_is_made_once_and_its_races_leave_nothing() {
    let store = Arc::new(InMemory::new());
    assert_eq!(open(store.clone()).hello(), Err(RemoteError::NotMade));
    let first = open(store.clone()).make().expect("the store is fit");
    assert_eq!(left(store.as_ref()), (0, true));
    assert_eq!(open(store.clone()).make(), Ok(first.clone()));
    assert_eq!(open(store).hello(), Ok(first));
}

#[test]
fn who_may_only_read_can_use_a_remote_that_is_there_and_make_none() {
    let store = Arc::new(Faulty::new(Fault::ReadOnly));
    let mut remote = open(store.clone());
    assert!(matches!(remote.make(), Err(RemoteError::NotLetIn(..))));
    let made = r#"{"version":1,"leastClient":1,"store":"here"}"#;
    write(&store.inner, "remote.json", made);
    let hello = remote.make().expect("it is there");
    assert_eq!(hello.store, "here");
    assert_eq!(remote.missing(&[hash(1)]), Ok(vec![hash(1)]));
    let put = remote.put(&[node(1, &[])], None);
    assert!(matches!(put, Err(RemoteError::NotLetIn(..))), "{put:?}");
}

#[test]
fn who_may_only_read_is_refused_to_end_a_lease_that_nobody_has() {
    let store = Arc::new(InMemory::new());
    let mut worker = open(store.clone());
    worker.make().expect("the store is fit");
    share(&mut worker, 1);
    let mut lease = take(&mut worker, 1);
    lease.fence = 0;
    assert_eq!(worker.end_lease(&lease), Ok(()));
    let read_only = Faulty::over(store.fork(), Fault::ReadOnly);
    let ended = open(Arc::new(read_only)).end_lease(&lease);
    assert!(matches!(ended, Err(RemoteError::NotLetIn(..))), "{ended:?}");
}

#[test]
fn a_remote_for_newer_programs_is_left_alone() {
    let store = Arc::new(InMemory::new());
    let made = r#"{"version":9,"leastClient":9,"store":"x"}"#;
    write(store.as_ref(), "remote.json", made);
    let too_old = RemoteError::TooOld { least: 9, ours: 1 };
    let mut remote = open(store.clone());
    assert_eq!(remote.make(), Err(too_old.clone()));
    assert_eq!(remote.put(&[], Some(&new_thread(1))), Err(too_old.clone()));
    assert_eq!(remote.missing(&[hash(1)]), Err(too_old));
    write(store.as_ref(), "remote.json", "{");
    assert!(matches!(open(store).hello(), Err(RemoteError::Broken(_))));
}

#[test]
fn a_thread_that_cannot_be_read_is_given_back_unless_its_owner_had_it_before() {
    let store = Arc::new(InMemory::new());
    let mut remote = open(store.clone());
    remote.make().expect("the store is fit");
    share(&mut remote, 1);
    let lease = take(&mut remote, 1);
    write(store.as_ref(), &format!("nodes/{}", hash(1)), "other");
    let want = Want {
        owner: &owner(1),
        lasts: Duration::from_secs(600),
        have: &[],
        at_most: usize::MAX,
    };
    let which = Which::Thread(thread(1));
    let refused = open(store.clone()).acquire(which, &want);
    assert!(
        matches!(refused, Err(RemoteError::Broken(_))),
        "{refused:?}"
    );
    assert_eq!(remote.renew(&lease), Ok(Renewed::Yes));
    assert_eq!(remote.end_lease(&lease), Ok(()));
    let refused = open(store).acquire(which, &want);
    assert!(
        matches!(refused, Err(RemoteError::Broken(_))),
        "{refused:?}"
    );
    assert_eq!(remote.standing(thread(1)), Ok(Standing::Free));
}

#[test]
fn a_lease_does_not_come_with_a_chain_that_lacks_a_node() {
    let store = Arc::new(InMemory::new());
    let mut remote = open(store.clone());
    remote.make().expect("the store is fit");
    share(&mut remote, 1);
    let lease = take(&mut remote, 1);
    let nodes = [node(11, &[START, 12]), node(12, &[])];
    assert_eq!(
        step_with(&mut remote, &lease, (START, 11), &nodes),
        Advanced::Moved
    );
    remove(store.as_ref(), &format!("nodes/{}", hash(12)));
    for at_most in [1, usize::MAX] {
        let want = Want {
            owner: &owner(1),
            lasts: Duration::from_secs(600),
            have: &[hash(START)],
            at_most,
        };
        let leased = open(store.clone()).acquire(Which::Thread(thread(1)), &want);
        let Err(RemoteError::Broken(said)) = leased else {
            panic!("a node is missing: {leased:?}");
        };
        assert!(said.contains(hash(12).as_str()), "{said}");
    }
}

#[test]
fn a_damaged_node_and_a_missing_one_are_told_from_each_other() {
    let store = Arc::new(InMemory::new());
    let mut remote = open(store.clone());
    remote.make().expect("the store is fit");
    share(&mut remote, 1);
    let part = Part {
        skip: 0,
        at_most: 9.try_into().unwrap(),
    };
    let gone = open(store.clone()).closure(&[hash(77)], &[], part);
    assert_eq!(gone, Ok(Given::Lacking(vec![hash(77)])));
    write(store.as_ref(), &format!("nodes/{}", hash(1)), "other");
    let mut remote = open(store);
    let read = remote.closure(&[hash(START)], &[], part);
    let Err(RemoteError::Broken(said)) = read else {
        panic!("it is damaged: {read:?}");
    };
    assert!(said.contains(hash(1).as_str()), "{said}");
}

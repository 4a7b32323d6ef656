//! A thread that comes back while it is removed.

use uwf_cas_fs::Store;
use uwf_storage::{Env, Root, SharedRecord};

use super::*;

#[test]
fn the_folder_of_a_thread_that_came_back_before_its_lock_was_ours_stays() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path().join("root"));
    let store = Store::open(root.path().join("cas"));
    let env = Env::from_parts(&[], dir.path(), 1_780_000_000_000, 7);
    let site = Site { env, root, store };
    site.create().unwrap();
    let (thread, head) = (ThreadId::new(1_780_000_000_000, 1), CasRef::from_u64(7));
    let state = State::new(&site.root);
    state.insert(thread, head).unwrap();
    let run = site.root.run(thread);
    run.create().unwrap();
    let left = [(thread, site.root.run(thread))];
    let record = SharedRecord::certain("r".to_owned(), "1".to_owned());
    site.root.shared(thread).create(&record).unwrap();
    remove_left(&site, &left, &HashSet::new()).unwrap();
    assert!(run.exists());
    // It may also come back after that, before its record is removed.
    remove_folder(&site, thread, &run).unwrap();
    assert!(run.exists() && is_shared(&site, thread));
    let leaving = Leaving {
        thread,
        place: Located::Active(head),
        used: None,
        steps: Vec::new(),
    };
    state.remove(&[leaving], 1).unwrap();
    remove_left(&site, &left, &HashSet::new()).unwrap();
    assert!(!run.exists() && !is_shared(&site, thread));
}

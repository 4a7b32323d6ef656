//! Roots whose files were restored in the place of newer ones: the folder of the records of shared threads is the same one as before.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::crash::sweep::kill_everywhere_prepared;
use crate::gates::{at_work, open_gate, runs};
use crate::postgres::{new_schema, own_server};
use crate::sharing::{agree, at_remote, head, machines_in, shared, with_server};
use crate::sharing_restored::{back_up, backup, copy};
use crate::world::World;

/// Gives the root of a machine the files that were kept an hour ago. In the folder `shared`, files that came since are removed, and its
/// time is set back, as `rsync -a --delete` does.
fn set_back(world: &World) {
    let (kept, root) = (backup(world), world.root());
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            _ if path.ends_with("shared") => remove_newer(&path, &kept.join("shared")),
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    for entry in fs::read_dir(&kept).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("shared") {
            copy(&path, &root);
        }
    }
    let folder = File::open(root.join("shared")).unwrap();
    let kept_at = kept.join("shared").metadata().unwrap().modified().unwrap();
    let hour = Duration::from_secs(3600);
    folder.set_modified(kept_at - hour).unwrap();
}

/// Removes the files of a folder that another one does not have.
fn remove_newer(folder: &Path, kept: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if !kept.join(entry.file_name()).exists() {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn a_root_that_was_set_back_takes_the_lease_of_a_thread_that_was_pushed_since() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (thread, second) = (one.start("again"), one.start("again"));
        shared(&machines, "again");
        back_up(one);
        for thread in [&thread, &second] {
            one.uwf(&["push", thread]).exits(0);
            other.uwf(&["fetch", thread]).exits(0);
        }
        set_back(one);
        let mut working = at_work(other, &["thread", "step", &thread]);
        one.step(&thread).exits(5).says("is busy");
        open_gate(other);
        assert!(working.wait().unwrap().success());
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
        other.step(&second).exits(0);
        one.step(&second).exits(0);
        agree(&machines, &second, 2);
        assert_eq!([one, other].map(runs), [2, 2]);
    });
}

#[test]
fn a_root_that_was_set_back_does_no_step_while_the_remote_is_away() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [one, _] = &machines;
    let (thread, known) = (one.start("again"), shared(&machines, "again"));
    back_up(one);
    one.uwf(&["push", &thread]).exits(0);
    set_back(one);
    server.pause();
    // A call that changes the records does not hide that some are missing.
    one.uwf(&["thread", "rm", "--force", &known]).exits(0);
    one.step(&thread)
        .exits(5)
        .says(&format!("not known whether thread `{thread}` is shared"));
    server.resume();
    one.step(&thread).exits(0);
    assert_eq!(at_remote(one, &thread)["head"], json!(head(one, &thread)));
}

#[test]
fn a_root_that_was_set_back_does_no_step_of_its_own_wherever_a_call_is_killed() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (thread, second) = (shared(&machines, "again"), shared(&machines, "again"));
        other.step(&second).exits(0);
        let prepare = || {
            one.uwf(&["fetch", &thread]).exits(0);
            let folder = one.root().join("shared");
            fs::remove_file(folder.join(format!("{second}.json"))).unwrap();
            let hour_ago = SystemTime::now() - Duration::from_secs(3600);
            File::open(&folder).unwrap().set_modified(hour_ago).unwrap();
            let said = fs::read_to_string(folder.join("complete")).unwrap();
            let number = folder.metadata().unwrap().ino().to_string();
            assert_eq!(said.split(' ').next(), Some(&*number), "it is no copy");
        };
        let fetch = ["fetch", &thread];
        let calls = kill_everywhere_prepared(one, prepare, &fetch, " fetch ", |traced| {
            let call = &traced.killed().unwrap().call;
            one.step(&second).exits(0);
            let here = json!(head(one, &second));
            assert_eq!(here, at_remote(other, &second)["head"], "{call}");
        });
        assert!(calls.len() > 10, "{calls:?}");
    });
}

//! Threads that are at the remote and not here, and what is typed for them.

use std::process::Command;

use serde_json::json;

use crate::gates::{at_work, open_gate, runs, wait_for_ends};
use crate::postgres::new_schema;
use crate::sharing::{at_remote, machines_in, shared, with_remote, with_server};
use crate::sharing_runs;
use crate::world::{AGAIN, Run, World};

#[test]
fn a_thread_that_is_only_at_the_remote_can_be_fetched() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        let begin = &thread[..20].to_ascii_lowercase();
        for named in [&thread, begin] {
            for words in [
                &["thread", "step", named][..],
                &["thread", "show", named],
                &["thread", "kill", named],
                &["thread", "resume", named],
                &["push", named],
            ] {
                let hint = format!("`uwf fetch {named}` brings it if the remote has it");
                other.uwf(words).exits(1).says(&hint);
            }
        }
        let nameless = other.uwf(&["thread", "show", "nightly"]).exits(1);
        nameless.says("uwf thread list --remote");
        other
            .uwf(&["fetch", "01ABCDEFGH"])
            .exits(1)
            .says("no thread at the remote begins so")
            .says("uwf thread list --remote --all");
        other.uwf(&["fetch", begin]).exits(0);
        other.step(&thread).exits(0);
        // Without a remote, none is proposed.
        let alone = World::new();
        let said = alone.uwf(&["thread", "show", &thread]).exits(1).stderr;
        assert!(!said.contains("fetch"), "{said}");
    });
}

#[test]
fn a_run_is_pushed_by_its_id() {
    with_server(|server| {
        let machines = sharing_runs::machines(server, &sharing_runs::pipeline(&["A", "B"]));
        let [one, other] = &machines;
        let thread = sharing_runs::begun(&machines, "nightly-7");
        let pushed = one.uwf(&["push", "nightly-7"]).exits(0).json();
        assert_eq!(pushed[0]["thread"], json!(thread));
        one.uwf(&["push", "nightly-8"]).exits(1);
        other
            .uwf(&["fetch", "nightly-8"])
            .exits(1)
            .says("threads and runs have names only on the machine");
        other.uwf(&["fetch", &thread]).exits(0);
        let fetched = one.uwf(&["fetch", "nightly-7"]).exits(0).json();
        assert_eq!(fetched[0]["thread"], json!(thread));
        let killed = one.uwf(&["thread", "kill", "nightly-7"]).exits(0).json();
        assert_eq!(killed["thread"], json!(thread));
    });
}

#[test]
fn a_push_gives_a_shared_thread_another_label() {
    with_server(|server| {
        let [one, other] = &machines_in(server, &new_schema());
        let thread = one.start("again");
        one.uwf(&["push", &thread, "--label", "gpu=yes"]).exits(0);
        let relabel = ["push", &thread, "--label", "gpu=no"];
        let pushed = one.uwf(&relabel).exits(0).json();
        assert_eq!(pushed[0]["relabelled"], json!(true), "{pushed}");
        assert_eq!(at_remote(one, &thread)["label"], json!("gpu=no"));
        let again = one.uwf(&relabel).exits(0).json();
        assert_eq!(again[0]["relabelled"], json!(null), "{again}");
        let next = ["thread", "step", "--next", "--label"];
        other.uwf(&[&next[..], &["gpu=yes"]].concat()).exits(5);
        other.uwf(&[&next[..], &["gpu=no"]].concat()).exits(0);
    });
}

#[test]
fn a_machine_without_the_thread_names_the_lease_that_ends_by_the_beginning_of_its_id() {
    with_server(|server| {
        let schema = new_schema();
        let [one, _] = &machines_in(server, &schema);
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        let stranger = World::new();
        with_remote(&stranger, server, &schema);
        let released = stranger.uwf(&["remote", "release", &thread[..20]]).exits(0);
        assert_eq!(released.json()["thread"], json!(thread));
    });
}

/// Copies the root of a machine. Returns the path of the copy.
fn copy_of_root(world: &World) -> String {
    let copy = world.dir().join("copy");
    let mut copying = Command::new("cp");
    copying.arg("-a").args([&world.root(), &copy]);
    assert!(copying.status().unwrap().success());
    copy.display().to_string()
}

/// Checks that a copy of a root does not take over the lease under which the root works.
#[track_caller]
fn has_leases_of_its_own(copy: &str, world: &World, thread: &str) {
    let working = at_work(world, &["thread", "step", thread]);
    let refused = world.spawn(&["--root", copy, "thread", "step", thread]);
    let mut both = [working, refused];
    wait_for_ends(&mut both, 1);
    open_gate(world);
    let [mut working, refused] = both;
    Run::from(refused.wait_with_output().unwrap())
        .exits(5)
        .says("is busy");
    assert!(working.wait().unwrap().success());
    assert_eq!(runs(world), 1);
}

#[test]
fn a_copy_of_a_root_is_another_machine() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        // Threads of others come into both before anything else is done there.
        let bundles = ["first", "second"].map(|name| {
            let stranger = World::new();
            stranger.put(&AGAIN.replace('@', ""));
            let bundle = one.dir().join(name).display().to_string();
            let new = stranger.start("again");
            stranger
                .uwf(&["thread", "export", &new, "-o", &bundle])
                .exits(0);
            bundle
        });
        one.uwf(&["thread", "import", &bundles[0]]).exits(0);
        let copy = copy_of_root(one);
        let at_copy = |args: &[&str]| one.uwf(&[&["--root", &copy], args].concat());
        at_copy(&["thread", "import", &bundles[1]]).exits(0);
        has_leases_of_its_own(&copy, one, &thread);
    });
}

#[test]
fn a_copy_of_a_root_has_leases_of_its_own_also_at_a_remote_that_its_config_did_not_name() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let copy = copy_of_root(one);
        let at_copy = |args: &[&str]| one.uwf(&[&["--root", &copy], args].concat());
        let url = server.url();
        for schema in [&new_schema(), &schema] {
            at_copy(&["remote", "add", &url, "--schema", schema]).exits(0);
        }
        has_leases_of_its_own(&copy, one, &thread);
    });
}

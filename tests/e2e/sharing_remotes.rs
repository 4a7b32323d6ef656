//! Roots that have had several remotes, one after another: one that was lost, and one that was not asked.

use std::fs;

use serde_json::json;

use crate::compat::ID_A;
use crate::crash::sweep::{kill_at_many, kill_everywhere};
use crate::gates::{at_work, open_gate, runs};
use crate::import_store::{full_store, import};
use crate::postgres::{Server, new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::processes;
use crate::sharing::{agree, at_remote, head, machines_in, shared, with_server};
use crate::sharing_restored::{back_up, put_back};
use crate::world::{World, wait_until};

/// Returns the id of the remote of a machine.
pub(crate) fn store(world: &World) -> String {
    let status = world.uwf(&["remote", "status"]).exits(0).json();
    status["store"].as_str().unwrap().to_owned()
}

#[test]
fn a_remote_that_is_lost_for_good_is_replaced_and_a_step_that_waits_is_shared_there() {
    with_server(|server| {
        let (schema, url) = (new_schema(), server.url());
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let lost = store(one);
        processes::kill(at_work(one, &["thread", "step", &thread]));
        open_gate(one);
        wait_until("the agent has finished", || one.pending(&thread).is_some());
        one.wait_until_free(&thread);
        Admin::new(&url).run(&format!("DROP SCHEMA {schema} CASCADE"));
        one.step(&thread)
            .exits(1)
            .says("there is no remote there yet")
            .says("if it is lost for good, `uwf remote add <url>` makes another one");
        let id = format!("the remote with the id `{lost}` shares 1 thread here");
        one.uwf(&["remote", "status"]).exits(1).says(&id);
        let url_here = one.uwf(&["config", "get", "remote.url"]).exits(0).json();
        one.uwf(&["config", "unset", "remote.url"]).exits(0);
        one.uwf(&["remote", "status"]).exits(1).says(&id);
        one.configure("remote.url", url_here["value"].as_str().unwrap());
        let add = ["remote", "add", &url, "--schema", &schema];
        let replaces = format!("--replaces {lost}`");
        one.uwf(&add).exits(0).says(&replaces);
        one.uwf(&["push", &thread]).exits(1).says(&replaces);
        let replace = [&add[..], &["--replaces", &lost]].concat();
        one.uwf(&[&add[..], &["--replaces", "7"]].concat())
            .exits(1)
            .says("no thread here is shared by a remote with the id `7`");
        let forget = ["history", "threads", "nodes"];
        let forget = forget.map(|table| format!("DELETE FROM {schema}.{table}"));
        kill_at_many(one, &replace, " remote ", |_| {
            let again = one.uwf(&replace);
            if again.code != 0 {
                again.exits(1).says("an earlier call may have replaced it");
            }
            one.uwf(&["push", &thread]).exits(0);
            assert_eq!(runs(one), 1, "no agent was started");
            Admin::new(&url).run(&forget.join("; "));
        });
        let replaced = one.uwf(&replace).exits(0).json();
        assert_eq!(replaced["replaced"], json!([thread]), "{replaced}");
        one.uwf(&["push", &thread]).exits(0);
        assert_eq!(runs(one), 1, "no agent was started");
        other.uwf(&replace).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_remote_that_answers_is_not_lost() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let living = store(one);
        let second = new_schema();
        let add = ["remote", "add", &server.url(), "--schema", &second];
        one.uwf(&[&add[..], &["--replaces", &living]].concat())
            .exits(1)
            .says("is not lost: it answers");
        one.step(&thread).exits(0);
        assert_eq!(store(one), living);
    });
}

#[test]
fn a_remote_does_not_take_the_place_of_itself_at_another_address() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let schema = one.uwf(&["config", "get", "remote.schema"]).exits(0);
        let schema = schema.json()["value"].as_str().unwrap().to_owned();
        let record = || fs::read_to_string(one.root().join(format!("shared/{thread}.json")));
        let (living, before) = (store(one), record().unwrap());
        one.configure("remote.url", "postgres://uwf@127.0.0.1:1/none");
        let add = ["remote", "add", &server.url(), "--schema", &schema];
        let replace = [&add[..], &["--replaces", &living]].concat();
        one.uwf(&replace).exits(1).says("is not lost: it answers");
        assert_eq!(record().unwrap(), before);
    });
}

#[test]
fn a_remote_that_could_not_be_asked_is_told_when_another_one_is_replaced() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let (lost, here) = (store(one), one.start("again"));
        one.configure("remote.url", "postgres://uwf@127.0.0.1:1/none");
        let second = new_schema();
        let add = ["remote", "add", &server.url(), "--schema", &second];
        one.uwf(&add).exits(5).says("it is not known");
        let replaced = one.uwf(&[&add[..], &["--replaces", &lost]].concat());
        let replaced = replaced.exits(0).says("could not be asked");
        let replaced = replaced.json();
        assert_eq!(replaced["replaced"], json!([thread]), "{replaced}");
        // The lost one was asked when it was added.
        assert_eq!(replaced["presumed"], json!(null), "{replaced}");
        one.step(&here).exits(0);
    });
}

/// The first machine shares a thread and has another one, which is pushed after its backup. The server is lost, and a remote in this
/// schema takes its place.
fn replace_in_a_restored_root(server: &Server, schema: &str, new: &str) {
    let machines = machines_in(server, schema);
    let [one, other] = &machines;
    let known = shared(&machines, "again");
    let lost = store(one);
    let thread = one.start("again");
    back_up(one);
    one.uwf(&["push", &thread]).exits(0);
    other.uwf(&["fetch", &thread]).exits(0);
    other.step(&thread).exits(0);
    put_back(one);
    fs::remove_file(one.root().join("shared/complete")).unwrap();
    Admin::new(&server.url()).run(&format!("DROP SCHEMA {schema} CASCADE"));
    let add = ["remote", "add", &server.url(), "--schema", new];
    let replace = [&add[..], &["--replaces", &lost]].concat();
    if new == schema {
        // The other machine comes first. Where a remote answers, it need not be the one that shared the threads.
        other.uwf(&replace).exits(0);
        let refused = format!("may be shared by the remote with the id `{lost}`");
        one.step(&thread).exits(1).says(&refused);
        one.uwf(&["work", "--idle", "0s"]);
    }
    let replaced = one
        .uwf(&replace)
        .exits(0)
        .says("not known whether the lost");
    let replaced = replaced.json();
    assert_eq!(replaced["replaced"], json!([known]), "{replaced}");
    assert_eq!(replaced["presumed"], json!([thread]), "{replaced}");
    one.step(&thread)
        .exits(1)
        .says(&format!("`uwf push {thread}`"));
    assert_eq!(runs(one), 0, "another machine has paid for the step");
    if new != schema {
        other.uwf(&replace).exits(0);
    }
    other.uwf(&["push", "--all"]).exits(0);
    one.step(&thread).exits(0);
    agree(&machines, &thread, 2);
}

#[test]
fn a_thread_of_which_only_a_lost_remote_knew_is_not_stepped_before_it_is_at_the_new_one() {
    with_server(|server| replace_in_a_restored_root(server, &new_schema(), &new_schema()));
}

#[test]
fn a_remote_that_was_made_anew_at_the_same_address_is_not_taken_for_the_lost_one() {
    with_server(|server| {
        let schema = new_schema();
        replace_in_a_restored_root(server, &schema, &schema);
    });
}

/// Two machines, and a thread that both have and the second one has stepped. The root of the first one is older than its push. Then
/// another remote.
fn unaware(server: &Server) -> ([World; 2], String, String) {
    let machines = machines_in(server, &new_schema());
    let thread = machines[0].start("again");
    back_up(&machines[0]);
    machines[0].uwf(&["push", &thread]).exits(0);
    machines[1].uwf(&["fetch", &thread]).exits(0);
    machines[1].step(&thread).exits(0);
    put_back(&machines[0]);
    (machines, thread, new_schema())
}

#[test]
fn a_remote_that_was_to_be_asked_is_asked_before_another_one_takes_its_place() {
    with_server(|server| {
        let (machines, thread, second) = unaware(server);
        let [one, _] = &machines;
        let add = ["remote", "add", &server.url(), "--schema", &second];
        one.uwf(&add).exits(0).says("shared by another remote");
        let before = runs(one);
        one.step(&thread)
            .exits(1)
            .says("the remote of the config has the id");
        assert_eq!(runs(one), before);
    });
}

#[test]
fn another_remote_is_not_added_while_one_that_must_be_asked_is_away() {
    let (Some(server), Some(second)) = (own_server(), own_server()) else {
        return;
    };
    let (machines, thread, schema) = unaware(&server);
    let [one, other] = &machines;
    let config = one.uwf(&["config", "get", "remote.schema"]).exits(0);
    let first = config.json()["value"].as_str().unwrap().to_owned();
    server.pause();
    one.uwf(&["thread", "kill", &thread]).exits(0);
    let add = ["remote", "add", &second.url(), "--schema", &schema];
    one.uwf(&add)
        .exits(5)
        .says("it is not known which threads here are shared")
        .says("`uwf config unset remote.url` forgets it");
    // The kill is not forgotten, though a person gives the remote up for a while.
    one.uwf(&["config", "unset", "remote.url"]).exits(0);
    server.resume();
    one.uwf(&add).exits(0);
    assert_eq!(one.show(&thread)["endNotTold"], json!(true));
    one.uwf(&["remote", "add", &server.url(), "--schema", &first])
        .exits(0);
    one.uwf(&["push", &thread]).exits(0);
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
}

#[test]
fn a_call_that_adds_a_remote_and_is_killed_leaves_no_thread_that_is_stepped_without_its_lease() {
    with_server(|server| {
        let (machines, thread, second) = unaware(server);
        let [one, other] = &machines;
        let before = runs(one);
        let add = ["remote", "add", &server.url(), "--schema", &second];
        let calls = kill_everywhere(one, &add, " remote ", |traced| {
            let call = &traced.killed().unwrap().call;
            if one.step(&thread).code == 0 {
                let there = at_remote(other, &thread)["head"].clone();
                assert_eq!(json!(head(one, &thread)), there, "{call}");
            } else {
                assert_eq!(runs(one), before, "{call}");
            }
        });
        assert!(calls.len() > 20, "{calls:?}");
    });
}

#[test]
fn a_call_that_changes_address_and_schema_and_is_killed_can_be_repeated() {
    let (Some(first), Some(second)) = (own_server(), own_server()) else {
        return;
    };
    let machines = machines_in(&first, &new_schema());
    let [one, _] = &machines;
    shared(&machines, "again");
    let (url, schema) = (second.url(), new_schema());
    let add = ["remote", "add", &url, "--schema", &schema];
    kill_at_many(one, &add, " remote ", |_| {
        one.uwf(&add).exits(0);
    });
}

#[test]
fn a_thread_that_was_imported_beside_threads_of_another_remote_waits_until_that_was_asked() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let known = shared(&machines, "again");
        let first = store(one);
        let elsewhere = || {
            let thread = other.start("again");
            let bundle = one.dir().join(&thread).to_str().unwrap().to_owned();
            let export = ["thread", "export", &thread, "-o", &bundle];
            other.uwf(&export).exits(0);
            other.uwf(&["push", &thread]).exits(0);
            other.step(&thread).exits(0);
            (thread, bundle)
        };
        let ((thread, bundle), (late, late_bundle)) = (elsewhere(), elsewhere());
        let own = one.start("again");
        let second = new_schema();
        let add = ["remote", "add", &server.url(), "--schema", &second];
        one.uwf(&add).exits(0).says("shared by another remote");
        one.uwf(&["thread", "import", &bundle]).exits(0);
        let refused = format!("may be shared by the remote with the id `{first}`");
        for thread in [&thread, &own] {
            one.step(thread).exits(1).says(&refused);
        }
        // That remote is not forgotten with the last thread that it shares for certain.
        one.uwf(&["thread", "rm", "--force", &known]).exits(0);
        one.uwf(&["thread", "import", &late_bundle]).exits(0);
        one.step(&late).exits(1).says(&refused);
        // A thread that is made now cannot be there.
        let new = one.start("again");
        one.step(&new).exits(0);
        let add = ["remote", "add", &server.url(), "--schema", &schema];
        one.uwf(&add).exits(0);
        one.step(&own).exits(0);
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [3, 2]);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn an_imported_thread_is_looked_for_at_each_remote() {
    with_server(|server| {
        let (first, second) = (new_schema(), new_schema());
        let [one, _] = &machines_in(server, &first);
        let [stranger, other] = &machines_in(server, &second);
        let thread = stranger.start("again");
        let bundle = one.dir().join("bundle");
        let bundle = bundle.to_str().unwrap();
        stranger
            .uwf(&["thread", "export", &thread, "-o", bundle])
            .exits(0);
        one.uwf(&["thread", "import", bundle]).exits(0);
        stranger.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(0);
        one.uwf(&["fetch"]).exits(0);
        one.configure("remote.schema", &second);
        one.step(&thread).exits(0);
        assert_eq!(json!(head(one, &thread)), at_remote(other, &thread)["head"]);
    });
}

#[test]
fn the_threads_of_another_program_that_two_machines_import_may_be_shared() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let store = full_store(one);
        // The other machine knows of all its threads whether they are shared.
        other.uwf(&["fetch"]).exits(0);
        for world in &machines {
            import(world, &store).exits(0);
        }
        one.uwf(&["push", ID_A]).exits(0);
        other.uwf(&["thread", "kill", ID_A]).exits(0);
        assert_eq!(at_remote(one, ID_A)["status"], json!("ended"));
    });
}

#[test]
fn a_root_whose_disk_was_copied_has_marks_of_its_own_when_it_is_told() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let mark = || fs::read_to_string(one.root().join(format!("shared/{thread}.json"))).unwrap();
        let before = mark();
        one.step(&thread).exits(0);
        assert_eq!(mark(), before);
        fs::remove_file(one.root().join("shared/complete")).unwrap();
        one.step(&thread).exits(0);
        assert_ne!(mark(), before);
    });
}

//! Workflows that machines share by their names, and the list of the threads at the remote.

use serde_json::{Value, json};

use crate::gates::{at_work, gated_agent, open_gate};
use crate::gc::text;
use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{machine, machines_in, shared, with_server};
use crate::world::{AGAIN, World};

/// A version of the workflow `again`.
fn version(description: &str) -> String {
    AGAIN.replace('@', &format!("description: {description}"))
}

/// A new machine, which knows nothing but the remote.
fn bare(server: &Server, schema: &str) -> World {
    let world = World::new();
    let url = server.url();
    world
        .uwf(&["remote", "add", &url, "--schema", schema])
        .exits(0);
    world
}

/// A machine that has registered and shared a workflow, with the hash of that, and a new machine.
fn two(server: &Server, schema: &str) -> (World, String, World) {
    let one = bare(server, schema);
    let first = one.put(&version("First"));
    one.uwf(&PUSH).exits(0);
    (one, first, bare(server, schema))
}

const PUSH: [&str; 3] = ["push", "--workflow", "again"];
const FETCH: [&str; 3] = ["fetch", "--workflow", "again"];

/// Returns what the name stands for on a machine.
fn registered(world: &World) -> Value {
    let history = world.uwf(&["workflow", "history", "again"]).exits(0).json();
    history["current"].clone()
}

/// Runs a command that is refused, and then the one that its hint names.
#[track_caller]
fn follow(world: &World, refused: &[&str], hint: &str) {
    world.uwf(refused).exits(1).says(&format!("`{hint}`"));
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    world.uwf(&words).exits(0);
}

/// Runs a command, and returns what it says of the only thread or name.
fn only(world: &World, args: &[&str]) -> Value {
    let all = world.uwf(args).exits(0).json();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    all[0].clone()
}

#[test]
fn a_new_machine_needs_only_the_address_of_the_remote() {
    with_server(|server| {
        let (one, first, other) = two(server, &new_schema());
        let start = ["thread", "start", "again", "-p", "Begin."];
        follow(&other, &start, "uwf fetch --workflow again");
        assert_eq!(registered(&other), json!(first));
        other.uwf(&start).exits(0);
        other.uwf(&["cas", "verify"]).exits(0);
        // Where there is no remote, nothing is said about one.
        let run = World::new().uwf(&start).exits(1);
        assert!(!run.stderr.contains("fetch"), "{}", run.stderr);
        for (world, args) in [(&one, PUSH), (&other, FETCH), (&other, PUSH)] {
            let again = only(world, &args);
            assert_eq!(again["outcome"], json!("unchanged"), "{again}");
            assert_eq!(
                (&again["hash"], &again["nodes"]),
                (&json!(first), &json!(0))
            );
        }
        assert!(
            other
                .uwf(&["fetch", "--workflows", "--format", "text"])
                .exits(0)
                .stdout
                .contains("no new version")
        );
    });
}

#[test]
fn all_names_and_threads_come_with_one_call_each() {
    with_server(|server| {
        let schema = new_schema();
        let (one, _, other) = two(server, &schema);
        let renamed = version("First").replace("name: again", "name: twice");
        one.put(&renamed);
        let thread = one.start("twice");
        let pushed = one
            .uwf(&["push", &thread, "--workflow", "twice"])
            .exits(0)
            .json();
        let of_name = pushed
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["workflow"] == json!("twice"));
        assert_eq!(of_name.unwrap()["outcome"], json!("shared"), "{pushed}");
        let fetched = other
            .uwf(&["fetch", "--all", "--workflows"])
            .exits(0)
            .json();
        assert_eq!(fetched.as_array().map(Vec::len), Some(3), "{fetched}");
        for name in ["again", "twice"] {
            other
                .uwf(&["thread", "start", name, "-p", "Begin."])
                .exits(0);
        }
        assert_eq!(
            other.show(&thread)["workflow"],
            one.show(&thread)["workflow"]
        );
        let kept = other.uwf(&["remote", "status"]).exits(0).json()["kept"].clone();
        assert_eq!(
            (&kept["names"], &kept["byStatus"]),
            (&json!(2), &json!({ "ready": 1 }))
        );
    });
}

#[test]
fn a_name_that_two_machines_changed_is_noticed() {
    with_server(|server| {
        let (one, first, other) = two(server, &new_schema());
        other.uwf(&FETCH).exits(0);
        let second = one.put(&version("Second"));
        let pushed = only(&one, &PUSH);
        assert_eq!(pushed["outcome"], json!("forwarded"), "{pushed}");
        // This machine has not heard of it, and changes nothing there.
        let differ = format!("stands for `{first}` here, and for `{second}` at the remote");
        other.uwf(&PUSH).exits(1).says(&differ);
        follow(&other, &PUSH, "uwf fetch --workflow again");
        assert_eq!(registered(&other), json!(second));

        let third = other.put(&version("Third"));
        let fourth = one.put(&version("Fourth"));
        assert_eq!(only(&other, &PUSH)["outcome"], json!("forwarded"));
        one.uwf(&PUSH)
            .exits(1)
            .says(&third)
            .says("uwf push --force --workflow again");
        follow(&one, &FETCH, "uwf fetch --force --workflow again");
        assert_eq!(registered(&one), json!(third));
        // Nothing of this machine is lost, and it can go on with it.
        one.uwf(&["workflow", "rollback", "again"]).exits(0);
        assert_eq!(registered(&one), json!(fourth));
        assert_eq!(only(&one, &PUSH)["outcome"], json!("forwarded"));
        let fetched = only(&other, &FETCH);
        assert_eq!(
            (&fetched["outcome"], &fetched["before"]),
            (&json!("replaced"), &json!(third))
        );
        assert_eq!(registered(&other), json!(fourth));
        let forced = other.put(&version("Forced"));
        one.put(&version("Fifth"));
        one.uwf(&PUSH).exits(0);
        follow(&other, &PUSH, "uwf push --force --workflow again");
        assert_eq!(only(&one, &["fetch", "--workflows"])["hash"], json!(forced));
    });
}

#[test]
fn a_fetched_name_can_be_rolled_back() {
    with_server(|server| {
        let (one, first, other) = two(server, &new_schema());
        other.uwf(&FETCH).exits(0);
        let second = one.put(&version("Second"));
        one.uwf(&PUSH).exits(0);
        other.uwf(&FETCH).exits(0);
        other.uwf(&["workflow", "rollback", "again"]).exits(0);
        assert_eq!(registered(&other), json!(first));
        // It is an earlier version at the remote, and a later one for this machine.
        assert_eq!(only(&other, &PUSH)["outcome"], json!("forwarded"));
        assert_eq!(only(&one, &FETCH)["before"], json!(second));
        assert_eq!(registered(&one), json!(first));
        one.uwf(&["thread", "start", "again", "-p", "Begin."])
            .exits(0);
    });
}

#[test]
fn garbage_is_what_no_name_stands_for_any_more() {
    with_server(|server| {
        let schema = new_schema();
        let (one, _, other) = two(server, &schema);
        let (admin, url) = (Admin::new(&server.url()), server.url());
        let run = |sql: &str| admin.run(&sql.replace('@', &schema));
        let collected = || {
            one.uwf(&["remote", "gc", "--older-than", "1h"])
                .exits(0)
                .json()
        };
        assert_eq!(collected()["condemned"], json!(0));
        one.put(&version("Second"));
        one.uwf(&PUSH).exits(0);
        let condemned = collected()["condemned"].as_u64().unwrap();
        assert!(condemned > 0, "the first version is needed by nobody");
        run("UPDATE @.nodes SET condemned_at = condemned_at - interval '2 hours'");
        assert_eq!(collected()["removed"], json!(condemned), "{url}");
        one.uwf(&["remote", "verify"]).exits(0);
        other.uwf(&FETCH).exits(0);
        run("DELETE FROM @.nodes WHERE hash IN (SELECT hash FROM @.names)");
        let verified = one.uwf(&["remote", "verify"]).exits(4).json();
        assert_eq!(
            verified["problems"][0]["workflow"],
            json!("again"),
            "{verified}"
        );
        assert_eq!(verified["problems"][0]["missing"][0], registered(&other));
        let said = one
            .uwf(&["remote", "verify", "--format", "text"])
            .exits(4)
            .stdout;
        assert!(
            said.contains("the name \"again\" stands for a node that is missing"),
            "{said}"
        );
        let bare = bare(server, &schema);
        bare.uwf(&FETCH).exits(4).says("is missing there");
        // A machine that has it sends it again.
        assert_eq!(only(&other, &PUSH)["outcome"], json!("unchanged"));
        bare.uwf(&FETCH).exits(0);
        one.uwf(&["remote", "verify"]).exits(0);
    });
}

#[test]
fn a_remote_that_was_made_without_names_gets_them() {
    with_server(|server| {
        let schema = new_schema();
        let one = machine(server, &schema, &version("First"));
        let admin = Admin::new(&server.url());
        admin.run(&format!(
            "DROP TABLE {schema}.names; UPDATE {schema}.remote SET version = 1"
        ));
        for args in [
            &PUSH[..],
            &FETCH,
            &["fetch", "--workflows"],
            &["remote", "status"],
            &["remote", "verify"],
            &["remote", "gc"],
        ] {
            one.uwf(args)
                .exits(1)
                .says("an older version of uwf made the remote")
                .says("uwf remote migrate");
        }
        // Threads are shared as before.
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        let migrated = one.uwf(&["remote", "migrate"]).exits(0).json();
        assert_eq!(migrated, json!({ "from": 1, "to": 2 }));
        let again = one.uwf(&["remote", "migrate", "--format", "text"]).exits(0);
        assert!(
            again.stdout.contains("has version 2 already"),
            "{}",
            again.stdout
        );
        one.uwf(&PUSH).exits(0);
        one.uwf(&["remote", "verify"]).exits(0);
        bare(server, &schema).uwf(&FETCH).exits(0);
    });
}

#[test]
fn names_that_are_not_there_are_named() {
    with_server(|server| {
        let (one, _, other) = two(server, &new_schema());
        other
            .uwf(&["fetch", "--workflow", "agian", "--workflow", "again"])
            .exits(1)
            .says("no workflow has the name `agian` at the remote");
        other
            .uwf(&["thread", "start", "again", "-p", "Begin."])
            .exits(0);
        one.uwf(&["push", "--workflow", "agian"])
            .exits(1)
            .says("did you mean `again`?");
        one.uwf(&["push", "again"])
            .exits(1)
            .says("`uwf push --workflow again` shares it");
        for args in [
            &["push", "@", "--force"][..],
            &["fetch", "--force"],
            &["fetch", "--workflow", "again", "--workflows"],
        ] {
            one.uwf(args).exits(2);
        }
        assert_eq!(
            bare(server, &new_schema())
                .uwf(&["fetch", "--workflows"])
                .exits(0)
                .json(),
            json!([])
        );
    });
}

#[test]
fn the_threads_at_the_remote_are_listed_as_those_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        gated_agent(one, "roles:\n  writer:\n    - output: { status: done }\n");
        let first = shared(&machines, "again");
        let second = one.start("again");
        one.uwf(&["push", &second, "--label", "gpu=yes"]).exits(0);
        let listed = |options: &[&str]| {
            let args = [&["thread", "list", "--remote"], options].concat();
            other.uwf(&args).exits(0).json()
        };
        let ids = |options: &[&str]| {
            let all = listed(options);
            let ids = all
                .as_array()
                .unwrap()
                .iter()
                .map(|one| text(&one["thread"]));
            ids.collect::<Vec<_>>()
        };
        let newest_first = [second.clone(), first.clone()];
        assert_eq!(ids(&[]), newest_first);
        assert_eq!(ids(&["--limit", "1"]), [second.as_str()]);
        assert_eq!(ids(&["--label", "gpu=yes"]), [second.as_str()]);
        assert_eq!(ids(&["--status", "suspended,blocked"]), [""; 0]);

        let mut working = at_work(one, &["thread", "step", &first]);
        let both = listed(&["--status", "ready"]);
        assert_eq!(both[0]["here"], json!(false));
        assert_eq!(both[0]["label"], json!("gpu=yes"));
        assert_eq!(
            (&both[1]["here"], &both[1]["workflowName"]),
            (&json!(true), &json!("again"))
        );
        assert!(
            both[1]["leftMs"].is_u64() && both[0]["leftMs"].is_null(),
            "{both}"
        );
        let shown = other
            .uwf(&["thread", "list", "--remote", "--format", "text"])
            .exits(0)
            .stdout;
        for word in [
            "THREAD", "STATUS", "WORKFLOW", "HERE", "LABEL", "AT WORK", "again", " more",
        ] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
        open_gate(one);
        assert!(working.wait().unwrap().success());
        assert_eq!(ids(&[]), [second.as_str()], "the first one has ended");
        assert_eq!(ids(&["--status", "ended"]), [first.as_str()]);
        assert_eq!(ids(&["--all"]), newest_first);
        let stranger = bare(server, &new_schema());
        let none = stranger
            .uwf(&["thread", "list", "--remote", "--format", "text"])
            .exits(0)
            .stdout;
        assert!(none.contains("no such thread at the remote"), "{none}");
    });
}

#[test]
fn the_list_of_the_remote_refuses_what_it_cannot_choose_by() {
    let world = World::new();
    let list = |options: &[&str]| world.uwf(&[&["thread", "list", "--remote"], options].concat());
    list(&[])
        .exits(1)
        .says("no remote is configured")
        .says("uwf remote add");
    list(&["--status", "redy"])
        .exits(1)
        .says("did you mean `ready`?");
    list(&["--status", "running"])
        .exits(1)
        .says("statuses at the remote are ready, suspended, ended, blocked, leased");
    list(&["--label", "gpu"]).exits(2).says("gpu=<value>");
    list(&["--label", "a=b", "--label", "c=d"])
        .exits(2)
        .says("at most one");
    for option in [
        &["--tree"][..],
        &["--children"],
        &["--after", "7d"],
        &["--here"],
        &["--watch"],
        &["--skip", "1"],
    ] {
        list(option).exits(2).says("cannot be used with");
    }
}

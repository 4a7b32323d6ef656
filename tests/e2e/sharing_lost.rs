//! What machines do after a server was lost: they send their threads again, to a remote that takes its place.

use std::fs;
use std::process::Output;

use serde_json::json;

use crate::gates::runs;
use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{agree, at_remote, machines_in, shared, with_server};
use crate::sharing_children::{BRANCHES, family, share, statuses_at_remote};
use crate::sharing_left_records::move_away;
use crate::sharing_remotes::store;
use crate::sharing_restored::{back_up, put_back};
use crate::world::{Run, World, wait_until};

/// Drops the schema of a remote, and returns the call that makes another one there, which takes the place of the lost one.
fn lose(server: &Server, schema: &str, lost: &str) -> Vec<String> {
    Admin::new(&server.url()).run(&format!("DROP SCHEMA {schema} CASCADE"));
    let url = server.url();
    let replace = [
        "remote",
        "add",
        &url,
        "--schema",
        schema,
        "--replaces",
        lost,
    ];
    replace.map(str::to_owned).to_vec()
}

/// Lets the remote of a machine forget all threads.
fn forget_all(server: &Server, world: &World) {
    let schema = world.uwf(&["config", "get", "remote.schema"]).exits(0);
    let schema = schema.json()["value"].as_str().unwrap().to_owned();
    let forget = ["history", "threads", "nodes"];
    let forget = forget.map(|table| format!("DELETE FROM {schema}.{table}"));
    Admin::new(&server.url()).run(&forget.join("; "));
}

fn call(world: &World, args: &[String]) -> Run {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    world.uwf(&args)
}

/// Lets two machines send all threads at once: both ask what the remote has before one of them can put anything there. Returns what they
/// say.
fn send_at_once(server: &Server, schema: &str, machines: [&World; 2]) -> [Output; 2] {
    let admin = Admin::new(&server.url());
    admin.run(&format!("BEGIN; LOCK TABLE {schema}.threads IN SHARE MODE"));
    let mut count = 0;
    let calls = machines.map(|world| {
        count += 1;
        let call = world.spawn(&["push", "--all"]);
        wait_until("the call waits", || {
            let sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock' AND relation = '@.threads'::regclass";
            admin.row(&sql.replace('@', schema)) == count.to_string()
        });
        call
    });
    admin.run("COMMIT");
    calls.map(|call| call.wait_with_output().unwrap())
}

#[track_caller]
fn succeed(calls: [Output; 2]) {
    for said in calls {
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{text}");
    }
}

#[test]
fn two_machines_that_send_a_thread_again_at_the_same_time_have_not_gone_on_in_two_ways() {
    with_server(|server| {
        for first in [0, 1] {
            let schema = new_schema();
            let machines = machines_in(server, &schema);
            let [one, other] = &machines;
            let thread = shared(&machines, "again");
            other.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
            let replace = lose(server, &schema, &store(one));
            for world in &machines {
                call(world, &replace).exits(0);
            }
            succeed(send_at_once(
                server,
                &schema,
                [&machines[first], &machines[1 - first]],
            ));
            agree(&machines, &thread, 2);
        }
    });
}

#[test]
fn two_machines_that_send_a_family_again_at_the_same_time_leave_it_in_the_line() {
    with_server(|server| {
        for _ in 0..3 {
            let (machines, thread) = family(server, BRANCHES);
            let [one, other] = &machines;
            one.step(&thread).exits(0);
            share(&machines, &thread);
            let schema = one.uwf(&["config", "get", "remote.schema"]).exits(0);
            let schema = schema.json()["value"].as_str().unwrap().to_owned();
            let replace = lose(server, &schema, &store(one));
            for world in &machines {
                call(world, &replace).exits(0);
            }
            succeed(send_at_once(server, &schema, [one, other]));
            assert_eq!(statuses_at_remote(one, &thread), ["ready"; 3]);
        }
    });
}

#[test]
fn a_kill_is_told_also_if_another_machine_sends_the_thread_at_the_same_time() {
    with_server(|server| {
        // Either machine may be the first to put the thread there.
        for first in [0, 1, 0, 1] {
            let schema = new_schema();
            let machines = machines_in(server, &schema);
            let [one, other] = [first, 1 - first].map(|machine| &machines[machine]);
            let thread = shared(&machines, "again");
            let replace = lose(server, &schema, &store(one));
            machines[0].uwf(&["thread", "kill", &thread]).exits(0);
            for world in &machines {
                call(world, &replace).exits(0);
            }
            succeed(send_at_once(server, &schema, [one, other]));
            assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
            machines[1].step(&thread).exits(7);
        }
    });
}

#[test]
fn an_end_that_two_machines_send_at_the_same_time_is_one_way() {
    with_server(|server| {
        for _ in 0..4 {
            let schema = new_schema();
            let machines = machines_in(server, &schema);
            let [one, other] = &machines;
            let thread = shared(&machines, "again");
            let admin = Admin::new(&server.url());
            let tables = ["threads", "history"];
            let each = |text: &str| {
                let each = tables.map(|table| text.replace('@', &format!("{schema}.{table}")));
                admin.run(&each.join("; "));
            };
            each("CREATE TABLE @_kept AS TABLE @");
            one.step(&thread).exits(0);
            one.uwf(&["thread", "kill", &thread]).exits(0);
            other.uwf(&["fetch", &thread]).exits(0);
            // The server is set back.
            each("DELETE FROM @; INSERT INTO @ TABLE @_kept");
            let calls = send_at_once(server, &schema, [one, other]);
            let codes = calls.each_ref().map(|said| said.status.code());
            // One may find that the other one has the lease.
            assert!(codes.contains(&Some(0)), "{calls:?}");
            assert!(
                codes.iter().all(|code| matches!(code, Some(0 | 5))),
                "{calls:?}"
            );
            assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
        }
    });
}

#[test]
fn each_remote_that_was_not_asked_may_share_a_thread() {
    with_server(|server| {
        // Both orders in which the two others are asked.
        for first in [0, 1] {
            let machines = machines_in(server, &new_schema());
            let [one, other] = &machines;
            let add = |world: &World, schema: &str| {
                let add = ["remote", "add", &server.url(), "--schema", schema];
                world.uwf(&add).exits(0);
            };
            let schema = one.uwf(&["config", "get", "remote.schema"]).exits(0);
            let known = schema.json()["value"].as_str().unwrap().to_owned();
            let schemas = [known, new_schema()];
            // A thread of each remote is on record here, and the one in question is not.
            shared(&machines, "again");
            add(one, &schemas[1]);
            one.uwf(&["push", &one.start("again")]).exits(0);
            let thread = one.start("again");
            let third = new_schema();
            add(one, &third);
            back_up(one);
            add(one, &schemas[1 - first]);
            one.uwf(&["push", &thread]).exits(0);
            add(other, &schemas[1 - first]);
            other.uwf(&["fetch", &thread]).exits(0);
            other.step(&thread).exits(0);
            put_back(one);
            fs::remove_file(one.root().join("shared/complete")).unwrap();
            let refuses = |why: &str| {
                one.step(&thread).exits(1).says(why);
                assert_eq!(runs(one), 0, "another machine has paid for the step");
            };
            refuses("may be shared by the remote");
            add(one, &schemas[first]);
            refuses("may be shared by the remote");
            add(one, &third);
            refuses("may be shared by the remote");
            add(one, &schemas[1 - first]);
            one.step(&thread).exits(0);
            agree(&machines, &thread, 2);
        }
    });
}

#[test]
fn a_restored_root_without_records_is_told_which_remote_is_lost() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let (lost, thread) = (store(one), one.start("again"));
        back_up(one);
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(0);
        put_back(one);
        fs::remove_dir_all(one.root().join("shared")).unwrap();
        Admin::new(&server.url()).run(&format!("DROP SCHEMA {schema} CASCADE"));
        let new = new_schema();
        let add = ["remote", "add", &server.url(), "--schema", &new];
        one.uwf(&add)
            .exits(1)
            .says("`--replaces <id>` takes its place")
            .says("`uwf remote status` on a machine");
        let replaces = [&add[..], &["--replaces", &lost]].concat();
        let replaced = one.uwf(&replaces).exits(0).json();
        assert_eq!(replaced["presumed"], json!([thread]), "{replaced}");
        one.step(&thread)
            .exits(1)
            .says(&format!("`uwf push {thread}`"));
        assert_eq!(runs(one), 0, "another machine has paid for the step");
        other.uwf(&replaces).exits(0);
        other.uwf(&["push", "--all"]).exits(0);
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_push_of_all_threads_names_those_that_it_cannot_send() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let (damaged, whole) = (shared(&machines, "again"), shared(&machines, "again"));
        let record = one.root().join(format!("shared/{damaged}.json"));
        let kept = fs::read(&record).unwrap();
        Admin::new(&server.url()).run(&format!("DELETE FROM {schema}.threads"));
        fs::write(&record, "").unwrap();
        one.uwf(&["push", "--all"]).exits(4).says(&damaged);
        assert_eq!(at_remote(other, &whole)["thread"], json!(whole));
        fs::write(&record, kept).unwrap();
        // What the files of the state have lost is not sent, either.
        let state = one.root().join("threads.yaml");
        let all = fs::read_to_string(&state).unwrap();
        let without = all.lines().filter(|line| !line.contains(&damaged));
        fs::write(
            &state,
            without.map(|line| format!("{line}\n")).collect::<String>(),
        )
        .unwrap();
        one.uwf(&["push", "--all"]).exits(4).says(&damaged);
        fs::write(&state, all).unwrap();
        one.uwf(&["push", "--all"]).exits(0);
        assert_eq!(at_remote(other, &damaged)["thread"], json!(damaged));
        // A thread that was removed is not missed, though its record came back.
        let kept = fs::read(&record).unwrap();
        one.uwf(&["thread", "rm", "--force", &damaged]).exits(0);
        fs::write(&record, kept).unwrap();
        one.uwf(&["push", "--all"]).exits(0);
    });
}

#[test]
fn children_whose_parent_was_removed_everywhere_can_be_forgotten() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, _] = &machines;
        one.uwf(&["thread", "run", &thread]).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        let listed = one.uwf(&["thread", "list", "--remote", "--all"]).exits(0);
        let listed = listed.json();
        let ids = listed.as_array().unwrap().iter();
        let ids = ids.map(|one| one["thread"].as_str().unwrap());
        let children: Vec<&str> = ids.filter(|id| *id != thread).collect();
        assert_eq!(children.len(), 2, "{listed}");
        one.uwf(&["thread", "rm", &thread]).exits(0);
        forget_all(server, one);
        let refused = one.uwf(&["push", "--all"]).exits(1);
        for child in children {
            assert!(refused.stderr.contains(&format!("`uwf thread rm {child}`")));
            one.uwf(&["thread", "rm", child]).exits(0);
        }
        one.uwf(&["push", "--all"]).exits(0);
    });
}

#[test]
fn a_thread_of_a_replaced_remote_waits_for_the_others_and_is_not_forgotten_then() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let url = server.url();
        let add = |world: &World, schema: &str| {
            let add = ["remote", "add", &url, "--schema", schema];
            world.uwf(&add).exits(0);
        };
        shared(&machines, "again");
        let lost = store(one);
        let (second, new) = (new_schema(), new_schema());
        add(one, &second);
        one.uwf(&["push", &one.start("again")]).exits(0);
        let thread = one.start("again");
        add(one, &schema);
        back_up(one);
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(0);
        put_back(one);
        fs::remove_file(one.root().join("shared/complete")).unwrap();
        let mut replace = lose(server, &schema, &lost);
        replace[4].clone_from(&new);
        call(one, &replace).exits(0);
        add(one, &second);
        add(one, &new);
        one.step(&thread)
            .exits(1)
            .says(&format!("`uwf push {thread}`"));
        assert_eq!(runs(one), 0, "another machine has paid for the step");
        call(other, &replace).exits(0);
        other.uwf(&["push", "--all"]).exits(0);
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_lost_remote_is_replaced_also_if_the_config_names_a_third_one_that_answers() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let (lost, thread) = (store(one), one.start("again"));
        let third = new_schema();
        let add = ["remote", "add", &server.url(), "--schema", &third];
        one.uwf(&add).exits(0);
        fs::remove_dir_all(one.root().join("shared")).unwrap();
        let replace = lose(server, &schema, &lost);
        let replaced = call(one, &replace)
            .exits(0)
            .says("no record here names a remote with the id");
        assert_eq!(replaced.json()["presumed"], json!([thread]));
        one.step(&thread).exits(1).says("is not at the remote");
        assert_eq!(runs(one), 0);
    });
}

#[test]
fn children_of_a_parent_that_is_not_here_are_not_left_out() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, _] = &machines;
        one.step(&thread).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        move_away(one, &thread);
        forget_all(server, one);
        one.uwf(&["push", "--all"])
            .exits(1)
            .says("cannot be shared alone");
    });
}

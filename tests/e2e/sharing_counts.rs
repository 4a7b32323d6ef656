//! What a family used up counts on each machine that has fetched its parent, and a fetch asks the remote for many threads at once.

use std::process::Child;

use serde_json::{Value, json};

use crate::children_care::{ANSWERS, child, done, without_thread};
use crate::gates::{at_work, open_gate};
use crate::postgres::{new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::sharing::{with_remote, with_server};
use crate::sharing_children::{BRANCHES, asking, family, family_of, share};
use crate::world::{World, wait_until};

/// Checks that a fetch of the parent has brought the whole family: a fetch of everything changes nothing more, and the costs are the
/// same on both machines.
#[track_caller]
fn fetched_as_a_whole([one, other]: [&World; 2], thread: &str, threads: usize) {
    other.uwf(&["fetch", thread]).exits(0);
    let (family, cost) = (family_of(other, thread), cost_of(other, thread));
    assert_eq!(family.len(), threads);
    for world in [one, other] {
        world.uwf(&["fetch", "--all"]).exits(0);
        assert_eq!(family_of(world, thread), family);
        assert_eq!(cost_of(world, thread), cost);
        world.uwf(&["cas", "verify"]).exits(0);
    }
    // What is known need not come again, and only what is open is looked at.
    let again = other.uwf(&["fetch", thread]).exits(0).json();
    let outcomes = again.as_array().unwrap().iter().map(|one| &one["outcome"]);
    assert!(outcomes.clone().all(|one| one == "unchanged"), "{again}");
}

fn cost_of(world: &World, thread: &str) -> Value {
    let cost = world.uwf(&["thread", "cost", thread]).exits(0).json();
    cost["total"].clone()
}

/// The first machine works at a branch of the thread. The other one takes the branch over, and ends it.
fn ended_while_at_work([one, other]: &[World; 2], thread: &str) -> Child {
    let branch = child(one, thread);
    let working = at_work(one, &["thread", "step", &branch]);
    other.uwf(&["remote", "release", &branch, "--yes"]).exits(0);
    other.step(&branch).exits(0);
    working
}

#[test]
fn an_attempt_elsewhere_at_a_child_that_has_ended_here_counts_after_a_fetch_of_the_parent() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        share(&machines, &thread);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        let mut working = ended_while_at_work(&machines, &thread);
        open_gate(one);
        assert_eq!(working.wait().unwrap().code(), Some(7));
        // The machine tells what it paid for, which is in no chain.
        one.uwf(&["push", &thread]).exits(0);
        fetched_as_a_whole(machines.each_ref(), &thread, 3);
        other.step(&thread).exits(0);
        assert_eq!(done(other, &thread), json!(true));
        fetched_as_a_whole(machines.each_ref(), &thread, 3);
    });
}

#[test]
fn an_attempt_that_is_told_after_a_child_has_ended_counts_for_the_limits_of_its_parent() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        share(&machines, &thread);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.configure("limits.maxCostUsd", "12");
        other.configure("limits.unknownUsage", "ignore");
        let mut working = ended_while_at_work(&machines, &thread);
        // The parent has on record now what the ended child used up.
        other.scripted_agent("exit 9");
        other.step(&thread).exits(3);
        open_gate(one);
        assert_eq!(working.wait().unwrap().code(), Some(7));
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(6).says("maxCostUsd");
    });
}

#[test]
fn children_that_were_never_here_come_with_a_parent_that_was_killed() {
    with_server(|server| {
        for role in [BRANCHES, "workflow: ./middle.yaml"] {
            let (machines, thread) = family(server, role);
            let [one, _] = &machines;
            share(&machines, &thread);
            one.step(&thread).exits(0);
            one.uwf(&["thread", "kill", &thread]).exits(0);
            fetched_as_a_whole(machines.each_ref(), &thread, 3);
        }
    });
}

#[test]
fn children_that_a_person_killed_come_with_a_parent_that_has_ended() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, _] = &machines;
        share(&machines, &thread);
        for _ in 0..2 {
            one.step(&thread).exits(0);
            one.uwf(&["thread", "kill", &child(one, &thread)]).exits(0);
        }
        while done(one, &thread) != json!(true) {
            one.step(&thread).exits(0);
        }
        fetched_as_a_whole(machines.each_ref(), &thread, 5);
    });
}

#[test]
fn children_that_do_a_role_again_elsewhere_come_with_their_parent() {
    with_server(|server| {
        let (machines, thread) = asking(server, "each: [a, b], role: branch");
        let [one, other] = &machines;
        other.scripted_agent("exit 9");
        for expected in [3, 3, 0] {
            other.step(&thread).exits(expected);
        }
        let resume = ["thread", "resume", &thread, "-p", "go on"];
        other.uwf(&resume).exits(3);
        fetched_as_a_whole([other, one], &thread, 5);
    });
}

#[test]
fn a_fetch_asks_for_all_children_of_a_thread_at_once() {
    let Some(server) = own_server() else { return };
    let admin = Admin::new(&server.url());
    let of_few_and_many = [3, 24].map(|branches: usize| {
        let keys: Vec<String> = (0..branches).map(|key| format!("b{key}")).collect();
        let role = format!("each: [{}], role: branch, max: 8", keys.join(", "));
        let schema = new_schema();
        let [one, other] = [(); 2].map(|()| {
            let world = without_thread(&role, ANSWERS);
            with_remote(&world, &server, &schema);
            world
        });
        let thread = one.start("outer");
        one.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        // The first fetch brings everything, and the second one nothing.
        [true, false].map(|is_first| {
            let before = calls(&admin);
            let fetched = other.uwf(&["fetch", &thread]).exits(0).json();
            let brought = fetched.as_array().unwrap().len();
            assert_eq!(brought, if is_first { branches + 1 } else { 1 });
            calls(&admin) - before
        })
    });
    let [few, many] = of_few_and_many;
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < few + 15, "{few} calls, and {many} for many branches");
    }
}

/// Returns how many transactions the server has done. Each call is one. The server counts them when it has ended what worked for a
/// client, which may be after the client has left.
fn calls(admin: &Admin) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_until("the server has ended all others", || {
        admin.row(others) == "0"
    });
    let count = admin.row("SELECT sum(xact_commit)::bigint FROM pg_stat_database");
    count.parse().unwrap()
}

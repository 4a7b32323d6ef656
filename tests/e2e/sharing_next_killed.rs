//! A call that takes the next thread at the remote is killed: the next call of the same root takes the thread over at once.

use serde_json::json;

use crate::crash::sweep::{chosen, kill_at, kill_before};
use crate::crash::tracer::{Verdict, trace};
use crate::gates::runs;
use crate::postgres::new_schema;
use crate::postgres_admin::Admin;
use crate::sharing::{as_worker, at_remote, machines_in, shared, with_server};
use crate::world::World;

const NEXT: [&str; 3] = ["thread", "step", "--next"];

/// Kills a call that takes the next thread, when it has the lease and before it records that.
fn kill_with_the_lease(world: &World, args: &[&str], words: &str, thread: &str) {
    let record = format!(" root/shared/{thread}.json");
    kill_before(world, args, words, |call| {
        call.starts_with("rename ") && call.ends_with(&record)
    });
    assert!(!at_remote(world, thread)["leftMs"].is_null());
    assert_eq!(runs(world), 0);
}

#[test]
fn the_next_call_takes_the_thread_over_of_which_the_killed_one_left_no_record() {
    with_server(|server| {
        for again in [&NEXT[..], &["work", "--idle", "0s"]] {
            let [one, other] = &machines_in(server, &new_schema());
            let thread = one.start("again");
            one.uwf(&["push", &thread, "--label", "gpu=yes"]).exits(0);
            let with_label = |args: &[&str]| other.uwf(&[args, &["--label", "gpu=yes"]].concat());
            let killed = [&NEXT[..], &["--label", "gpu=yes"]].concat();
            kill_with_the_lease(other, &killed, " thread ", &thread);
            one.uwf(&NEXT).exits(5);
            other.write(
                "answers.yaml",
                "roles:\n  writer:\n    - output: { status: done }\n",
            );
            with_label(again).exits(0);
            assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
            assert_eq!(runs(other), 1);
            with_label(&NEXT).exits(5).says("no thread is ready");
        }
    });
}

#[test]
fn a_call_without_the_label_gives_the_thread_back_that_a_killed_one_has_taken() {
    with_server(|server| {
        let [one, other] = &machines_in(server, &new_schema());
        let thread = one.start("again");
        one.uwf(&["push", &thread, "--label", "gpu=yes"]).exits(0);
        let killed = [&NEXT[..], &["--label", "gpu=yes"]].concat();
        kill_with_the_lease(other, &killed, " thread ", &thread);
        let free = one.start("again");
        one.uwf(&["push", &free]).exits(0);
        let report = other.uwf(&NEXT).exits(0).json();
        assert_eq!(report["thread"], json!(free));
        let report = one.uwf(&[&NEXT[..], &["--label", "gpu=yes"]].concat());
        assert_eq!(report.exits(0).json()["thread"], json!(thread));
    });
}

#[test]
fn a_thread_that_a_killed_call_has_taken_and_that_was_paused_since_is_given_back() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        kill_with_the_lease(other, &NEXT, " thread ", &thread);
        other.uwf(&["thread", "pause", &thread]).exits(0);
        let free = one.start("again");
        one.uwf(&["push", &free]).exits(0);
        let report = other.uwf(&NEXT).exits(0).json();
        assert_eq!(report["thread"], json!(free));
        let report = one.uwf(&["thread", "step", &thread]).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
    });
}

#[test]
fn a_killed_call_that_had_no_thread_does_not_hide_the_thread_of_another_one() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        kill_with_the_lease(other, &NEXT, " thread ", &thread);
        // Some calls were killed before they asked. In which order a folder lists their marks is up to its file system.
        let shared = other.root().join("shared");
        let marks = ["0", "7", "g", "z"].map(|mark| shared.join(format!("{mark}.next")));
        for mark in &marks {
            std::fs::write(mark, "").unwrap();
        }
        let report = other.uwf(&NEXT).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
        // Each call asks by one mark at least.
        for _ in &marks {
            other.uwf(&NEXT).exits(0);
        }
        assert!(marks.iter().all(|mark| !mark.exists()));
    });
}

#[test]
fn a_call_that_the_remote_refuses_does_not_lose_the_thread_that_a_killed_one_has_taken() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        as_worker(other, server, &schema);
        kill_with_the_lease(other, &NEXT, " thread ", &thread);
        let admin = Admin::new(&server.url());
        let writes = format!("UPDATE ON {schema}.threads");
        admin.run(&format!("REVOKE {writes} FROM {schema}_worker"));
        other
            .uwf(&NEXT)
            .exits(1)
            .says("the remote refuses this user");
        admin.run(&format!("GRANT {writes} TO {schema}_worker"));
        let report = other.uwf(&NEXT).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
    });
}

#[test]
fn a_step_of_the_thread_that_a_killed_worker_has_taken_takes_it_over() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        kill_with_the_lease(other, &["work"], " work ", &thread);
        one.step(&thread).exits(5);
        other.step(&thread).exits(0);
        one.step(&thread).exits(0);
    });
}

#[test]
fn a_next_step_that_is_killed_anywhere_keeps_its_thread_from_no_later_call_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let whole = trace(other, &NEXT, |_| Verdict::GoOn);
        assert_eq!(whole.code, Some(0), "{}", whole.stderr);
        let words = " thread ";
        let points = whole.points.iter();
        let points: Vec<_> = points.filter(|one| one.command.contains(words)).collect();
        for number in chosen(&points) {
            let killed = kill_at(other, &NEXT, words, number, Verdict::Kill);
            let Some(point) = killed.killed() else {
                continue;
            };
            other.wait_until_free(&thread);
            let again = other.uwf(&NEXT);
            assert_eq!(again.code, 0, "{point:?}: {}", again.stderr);
            let steps = other.show(&thread)["steps"].as_u64().unwrap();
            assert_eq!(runs(other) as u64, steps, "{point:?}");
        }
        one.uwf(&NEXT).exits(0);
    });
}

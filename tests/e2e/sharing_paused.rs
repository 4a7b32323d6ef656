//! Shared threads that are paused on one machine: it leaves them to others.

use std::fs;

use serde_json::json;

use crate::gates::{at_work, open_gate};
use crate::postgres::new_schema;
use crate::processes;
use crate::sharing::{agree, at_remote, machines_in, shared, with_server};
use crate::sharing_restored::copy;
use crate::world::wait_until;

#[test]
fn a_thread_that_is_paused_here_is_left_to_others_and_the_next_one_is_taken() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.uwf(&["thread", "pause", &thread]).exits(0);
        let next = ["thread", "step", "--next"];
        let paused = format!("thread `{thread}` is paused here");
        let nothing = other.uwf(&next).exits(5).says("no thread is ready");
        nothing.says(&paused);
        let second = one.start("again");
        one.uwf(&["push", &second]).exits(0);
        // The first thread stays at the front of the line.
        for _ in 0..2 {
            let report = other.uwf(&next).exits(0).json();
            assert_eq!(report["thread"], json!(second));
        }
        assert!(at_remote(one, &thread)["leftMs"].is_null());
        let report = one.uwf(&next).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
        other.uwf(&["thread", "unpause", &thread]).exits(0);
        let report = other.uwf(&next).exits(0).json();
        assert_eq!(report["thread"], json!(second));
        let report = other.uwf(&next).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
    });
}

#[test]
fn a_worker_says_once_that_a_thread_is_paused_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.uwf(&["thread", "pause", &thread]).exits(0);
        // It asks about once a second.
        let worker = other
            .uwf(&["work", "--idle", "4s"])
            .exits(0)
            .says("0 steps done");
        let said = worker.stderr.matches("is paused").count();
        assert_eq!(said, 1, "{}", worker.stderr);
        assert!(!worker.stderr.contains("error"), "{}", worker.stderr);
        assert!(at_remote(one, &thread)["leftMs"].is_null());
        let quiet = other.uwf(&["work", "--idle", "1s", "--quiet"]).exits(0);
        assert_eq!(quiet.stderr, "");
    });
}

#[test]
fn a_thread_that_is_paused_here_is_left_to_others_though_a_finished_step_waits() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        processes::kill(at_work(one, &["thread", "step", &thread]));
        open_gate(one);
        wait_until("the agent has finished", || one.pending(&thread).is_some());
        one.wait_until_free(&thread);
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        one.configure("remote.lease", "10m");
        one.uwf(&["thread", "pause", &thread]).exits(0);
        let paused = format!("thread `{thread}` is paused here");
        one.uwf(&["thread", "step", "--next"])
            .exits(5)
            .says(&paused);
        assert!(at_remote(other, &thread)["leftMs"].is_null());
        let worker = one.uwf(&["work", "--idle", "1s"]).exits(0);
        worker.says("a finished step of thread").says(&paused);
        assert!(at_remote(other, &thread)["leftMs"].is_null());
        one.uwf(&["thread", "unpause", &thread]).exits(0);
        one.step(&thread).exits(0);
        agree(&machines, &thread, 1);
    });
}

/// A root does not notice that it was copied.
#[test]
fn a_paused_thread_that_a_copy_of_the_root_has_pushed_is_left_to_others() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = one.start("again");
        one.step(&thread).exits(0);
        fs::remove_dir_all(other.root()).unwrap();
        copy(&one.root(), &other.root());
        other.uwf(&["push", &thread]).exits(0);
        one.uwf(&["thread", "pause", &thread]).exits(0);
        let next = one.uwf(&["thread", "step", "--next"]).exits(5);
        next.says("no thread is ready");
        assert!(at_remote(other, &thread)["leftMs"].is_null());
    });
}

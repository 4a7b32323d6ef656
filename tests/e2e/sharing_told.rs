//! What other machines are told about a thread on which nobody works any more.

use serde_json::json;

use crate::gates::{at_work, gated_agent, open_gate};
use crate::postgres::new_schema;
use crate::postgres_admin::Admin;
use crate::processes::kill_all_of;
use crate::sharing::{
    MORE, agree, at_remote, failed_attempts, machine, machines_in, shared, with_server,
};
use crate::world::AGAIN;

#[test]
fn a_run_that_was_lost_counts_for_all_though_the_thread_has_ended_elsewhere() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut engine = at_work(one, &["thread", "step", &thread]);
        kill_all_of(one);
        engine.wait().unwrap();
        other.uwf(&["remote", "release", "--yes", &thread]).exits(0);
        other.uwf(&["thread", "kill", &thread]).exits(0);
        one.uwf(&["fetch", &thread]).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        assert_eq!(failed_attempts(one, &thread), 1);
        other.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(failed_attempts(other, &thread), 1);
    });
}

#[test]
fn a_thread_at_a_limit_of_its_workflow_is_not_next_anywhere() {
    with_server(|server| {
        let schema = new_schema();
        let limited = AGAIN.replace('@', "limits: { maxSteps: 1 }");
        let machines = [(); 2].map(|()| {
            let world = machine(server, &schema, &limited);
            gated_agent(&world, MORE);
            world
        });
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.step(&thread).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("suspended"));
        other
            .uwf(&["thread", "step", "--next"])
            .exits(5)
            .says("--label");
        let raise = ["thread", "resume", &thread, "--raise", "maxSteps=3"];
        other.uwf(&raise).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("ready"));
        one.uwf(&["thread", "step", "--next"]).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
        // A push tells it, too.
        let unshared = one.start("again");
        one.step(&unshared).exits(0);
        one.uwf(&["push", &unshared]).exits(0);
        assert_eq!(at_remote(one, &unshared)["status"], json!("suspended"));
    });
}

#[test]
fn a_raised_limit_makes_a_thread_ready_for_all_though_the_step_failed() {
    with_server(|server| {
        let schema = new_schema();
        let limited = AGAIN.replace('@', "limits: { maxSteps: 1 }");
        let machines = [(); 2].map(|()| machine(server, &schema, &limited));
        let [one, other] = &machines;
        gated_agent(other, MORE);
        let thread = shared(&machines, "again");
        other.step(&thread).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
        one.agent("uwf-command", &["--", "false"]);
        let raise = ["thread", "resume", &thread, "--raise", "maxSteps=2"];
        one.uwf(&raise).exits(3);
        assert_eq!(at_remote(one, &thread)["status"], json!("ready"));
        other.uwf(&["thread", "step", "--next"]).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
    });
}

#[test]
fn a_thread_whose_failed_attempts_reach_a_limit_of_its_workflow_is_not_next_anywhere() {
    with_server(|server| {
        let schema = new_schema();
        let limited = AGAIN.replace('@', "limits: { maxDuration: 1ms }");
        let machines = [(); 2].map(|()| machine(server, &schema, &limited));
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.agent("uwf-command", &["--", "false"]);
        one.step(&thread).exits(3);
        assert_eq!(at_remote(other, &thread)["status"], json!("suspended"));
        other.uwf(&["thread", "step", "--next"]).exits(5);
        // The status is told once.
        let admin = Admin::new(&server.url());
        let history = || admin.row(&format!("SELECT count(*) FROM {schema}.history"));
        let before = history();
        one.step(&thread).exits(6);
        assert_eq!(history(), before);
    });
}

#[test]
fn a_push_gives_back_a_lease_that_nobody_here_needs() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut engine = at_work(one, &["thread", "step", &thread]);
        kill_all_of(one);
        engine.wait().unwrap();
        open_gate(one);
        other.step(&thread).exits(5);
        one.uwf(&["push", &thread]).exits(0);
        assert!(at_remote(other, &thread)["leftMs"].is_null());
        other.step(&thread).exits(0);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        let attempts = |world| failed_attempts(world, &thread);
        assert_eq!([one, other].map(attempts), [1, 1]);
        agree(&machines, &thread, 2);
    });
}

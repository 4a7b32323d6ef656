//! What other machines are told about a thread on which nobody works any more.

use serde_json::json;

use crate::gates::{at_work, gated_agent};
use crate::postgres::new_schema;
use crate::processes::kill_all_of;
use crate::sharing::{MORE, at_remote, failed_attempts, machine, machines_in, shared, with_server};
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

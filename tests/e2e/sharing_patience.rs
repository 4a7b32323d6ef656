//! Calls that wait for a thread on which another machine works.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::gates::{at_work, open_gate, runs, with_messages};
use crate::postgres::{new_schema, own_server};
use crate::processes::signal;
use crate::sharing::{agree, machines_in, shared, with_server};
use crate::sharing_children::{family, share};
use crate::world::{World, wait_until};

/// Starts a call that waits for another machine, and returns when it says so.
fn waits(world: &World, thread: &str, command: &str) -> (Child, impl Fn() -> String + use<>) {
    let (waiting, messages) = with_messages(world, &["thread", command, thread, "--wait"]);
    wait_until("it says who works", || {
        messages().contains("works on it: waiting")
    });
    (waiting, messages)
}

/// A machine at work, and the call of another one that waits for it.
fn waiting(
    [one, other]: &[World; 2],
    thread: &str,
    command: &str,
) -> (Child, Child, impl Fn() -> String + use<>) {
    let working = at_work(one, &["thread", "step", thread]);
    let (waiting, messages) = waits(other, thread, command);
    (working, waiting, messages)
}

#[test]
fn a_step_waits_until_the_other_machine_is_done() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let thread = shared(&machines, "again");
        let (mut working, mut step, messages) = waiting(&machines, &thread, "step");
        open_gate(&machines[0]);
        assert!(working.wait().unwrap().success());
        assert!(step.wait().unwrap().success(), "{}", messages());
        assert_eq!(messages().matches("is busy").count(), 1, "{}", messages());
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_wait_for_another_machine_ends_with_its_time_or_a_signal() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        for (command, number, code) in [("step", "TERM", 143), ("run", "INT", 130)] {
            let (mut working, mut call, messages) = waiting(&machines, &thread, command);
            signal(number, call.id());
            assert_eq!(call.wait().unwrap().code(), Some(code), "{}", messages());
            open_gate(one);
            assert!(working.wait().unwrap().success());
        }
        let mut working = at_work(one, &["thread", "step", &thread]);
        let step = other.uwf(&["thread", "step", &thread, "--wait=1s"]);
        step.exits(5)
            .says("is busy: machine `")
            .says("remote release");
        let run = other.uwf(&["thread", "run", &thread]).exits(5);
        run.says("thread list --remote").says("remote release");
        open_gate(one);
        assert!(working.wait().unwrap().success());
        assert_eq!([one, other].map(runs), [3, 0]);
        let next = other.uwf(&["thread", "step", "--next", "--wait"]);
        next.exits(2).says("--wait");
    });
}

#[test]
fn a_wait_for_another_machine_ends_at_a_signal_though_the_server_is_silent() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let thread = shared(&machines, "again");
    let (mut working, mut step, messages) = waiting(&machines, &thread, "step");
    server.pause();
    // It asks within two seconds, and would wait for the answer for twenty.
    std::thread::sleep(Duration::from_millis(2500));
    let told = Instant::now();
    signal("TERM", step.id());
    assert_eq!(step.wait().unwrap().code(), Some(143), "{}", messages());
    assert!(told.elapsed() < Duration::from_secs(5));
    server.resume();
    open_gate(&machines[0]);
    assert!(working.wait().unwrap().success());
}

#[test]
fn a_step_waits_until_the_other_machine_is_done_with_a_child() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./inner.yaml");
        let [one, other] = &machines;
        one.step(&thread).exits(0);
        share(&machines, &thread);
        let child = crate::children_care::child(one, &thread);
        let mut working = at_work(one, &["thread", "step", &child]);
        let (mut step, messages) = waits(other, &thread, "step");
        open_gate(one);
        assert!(working.wait().unwrap().success());
        assert!(step.wait().unwrap().success(), "{}", messages());
        crate::sharing_children::agree(&machines, &thread, 2);
    });
}

#[test]
fn a_step_waits_until_the_other_machine_is_done_with_the_children_of_branches() {
    with_server(|server| {
        let (machines, thread) = family(server, "each: [a, b], workflow: ./middle.yaml");
        let [one, other] = &machines;
        one.step(&thread).exits(0);
        share(&machines, &thread);
        let branches = one.show(&thread)["children"].clone();
        let branches = branches.as_array().unwrap().iter();
        let mut working: Vec<Child> = branches
            .map(|branch| crate::children_care::child(one, branch["thread"].as_str().unwrap()))
            .map(|child| at_work(one, &["thread", "step", &child]))
            .collect();
        let (mut step, messages) = waits(other, &thread, "step");
        open_gate(one);
        for one in &mut working {
            assert!(one.wait().unwrap().success());
        }
        assert!(step.wait().unwrap().success(), "{}", messages());
    });
}

#[test]
fn a_wait_says_that_it_sees_only_this_machine() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut working = at_work(one, &["thread", "step", &thread]);
        let wait = other.uwf(&["thread", "wait", &thread]).exits(0);
        wait.says("only this machine is watched")
            .says(&format!("uwf fetch {thread}"));
        open_gate(one);
        assert!(working.wait().unwrap().success());
        let own = one.start("again");
        assert_eq!(one.uwf(&["thread", "wait", &own]).exits(0).stderr, "");
        one.uwf(&["thread", "kill", &thread]).exits(0);
        let ended = one.uwf(&["thread", "wait", &thread, "--for", "ended"]);
        assert_eq!(ended.exits(0).stderr, "", "nobody works on it");
    });
}

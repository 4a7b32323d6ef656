//! What another machine did meanwhile is taken over as it is: its end of a thread, and its steps.

use std::fs;

use serde_json::json;

use crate::gates::{self, runs};
use crate::postgres::{Server, new_schema, own_server};
use crate::processes::{self, signal};
use crate::races::heedless_agent;
use crate::sharing::{self, at_remote, machines_in, with_server};
use crate::sharing_runs::{
    agree_on, at_work, done, machines, open_gate, pipeline, program, resume, shared,
};
use crate::sharing_runs_played::{agree, with_child_begun};
use crate::world::{Run, World, wait_until};

#[test]
fn a_child_that_another_machine_completed_is_not_cancelled_by_the_run() {
    let Some(server) = own_server() else {
        return;
    };
    let (machines, thread, child) = with_child_begun(&server);
    let [one, other] = &machines;
    // The first machine finishes the second step of the child, and cannot share it.
    let mut working = gates::at_work(one, &["thread", "step", &child]);
    server.pause();
    gates::open_gate(one);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    server.resume();
    other.uwf(&["remote", "release", &child, "--yes"]).exits(0);
    other.step(&thread).exits(0);
    assert_eq!(at_remote(other, &child)["status"], json!("ended"));
    assert_eq!(at_remote(other, &thread)["status"], json!("ready"));
    resume(one, &thread).exits(0).says("is kept");
    assert_eq!(one.show(&child)["status"], json!("completed"));
    let kept = one.show(&child)["refusedSteps"][0]["step"].clone();
    one.uwf(&["step", "read", kept.as_str().unwrap()]).exits(0);
    assert_eq!([one, other].map(runs), [2, 1]);
    agree(&machines, &thread, 2);
}

#[test]
fn a_thread_that_another_machine_completed_is_not_cancelled_by_a_kill() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines(&server, &pipeline(&["A", "B"]));
    let thread = shared(&machines);
    let [one, other] = &machines;
    let mut working = at_work(&machines, one, &["thread", "step", &thread]);
    server.pause();
    open_gate(&machines);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    server.resume();
    other.uwf(&["remote", "release", &thread, "--yes"]).exits(0);
    other.step(&thread).exits(0);
    one.uwf(&["thread", "kill", &thread])
        .exits(7)
        .says("is completed");
    assert_eq!(
        one.show(&thread)["refusedSteps"].as_array().unwrap().len(),
        1
    );
    agree_on(&machines, &thread, &["A", "B"]);
}

/// Kills a process while the program of the second step works, and leaves the step to the other machine. Returns the program, which does
/// nothing and does not end by itself.
fn left_to_the_other(machines: &[World; 2], thread: &str) -> String {
    let [one, other] = machines;
    let working = at_work(machines, one, &["thread", "step", thread]);
    let program = program(machines);
    processes::kill(working);
    // Before, the system would end it with its process.
    signal("STOP", &program);
    other.uwf(&["remote", "release", thread, "--yes"]).exits(0);
    open_gate(machines);
    other.step(thread).exits(0);
    assert!(processes::is_running(&program));
    program
}

#[test]
fn a_program_whose_process_was_killed_is_ended_after_its_step_has_come_from_another_machine() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let one = &machines[0];
        let thread = shared(&machines);
        let program = left_to_the_other(&machines, &thread);
        one.uwf(&["fetch", &thread]).exits(0);
        one.step(&thread).exits(0);
        assert!(!processes::is_running(&program), "it works for nothing");
        assert_eq!(done(&machines), "ABBC");
        agree_on(&machines, &thread, &["A", "B", "C"]);
    });
}

#[test]
fn a_program_whose_process_was_killed_is_ended_after_another_machine_ended_the_run() {
    with_server(|server| {
        for fetches in [false, true] {
            let machines = machines(server, &pipeline(&["A", "B"]));
            let one = &machines[0];
            let thread = shared(&machines);
            let program = left_to_the_other(&machines, &thread);
            if fetches {
                one.uwf(&["fetch", &thread]).exits(0);
            }
            one.step(&thread).exits(7);
            assert!(!processes::is_running(&program), "it works for nothing");
            agree_on(&machines, &thread, &["A", "B"]);
        }
    });
}

/// Two machines with a shared thread, which the first one has ended while the server was away.
fn ended_while_away(server: &Server) -> ([World; 2], String) {
    let machines = machines(server, &pipeline(&["A", "B"]));
    let thread = shared(&machines);
    server.pause();
    machines[0]
        .uwf(&["thread", "kill", &thread])
        .exits(0)
        .says("do not know it yet");
    server.resume();
    assert_eq!(at_remote(&machines[1], &thread)["status"], json!("ready"));
    (machines, thread)
}

#[test]
fn a_kill_that_the_remote_was_not_told_is_told_by_the_next_one() {
    let Some(server) = own_server() else {
        return;
    };
    let (machines, thread) = ended_while_away(&server);
    let [one, other] = &machines;
    let fetched = one.uwf(&["--format", "text", "fetch", &thread]).exits(0);
    assert!(
        fetched.stdout.contains(&format!("uwf push {thread}")),
        "{}",
        fetched.stdout
    );
    one.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
    one.uwf(&["thread", "kill", &thread]).exits(7);
    other.step(&thread).exits(7);
    agree_on(&machines, &thread, &["A"]);
}

/// Others cannot know it, and the hint of two ways would bring the thread back to life.
#[test]
fn a_kill_that_others_were_not_told_is_shown_and_counts_though_they_went_on() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [one, other] = &machines;
    let thread = sharing::shared(&machines, "again");
    server.pause();
    one.uwf(&["thread", "kill", &thread]).exits(0);
    server.resume();
    other.step(&thread).exits(0);
    let push = format!("uwf push {thread}");
    one.uwf(&["fetch", &thread])
        .exits(1)
        .says("do not know it yet")
        .says(&push);
    let shown = one
        .uwf(&["--format", "text", "thread", "show", &thread])
        .exits(0);
    assert!(shown.stdout.contains(&push), "{}", shown.stdout);
    let checks = one.uwf(&["--format", "text", "doctor", "--offline"]);
    assert!(checks.stdout.contains(&push), "{}", checks.stdout);
    let pushed = one.uwf(&["--format", "text", "push", &thread]).exits(0);
    let told = "it has ended for all machines now";
    assert!(pushed.stdout.contains(told), "{}", pushed.stdout);
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
    let shown = one
        .uwf(&["--format", "text", "thread", "show", &thread])
        .exits(0);
    assert!(!shown.stdout.contains(&push), "{}", shown.stdout);
}

#[test]
fn a_push_names_the_step_that_it_keeps_beside_a_thread_which_others_have_ended() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [one, other] = &machines;
    let thread = sharing::shared(&machines, "again");
    let mut working = gates::at_work(one, &["thread", "step", &thread]);
    server.pause();
    gates::open_gate(one);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    server.resume();
    other.uwf(&["thread", "kill", &thread]).exits(0);
    let pushed = one.uwf(&["--format", "text", "push", &thread]).exits(0);
    let kept = one.show(&thread)["refusedSteps"][0]["step"].clone();
    let told = format!("the finished step `{}` is kept", kept.as_str().unwrap());
    assert!(pushed.stdout.contains(&told), "{}", pushed.stdout);
}

#[test]
fn a_kill_that_the_remote_was_not_told_is_told_when_the_thread_is_next() {
    let Some(server) = own_server() else {
        return;
    };
    for next in [
        &["thread", "step", "--next"][..],
        &["work", "--idle", "100ms"],
    ] {
        let (machines, thread) = ended_while_away(&server);
        let [one, other] = &machines;
        one.uwf(next).says("has ended for all machines");
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        other.step(&thread).exits(7);
        assert_eq!(done(&machines), "A");
        agree_on(&machines, &thread, &["A"]);
    }
}

#[test]
fn a_thread_is_not_forgotten_before_the_remote_knows_that_it_was_killed() {
    let Some(server) = own_server() else {
        return;
    };
    let (machines, thread) = ended_while_away(&server);
    let [one, other] = &machines;
    one.uwf(&["thread", "rm", &thread])
        .exits(1)
        .says("do not know it yet")
        .says(&format!("uwf push {thread}"))
        .says("--force");
    let prune = ["thread", "prune", "--ended"];
    let pruned = one.uwf(&prune).exits(0);
    assert_eq!(pruned.json()["removed"], json!(0), "{}", pruned.stdout);
    let untold = &pruned.json()["untold"];
    assert_eq!(untold, &json!([thread]), "{}", pruned.stdout);
    pruned.says(&format!("uwf push {thread}"));
    for (mode, would) in [(&[][..], "removed"), (&["--dry-run"], "would be removed")] {
        let text = [&prune[..], mode, &["--format", "text"]].concat();
        let text = one.uwf(&text).exits(0).stdout;
        assert!(
            text.contains(&format!("0 threads {would}, 1 kept")),
            "{text}"
        );
    }
    one.uwf(&["push", &thread]).exits(0);
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
    one.uwf(&["thread", "rm", &thread]).exits(0);
    // Nothing is owed for a kill that the remote was told, or for one that another machine told it.
    let (machines, thread) = ended_while_away(&server);
    let [one, other] = &machines;
    other.uwf(&["thread", "kill", &thread]).exits(0);
    let fetched = one.uwf(&["fetch", &thread]).exits(0).json();
    assert_eq!(fetched[0]["endedThere"], json!(true), "{fetched}");
    one.uwf(&["thread", "rm", &thread]).exits(0);
    other.uwf(&["thread", "rm", &thread]).exits(0);
    let (machines, thread) = ended_while_away(&server);
    machines[0]
        .uwf(&["thread", "rm", "--force", &thread])
        .exits(0);
}

#[test]
fn a_thread_that_was_killed_elsewhere_while_its_agent_goes_on_here_names_the_kill() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = sharing::shared(&machines, "again");
        let engine = gates::at_work(one, &["thread", "step", &thread]);
        let agent = one.agent_at_work(&thread);
        processes::kill(engine);
        other.uwf(&["thread", "kill", &thread]).exits(0);
        let kill = format!("uwf thread kill {thread}");
        let fetched = one.uwf(&["fetch", &thread, "--format", "text"]).exits(5);
        assert!(fetched.stdout.contains("has ended"), "{}", fetched.stdout);
        assert!(fetched.stdout.contains(&kill), "{}", fetched.stdout);
        let fetched = one.uwf(&["fetch", &thread]).exits(5).json();
        assert_eq!(fetched[0]["endedThere"], json!(true), "{fetched}");
        one.step(&thread).exits(5).says(&kill);
        one.uwf(&["push", &thread]).exits(5).says(&kill);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert!(!processes::is_running(agent), "it works for nothing");
        assert_eq!(one.show(&thread)["status"], json!("cancelled"));
        sharing::agree(&machines, &thread, 0);
    });
}

/// Returns how many runs a thread has on a machine.
fn runs_of(world: &World, thread: &str) -> serde_json::Value {
    let cost = world.uwf(&["thread", "cost", thread]).exits(0).json();
    cost["total"]["runs"].clone()
}

#[test]
fn what_an_agent_used_up_is_known_to_all_though_another_machine_killed_its_thread() {
    with_server(|server| {
        for finishes in [false, true] {
            let machines = machines_in(server, &new_schema());
            let [one, other] = &machines;
            one.configure("remote.lease", "2s");
            let thread = sharing::shared(&machines, "again");
            let mut engine = gates::at_work(one, &["thread", "step", &thread]);
            if finishes {
                // The engine dies, and the step waits for the next call.
                processes::kill(engine);
                gates::open_gate(one);
                one.wait_until_free(&thread);
                other.uwf(&["thread", "kill", &thread]).exits(0);
                one.step(&thread).exits(7);
            } else {
                other.uwf(&["thread", "kill", &thread]).exits(0);
                assert_ne!(engine.wait().unwrap().code(), Some(0));
            }
            assert_eq!(runs_of(one, &thread), json!(1), "{finishes}");
            if !finishes {
                one.uwf(&["push", &thread]).exits(0);
            }
            other.uwf(&["fetch", &thread]).exits(0);
            assert_eq!(runs_of(other, &thread), json!(1), "{finishes}");
        }
    });
}

#[test]
fn a_step_that_outlives_the_kill_of_its_thread_is_in_no_chain_and_counts_once() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = sharing::shared(&machines, "again");
        heedless_agent(one, sharing::MORE);
        let step = one.spawn(&["thread", "step", &thread]);
        wait_until("the agent heeds no signal", || {
            one.project().join("ready").exists()
        });
        one.agent_at_work(&thread);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        let step = Run::from(step.wait_with_output().unwrap()).exits(7);
        step.says("the work is not lost: `uwf thread fork ");
        one.uwf(&["push", &thread]).exits(0);
        sharing::agree(&machines, &thread, 0);
        for machine in &machines {
            assert_eq!(machine.show(&thread)["status"], json!("cancelled"));
            assert_eq!(runs_of(machine, &thread), json!(1));
        }
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
    });
}

#[test]
fn an_attempt_that_died_with_its_engine_counts_though_another_machine_went_on() {
    with_server(|server| {
        for fetches in [false, true] {
            let machines = machines_in(server, &new_schema());
            let [one, other] = &machines;
            one.configure("remote.lease", "1s");
            let thread = sharing::shared(&machines, "again");
            let engine = gates::at_work(one, &["thread", "step", &thread]);
            let agent = one.agent_at_work(&thread);
            processes::kill(engine);
            signal("KILL", agent);
            one.wait_until_free(&thread);
            wait_until("the lease has ended", || {
                at_remote(other, &thread)["leftMs"].is_null()
            });
            other.step(&thread).exits(0);
            if fetches {
                one.uwf(&["fetch", &thread]).exits(0);
            }
            gates::open_gate(one);
            one.step(&thread).exits(0);
            assert_eq!(runs_of(one, &thread), json!(3), "{fetches}");
            other.uwf(&["fetch", &thread]).exits(0);
            assert_eq!(runs_of(other, &thread), json!(3), "{fetches}");
        }
    });
}

#[test]
fn a_kill_while_the_config_cannot_be_read_does_not_make_a_thread_shared() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let private = one.start("again");
        let thread = sharing::shared(&machines, "again");
        let config = one.root().join("config.yaml");
        let whole = fs::read_to_string(&config).unwrap();
        fs::write(&config, "remote: [").unwrap();
        let killed = one.uwf(&["thread", "kill", &private]).exits(0);
        assert!(
            !killed.stderr.contains("other machines"),
            "{}",
            killed.stderr
        );
        let killed = one.uwf(&["thread", "kill", &thread]).exits(0);
        killed.says("the other machines do not know it yet");
        fs::write(&config, whole).unwrap();
        one.uwf(&["thread", "rm", &private]).exits(0);
        one.uwf(&["thread", "rm", &thread]).exits(1);
        one.uwf(&["push", &thread]).exits(0);
        one.uwf(&["thread", "rm", &thread]).exits(0);
    });
}

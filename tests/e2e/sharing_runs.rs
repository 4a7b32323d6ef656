//! Runs of pipelines that two machines work on, each with a root of its own. Both see one folder under the same path.

use std::fs;
use std::process::Child;

use serde_json::{Value, json};

use crate::azurite::{Azurite, KEY};
use crate::postgres::{Server, new_schema, own_server};
use crate::processes::{self, signal};
use crate::sharing::{agree, at_remote, head, with_remote, with_server};
use crate::world::{Run, World, wait_until};

/// Returns a pipeline of these steps. Each writes its name, waits while there is a file `wait`, and fails if there is one for it.
pub(crate) fn pipeline(steps: &[&str]) -> String {
    let step = |name: &&str| {
        format!(
            "- name: {name}\n  command: [sh, -c, \"echo $$$$ > pid; echo {name} >> done; echo {name}.1; while [ -e wait ]; do sleep 0.02; done; test ! -e broken-{name}\"]\n"
        )
    };
    let steps: String = steps.iter().map(step).collect();
    format!("name: p\nsteps:\n{steps}")
}

/// Two machines with one remote. The first one has the pipeline in its project.
pub(crate) fn machines(server: &Server, pipeline: &str) -> [World; 2] {
    let schema = new_schema();
    let machines = [(); 2].map(|()| {
        let world = World::new();
        with_remote(&world, server, &schema);
        world
    });
    machines[0].write("p.yaml", pipeline);
    machines
}

/// Returns the steps whose programs were started, in that order.
pub(crate) fn done(machines: &[World; 2]) -> String {
    let done = fs::read_to_string(machines[0].project().join("done"));
    done.unwrap_or_default().replace('\n', "")
}

pub(crate) fn close_gate(machines: &[World; 2]) {
    machines[0].write("wait", "");
}

pub(crate) fn open_gate(machines: &[World; 2]) {
    fs::remove_file(machines[0].project().join("wait")).unwrap();
}

/// Starts a command on one of the machines, and returns when the program of a step works.
pub(crate) fn at_work(machines: &[World; 2], world: &World, args: &[&str]) -> Child {
    close_gate(machines);
    let before = done(machines);
    let mut engine = world.spawn(args);
    let mut has_ended = false;
    wait_until("a program works", || {
        has_ended = engine.try_wait().unwrap().is_some();
        has_ended || done(machines) != before
    });
    if done(machines) == before {
        panic!("no program was started: {:?}", engine.wait_with_output());
    }
    engine
}

/// Returns the number of the process of the program that was started last.
pub(crate) fn program(machines: &[World; 2]) -> String {
    let pid = fs::read_to_string(machines[0].project().join("pid"));
    pid.unwrap().trim().to_owned()
}

/// Makes a run with this id on the first machine, which stops after its first step. Returns the thread.
pub(crate) fn begun(machines: &[World; 2], id: &str) -> String {
    let one = &machines[0];
    let run = ["orchestrate", "run", "p.yaml", "--run-id", id, "--json"];
    let mut engine = at_work(machines, one, &run);
    let status = one.uwf(&["orchestrate", "status", id, "--json"]).json();
    let thread = status["thread"].as_str().unwrap().to_owned();
    one.uwf(&["thread", "pause", &thread]).exits(0);
    open_gate(machines);
    engine.wait().unwrap();
    one.uwf(&["thread", "unpause", &thread]).exits(0);
    thread
}

/// The same, shared with the second machine.
pub(crate) fn shared(machines: &[World; 2]) -> String {
    shared_as(machines, "r")
}

pub(crate) fn shared_as(machines: &[World; 2], id: &str) -> String {
    let thread = begun(machines, id);
    machines[0].uwf(&["push", &thread]).exits(0);
    machines[1].uwf(&["fetch", &thread]).exits(0);
    thread
}

pub(crate) fn resume(world: &World, thread: &str) -> Run {
    world.uwf(&["orchestrate", "resume", thread, "--json"])
}

/// Checks that both machines and the remote have one head after these steps, and that nobody has the lease.
#[track_caller]
pub(crate) fn agree_on(machines: &[World; 2], thread: &str, steps: &[&str]) {
    agree(machines, thread, steps.len());
    let listed = machines[0].uwf(&["thread", "steps", thread]).json();
    let listed = listed["steps"].as_array().unwrap()[1..].iter();
    let roles: Vec<&str> = listed.map(|step| step["role"].as_str().unwrap()).collect();
    assert_eq!(roles, steps);
    assert_eq!(at_remote(&machines[0], thread)["leftMs"], json!(null));
    machines[0].uwf(&["remote", "verify"]).exits(0);
}

fn status(world: &World, thread: &str) -> Value {
    world
        .uwf(&["orchestrate", "status", thread, "--json"])
        .json()
}

#[test]
fn a_run_that_failed_on_one_machine_is_completed_by_another_one() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let [one, other] = &machines;
        one.write("broken-B", "");
        let run = ["orchestrate", "run", "p.yaml", "--run-id", "r", "--json"];
        let thread = one.uwf(&run).exits(1).json()["thread"].clone();
        let thread = thread.as_str().unwrap();
        let pushed = one.uwf(&["push", thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("shared"), "{pushed}");
        assert_eq!(at_remote(one, thread)["status"], json!("suspended"));
        other.uwf(&["fetch", thread]).exits(0);
        // The folder of the run is on that machine alone.
        fs::remove_dir_all(one.project().join(".orchestrate")).unwrap();
        assert_eq!(other.show(thread)["status"], one.show(thread)["status"]);
        let mut list = other.command(&["orchestrate", "list", "--json"]);
        list.current_dir(one.project());
        let listed = Run::from(list.output().unwrap()).exits(0);
        assert_eq!(listed.json()["runs"][0]["thread"], json!(thread));
        assert_eq!(status(other, thread)["status"], json!("failed"));
        let logs = other.uwf(&["orchestrate", "logs", thread]).exits(0);
        assert!(logs.stdout.contains("B.1"), "{}", logs.stdout);
        let read = other.uwf(&["thread", "read", thread]).exits(0);
        assert!(read.stdout.contains("B"), "{}", read.stdout);
        other.step(thread).exits(6).says("has failed");
        fs::remove_file(one.project().join("broken-B")).unwrap();
        resume(other, thread).exits(0);
        assert_eq!(done(&machines), "ABBC");
        assert_eq!(at_remote(one, thread)["status"], json!("ended"));
        let again = resume(one, thread).exits(0).json();
        assert_eq!(again["status"], json!("completed"));
        assert_eq!(done(&machines), "ABBC", "nothing is done again");
        agree_on(&machines, thread, &["A", "B", "_resume", "B", "C"]);
        assert_eq!(status(other, thread)["status"], json!("completed"));
    });
}

#[test]
fn another_machine_goes_on_under_a_changed_pipeline() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        one.write("p.yaml", &pipeline(&["A", "C", "D"]));
        resume(other, &thread).exits(2).says("--accept-changed");
        let accept = ["orchestrate", "resume", &thread];
        let accept = [&accept[..], &["--accept-changed-workflow"]].concat();
        let mut working = at_work(&machines, other, &accept);
        signal("TERM", working.id());
        working.wait().unwrap();
        open_gate(&machines);
        // The first machine never saw that pipeline as a node.
        one.uwf(&["thread", "run", &thread]).exits(0);
        assert_eq!(done(&machines), "ACCD");
        agree_on(&machines, &thread, &["A", "_resume", "C", "D"]);
    });
}

#[test]
fn a_run_of_one_step_is_shared_with_the_results_that_it_sees() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B"]));
        let [one, other] = &machines;
        let run = ["orchestrate", "run", "p.yaml", "--run-id", "r"];
        one.uwf(&run).exits(0);
        one.write("broken-B", "");
        let step = ["orchestrate", "run-step", "B", "--workflow", "p.yaml"];
        let step = [&step[..], &["--from-run", "r", "--json"]].concat();
        let thread = one.uwf(&step).exits(1).json()["thread"].clone();
        let thread = thread.as_str().unwrap();
        one.uwf(&["push", thread]).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        fs::remove_file(one.project().join("broken-B")).unwrap();
        resume(other, thread).exits(0);
        assert_eq!(done(&machines), "ABBB");
        agree_on(&machines, thread, &["B", "_resume", "B"]);
    });
}

#[test]
fn two_machines_step_one_run_in_turn() {
    with_server(|server| {
        let steps = ["A", "B", "C", "D", "E"];
        let machines = machines(server, &pipeline(&steps));
        let thread = shared(&machines);
        let [one, other] = &machines;
        for world in [other, one, other, one] {
            world.step(&thread).exits(0);
        }
        assert_eq!(done(&machines), "ABCDE");
        other.step(&thread).exits(7);
        agree_on(&machines, &thread, &steps);
    });
}

#[test]
fn a_run_on_which_another_machine_works_is_busy() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        let mut working = at_work(&machines, one, &["orchestrate", "resume", &thread]);
        other.step(&thread).exits(5).says("is busy: machine `");
        let refused = resume(other, &thread).exits(75);
        assert_eq!(refused.json()["status"], json!("busy"));
        assert!(!refused.stderr.contains("warning"), "{}", refused.stderr);
        // The step before the program is there, and the lease is kept.
        assert_eq!(at_remote(other, &thread)["head"], json!(head(one, &thread)));
        open_gate(&machines);
        assert!(working.wait().unwrap().success());
        assert_eq!(done(&machines), "ABC");
        agree_on(&machines, &thread, &["A", "_resume", "B", "C"]);
    });
}

#[test]
fn a_process_that_is_told_to_stop_gives_the_run_back() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        let mut working = at_work(&machines, one, &["orchestrate", "resume", &thread]);
        signal("TERM", working.id());
        working.wait().unwrap();
        open_gate(&machines);
        assert_eq!(at_remote(other, &thread)["leftMs"], json!(null));
        other.uwf(&["thread", "run", &thread]).exits(0);
        assert_eq!(done(&machines), "ABBC");
        agree_on(&machines, &thread, &["A", "_resume", "B", "C"]);
    });
}

#[test]
fn a_program_whose_run_another_machine_took_over_is_ended() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let [one, other] = &machines;
        one.configure("remote.lease", "2s");
        let thread = shared(&machines);
        let mut working = at_work(&machines, one, &["thread", "step", &thread]);
        let program = program(&machines);
        other.uwf(&["remote", "release", &thread, "--yes"]).exits(0);
        // What other programs wait for is open; that of the first machine is stopped before it sees that.
        signal("STOP", &program);
        open_gate(&machines);
        other.step(&thread).exits(0);
        assert_eq!(working.wait().unwrap().code(), Some(5));
        assert!(!processes::is_running(&program), "it works for nothing");
        one.step(&thread).exits(0);
        assert_eq!(done(&machines), "ABBC");
        agree_on(&machines, &thread, &["A", "B", "C"]);
    });
}

#[test]
fn a_wait_whose_run_another_machine_took_over_is_ended() {
    with_server(|server| {
        let wait = "- name: W\n  wait_for: {glob: 'in/*', timeout_sec: 600}\n";
        let machines = machines(server, &(pipeline(&["A"]) + wait));
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines);
        let mut waiting = one.spawn(&["thread", "step", &thread]);
        wait_until("the machine has the lease", || {
            at_remote(other, &thread)["leftMs"].is_u64()
        });
        other.uwf(&["remote", "release", &thread, "--yes"]).exits(0);
        assert_eq!(waiting.wait().unwrap().code(), Some(5));
        one.write("in/it", "");
        other.step(&thread).exits(0);
        agree_on(&machines, &thread, &["A", "W"]);
    });
}

#[test]
fn steps_that_find_no_server_are_kept_and_shared_when_there_is_one_again() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines(&server, &pipeline(&["A", "B", "C"]));
    let [one, _] = &machines;
    let thread = shared(&machines);
    let mut working = at_work(&machines, one, &["thread", "run", &thread]);
    server.pause();
    open_gate(&machines);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    assert_eq!(done(&machines), "AB", "nothing is begun after it");
    one.step(&thread).exits(5).says("nothing is lost");
    server.resume();
    one.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(done(&machines), "ABC", "no step was done twice");
    agree_on(&machines, &thread, &["A", "B", "C"]);
}

#[test]
fn steps_that_waited_while_another_machine_went_on_are_kept_beside_the_run() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines(&server, &pipeline(&["A", "B", "C"]));
    let [one, other] = &machines;
    one.configure("remote.lease", "2s");
    let thread = shared(&machines);
    let mut working = at_work(&machines, one, &["thread", "step", &thread]);
    server.pause();
    open_gate(&machines);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    server.resume();
    wait_until("the lease has ended", || {
        at_remote(other, &thread)["leftMs"].is_null()
    });
    other.step(&thread).exits(0);
    one.step(&thread).exits(0).says("is kept");
    assert_eq!(done(&machines), "ABBC");
    agree_on(&machines, &thread, &["A", "B", "C"]);
    let kept = one.show(&thread)["refusedSteps"][0]["step"].clone();
    let kept = kept.as_str().unwrap();
    one.uwf(&["step", "read", kept]).exits(0);
    one.uwf(&["thread", "fork", kept]).exits(0);
}

#[test]
fn a_worker_does_the_steps_of_runs() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B", "C"]));
        let thread = shared(&machines);
        let other = &machines[1];
        let next = other.uwf(&["thread", "step", "--next"]).exits(0).json();
        assert_eq!(next["thread"], json!(thread));
        other.uwf(&["work", "--idle", "100ms"]).exits(0);
        assert_eq!(done(&machines), "ABC");
        agree_on(&machines, &thread, &["A", "B", "C"]);
    });
}

#[test]
fn a_machine_without_the_folder_of_a_run_says_so_and_gives_the_run_back() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        let moved = one.dir().join("moved");
        fs::rename(one.project(), &moved).unwrap();
        for call in [other.step(&thread), resume(other, &thread)] {
            assert_ne!(call.code, 0);
            call.says("is gone")
                .says("at the same path on each machine");
        }
        assert_eq!(at_remote(other, &thread)["leftMs"], json!(null));
        assert_eq!(at_remote(other, &thread)["status"], json!("ready"));
        fs::rename(&moved, one.project()).unwrap();
        one.step(&thread).exits(0);
        agree_on(&machines, &thread, &["A", "B"]);
    });
}

#[test]
fn a_run_that_a_person_ends_has_ended_for_all() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        let mut working = at_work(&machines, one, &["thread", "step", &thread]);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert!(!working.wait().unwrap().success());
        open_gate(&machines);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        other.step(&thread).exits(7);
        agree_on(&machines, &thread, &["A"]);
    });
}

#[test]
fn a_run_whose_folder_is_cleaned_has_ended_for_all() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&["A", "B"]));
        let thread = shared(&machines);
        let [one, other] = &machines;
        let clean = ["orchestrate", "clean", "--older-than", "0d"];
        one.uwf(&clean).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        other.step(&thread).exits(7);
    });
}

#[test]
fn two_machines_share_a_run_by_an_object_storage() {
    let Some(server) = Azurite::start_or_skip() else {
        return;
    };
    let steps = ["A", "B", "C"];
    let machines = [(); 2].map(|()| {
        let world = World::new();
        fs::create_dir_all(world.root()).unwrap();
        let key = format!("AZURE_STORAGE_ACCOUNT_KEY={KEY}\n");
        fs::write(world.root().join(".env"), key).unwrap();
        world.uwf(&["remote", "add", &server.url()]).exits(0);
        world
    });
    let [one, other] = &machines;
    one.write("p.yaml", &pipeline(&steps));
    let thread = shared(&machines);
    other.step(&thread).exits(0);
    let mut working = at_work(&machines, one, &["thread", "step", &thread]);
    other.step(&thread).exits(5).says("is busy");
    open_gate(&machines);
    assert!(working.wait().unwrap().success());
    assert_eq!(done(&machines), "ABC");
    agree(&machines, &thread, steps.len());
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
}

//! Shared runs whose steps other threads do, and runs that play a role of a shared thread.

use std::fs;

use serde_json::{Value, json};

use crate::children_care::{child, outer};
use crate::gates::{self, gated_agent, runs};
use crate::postgres::Server;
use crate::processes;
use crate::sharing::{at_remote, with_server};
use crate::sharing_children::{self, family_at_remote};
use crate::sharing_runs::{at_work, begun, done, machines, open_gate, pipeline, resume, shared};
use crate::world::{World, wait_until};

/// A workflow of two steps.
const FLOW: &str = r#"
name: flow
roles:
  one: { goal: g, frontmatter: { type: object, required: [note], properties: { note: { type: string } } } }
  two: { goal: g, frontmatter: { type: object, required: [note], properties: { note: { type: string } } } }
graph:
  $START: { _: { role: one, prompt: Write. } }
  one: { _: { role: two, prompt: Write. } }
  two: { _: { role: $END, prompt: "" } }
"#;

const ANSWERS: &str = "roles:\n  first: [{ output: { note: f } }]\n  one: [{ output: { note: a } }]\n  two: [{ output: { note: b } }]\n";

/// A step that starts the workflow, and one that prints what came of it.
const SOLVE: &str = "- name: Solve\n  workflow: { name: ./flow.yaml, task: Solve it. }\n- name: Report\n  command: [sh, -c, \"echo \\\"$1\\\" >> report\", sh, \"${steps.Solve.json.note}\"]\n";

/// Two machines whose pipeline has a step that starts a workflow, after its first one.
fn with_child(server: &Server) -> [World; 2] {
    let pipeline = pipeline(&["A"]) + SOLVE;
    let machines = machines(server, &pipeline);
    machines[0].write("flow.yaml", FLOW);
    for world in &machines {
        gated_agent(world, ANSWERS);
    }
    machines
}

/// Checks that both machines and the remote have the same family of so many threads, that everything is whole, and that all have ended.
#[track_caller]
pub(crate) fn agree(machines: &[World; 2], thread: &str, threads: usize) {
    sharing_children::agree(machines, thread, threads);
    let ended = statuses(&machines[0], thread)
        .iter()
        .all(|one| one == "ended");
    assert!(ended, "{:?}", statuses(&machines[0], thread));
}

fn report(machines: &[World; 2]) -> String {
    fs::read_to_string(machines[0].project().join("report")).unwrap_or_default()
}

fn statuses(world: &World, thread: &str) -> Vec<Value> {
    let family = family_at_remote(world, thread).into_iter();
    family.map(|one| one["status"].clone()).collect()
}

/// Lets the first machine begin with the child of the step, and stops it. Returns the child.
fn child_begun(machines: &[World; 2], thread: &str) -> String {
    let one = &machines[0];
    let engine = gates::at_work(one, &["orchestrate", "resume", thread]);
    one.uwf(&["thread", "pause", thread]).exits(0);
    gates::open_gate(one);
    engine.wait_with_output().unwrap();
    one.uwf(&["thread", "unpause", thread]).exits(0);
    child(one, thread)
}

/// Two machines that know a shared run and the child of its step, with which the first one has begun. Returns the run and the child, too.
pub(crate) fn with_child_begun(server: &Server) -> ([World; 2], String, String) {
    let machines = with_child(server);
    let thread = shared(&machines);
    let child = child_begun(&machines, &thread);
    machines[1].uwf(&["fetch", &thread]).exits(0);
    (machines, thread, child)
}

#[test]
fn a_step_that_plays_a_workflow_is_begun_by_one_machine_and_done_by_the_other() {
    with_server(|server| {
        let machines = with_child(server);
        let thread = shared(&machines);
        let [one, other] = &machines;
        let child = child_begun(&machines, &thread);
        assert_eq!(at_remote(one, &child)["status"], json!("ready"));
        // The other machine knows nothing of the child yet.
        resume(other, &thread).exits(0);
        assert_eq!([one, other].map(runs), [1, 1], "the child did two steps");
        assert_eq!(report(&machines), "b\n");
        assert_eq!(statuses(one, &thread), ["ended", "ended"]);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_run_is_pushed_and_fetched_with_the_child_of_its_step() {
    with_server(|server| {
        let machines = with_child(server);
        let [one, other] = &machines;
        let thread = begun(&machines, "r");
        let begun = child_begun(&machines, &thread);
        one.uwf(&["push", &begun])
            .exits(1)
            .says(&format!("uwf push {thread}"));
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed.as_array().map(Vec::len), Some(2), "{pushed}");
        other.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(child(other, &thread), begun);
        other.step(&begun).exits(0);
        // The child has ended at the remote, and the run goes on from what it did.
        one.uwf(&["thread", "run", &thread]).exits(0);
        assert_eq!([one, other].map(runs), [1, 1]);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_run_waits_for_the_machine_that_works_on_its_child() {
    with_server(|server| {
        let (machines, thread, child) = with_child_begun(server);
        let [one, other] = &machines;
        let mut working = gates::at_work(other, &["thread", "step", &child]);
        one.step(&thread)
            .exits(5)
            .says(&format!("thread `{child}` is busy: machine `"));
        assert_eq!(at_remote(one, &thread)["leftMs"], json!(null));
        resume(one, &thread).exits(75).says("is busy: machine `");
        gates::open_gate(other);
        assert!(working.wait().unwrap().success());
        resume(one, &thread).exits(0);
        assert_eq!([one, other].map(runs), [1, 1]);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_finished_step_of_a_child_that_another_machine_did_is_kept_and_named() {
    with_server(|server| {
        for is_ended in [true, false] {
            let (machines, thread, child) = with_child_begun(server);
            let [one, other] = &machines;
            one.configure("remote.lease", "1s");
            processes::kill(gates::at_work(one, &["thread", "step", &child]));
            gates::open_gate(one);
            wait_until("the agent has finished", || one.pending(&child).is_some());
            one.wait_until_free(&child);
            wait_until("the lease has ended", || {
                at_remote(other, &child)["leftMs"].is_null()
            });
            if !is_ended {
                // The run fails after the step that the child did.
                fs::create_dir(one.project().join("report")).unwrap();
            }
            let code = resume(other, &thread).code;
            assert_eq!(code == 0, is_ended, "{code}");
            one.step(&thread).says("is not in the thread: it is kept");
            let kept = one.show(&child)["refusedSteps"][0]["step"].clone();
            assert!(kept.is_string(), "{}", one.show(&child));
            assert_eq!(one.show(&child)["status"], json!("completed"));
        }
    });
}

#[test]
fn a_child_of_a_step_that_is_begun_anew_ends_for_all() {
    with_server(|server| {
        let (machines, thread, child) = with_child_begun(server);
        let [one, other] = &machines;
        let back = ["orchestrate", "resume", &thread, "--from", "A"];
        one.uwf(&back).exits(0);
        assert_eq!(done(&machines), "AA");
        assert_eq!(at_remote(one, &child)["status"], json!("ended"));
        other.step(&child).exits(7);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn workers_do_the_steps_of_a_run_and_of_its_child() {
    with_server(|server| {
        let machines = with_child(server);
        let [one, other] = &machines;
        let thread = shared(&machines);
        child_begun(&machines, &thread);
        other.uwf(&["work", "--idle", "100ms"]).exits(0);
        assert_eq!([one, other].map(runs), [1, 1]);
        assert_eq!(report(&machines), "b\n");
        agree(&machines, &thread, 2);
    });
}

/// Two machines, and a thread of the first one whose second role a pipeline plays. Its first step is done.
fn with_played_role(server: &Server) -> ([World; 2], String) {
    let machines = machines(
        server,
        "name: unused\nsteps:\n- {name: X, command: ['true']}\n",
    );
    let one = &machines[0];
    let answer =
        "- name: Answer\n  command: [printf, '{\"note\": \"n\"}']\n  output_capture: json\n";
    one.write("build.yaml", &(pipeline(&["A", "B"]) + answer));
    one.put(&outer("workflow: ./build.yaml"));
    for world in &machines {
        gated_agent(world, ANSWERS);
    }
    let thread = one.start("outer");
    one.step(&thread).exits(0);
    (machines, thread)
}

#[test]
fn a_role_that_a_pipeline_plays_is_done_by_two_machines() {
    with_server(|server| {
        let (machines, thread) = with_played_role(server);
        let [one, other] = &machines;
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&thread).exits(0);
        assert_eq!(done(&machines), "A");
        let run = child(other, &thread);
        assert_eq!(at_remote(one, &run)["status"], json!("ready"));
        // The other machine takes up the run, by its thread and by itself.
        one.step(&thread).exits(0);
        assert_eq!(done(&machines), "AB");
        other.step(&run).exits(0);
        one.step(&thread).exits(0);
        assert_eq!(done(&machines), "AB");
        assert_eq!(one.show(&thread)["done"], json!(true));
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_thread_whose_run_another_machine_works_on_is_busy() {
    with_server(|server| {
        let (machines, thread) = with_played_role(server);
        let [one, other] = &machines;
        one.uwf(&["push", &thread]).exits(0);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        let run = child(other, &thread);
        let mut working = at_work(&machines, other, &["thread", "step", &run]);
        one.step(&thread)
            .exits(5)
            .says(&format!("thread `{run}` is busy: machine `"));
        open_gate(&machines);
        assert!(working.wait().unwrap().success());
        one.uwf(&["thread", "run", &thread]).exits(0);
        assert_eq!(done(&machines), "AB");
        agree(&machines, &thread, 2);
    });
}

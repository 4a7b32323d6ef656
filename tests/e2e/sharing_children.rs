//! Shared threads with roles that other threads play: two machines do the steps of one family.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::children_care::{ANSWERS, child, done, without_thread};
use crate::crash::reader::Ledger;
use crate::gates::{at_work, close_gate, gated_agent, open_gate, runs};
use crate::gc::text;
use crate::postgres::{Server, new_schema};
use crate::sharing::{at_remote, head, with_remote, with_server};
use crate::world::{Run, World, wait_until};

/// A role with two branches of two steps each.
pub(crate) const BRANCHES: &str = "each: [a, b], workflow: ./inner.yaml";

/// Two machines with one remote, and a thread of the first one whose role `it` is played like this. Its first step is done.
pub(crate) fn family(server: &Server, role: &str) -> ([World; 2], String) {
    let machines = machines(server, role);
    let thread = machines[0].start("outer");
    machines[0].step(&thread).exits(0);
    (machines, thread)
}

pub(crate) fn machines(server: &Server, role: &str) -> [World; 2] {
    let schema = new_schema();
    [(); 2].map(|()| {
        let world = without_thread(role, ANSWERS);
        with_remote(&world, server, &schema);
        world
    })
}

/// Shares the thread of the first machine with the second one.
pub(crate) fn share([one, other]: &[World; 2], thread: &str) {
    one.uwf(&["push", thread]).exits(0);
    other.uwf(&["fetch", thread]).exits(0);
}

/// Returns the threads of a family that a machine has, with their steps.
pub(crate) fn family_of(world: &World, thread: &str) -> BTreeMap<String, Vec<String>> {
    let mut threads = Ledger::read(&world.root()).threads;
    threads.retain(|one, _| is_of(thread, one));
    threads
}

/// Tells whether a thread is the given one or one below it: they have the time in common.
fn is_of(thread: &str, one: &str) -> bool {
    one[..10] == thread[..10]
}

/// Returns the threads of a family at the remote.
pub(crate) fn family_at_remote(world: &World, thread: &str) -> Vec<Value> {
    let listed = world.uwf(&["thread", "list", "--remote", "--all"]);
    let mut threads = listed.exits(0).json().as_array().unwrap().clone();
    threads.retain(|one| is_of(thread, one["thread"].as_str().unwrap()));
    threads
}

pub(crate) fn statuses_at_remote(world: &World, thread: &str) -> Vec<String> {
    let threads = family_at_remote(world, thread).into_iter();
    let status = |one: Value| one["status"].as_str().unwrap().to_owned();
    threads.map(status).collect()
}

/// Checks that both machines and the remote have the same family of so many threads, and that everything is whole.
#[track_caller]
pub(crate) fn agree(machines: &[World; 2], thread: &str, threads: usize) {
    let families = machines.each_ref().map(|world| {
        world.uwf(&["fetch", thread]).exits(0);
        world.uwf(&["cas", "verify"]).exits(0);
        family_of(world, thread)
    });
    assert_eq!(families[0], families[1]);
    assert_eq!(families[0].len(), threads);
    let there = family_at_remote(&machines[0], thread);
    assert_eq!(there.len(), threads);
    for one in there {
        let id = one["thread"].as_str().unwrap();
        assert_eq!(one["head"], json!(head(&machines[0], id)));
        assert!(one["leftMs"].is_null(), "{one}");
    }
    machines[0].uwf(&["remote", "verify"]).exits(0);
}

/// Shares a thread, lets the first machine do a step of it, and the second one fetch it. Returns its first child.
fn child_known_elsewhere(machines: &[World; 2], thread: &str) -> String {
    let [one, other] = machines;
    share(machines, thread);
    one.step(thread).exits(0);
    other.uwf(&["fetch", thread]).exits(0);
    child(other, thread)
}

#[test]
fn two_machines_step_a_thread_in_turn_whose_role_a_workflow_plays() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./middle.yaml");
        let [one, other] = &machines;
        share(&machines, &thread);
        other.step(&thread).exits(0);
        assert_eq!(statuses_at_remote(one, &thread), ["ready"; 3]);
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [2, 1]);
        assert_eq!(
            [one, other].map(|world| done(world, &thread)),
            [json!(true), json!(false)]
        );
        agree(&machines, &thread, 3);
        assert_eq!(done(other, &thread), json!(true));
        assert_eq!(statuses_at_remote(one, &thread), ["ended"; 3]);
    });
}

#[test]
fn a_thread_is_pushed_with_its_children_and_fetched_with_them() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        one.step(&thread).exits(0);
        let first = child(one, &thread);
        one.uwf(&["push", &first])
            .exits(1)
            .says("cannot be shared alone")
            .says(&format!("uwf push {thread}"));
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        let pushed = pushed.as_array().unwrap();
        assert_eq!(pushed.len(), 3);
        assert_eq!(pushed[2]["thread"], json!(thread));
        assert_eq!(statuses_at_remote(one, &thread), ["ready"; 3]);
        let fetched = other.uwf(&["fetch", &thread]).exits(0).json();
        assert_eq!(fetched.as_array().unwrap().len(), 3, "{fetched}");
        let children = |world: &World| world.show(&thread)["children"].clone();
        assert_eq!(children(one), children(other));
        other.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [3, 2]);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn a_branch_is_done_by_another_machine_than_its_parent() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        let branch = child_known_elsewhere(&machines, &thread);
        let mut working = at_work(other, &["thread", "step", &branch]);
        // The other branch goes on.
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [4, 1]);
        let is_busy = format!("thread `{branch}` is busy: machine `");
        one.step(&thread).exits(5).says(&is_busy);
        assert!(at_remote(one, &thread)["leftMs"].is_null());
        open_gate(other);
        assert!(working.wait().unwrap().success());
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [4, 1], "each agent ran once");
        assert_eq!(done(one, &thread), json!(true));
        agree(&machines, &thread, 3);
    });
}

#[test]
fn an_only_child_at_work_elsewhere_keeps_its_parent_busy() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./inner.yaml");
        let [one, other] = &machines;
        let played = child_known_elsewhere(&machines, &thread);
        let mut working = at_work(other, &["thread", "step", &played]);
        let is_busy = format!("thread `{played}` is busy: machine `");
        one.step(&thread).exits(5).says(&is_busy);
        open_gate(other);
        assert!(working.wait().unwrap().success());
        // What the child came to is taken here.
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [2, 1]);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_kill_of_a_parent_ends_its_children_at_the_remote() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        share(&machines, &thread);
        // The children are made by the other machine, and this one does not know them yet.
        other.step(&thread).exits(0);
        let branch = child(other, &thread);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert_eq!(statuses_at_remote(one, &thread), ["ended"; 3]);
        other.step(&branch).exits(7);
        other.step(&thread).exits(7);
        assert_eq!(runs(other), 2);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn a_child_that_is_at_work_ends_with_its_parent() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./inner.yaml");
        let [one, other] = &machines;
        let played = child_known_elsewhere(&machines, &thread);
        // It asks for a second step, so it does not end with the first one.
        other
            .uwf(&["thread", "poke", &played, "-p", "again"])
            .exits(0);
        let mut working = at_work(other, &["thread", "poke", &played, "-p", "again"]);
        one.uwf(&["thread", "kill", &thread])
            .exits(0)
            .says("its lease is ended");
        open_gate(other);
        assert_eq!(working.wait().unwrap().code(), Some(7));
        assert_eq!(other.show(&played)["status"], json!("cancelled"));
        let before = runs(other);
        other.step(&played).exits(7);
        assert_eq!(runs(other), before);
        assert_eq!(at_remote(one, &played)["status"], json!("ended"));
        one.uwf(&["remote", "verify"]).exits(0);
    });
}

#[test]
fn branches_that_nobody_needs_any_more_end_at_the_remote() {
    with_server(|server| {
        let role = "each: [a, b], workflow: ./inner.yaml, join: any";
        let (machines, thread) = family(server, role);
        let [one, other] = &machines;
        share(&machines, &thread);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        other.step(&child(other, &thread)).exits(0);
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [3, 1]);
        assert_eq!(statuses_at_remote(one, &thread), ["ended"; 3]);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn workers_of_two_machines_do_each_step_of_families_once() {
    with_server(|server| {
        let machines = machines(server, BRANCHES);
        let threads = [(); 3].map(|()| machines[0].start("outer"));
        for thread in &threads {
            machines[0].uwf(&["push", thread]).exits(0);
        }
        let work = ["work", "--jobs", "2", "--idle", "12s"];
        let workers = machines.each_ref().map(|world| world.spawn(&work));
        for mut worker in workers {
            assert!(worker.wait().unwrap().success());
        }
        let paid: usize = machines.iter().map(runs).sum();
        assert_eq!(paid, 5 * threads.len());
        for thread in &threads {
            agree(&machines, thread, 3);
            assert_eq!(done(&machines[1], thread), json!(true));
        }
    });
}

#[test]
fn a_worker_works_on_a_child_as_its_parent_says() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        one.uwf(&["push", &thread, "--label", "gpu=yes"]).exits(0);
        one.step(&thread).exits(0);
        for thread in family_at_remote(one, &thread) {
            assert_eq!(thread["label"], json!("gpu=yes"), "{thread}");
        }
        let mut working = at_work(one, &["thread", "step", &thread, "--jobs", "1"]);
        // This machine never heard of the thread.
        let next = ["thread", "step", "--next", "--label", "gpu=yes"];
        let report = other.uwf(&next).exits(0).json();
        let branch = report["thread"].as_str().unwrap();
        assert_ne!(branch, thread);
        assert_eq!(other.show(branch)["status"], json!("completed"));
        let second = &other.show(&thread)["children"][1];
        assert_eq!(second["thread"], report["thread"]);
        other.uwf(&next).exits(5).says("no thread is ready");
        open_gate(one);
        assert!(working.wait().unwrap().success());
        let report = other.uwf(&next).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
        assert_eq!([one, other].map(runs), [4, 1]);
        agree(&machines, &thread, 3);
    });
}

/// A workflow that asks a person if its branches fail, and has a role after them.
const ASKS: &str = "
name: outer
roles:
OWN  last: { goal: g, NOTE }
  it: { goal: g, ROLE }
graph:
  $START: { _: { role: it, prompt: Go. } }
  it:
ASK    done: { role: last, prompt: Go. }
  last: { _: { role: $END, prompt: '' } }
";

/// Two machines that share a thread of that workflow.
pub(crate) fn asking(server: &Server, role: &str) -> ([World; 2], String) {
    let machines = machines(server, BRANCHES);
    let note =
        "frontmatter: { type: object, required: [note], properties: { note: { type: string } } }";
    for world in &machines {
        let (own, ask) = match role.contains("role: branch") {
            true => (
                "  branch: { goal: g, NOTE }\n",
                "    failed: { role: $SUSPEND, prompt: What now? }\n",
            ),
            false => ("", ""),
        };
        let workflow = ASKS.replace("OWN", own).replace("ASK", ask);
        let workflow = workflow.replace("NOTE", note);
        world.put(&workflow.replace("ROLE", role));
        gated_agent(
            world,
            &format!("{ANSWERS}  last: [{{ output: {{ note: l }} }}]\n"),
        );
    }
    let thread = machines[0].start("outer");
    share(&machines, &thread);
    (machines, thread)
}

#[test]
fn a_child_that_ended_elsewhere_is_not_at_work_here_when_its_parent_goes_on() {
    with_server(|server| {
        let (machines, thread) = asking(server, "workflow: ./inner.yaml");
        let [one, other] = &machines;
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        one.step(&thread).exits(0);
        other.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [2, 1]);
        agree(&machines, &thread, 2);
        assert_eq!(done(one, &thread), json!(true));
    });
}

#[test]
fn what_failed_on_one_machine_counts_on_the_other_and_the_rest_is_kept() {
    with_server(|server| {
        let (machines, thread) = asking(server, "each: [a, b], role: branch");
        let [one, other] = &machines;
        one.uwf(&["thread", "step", &thread, "--jobs", "1"])
            .exits(0);
        assert_eq!(runs(one), 1);
        one.scripted_agent("exit 9");
        one.step(&thread).exits(3);
        let branches = one.show(&thread)["children"].clone();
        let second = text(&branches[1]["thread"]);
        other.uwf(&["fetch", &thread]).exits(0);
        for _ in 0..2 {
            one.step(&second).exits(3);
        }
        // The branch has failed for good, which the machine that made no attempt knows, too.
        other.step(&thread).exits(0);
        assert_eq!(runs(other), 0);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
        other
            .uwf(&["thread", "poke", &thread, "-p", "again"])
            .exits(1)
            .says("would change it only here");
        let resume = ["thread", "resume", &thread, "-p", "go on"];
        other.uwf(&resume).exits(0);
        assert_eq!([one, other].map(runs), [1, 1], "the first branch is kept");
        agree(&machines, &thread, 4);
    });
}

#[test]
fn a_family_that_other_machines_could_not_go_on_with_is_not_shared() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./inner.yaml");
        let [one, _] = &machines;
        one.step(&thread).exits(0);
        let first = child(one, &thread);
        one.uwf(&["thread", "kill", &first]).exits(0);
        one.step(&thread).exits(0);
        one.uwf(&["thread", "rm", "--force", &first]).exits(0);
        one.uwf(&["push", &thread])
            .exits(1)
            .says("would not find thread")
            .says(&format!("uwf thread step {thread}"));
        assert_eq!(statuses_at_remote(one, &thread), [""; 0]);
        one.step(&thread).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        assert_eq!(statuses_at_remote(one, &thread), ["ended"; 2]);
    });
}

#[test]
fn a_parent_that_ends_elsewhere_while_its_branches_work_here_is_told_with_their_kept_steps() {
    with_server(|server| {
        let (machines, thread) = family(server, BRANCHES);
        let [one, other] = &machines;
        share(&machines, &thread);
        close_gate(one);
        let working = one.spawn(&["thread", "step", &thread]);
        wait_until("both branches work", || runs(one) == 3);
        other.uwf(&["fetch", &thread]).exits(0);
        other.uwf(&["thread", "kill", &thread]).exits(0);
        open_gate(one);
        let run = Run::from(working.wait_with_output().unwrap()).exits(7);
        let run = run.says(&format!("thread `{thread}` has ended on another machine"));
        assert_eq!(
            run.stderr.matches("is stored but").count(),
            2,
            "{}",
            run.stderr
        );
        assert_eq!(one.show(&thread)["status"], json!("cancelled"));
        other.uwf(&["fetch", &thread]).exits(0);
        for world in &machines {
            assert_eq!(
                world.show(&thread)["withChildren"]["usage"]["runs"],
                json!(3)
            );
        }
    });
}

#[test]
fn a_step_of_an_only_child_is_named_though_its_parent_has_ended_elsewhere() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./inner.yaml");
        let [one, other] = &machines;
        share(&machines, &thread);
        let working = at_work(one, &["thread", "step", &thread]);
        other.uwf(&["fetch", &thread]).exits(0);
        other.uwf(&["thread", "kill", &thread]).exits(0);
        open_gate(one);
        let run = Run::from(working.wait_with_output().unwrap()).exits(7);
        run.says("is stored but the thread is");
        assert_eq!(one.show(&thread)["status"], json!("cancelled"));
    });
}

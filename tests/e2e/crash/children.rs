//! Steps of child threads are killed before each of their system calls: no child is made twice, no branch is done twice, and
//! the parent takes what is there.

use serde_json::json;

use super::reader::Ledger;
use super::sweep::{
    is_recorded_as_finished, kill_at, kill_at_many, kill_everywhere, restore, save,
};
use super::tracer::Verdict;
use crate::gates::{gated_agent, runs};
use crate::world::{World, wait_until};

const ANSWERS: &str =
    "roles:\n  writer: [{ output: { note: n } }]\n  editor: [{ output: { note: e } }]\n";
const NOTE: &str =
    "frontmatter: { type: object, required: [note], properties: { note: { type: string } } }";
/// The words of the processes that may be killed: engines of parents and of children.
const ENGINE: &str = " thread ";
/// The words of the agents.
const AGENT: &str = " agent mock ";

/// A world with a thread of a workflow of this one role, which other threads play.
fn world(role: &str) -> (World, String) {
    let world = World::new();
    world.write(
        "inner.yaml",
        &format!(
            "name: inner\nroles:\n  writer: {{ goal: g, {NOTE} }}\n  editor: {{ goal: g, {NOTE} }}\ngraph:\n  $START: {{ _: {{ role: writer, prompt: Write. }} }}\n  writer: {{ _: {{ role: editor, prompt: Edit. }} }}\n  editor: {{ _: {{ role: $END, prompt: '' }} }}\n"
        ),
    );
    let own = match role.contains("role: writer") {
        true => format!("  writer: {{ goal: g, {NOTE} }}\n"),
        false => String::new(),
    };
    world.put(&format!(
        "name: outer\nroles:\n{own}  it: {{ goal: g, {role} }}\ngraph:\n  $START: {{ _: {{ role: it, prompt: Go. }} }}\n  it: [{{ role: $END }}]\n"
    ));
    gated_agent(&world, ANSWERS);
    let thread = world.start("outer");
    (world, thread)
}

/// Goes on until the thread is at its end. Agents that outlived their engines are waited for.
#[track_caller]
fn go_on(world: &World, thread: &str) {
    wait_until("the thread is at its end", || {
        let code = world.step(thread).code;
        assert!([0, 5, 7].contains(&code), "{code}");
        world.show(thread)["done"] == json!(true)
    });
}

#[track_caller]
fn kill_and_go_on(world: &World, thread: &str, children: usize, paid: usize) {
    let args = ["thread", "step", thread];
    let calls = kill_at_many(world, &args, ENGINE, |traced| {
        go_on(world, thread);
        let ledger = Ledger::read(&world.root());
        assert_eq!(ledger.threads.len(), 1 + children, "{:?}", traced.killed());
        assert_eq!(ledger.threads[thread].len(), 1);
        assert_eq!(runs(world), paid, "{:?}", traced.killed());
    });
    assert!(calls.len() > 20, "{calls:?}");
}

#[test]
fn the_first_step_of_a_child_that_is_killed_anywhere_makes_one_child() {
    let (world, thread) = world("workflow: ./inner.yaml");
    kill_and_go_on(&world, &thread, 1, 2);
}

#[test]
fn the_last_step_of_a_child_that_is_killed_anywhere_is_the_parents_once() {
    let (world, thread) = world("workflow: ./inner.yaml");
    world.step(&thread).exits(0);
    kill_and_go_on(&world, &thread, 1, 2);
}

#[test]
fn an_agent_of_a_child_that_is_killed_anywhere_is_lost_at_most_once() {
    let (world, thread) = world("workflow: ./inner.yaml");
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, AGENT, |traced| {
        go_on(&world, &thread);
        let ledger = Ledger::read(&world.root());
        assert_eq!(ledger.threads.len(), 2, "{:?}", traced.killed());
        let lost = usize::from(!is_recorded_as_finished(traced));
        assert_eq!(runs(&world), 2 + lost, "{:?}", traced.killed());
    });
    assert!(calls.len() > 15, "{calls:?}");
}

/// Which of the calls of three engines are killed: a sweep over all would take minutes.
const EVERY: usize = 9;

#[test]
fn branches_that_are_killed_at_many_places_are_made_and_done_once() {
    let (world, thread) = world("each: [a, b], role: writer, max: 2");
    let args = ["thread", "step", &thread];
    save(&world);
    let mut kills = 0;
    for number in (0..).step_by(EVERY) {
        let traced = kill_at(&world, &args, ENGINE, number, Verdict::Kill);
        if traced.killed().is_none() {
            break;
        }
        kills += 1;
        go_on(&world, &thread);
        let ledger = Ledger::read(&world.root());
        assert_eq!(ledger.threads.len(), 3, "{:?}", traced.killed());
        assert_eq!(runs(&world), 2, "{:?}", traced.killed());
        restore(&world);
    }
    assert!(kills > 8, "{kills}");
}

#[test]
fn a_kill_of_a_parent_that_is_killed_anywhere_ends_its_child_when_it_is_repeated() {
    let (world, thread) = world("workflow: ./inner.yaml");
    world.step(&thread).exits(0);
    let child = world.show(&thread)["children"][0]["thread"].clone();
    let child = child.as_str().unwrap();
    kill_everywhere(&world, &["thread", "kill", &thread], ENGINE, |_| {
        let again = world.uwf(&["thread", "kill", &thread]);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        for one in [&thread, child] {
            assert_eq!(world.show(one)["status"], json!("cancelled"), "{one}");
        }
    });
}

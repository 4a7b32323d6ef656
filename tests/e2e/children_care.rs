//! What must hold for child threads when people clean up, kill, poke and set limits.

use serde_json::{Value, json};

use crate::gates::{close_gate, gated_agent, open_gate, runs};
use crate::processes::signal;
use crate::world::{Run, World, wait_until};

const NOTE: &str =
    "frontmatter: { type: object, required: [note], properties: { note: { type: string } } }";

/// A workflow whose role `it` is played like this.
pub(crate) fn outer(role: &str) -> String {
    let own = match role.contains("role: branch") {
        true => format!("  branch: {{ goal: g, {NOTE} }}\n"),
        false => String::new(),
    };
    format!(
        "name: outer\nroles:\n{own}  first: {{ goal: g, {NOTE} }}\n  it: {{ goal: g, {role} }}\ngraph:\n  $START: {{ _: {{ role: first, prompt: Go. }} }}\n  first: {{ _: {{ role: it, prompt: Go. }} }}\n  it: [{{ role: $END }}]\n"
    )
}

/// Puts `outer`, whose role `it` is played as `role` says, after a role `first`; `inner` has two steps.
pub(crate) fn world(role: &str, answers: &str) -> (World, String) {
    let world = without_thread(role, answers);
    let thread = world.start("outer");
    world.step(&thread).exits(0);
    (world, thread)
}

/// The same without a thread.
pub(crate) fn without_thread(role: &str, answers: &str) -> World {
    let world = World::new();
    world.write(
        "inner.yaml",
        &format!(
            "name: inner\nroles:\n  one: {{ goal: g, {NOTE} }}\n  two: {{ goal: g, {NOTE} }}\ngraph:\n  $START: {{ _: {{ role: one, prompt: Go. }} }}\n  one: {{ _: {{ role: two, prompt: Go. }} }}\n  two: {{ _: {{ role: $END, prompt: '' }} }}\n"
        ),
    );
    world.write(
        "middle.yaml",
        "name: middle\nroles:\n  m: { goal: g, workflow: ./inner.yaml }\ngraph:\n  $START: { _: { role: m, prompt: Go. } }\n  m: [{ role: $END }]\n",
    );
    world.put(&outer(role));
    gated_agent(&world, answers);
    world
}

pub(crate) const ANSWERS: &str = "roles:\n  first: [{ output: { note: f }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 1 } }]\n  one: [{ output: { note: a }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 2 } }]\n  two: [{ output: { note: b }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 4 } }]\n  branch: [{ output: { note: c } }]\n";

pub(crate) fn child(world: &World, thread: &str) -> String {
    let child = world.show(thread)["children"][0]["thread"].clone();
    child.as_str().unwrap().to_owned()
}

/// Moves a thread, and what it needs, to another root, and returns what calls the program there.
pub(crate) fn elsewhere<'a>(world: &'a World, thread: &str) -> impl Fn(&[&str]) -> Run + 'a {
    let export = ["thread", "export", thread, "-o", "all.tar"];
    world.uwf(&export).exits(0);
    let root = world.dir().join("elsewhere");
    let there =
        move |args: &[&str]| world.uwf(&[&["--root", root.to_str().unwrap()], args].concat());
    there(&["thread", "import", "all.tar"]).exits(0);
    let config = world.dir().join("elsewhere").join("config.yaml");
    std::fs::copy(world.root().join("config.yaml"), config).unwrap();
    there
}

pub(crate) fn done(world: &World, thread: &str) -> Value {
    world.show(thread)["done"].clone()
}

#[test]
fn what_the_next_step_needs_is_not_cleaned_away() {
    let (world, thread) = world("each: [a, b], role: branch, max: 1", ANSWERS);
    world.step(&thread).exits(0);
    let ended = child(&world, &thread);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    world
        .uwf(&["thread", "rm", &ended])
        .exits(1)
        .says(&format!("uwf thread rm --force {ended}"));
    world.step(&thread).exits(0);
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 3));
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn what_killed_children_used_up_counts_for_the_limits() {
    let (world, thread) = world("workflow: ./inner.yaml", ANSWERS);
    world.configure("limits.maxCostUsd", "4.5");
    for _ in 0..2 {
        world.step(&thread).exits(0);
        let child = child(&world, &thread);
        world.uwf(&["thread", "kill", &child]).exits(0);
    }
    world.step(&thread).exits(6).says("maxCostUsd");
    assert_eq!(runs(&world), 3);
}

#[test]
fn a_step_before_children_is_not_done_again_while_they_work_for_the_next() {
    let (world, thread) = world("workflow: ./inner.yaml", ANSWERS);
    world.step(&thread).exits(0);
    let poke = world.uwf(&["thread", "poke", &thread, "-p", "other"]);
    poke.exits(1).says("would be left behind");
    assert_eq!(runs(&world), 2);
}

#[test]
fn a_plain_status_of_a_child_is_data_and_no_status_of_the_role() {
    let world = World::new();
    world.write(
        "inner.yaml",
        "name: inner\nroles:\n  one: { goal: g, frontmatter: { type: object, required: [status], properties: { status: { type: string } } } }\ngraph:\n  $START: { _: { role: one, prompt: Go. } }\n  one: { _: { role: $END, prompt: '' } }\n",
    );
    world.put("name: outer\nroles:\n  it: { goal: g, workflow: ./inner.yaml }\ngraph:\n  $START: { _: { role: it, prompt: Go. } }\n  it: { done: { role: $END, prompt: '{{status}}' } }\n");
    world.mock("roles:\n  one: [{ output: { status: all good } }]\n");
    let thread = world.start("outer");
    assert_eq!(
        world.step(&thread).exits(0).json()["result"],
        json!("all good")
    );
}

#[test]
fn agents_of_roles_do_their_branches_too_and_names_mean_parents() {
    let (world, thread) = world("each: [a], role: branch", ANSWERS);
    world.configure("agents.other.command", "uwf-mock");
    let script = world.write(
        "other.yaml",
        "roles:\n  branch: [{ output: { note: other } }]\n",
    );
    let args = json!([script.to_str().unwrap()]).to_string();
    world.configure("agents.other.args", &args);
    world.configure("agentOverrides.outer.branch", "other");
    let plan = world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(0);
    assert_eq!(plan.json()["action"], json!("children"));
    world.step(&thread).exits(0);
    let steps = world.uwf(&["thread", "steps", "@"]).exits(0).json();
    assert_eq!(steps["thread"], json!(thread));
    assert_eq!(
        steps["steps"][2]["output"]["results"][0]["output"]["note"],
        json!("other")
    );
}

#[test]
fn a_branch_that_failed_for_good_hides_no_question_of_another() {
    let answers = "roles:\n  first: [{ output: { note: f } }]\n  branch: [{ output: { $status: $SUSPEND, reason: May I? } }, { output: { note: c } }]\n";
    let (world, thread) = world("each: [bad, ask], role: branch, max: 2", answers);
    let uwf = crate::world::binary().display();
    let project = world.project();
    let project = project.display();
    // The task of both is the same: what fails is told by its key.
    world.scripted_agent(&format!(
        "key=$({uwf} thread show $1 --format json | grep -o '\"key\":\"[01]\"' | head -1)\n[ \"$key\" = '\"key\":\"0\"' ] && exit 9\nexec {uwf} agent mock {project}/answers.yaml \"$@\""
    ));
    for _ in 0..3 {
        world.step(&thread);
    }
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["status"], &shown["suspendMessage"]),
        (&json!("suspended"), &json!("May I?"))
    );
    world
        .uwf(&["thread", "resume", &thread, "-p", "yes"])
        .exits(0);
    assert_eq!(done(&world, &thread), json!(true));
}

#[test]
fn a_branch_fails_for_good_also_if_the_failure_is_deeper() {
    let (world, thread) = world("each: [a], workflow: ./middle.yaml", ANSWERS);
    world.scripted_agent("exit 9");
    for _ in 0..3 {
        world.step(&thread);
    }
    assert_eq!(done(&world, &thread), json!(true));
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"][2]["output"]["$status"], json!("failed"));
}

#[test]
fn branches_that_go_on_without_their_parent_count_for_how_many_may_work_at_once() {
    let (world, thread) = world("each: [a, b, c, d], role: branch, max: 2", ANSWERS);
    close_gate(&world);
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("two work", || runs(&world) == 3);
    signal("KILL", engine.id());
    engine.wait_with_output().unwrap();
    world.step(&thread).exits(5);
    assert_eq!(runs(&world), 3);
    open_gate(&world);
    wait_until("the thread is at its end", || {
        world.step(&thread);
        done(&world, &thread) == json!(true)
    });
    assert_eq!(runs(&world), 5);
}

#[test]
fn words_for_a_child_that_has_asked_nothing_are_refused_and_not_lost() {
    let (world, thread) = world("workflow: ./inner.yaml", ANSWERS);
    let say = || world.uwf(&["thread", "resume", &thread, "-p", "words"]);
    say().exits(1).says("is not suspended");
    world.step(&thread).exits(0);
    say().exits(1);
    assert_eq!(runs(&world), 2);
}

/// A thread whose newest step a child did, and another child does the next.
pub(crate) fn played_twice(answers: &str) -> (World, String) {
    let (world, other) = world("workflow: ./inner.yaml", answers);
    world.uwf(&["thread", "kill", &other]).exits(0);
    world.put("name: after\nroles:\n  it: { goal: g, workflow: ./inner.yaml }\n  last: { goal: g, workflow: ./inner.yaml }\ngraph:\n  $START: { _: { role: it, prompt: Go. } }\n  it: [{ role: last, prompt: 'After {{note}}.' }]\n  last: [{ role: $END }]\n");
    let thread = world.start("after");
    for _ in 0..2 {
        world.step(&thread).exits(0);
    }
    (world, thread)
}

#[test]
fn a_poke_that_died_is_gone_on_with_and_no_step_follows_the_old_result() {
    let (world, thread) = played_twice(ANSWERS);
    let before = runs(&world);
    let engine = poked(&world, &thread);
    signal("KILL", engine.id());
    engine.wait_with_output().unwrap();
    open_gate(&world);
    wait_until("the agent has finished", || {
        let list = world.uwf(&["thread", "list", "--children", "--status", "running"]);
        list.json().as_array().unwrap().is_empty()
    });
    world
        .step(&thread)
        .exits(5)
        .says(&format!("uwf thread poke {thread}"));
    world
        .uwf(&["thread", "poke", &thread, "-p", "better"])
        .exits(0);
    assert_eq!(runs(&world), before + 1);
    for _ in 0..2 {
        world.step(&thread).exits(0);
    }
    assert_eq!(done(&world, &thread), json!(true));
}

/// Starts to do the last step of a thread again, which a child did, and waits until its agent is at work.
fn poked(world: &World, thread: &str) -> std::process::Child {
    let before = runs(world);
    close_gate(world);
    let poke = world.spawn(&["thread", "poke", thread, "-p", "better"]);
    wait_until("the step is done again", || runs(world) == before + 1);
    poke
}

#[test]
fn a_kill_ends_a_child_that_does_its_step_again() {
    let (world, thread) = played_twice(ANSWERS);
    // A fork has the step, too, and its next step does not depend on what becomes of the original's.
    let fork = world.uwf(&["thread", "fork", &thread]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap().to_owned();
    world
        .uwf(&["thread", "poke", &fork, "-p", "better"])
        .exits(1)
        .says("does not work for this thread")
        .says(&format!("uwf thread fork {fork}~1"));
    let poke = poked(&world, &thread);
    world.step(&thread).exits(5);
    let step = world.spawn(&["thread", "step", &fork]);
    wait_until("the fork works", || runs(&world) == 5);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    assert_eq!(killed["agentEnded"], json!(true));
    poke.wait_with_output().unwrap();
    open_gate(&world);
    Run::from(step.wait_with_output().unwrap()).exits(0);
}

//! What people see of child threads while they work: who asks, what failed, what it costs, and about which item.

use std::io::{BufRead, BufReader, Read};

use serde_json::{Value, json};

use crate::children_care::{self, ANSWERS};
use crate::kept_running::finish_without_an_engine;
use crate::world::{Run, World};

/// A role with a branch for each file. Each branch is played by `inner`, whose only role is played by `bottom`.
const OUTER: &str = r#"
name: outer
roles:
  first:
    goal: It is prepared.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
  all:
    goal: Every file is looked at.
    each: [a.rs, b.rs]
    workflow: ./inner.yaml
    max: 2
graph:
  $START: { _: { role: first, prompt: "Prepare." } }
  first: { _: { role: all, prompt: "Look at {{item}}." } }
  all: [{ role: $END }]
"#;

const INNER: &str = r#"
name: inner
roles:
  deep: { goal: It is looked at., workflow: ./bottom.yaml }
graph:
  $START: [{ role: deep }]
  deep: [{ role: $END }]
"#;

const BOTTOM: &str = r#"
name: bottom
roles:
  look:
    goal: It is looked at.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
  tell:
    goal: It is told.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
graph:
  $START: [{ role: look }]
  look: { _: { role: tell, prompt: "Tell {{note}}" } }
  tell: { _: { role: $END, prompt: "" } }
"#;

/// A tool that fails or asks about a file if there is a file `fail-<file>` or `ask-<file>`. It waits while there is a file
/// `wait`.
const TOOL: &str = r#"prompt=$(cat)
file=$(printf '%s' "$prompt" | grep -o '[ab][.]rs' | head -1)
while [ -e wait ]; do sleep 0.02; done
[ -e "fail-$file" ] && { echo "no $file" >&2; exit 9; }
if [ -e "ask-$file" ]; then rm "ask-$file"; printf -- '---\n$status: $SUSPEND\nreason: What of %s?\n---\n' "$file"; exit; fi
printf -- '---\nnote: %s\n---\n' "${file:-f}""#;

/// A world with the workflows, and a thread of which the first step is done.
fn world() -> (World, String) {
    let world = World::new();
    world.write("bottom.yaml", BOTTOM);
    world.write("inner.yaml", INNER);
    world.put(OUTER);
    let tool = world.script("tool.sh", TOOL);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("outer");
    world.step(&thread).exits(0);
    (world, thread)
}

fn list(world: &World, args: &[&str]) -> Vec<Value> {
    let list = world.uwf(&[&["thread", "list"], args].concat());
    list.exits(0).json().as_array().unwrap().clone()
}

/// Returns what the command prints for people.
fn text(world: &World, args: &[&str]) -> String {
    let args = [args, &["--format", "text"]].concat();
    world.uwf(&args).exits(0).stdout
}

#[test]
fn a_tree_has_every_child_below_its_parent_with_parent_and_depth() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    let other = world.start("outer");
    let tree = list(&world, &["--tree"]);
    let places: Vec<(&Value, &Value, &Value)> = tree
        .iter()
        .map(|one| {
            let parent = &one["parent"];
            (&parent["depth"], &parent["key"], &parent["thread"])
        })
        .collect();
    let (none, id) = (&Value::Null, |at: usize| &tree[at]["thread"]);
    assert_eq!(
        places,
        [
            (none, none, none),
            (none, none, none),
            (&json!(1), &json!("0"), id(1)),
            (&json!(2), &json!(""), id(2)),
            (&json!(1), &json!("1"), id(1)),
            (&json!(2), &json!(""), id(4)),
        ]
    );
    assert_eq!((id(0), id(1)), (&json!(other), &json!(thread)));
    let shown = text(&world, &["thread", "list", "--tree"]);
    let begins: Vec<&str> = shown
        .lines()
        .skip(3)
        .map(|line| line.split('0').next().unwrap())
        .collect();
    assert_eq!(begins, ["├─ ", "│  └─ ", "└─ ", "   └─ "], "{shown}");
    assert!(shown.contains("all 1: Look at b.rs."), "{shown}");
}

#[test]
fn a_tree_is_chosen_by_its_top_and_has_ended_children() {
    let (world, thread) = world();
    for _ in 0..2 {
        world.step(&thread).exits(0);
    }
    world.start("outer");
    assert_eq!(list(&world, &["--tree"]).len(), 1, "the first has ended");
    let all = list(&world, &["--tree", "--status", "completed", "--limit", "1"]);
    let ids: Vec<&Value> = all.iter().map(|one| &one["status"]).collect();
    assert_eq!(ids, [&json!("completed"); 5]);
    let flat = list(&world, &["--children", "--all"]);
    assert_eq!(flat.len(), 6);
    let with_parents = flat
        .iter()
        .filter(|one| one["parent"]["thread"].is_string());
    assert_eq!(with_parents.count(), 4);
    world
        .uwf(&["thread", "list", "--tree", "--children"])
        .exits(2);
}

#[test]
fn reports_and_steps_say_which_item_a_child_is_about() {
    let (world, thread) = world();
    let report = world.step(&thread).exits(0).json();
    let branches = |children: &Value| -> Vec<(Value, Value)> {
        let children = children.as_array().unwrap().iter();
        let branch = |one: &Value| (one["key"].clone(), one["item"].clone());
        children.map(branch).collect()
    };
    let expected = [(json!("0"), json!("a.rs")), (json!("1"), json!("b.rs"))];
    assert_eq!(branches(&report["children"]), expected, "{report}");
    let done = text(&world, &["thread", "step", &thread]);
    assert!(done.contains("1 (b.rs): "), "{done}");
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(
        branches(&steps["steps"][2]["children"]),
        expected,
        "{steps}"
    );
    let steps = text(&world, &["thread", "steps", &thread]);
    assert!(steps.contains("0 (a.rs): done after 3 steps, "), "{steps}");
    let read = text(&world, &["thread", "read", &thread]);
    assert!(read.contains("**Threads:** 0 (a.rs) `"), "{read}");
}

/// Steps a thread so often that nothing more can go on.
fn step_until(world: &World, thread: &str, status: &str) {
    for _ in 0..4 {
        if world.show(thread)["status"] == json!(status) {
            return;
        }
        world.step(thread);
    }
    panic!("{}", world.show(thread));
}

#[test]
fn a_parent_says_which_child_asks_what_about_which_item() {
    let (world, thread) = world();
    world.write("ask-b.rs", "");
    step_until(&world, &thread, "suspended");
    let shown = world.show(&thread);
    let child = &shown["children"][1];
    assert_eq!(
        (&child["key"], &child["item"], &child["reason"]),
        (&json!("1"), &json!("b.rs"), &json!("What of b.rs?"))
    );
    assert_eq!(child["currentRole"], json!("deep"));
    let cause = &shown["causedBy"];
    assert_eq!(
        (&cause["thread"], &cause["item"], &cause["reason"]),
        (&child["thread"], &json!("b.rs"), &json!("What of b.rs?"))
    );
    assert_eq!(cause["causedBy"]["thread"], shown["waitingChild"]);
    let listed = &list(&world, &[])[0];
    assert_eq!(listed["causedBy"], *cause);
    let for_people = text(&world, &["thread", "show", &thread]);
    assert!(
        for_people.contains("question  1 (b.rs): What of b.rs?"),
        "{for_people}"
    );
    let for_people = text(&world, &["thread", "list"]);
    assert!(
        for_people.contains("1 (b.rs): What of b.rs?"),
        "{for_people}"
    );
}

#[test]
fn a_parent_says_which_child_failed_and_why() {
    let (world, thread) = world();
    world.write("fail-a.rs", "");
    world.write("ask-b.rs", "");
    step_until(&world, &thread, "failed");
    let shown = world.show(&thread);
    let reason = &shown["children"][0]["reason"];
    assert!(
        reason.as_str().unwrap().contains("code 9: no a.rs"),
        "{shown}"
    );
    assert_eq!(shown["causedBy"]["item"], json!("a.rs"));
    assert_eq!(list(&world, &[])[0]["failureReason"], *reason);
    for args in [&["thread", "show", &thread][..], &["thread", "list"]] {
        let for_people = text(&world, args);
        assert!(for_people.contains("0 (a.rs): "), "{for_people}");
        assert!(
            for_people.contains("What of b.rs?") == (args.len() == 3),
            "{for_people}"
        );
    }
}

#[test]
fn a_parent_shows_sums_with_the_children_that_are_not_done() {
    let (world, thread) = world();
    assert_eq!(world.show(&thread)["withChildren"], Value::Null);
    world.step(&thread).exits(0);
    let shown = world.show(&thread);
    let sums = &shown["withChildren"];
    assert_eq!(
        (&shown["steps"], &shown["usage"]["runs"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(
        (&sums["steps"], &sums["usage"]["runs"]),
        (&json!(3), &json!(3)),
        "{shown}"
    );
    let for_people = text(&world, &["thread", "show", &thread]);
    assert!(
        for_people.contains("3 steps with its children, "),
        "{for_people}"
    );
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["withChildren"], Value::Null);
}

#[test]
fn a_killed_parent_shows_sums_with_the_children_that_were_killed_with_it() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    let before = world.show(&thread)["withChildren"].clone();
    assert_eq!(before["steps"], json!(3), "{before}");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let killed = world.show(&thread);
    assert_eq!(killed["status"], json!("cancelled"));
    assert_eq!(killed["withChildren"], before);
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["runs"], before["usage"]["runs"]);
}

fn events(stdout: &str) -> Vec<Value> {
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the ways to the children that did steps, in order; empty for the thread on top.
fn steps_by(events: &[Value]) -> Vec<String> {
    let steps = events.iter().filter(|event| event["kind"] == json!("step"));
    let way = |step: &Value| {
        step["child"]["branch"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    steps.map(way).collect()
}

#[test]
fn a_tail_of_a_parent_marks_what_each_child_does() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    let tail = text(&world, &["thread", "tail", &thread]);
    assert!(tail.contains("[1] -- begins: Look at b.rs."), "{tail}");
    assert!(tail.contains("\n[0/deep] look: note: a.rs"), "{tail}");
    world.step(&thread).exits(0);
    let tail = text(&world, &["thread", "tail", &thread]);
    assert!(!tail.contains('['), "the children are done: {tail}");
}

#[test]
fn a_parent_is_followed_with_its_children_until_it_has_ended() {
    let (world, thread) = world();
    world.write("wait", "");
    let engine = world.spawn(&["thread", "run", &thread]);
    let mut follower = world.spawn(&["thread", "tail", "-f", "-n", "0", &thread]);
    let mut told = String::new();
    let mut lines = BufReader::new(follower.stdout.take().unwrap());
    while told.matches("working").count() < 2 {
        assert!(lines.read_line(&mut told).unwrap() > 0, "{told}");
    }
    std::fs::remove_file(world.project().join("wait")).unwrap();
    lines.read_to_string(&mut told).unwrap();
    Run::from(follower.wait_with_output().unwrap()).exits(0);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
    let events = events(&told);
    let mut by = steps_by(&events);
    assert_eq!(by.pop().as_deref(), Some(""), "{events:?}");
    by.sort();
    let expected = ["0", "0/deep", "0/deep", "1", "1/deep", "1/deep"];
    assert_eq!(by, expected, "{events:?}");
    let stopped = events.last().unwrap();
    assert_eq!(
        (&stopped["status"], &stopped["child"]),
        (&json!("completed"), &Value::Null)
    );
}

#[test]
fn a_follower_of_a_parent_stops_when_a_child_asks() {
    let (world, thread) = world();
    world.write("ask-a.rs", "");
    world.write("ask-b.rs", "");
    let follower = world.spawn(&["thread", "tail", "-f", &thread]);
    world.step(&thread);
    let events = events(
        &Run::from(follower.wait_with_output().unwrap())
            .exits(0)
            .stdout,
    );
    let stopped = events.last().unwrap();
    assert_eq!(
        (&stopped["kind"], &stopped["child"]),
        (&json!("stopped"), &Value::Null)
    );
    assert_eq!(stopped["causedBy"]["item"], json!("a.rs"), "{stopped}");
}

#[test]
fn a_parent_says_which_child_is_blocked_or_paused_and_why() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    let children = world.show(&thread)["children"].clone();
    let child = |at: usize| children[at]["thread"].as_str().unwrap().to_owned();
    for at in [0, 1] {
        let pause = ["thread", "pause", &child(at), "-m", "the release"];
        world.uwf(&pause).exits(0);
    }
    let shown = world.show(&thread);
    let cause = &shown["causedBy"];
    assert_eq!(
        (&shown["status"], &cause["item"], &cause["reason"]),
        (&json!("paused"), &json!("a.rs"), &json!("the release"))
    );
    let for_people = text(&world, &["thread", "show", &thread]);
    assert!(for_people.contains(": the release"), "{for_people}");

    world.write(
        "stuck.yaml",
        "name: stuck\nroles:\n  one: { goal: g, frontmatter: { type: object, required: [n], properties: { n: { type: string } } } }\n  many: { goal: g, each: \"'text'\", role: one }\ngraph:\n  $START: [{ role: many, prompt: Go. }]\n  many: [{ role: $END }]\n",
    );
    world.put("name: waits\nroles:\n  all: { goal: g, each: [a.rs], workflow: ./stuck.yaml }\ngraph:\n  $START: [{ role: all, prompt: Go. }]\n  all: [{ role: $END }]\n");
    let thread = world.start("waits");
    world.step(&thread).exits(1);
    let shown = world.show(&thread);
    let reason = shown["blockedReason"].as_str().unwrap();
    assert!(
        reason.contains("`each` gave no list, but a text"),
        "{shown}"
    );
    assert_eq!(shown["causedBy"]["reason"], json!(reason));
    let list = text(&world, &["thread", "list", "--status", "blocked"]);
    assert!(list.contains("0 (a.rs): "), "{list}");
}

#[test]
fn a_finished_step_of_a_child_is_named_where_its_parent_is_shown() {
    let (world, thread) = children_care::world("workflow: ./inner.yaml", ANSWERS);
    world.step(&thread).exits(0);
    let child = children_care::child(&world, &thread);
    assert_eq!(world.show(&thread)["children"][0].get("finishedStep"), None);
    finish_without_an_engine(&world, &child);
    let step = world.show(&child)["finishedStep"].clone();
    assert!(step.is_string());
    assert_eq!(world.show(&thread)["children"][0]["finishedStep"], step);
    let step = step.as_str().unwrap();
    let said = text(&world, &["thread", "show", &thread]);
    assert!(
        said.contains(&format!("step {step} waits to be committed")),
        "{said}"
    );
}

//! Names and labels that people give to threads, and `-`, the thread that was used last.

use std::process::Child;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, REVIEW, Run, World};

const NOTE: &str = "roles:\n  writer:\n    - output: { note: n }\n";
const REVIEWED: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n";

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(NOTE);
    world
}

fn start(world: &World, options: &[&str]) -> Run {
    world.uwf(&[&["thread", "start", "one", "-p", "the task"], options].concat())
}

#[track_caller]
fn named(world: &World, name: &str) -> String {
    let started = start(world, &["--name", name]).exits(0).json();
    assert_eq!(started["name"], json!(name));
    started["thread"].as_str().unwrap().to_owned()
}

fn threads(world: &World) -> usize {
    world.state("threads.yaml").lines().count()
}

#[test]
fn a_name_stands_for_its_thread_everywhere() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEWED);
    let args = ["thread", "start", "review", "-p", "x", "--name", "fix-42"];
    let started = world.uwf(&args).exits(0).json();
    let thread = started["thread"].as_str().unwrap();
    let step = |name: &str| -> Value { world.step(name).exits(0).json() };
    let [first, second] = [(); 2].map(|()| step("fix-42")["head"].clone());
    for command in ["show", "steps", "read", "label"] {
        let shown = world.uwf(&["thread", command, "fix-42", "--format", "json"]);
        assert_eq!(shown.exits(0).json()["thread"], json!(thread), "{command}");
    }
    let node = |name: &str| world.uwf(&["cas", "walk", name]).exits(0).json()["hashes"][0].clone();
    assert_eq!(node("fix-42"), second);
    assert_eq!(node("fix-42~"), first);
    assert_eq!(node("fix-42@1"), first);
    assert_eq!(node("fix-42/reviewer"), second);
    let fork = world.uwf(&["thread", "fork", "fix-42@1"]).exits(0).json();
    assert_eq!(fork["forkedFrom"]["step"], first);
    world.uwf(&["log", "show", "--thread", "fix-42"]).exits(0);
    world
        .uwf(&["thread", "resume", "fix-42", "-p", "yes"])
        .exits(0);
    world
        .uwf(&["thread", "poke", "fix-42", "-p", "again"])
        .exits(0);
    // An ended thread keeps its name.
    world.uwf(&["thread", "kill", "fix-42"]).exits(0);
    let shown = world.show("fix-42");
    assert_eq!(
        (&shown["name"], &shown["status"]),
        (&json!("fix-42"), &json!("cancelled"))
    );
    let listed = world
        .uwf(&["thread", "list", "--status", "cancelled"])
        .exits(0)
        .json();
    assert_eq!(listed[0]["name"], json!("fix-42"));
}

#[test]
fn a_name_is_taken_once_and_given_free() {
    let world = world();
    let first = named(&world, "fix-42");
    let taken = start(&world, &["--name", "fix-42"]).exits(1);
    taken
        .says("the name `fix-42` is taken")
        .says(&first)
        .says(&format!("uwf thread rename {first} --clear"));
    assert_eq!(threads(&world), 1, "nothing was started");
    let second = named(&world, "fix-43");
    world
        .uwf(&["thread", "rename", "fix-43", "fix-42"])
        .exits(1)
        .says("is taken");
    world
        .uwf(&["thread", "rename", "fix-42", "--clear"])
        .exits(0);
    let renamed = world
        .uwf(&["thread", "rename", "fix-43", "fix-42"])
        .exits(0)
        .json();
    assert_eq!(
        renamed,
        json!({ "thread": second, "name": "fix-42", "labels": {} })
    );
    world
        .uwf(&["thread", "rename", "fix-42", "fix-42"])
        .exits(0);
    assert_eq!(world.show("fix-42")["thread"], json!(second));
    assert_eq!(world.show(&first)["name"], Value::Null);
    let unknown = world.uwf(&["thread", "show", "fix-4"]).exits(1);
    unknown
        .says("no thread is named `fix-4`")
        .says("did you mean `fix-42`?");
    world
        .uwf(&["thread", "rename", "01J7K9Z000000000000000000A", "x"])
        .exits(1)
        .says("does not exist");
}

#[test]
fn what_could_be_something_else_is_no_name() {
    let world = world();
    for (wrong, reason) in [
        ("beef", "beginning of an id or a hash"),
        ("@2", "stand for a place"),
        ("a~1", "stand for a place"),
        ("a/b", "stand for a place"),
        ("a b", "did you mean `a-b`?"),
        ("a\u{1b}[2Jb", "are allowed"),
        ("", "empty"),
    ] {
        start(&world, &["--name", wrong]).exits(2).says(reason);
    }
    start(&world, &["--name=-"])
        .exits(2)
        .says("begin with a letter");
    assert_eq!(threads(&world), 0);
}

#[test]
fn of_many_processes_that_take_one_name_one_gets_it() {
    let world = world();
    let args = ["thread", "start", "one", "-p", "x", "--name", "fix-42"];
    let all: Vec<Child> = (0..24).map(|_| world.spawn(&args)).collect();
    let ended = all
        .into_iter()
        .map(|child| Run::from(child.wait_with_output().unwrap()));
    let (won, lost): (Vec<Run>, Vec<Run>) = ended.partition(|run| run.code == 0);
    assert_eq!((won.len(), lost.len()), (1, 23));
    for run in lost {
        run.exits(1).says("the name `fix-42` is taken");
    }
    assert_eq!(threads(&world), 1);
    assert_eq!(world.show("fix-42")["thread"], won[0].json()["thread"]);
}

#[test]
fn names_that_are_taken_at_once_are_all_kept() {
    let world = world();
    let names: Vec<String> = (0..16).map(|number| format!("task-{number}")).collect();
    let start = |name: &String| {
        let label = format!("number={name}");
        world.spawn(&[
            "thread", "start", "one", "-p", "x", "--name", name, "--label", &label,
        ])
    };
    let all: Vec<Child> = names.iter().map(start).collect();
    for child in all {
        Run::from(child.wait_with_output().unwrap()).exits(0);
    }
    for name in &names {
        assert_eq!(world.show(name)["labels"]["number"], json!(name));
    }
}

#[test]
fn labels_are_set_shown_and_removed() {
    let world = world();
    let options = [
        "--label", "team=web", "--label", "env=prod", "--name", "x-1",
    ];
    let started = start(&world, &options).exits(0).json();
    assert_eq!(started["labels"], json!({ "env": "prod", "team": "web" }));
    let label = |args: &[&str]| world.uwf(&[&["thread", "label", "x-1"], args].concat());
    let shown = label(&["team=core", "env-", "new="]).exits(0).json();
    assert_eq!(shown["labels"], json!({ "new": "", "team": "core" }));
    assert_eq!(label(&[]).exits(0).json(), shown);
    assert_eq!(world.show("x-1")["labels"], shown["labels"]);
    let text = label(&["--format", "text"]).exits(0).stdout;
    assert!(text.contains("labels  new= team=core"), "{text}");
    let text = world
        .uwf(&["thread", "show", "x-1", "--format", "text"])
        .stdout;
    assert!(text.contains("\nlabels    new= team=core\n"), "{text}");
    for wrong in ["team", "=x", "a b=c", "k=v w"] {
        label(&[wrong]).exits(2).says("is not a label");
    }
    let many: Vec<String> = (0..65).map(|number| format!("k{number}=v")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    label(&many).exits(1).says("64 are the most");
    assert_eq!(world.show("x-1")["labels"], shown["labels"]);
}

#[test]
fn damaged_names_stop_no_thread() {
    let world = world();
    let thread = named(&world, "fix-42");
    let file = world.root().join("labels.jsonl");
    let sound = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{sound}{{\"thread\":")).unwrap();
    let problem = format!("`{}:2`", file.display());
    for args in [
        &["thread", "step", "fix-42"][..],
        &["thread", "rename", &thread, "x-1"],
        &["thread", "label", &thread],
        &["thread", "list", "--label", "a"],
        &["thread", "start", "one", "-p", "x", "--name", "x-1"],
    ] {
        world
            .uwf(args)
            .exits(4)
            .says(&problem)
            .says("labels.jsonl.damaged");
    }
    let doctor = world
        .uwf(&["doctor", "--offline", "--format", "text"])
        .exits(1);
    assert!(doctor.stdout.contains(&problem), "{}", doctor.stdout);
    world.uwf(&["thread", "list"]).exits(0).says(&problem);
    let shown = world
        .uwf(&["thread", "show", &thread])
        .exits(0)
        .says(&problem);
    assert_eq!(shown.json()["name"], Value::Null);
    start(&world, &[]).exits(0);
    let stepped = world.step(&thread).exits(0);
    assert_eq!(stepped.stderr, "", "a step does not read names");
    // Without the file there are no names, and all threads.
    std::fs::remove_file(&file).unwrap();
    world.step(&thread).exits(7);
    world.uwf(&["thread", "show", "fix-42"]).exits(1);
    named(&world, "fix-42");
}

#[test]
fn the_name_of_a_thread_that_is_not_there_is_free() {
    let world = world();
    let thread = named(&world, "fix-42");
    // As if the process that started the thread had been killed after it wrote the name.
    let absent = "01J7K9Z000000000000000000A";
    let names = world.state("labels.jsonl").replace(&thread, absent);
    std::fs::write(world.root().join("labels.jsonl"), names).unwrap();
    world
        .uwf(&["thread", "show", "fix-42"])
        .exits(1)
        .says("no thread is named `fix-42`");
    let second = named(&world, "fix-42");
    assert_eq!(world.show("fix-42")["thread"], json!(second));
    assert!(!world.state("labels.jsonl").contains(absent));
}

#[test]
fn a_dash_is_the_thread_that_was_used_last_in_the_folder() {
    let world = world();
    world
        .uwf(&["thread", "show", "-"])
        .exits(1)
        .says("no thread was used yet");
    let [first, second] = [(); 2].map(|()| world.start("one"));
    let last = |run: Run| run.exits(0).json()["thread"].clone();
    assert_eq!(world.show("-")["thread"], json!(second));
    // Looking at a thread is no use of it.
    world.show(&first);
    assert_eq!(world.show("-")["thread"], json!(second));
    world.step(&first).exits(0);
    assert_eq!(last(world.uwf(&["thread", "show", "-"])), json!(first));
    let elsewhere = |args: &[&str]| -> Run {
        let mut command = world.command(args);
        command.current_dir(world.dir());
        command.output().unwrap().into()
    };
    // Where no thread was used yet, it is the last of all.
    assert_eq!(last(elsewhere(&["thread", "show", "-"])), json!(first));
    let third = last(elsewhere(&["thread", "start", "one", "-p", "x"]));
    assert_eq!(last(elsewhere(&["thread", "show", "-"])), third);
    assert_eq!(world.show("-")["thread"], json!(first));
    let fork = last(world.uwf(&["thread", "fork", "-"]));
    assert_eq!(world.show("-")["thread"], fork);
    let node =
        |name: &str| world.uwf(&["cas", "walk", "--", name]).exits(0).json()["hashes"][0].clone();
    assert_eq!(node("-@1"), node(&format!("{first}@1")));
    // The record can be deleted, and cannot stop a thread.
    let record = world.root().join("locks/last-used");
    std::fs::remove_file(&record).unwrap();
    world.uwf(&["thread", "show", "-"]).exits(1).says("`@`");
    std::fs::create_dir(&record).unwrap();
    world.step(&second).exits(0);
}

#[test]
fn a_fork_gets_a_name_and_labels_or_is_not_made() {
    let world = world();
    let thread = named(&world, "fix-42");
    let fork = |name: &str| {
        let args = ["thread", "fork", &thread, "--name", name];
        world.uwf(&[&args[..], &["--label", "try=2"]].concat())
    };
    let forked = fork("fix-43").exits(0).json();
    assert_eq!(forked["name"], json!("fix-43"));
    assert_eq!(forked["labels"], json!({ "try": "2" }));
    assert_eq!(world.show("fix-43")["thread"], forked["thread"]);
    fork("fix-42")
        .exits(1)
        .says("the name `fix-42` is taken")
        .says(&thread);
    assert_eq!(threads(&world), 2, "there is no third thread");
    let plain = world.uwf(&["step", "fork", &thread]).exits(0).json();
    assert_eq!(plain.get("name"), None);
}

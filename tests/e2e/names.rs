//! Threads and nodes by short names.

use serde_json::Value;

use crate::world::World;

const LOOP: &str = r#"
name: loop
description: Two roles in turn
roles:
  writer: &role
    description: Works
    goal: You work.
    capabilities: []
    procedure: Work.
    output: A note.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
  reviewer: *role
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: reviewer, prompt: "Review {{note}}." } }
  reviewer: { _: { role: writer, prompt: "Write on after {{note}}." }, $SUSPEND: { role: $SUSPEND, prompt: "?" } }
"#;

/// Returns a world with a thread of three steps by writer, reviewer and writer, and its nodes: the start, then the steps.
fn three_steps() -> (World, String, Vec<String>) {
    let world = World::new();
    world.put(LOOP);
    world.mock(
        r#"roles:
  writer: [{ output: "---\nnote: a\n---\n" }, { output: "---\nnote: c\n---\n" }]
  reviewer: [{ output: "---\nnote: b\n---\n" }]
"#,
    );
    let thread = world.start("loop");
    let mut nodes = vec![world.show(&thread)["head"].as_str().unwrap().to_owned()];
    for _ in 0..3 {
        let stepped = world.step(&thread).exits(0).json();
        nodes.push(stepped["head"].as_str().unwrap().to_owned());
    }
    (world, thread, nodes)
}

fn hash_of(world: &World, name: &str) -> Value {
    world.uwf(&["cas", "walk", name]).exits(0).json()["hashes"][0].take()
}

#[test]
fn steps_are_named_by_their_place_in_a_thread() {
    let (world, thread, nodes) = three_steps();
    let lower = thread.to_lowercase();
    for (name, node) in [
        (thread.clone(), 3),
        (lower[..20].to_owned(), 3),
        ("@".to_owned(), 3),
        (format!("{thread}~"), 2),
        (format!("{thread}~2"), 1),
        (format!("{thread}~3"), 0),
        (format!("{thread}@0"), 0),
        (format!("{thread}@1"), 1),
        ("@@3".to_owned(), 3),
        (format!("{lower}/reviewer"), 2),
        ("@/writer".to_owned(), 3),
        (nodes[2].to_lowercase(), 2),
        (nodes[1][..10].to_owned(), 1),
    ] {
        let step = hash_of(&world, &name);
        assert_eq!(step, Value::from(nodes[node].as_str()), "{name}");
    }
    for name in ["@~4", "@@4", "@/nobody"] {
        let run = world.uwf(&["cas", "get", name]).exits(1);
        run.says(&format!("`{name}`"))
            .says(&format!("uwf thread steps {thread}"));
    }
}

#[test]
fn every_command_takes_the_beginning_of_an_id() {
    let (world, thread, nodes) = three_steps();
    let short = &thread[..24];
    for command in ["show", "steps", "read"] {
        world.uwf(&["thread", command, short]).exits(0);
    }
    let forked = world.uwf(&["thread", "fork", "@@2"]).exits(0).json();
    let fork = forked["thread"].as_str().unwrap();
    assert_eq!(world.show(fork)["head"], Value::from(nodes[2].as_str()));
    // The fork is the newest now.
    assert_eq!(world.show("@")["thread"], Value::from(fork));
    assert_eq!(world.show("@2")["thread"], Value::from(thread.as_str()));
    world.uwf(&["thread", "kill", "@"]).exits(0);
    assert_eq!(world.show(fork)["status"], Value::from("cancelled"));
    world
        .uwf(&["thread", "show", "@3"])
        .exits(1)
        .says("no thread is named `@3`");
}

#[test]
fn before_the_first_thread_there_is_no_newest_one() {
    World::new()
        .uwf(&["thread", "show", "@"])
        .exits(1)
        .says("no thread was started yet: `@` stands for none")
        .says("`uwf thread start <workflow> -p <task>` starts one");
}

#[test]
fn an_ambiguous_beginning_names_the_candidates() {
    let (world, thread, _) = three_steps();
    let other = world.start("loop");
    let common = thread
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(common >= 4, "ids begin with the time");
    let run = world.uwf(&["thread", "show", &thread[..common]]).exits(1);
    run.says("is ambiguous: 2 begin so")
        .says(&format!("{thread} (thread of loop)"))
        .says(&format!("{other} (thread of loop)"));
    let unknown = world.uwf(&["thread", "show", "ZZZZ"]).exits(1);
    unknown.says("no thread is named `ZZZZ`");
    let unknown = world.uwf(&["step", "show", "ZZZZ"]).exits(1);
    unknown.says("no node and no thread is named `ZZZZ`");
}

/// Returns a world with a thread of 81 steps: a planner, then writers and reviewers in turn; and the steps.
fn long_thread() -> (World, Vec<String>) {
    let world = World::new();
    let write = r#"{ _: { role: writer, prompt: "Write." } }"#;
    let plan = format!("{{ _: {{ role: planner, prompt: Plan. }} }}\n  planner: {write}");
    let planned = LOOP.replace("  reviewer: *role", "  reviewer: *role\n  planner: *role");
    world.put(&planned.replace(write, &plan));
    world.mock(
        r#"roles:
  planner: [{ output: { note: p } }]
  writer: [{ output: { note: a } }]
  reviewer: [{ output: { note: b } }]
"#,
    );
    let thread = world.start("loop");
    let stepped = world.uwf(&["thread", "step", &thread, "-c", "81"]).exits(0);
    let step = |line: &str| {
        let report: Value = serde_json::from_str(line).unwrap();
        report["step"].as_str().unwrap().to_owned()
    };
    let steps = stepped.stdout.lines().map(step).collect();
    (world, steps)
}

/// Returns the record of the numbers of steps.
fn record(world: &World) -> std::path::PathBuf {
    let thread = world.show("@")["thread"].as_str().unwrap().to_owned();
    world
        .root()
        .join("runs")
        .join(thread)
        .join("positions.json")
}

#[track_caller]
fn all_are_found(world: &World, steps: &[String]) {
    for (name, number) in [
        ("@@3", 3),
        ("@~78", 3),
        ("@@81", 81),
        ("@~", 80),
        ("@@64", 64),
    ] {
        assert_eq!(hash_of_step(world, name), steps[number - 1], "{name}");
    }
    assert_eq!(hash_of(world, "@~81"), hash_of(world, "@@0"));
    for name in ["@@82", "@~82"] {
        world.uwf(&["cas", "walk", name]).exits(1);
    }
}

#[test]
fn a_step_of_a_long_thread_is_found_without_reading_all_steps_again() {
    let (world, steps) = long_thread();
    let record = record(&world);
    assert!(!record.exists(), "a step does not pay for it");
    all_are_found(&world, &steps);
    assert!(record.exists());
    // An early step is not read any more.
    std::fs::remove_file(world.root().join(format!("cas/{}.bin", steps[9]))).unwrap();
    assert_eq!(hash_of_step(&world, "@@3"), steps[2]);
    assert_eq!(hash_of_step(&world, "@/planner"), steps[0]);
    // Nor is it without the summary that each step leaves.
    std::fs::remove_file(record.with_file_name("chain.json")).unwrap();
    assert_eq!(hash_of_step(&world, "@/planner"), steps[0]);
    assert_eq!(hash_of_step(&world, "@/writer"), steps[79]);
}

#[test]
fn a_record_of_steps_that_does_not_fit_is_not_used() {
    let (world, mut steps) = long_thread();
    let record = record(&world);
    all_are_found(&world, &steps);
    // The last step becomes another one.
    let poked = world.uwf(&["thread", "poke", "@"]).exits(0).json();
    poked["step"].as_str().unwrap().clone_into(&mut steps[80]);
    all_are_found(&world, &steps);
    let damaged = std::fs::read_to_string(&record).unwrap();
    let damaged = damaged.replace(&steps[2], &steps[4]);
    std::fs::write(&record, damaged).unwrap();
    all_are_found(&world, &steps);
    std::fs::remove_dir_all(record.parent().unwrap()).unwrap();
    all_are_found(&world, &steps);
    assert!(
        !record.exists(),
        "only a thread that was worked on has a folder"
    );
}

/// Returns the step that a name stands for, although not all that it leads to can be read.
fn hash_of_step(world: &World, name: &str) -> String {
    let shown = world.uwf(&["step", "show", name]).exits(0).json();
    shown["step"].as_str().unwrap().to_owned()
}

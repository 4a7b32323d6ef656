//! Files that are no pipeline: they are refused with place and code, and nothing is made.

use std::fs;

use super::runs::run;
use crate::world::World;

/// Asserts that a file is refused with a code at a line, and that nothing is made.
#[track_caller]
fn refused(world: &World, text: &str, said: &[&str]) {
    world.write("flow.yaml", text);
    for command in ["run", "validate"] {
        let mut run = world.uwf(&["orchestrate", command, "flow.yaml"]).exits(2);
        for said in said {
            run = run.says(said);
        }
    }
    assert!(!world.project().join(".orchestrate").exists());
    assert!(!world.root().join("threads.yaml").exists());
}

/// A step that would leave a trace.
const STEP: &str = "- name: A\n  command: [touch, started]\n";

#[test]
fn a_key_that_comes_twice_is_no_yaml() {
    let world = World::new();
    let twice = format!("steps:\n{STEP}  command: [touch, other]\n");
    refused(&world, &twice, &["flow.yaml:4:", " V01: ", "command"]);
}

#[test]
fn unknown_keys_are_told_with_the_nearest_name() {
    let world = World::new();
    let unknown = format!("steps:\n{STEP}  output_capure: lines\nstrct_flow: true\n");
    let said = [
        "flow.yaml:4:",
        " V02: ",
        "output_capture",
        "flow.yaml:5:",
        "strict_flow",
    ];
    refused(&world, &unknown, &said);
    run(
        &world,
        &format!("x-note: mine\nsteps:\n{STEP}  x-more: 1\n"),
        &[],
    )
    .exits(0);
}

#[test]
fn jumps_lead_to_steps_of_the_same_list_only() {
    let world = World::new();
    let each = "- name: Each\n  for_each:\n    items: [1]\n    steps:\n    - name: Inner\n      command: ['true']\n";
    for pipeline in [
        format!("steps:\n{STEP}  on: {{success: {{goto: Nowhere}}}}\n"),
        format!("steps:\n{STEP}  on: {{always: {{goto: Inner}}}}\n{each}"),
        format!("steps:\n{STEP}{each}      on: {{failure: {{goto: A}}}}\n"),
    ] {
        refused(&world, &pipeline, &[" V07: "]);
    }
}

#[test]
fn what_is_too_large_or_not_one_document_is_refused_with_its_line() {
    let world = World::new();
    let mut bomb = "x-a: &a [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n".to_owned();
    for (name, of) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e")] {
        let items = [&*format!("*{of}"); 10].join(", ");
        bomb.push_str(&format!("x-{name}: &{name} [{items}]\n"));
    }
    refused(
        &world,
        &format!("{bomb}steps:\n{STEP}"),
        &["flow.yaml:", " V01: "],
    );
    let large = format!("# {}\nsteps:\n{STEP}", "x".repeat(5 << 20));
    refused(&world, &large, &["flow.yaml:", " V01: "]);
    let two = format!("steps:\n{STEP}---\nsteps:\n{STEP}");
    refused(&world, &two, &["flow.yaml:4:", " V01: "]);
    refused(
        &world,
        "steps:\n- name: A\n\tcommand: [a]\n",
        &["flow.yaml:2:", " V01: "],
    );
    refused(&world, "", &[" V01: "]);
    fs::write(world.project().join("flow.yaml"), b"steps: \xff\n").unwrap();
    world
        .uwf(&["orchestrate", "run", "flow.yaml"])
        .exits(2)
        .says(" V01: ");
}

#[test]
fn a_mark_at_the_beginning_and_line_ends_of_windows_are_accepted() {
    let world = World::new();
    let pipeline = "\u{feff}steps:\r\n- name: A\r\n  command: [printf, \"a b\"]\r\n  on: {success: {goto: _end}}\r\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("A"), "a b");
}

#[test]
fn paths_that_could_leave_the_workspace_are_refused_before_the_run() {
    let world = World::new();
    for field in [
        "wait_for: {glob: /tmp/*}",
        "wait_for: {glob: '../*'}",
        "command: [a]\n  output_file: ../x",
        "command: [a]\n  output_file: C:\\x",
        "provider: claude\n  input_file: /etc/passwd",
        "command: [a]\n  depends_on: {required: ['a/../../b']}",
        "command: [a]\n  when: {exists: /etc/passwd}",
        "command: [a]\n  output_file: ''",
    ] {
        refused(
            &world,
            &format!("steps:\n- name: A\n  {field}\n"),
            &[" V11: "],
        );
    }
    for folders in [
        "inbox_dir: .orchestrate",
        "inbox_dir: a\nprocessed_dir: a/b",
    ] {
        refused(&world, &format!("{folders}\nsteps:\n{STEP}"), &[" V11: "]);
    }
}

#[test]
fn names_that_could_harm_a_path_or_a_log_are_refused() {
    let world = World::new();
    for name in [
        "../x",
        "a/b",
        "_resume",
        ".hidden",
        "a\\x07",
        "lifecycle]",
        "é",
    ] {
        refused(
            &world,
            &format!("steps:\n- name: \"{name}\"\n  command: [a]\n"),
            &[" V05: "],
        );
    }
    let twice = format!("steps:\n{STEP}{STEP}");
    refused(&world, &twice, &["flow.yaml:4:", " V05: "]);
}

#[test]
fn all_mistakes_come_at_once_sorted_by_place() {
    let world = World::new();
    world.write(
        "flow.yaml",
        "version: '9'\nsteps:\n- name: A\n  command: [a]\n  provider: nobody\n- name: A\n  command: ['${steps.B.output}', '${env.X}']\n",
    );
    let run = world.uwf(&["orchestrate", "run", "flow.yaml"]).exits(2);
    let causes = run
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("cause: flow.yaml:"));
    let places: Vec<u32> = causes
        .map(|cause| cause.split(':').next().unwrap().parse().unwrap())
        .collect();
    assert!(places.len() >= 5, "{}", run.stderr);
    assert!(places.is_sorted(), "{}", run.stderr);
}

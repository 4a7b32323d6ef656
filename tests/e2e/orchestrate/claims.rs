//! Tasks that a step has claimed: whatever becomes of its attempt, the next attempt finds them.

use std::fs;

use crate::processes::kill;
use crate::world::{Run, World, binary, wait_until};

/// The loop of a worker. The gate is between a claim and its end.
fn taking(uwf: &str) -> String {
    format!(
        "steps:
  - name: Take
    command: [sh, -c, 'file=$({uwf} orchestrate task claim) || exit 1; echo $file >> taken; while [ -e wait ]; do sleep 0.02; done; test ! -e fail || exit 3; printf \"%s\" $file']
    output_capture: text
    on: {{success: {{goto: Work}}}}
  - name: Work
    command: [sh, -c, '{uwf} orchestrate task done ${{steps.Take.output}}']
    on: {{success: {{goto: Take}}}}
"
    )
}

fn world(tasks: usize) -> World {
    let world = World::new();
    for task in 1..=tasks {
        world.write(&format!("inbox/{task}.task"), "task");
    }
    world
}

fn lines(world: &World, file: &str) -> Vec<String> {
    let text = fs::read_to_string(world.project().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the names of all files below a folder, sorted.
fn names(world: &World, folder: &str) -> Vec<String> {
    let mut command = std::process::Command::new("find");
    command.args([folder, "-type", "f", "-printf", "%f\n"]);
    let found: Run = command
        .current_dir(world.project())
        .output()
        .unwrap()
        .into();
    let mut names: Vec<String> = found.stdout.lines().map(str::to_owned).collect();
    names.sort();
    names
}

fn resume(world: &World) -> Run {
    let runs = fs::read_dir(world.project().join(".orchestrate/runs")).unwrap();
    let run = runs.last().unwrap().unwrap().file_name();
    world.uwf(&["orchestrate", "resume", run.to_str().unwrap()])
}

#[test]
fn what_a_killed_attempt_had_claimed_is_claimed_first_by_the_next_one() {
    let world = world(3);
    world.write("p.yaml", &taking(&binary().display().to_string()));
    world.write("wait", "");
    let engine = world.spawn(&["orchestrate", "run", "p.yaml"]);
    wait_until("a task is claimed", || lines(&world, "taken").len() == 1);
    kill(engine);
    fs::remove_file(world.project().join("wait")).unwrap();
    // Nothing waits at last: the step that takes a task fails.
    let resumed = resume(&world).exits(1);
    let taken = lines(&world, "taken");
    assert_eq!(taken.len(), 4, "{taken:?}");
    assert_eq!(taken[0], taken[1]);
    assert_eq!(names(&world, "processed"), ["1.task", "2.task", "3.task"]);
    assert!(names(&world, "inbox").is_empty(), "{}", resumed.stderr);
}

#[test]
fn what_a_failed_visit_had_claimed_is_claimed_first_when_it_is_done_again() {
    let world = world(2);
    world.write("p.yaml", &taking(&binary().display().to_string()));
    world.write("fail", "");
    world.uwf(&["orchestrate", "run", "p.yaml"]).exits(3);
    resume(&world).exits(3);
    assert_eq!(names(&world, "inbox/.claimed"), ["1.task"]);
    fs::remove_file(world.project().join("fail")).unwrap();
    resume(&world).exits(1);
    assert_eq!(names(&world, "processed"), ["1.task", "2.task"]);
    assert!(names(&world, "inbox").is_empty());
    let taken: Vec<_> = lines(&world, "taken");
    let first = taken.iter().filter(|path| path.ends_with("/1.task"));
    assert_eq!((first.count(), taken.len()), (3, 4));
}

#[test]
fn a_step_takes_over_neither_what_it_has_claimed_itself_nor_what_another_step_has() {
    let world = world(4);
    let uwf = binary().display();
    world.write(
        "p.yaml",
        &format!(
            "steps:
  - {{name: A, command: [sh, -c, '{uwf} orchestrate task claim; {uwf} orchestrate task claim inbox']}}
  - {{name: B, command: [sh, -c, '{uwf} orchestrate task claim > b; while [ -e wait ]; do sleep 0.02; done']}}
"
        ),
    );
    world.write("wait", "");
    let engine = world.spawn(&["orchestrate", "run", "p.yaml"]);
    wait_until("B has claimed", || lines(&world, "b").len() == 1);
    kill(engine);
    assert!(lines(&world, "b")[0].ends_with("/3.task"));
    fs::remove_file(world.project().join("wait")).unwrap();
    let resumed = resume(&world).exits(0);
    assert!(lines(&world, "b")[0].ends_with("/3.task"));
    assert_eq!(
        names(&world, "inbox/.claimed"),
        ["1.task", "2.task", "3.task"]
    );
    // What nobody has put anywhere is named at the end.
    let left = "3 tasks that it claimed are left";
    assert!(resumed.stderr.contains(left), "{}", resumed.stderr);
    let command = resumed
        .stderr
        .split('`')
        .find(|it| it.contains("task list"));
    let words: Vec<&str> = command.unwrap().split(' ').skip(1).collect();
    assert_eq!(world.uwf(&words).exits(0).stdout.lines().count(), 3);
}

#[test]
fn calls_at_once_take_over_different_tasks() {
    let world = world(4);
    let uwf = binary().display();
    let claim = format!("{uwf} orchestrate task claim >> taken &");
    world.write(
        "p.yaml",
        &format!(
            "steps:\n  - name: A\n    command: [sh, -c, '{claim} {claim} wait; test -e again; again=$?; touch again; if [ $again = 0 ]; then {claim} {claim} wait; else kill -9 $PPID; fi']\n"
        ),
    );
    let killed = world.uwf(&["orchestrate", "run", "p.yaml"]);
    assert_ne!(killed.code, 0);
    resume(&world).exits(0);
    let mut taken = lines(&world, "taken");
    assert_eq!(taken.len(), 6);
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 4, "{taken:?}");
}

#[test]
fn nobody_claims_from_the_folder_of_the_own_claims() {
    let world = world(0);
    world.write("inbox/.claimed/nightly/1.task", "");
    let claim = |run: &str| {
        let words = [
            "orchestrate",
            "task",
            "claim",
            "./inbox/.claimed/nightly/",
            "--run-id",
            run,
        ];
        world.uwf(&words)
    };
    let refused = claim("nightly").exits(2);
    assert!(
        refused.stderr.contains("--run-id NAME"),
        "{}",
        refused.stderr
    );
    claim("morning").exits(0);
}

#[test]
fn a_claim_that_cannot_be_put_on_record_moves_nothing() {
    let world = world(1);
    let uwf = binary().display();
    let command =
        format!("mkfifo $ORCHESTRATE_RUN_ROOT/claims; {uwf} orchestrate task claim; test $? = 2");
    world.write(
        "p.yaml",
        &format!("steps:\n  - {{name: A, command: [sh, -c, '{command}']}}\n"),
    );
    world.uwf(&["orchestrate", "run", "p.yaml"]).exits(0);
    assert_eq!(names(&world, "inbox"), ["1.task"]);
}

//! What commands about tasks propose to type works when it is typed.

use crate::world::{Run, World};

fn task(world: &World, words: &[&str]) -> Run {
    world.uwf(&[&["orchestrate", "task"], words].concat())
}

/// Types the command in a hint that begins so.
#[track_caller]
fn type_in(world: &World, said: &Run, begin: &str) -> Run {
    let (_, hint) = said.stderr.split_once("hint: ").expect("a hint");
    let mut commands = hint.split('`').skip(1).step_by(2);
    let command = commands.find(|one| one.starts_with(begin));
    let command = command.unwrap_or_else(|| panic!("no `{begin}`: {}", said.stderr));
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    world.uwf(&words)
}

#[test]
fn a_folder_of_claimed_tasks_that_is_not_there_is_not_proposed_for_new_ones() {
    let world = World::new();
    task(&world, &["put", "inbox/1.task"]).exits(0);
    task(&world, &["claim", "--run-id", "dead"]).exits(0);
    let said = task(&world, &["claim", "inbox/.claimed/none", "--run-id", "x"]).exits(1);
    let said = said.says("there is no queue `inbox/.claimed/none`");
    let listed = type_in(&world, &said, "uwf orchestrate task list").exits(0);
    assert_eq!(listed.stdout, "inbox/.claimed/dead/1.task\n");
    let hidden = task(&world, &["claim", ".none", "--run-id", "x"]).exits(1);
    type_in(&world, &hidden, "uwf orchestrate task list").exits(0);
    assert!(!hidden.stderr.contains("task put"), "{}", hidden.stderr);
}

#[test]
fn hints_keep_the_ending_and_the_options_of_a_call() {
    let world = World::new();
    let queues = "task_extension: .job\ninbox_dir: jobs\nsteps: [{name: A, command: [a]}]\n";
    world.write("there/j.yaml", queues);
    let options = ["--workflow", "there/j.yaml", "--workspace", "there"];
    let with = |words: &[&str]| task(&world, &[words, &options].concat());
    let said = with(&["claim", "jobs/qa", "--run-id", "x"]).exits(1);
    let put = type_in(&world, &said, "uwf orchestrate task put").exits(0);
    assert_eq!(put.stdout, "jobs/qa/1.job\n");
    assert!(world.project().join("there/jobs/qa/1.job").exists());
    let listed = type_in(&world, &said, "uwf orchestrate task list").exits(0);
    assert_eq!(listed.stdout, "jobs/qa/1.job\n");
    let done = with(&["done", "jobs/none.job"]).exits(2);
    let listed = type_in(&world, &done, "uwf orchestrate task list").exits(0);
    assert_eq!(listed.stdout, "jobs/qa/1.job\n");
    with(&["put", "jobs/1.task"])
        .exits(2)
        .says("name a file such as `jobs/qa/1.job`");
}

#[test]
fn our_own_folder_is_no_queue() {
    let world = World::new();
    world.write("p.yaml", "steps: [{name: A, command: ['true']}]\n");
    world.uwf(&["orchestrate", "run", "p.yaml"]).exits(0);
    world.write(".orchestrate/runs/1.task", "");
    for folder in [".orchestrate", ".orchestrate/runs"] {
        let said = task(&world, &["claim", folder, "--run-id", "x"]).exits(2);
        said.says(&format!("`{folder}` is a place of the records of runs"))
            .says("name a folder of tasks");
        task(&world, &["list", folder]).exits(2);
    }
    assert!(world.project().join(".orchestrate/runs/1.task").exists());
}

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

#[test]
fn a_pipeline_that_works_off_a_queue_runs_as_it_is_documented() {
    let manual = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/orchestrate.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let (_, section) = manual.split_once("\n## Queues of tasks\n").unwrap();
    let (_, block) = section.split_once("```yaml\n").unwrap();
    let (pipeline, _) = block.split_once("```").unwrap();
    let world = World::new();
    world.write("flow.yaml", pipeline);
    world.write("inbox/qa/1.task", "good");
    world.write("inbox/qa/2.task", "bad");
    let claude = world.script("claude", "echo \"$2\" >> done; test \"$2\" != bad");
    let bin = claude.parent().unwrap();
    std::os::unix::fs::symlink(crate::world::binary(), bin.join("uwf")).unwrap();
    let mut command = world.command(&["orchestrate", "run", "flow.yaml"]);
    command.env("PATH", crate::world::path_with(bin));
    let run: Run = command.output().unwrap().into();
    run.exits(0);
    let read = |path: &str| std::fs::read_to_string(world.project().join(path)).unwrap();
    assert_eq!(read("done"), "good\nbad\n");
    for (folder, task) in [("processed", "1.task"), ("failed", "2.task")] {
        let mut times = std::fs::read_dir(world.project().join(folder)).unwrap();
        assert!(times.next().unwrap().unwrap().path().join(task).is_file());
    }
}

#[test]
fn a_path_that_ends_with_a_line_end_says_so() {
    let world = World::new();
    world.write("a.task", "");
    world.write(
        "flow.yaml",
        "steps:\n- {name: Find, command: [echo, a.task]}\n- {name: Work, provider: claude, input_file: '${steps.Find.output}'}\n",
    );
    world
        .uwf(&["orchestrate", "run", "flow.yaml"])
        .exits(2)
        .says("there is no `a.task` with a line end behind it")
        .says("name `${steps.<Name>.json.path}`");
}

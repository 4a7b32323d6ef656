//! Runs of pipelines are killed at random moments, with whatever their steps do meanwhile.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::pipelines::world;
use super::pipelines_left::{Done, Left};
use super::reader::Ledger;
use super::soak::soak;
use crate::processes::{kill, kill_if_there, variable};
use crate::world::{World, binary};

/// These worlds take long: a soak tries one for so many of other tests.
const SHARE: usize = 4;
/// How many kills a world gets.
const KILLS: usize = 40;

/// A pipeline whose steps take a moment, with tasks of its own.
const STEPS: &str = "  - {name: A, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; sleep 0.01'], output_file: out/a}
  - {name: B, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; seq 1000'], output_capture: lines}
  - name: L
    for_each:
      items_from: steps.T.lines
      as: task
      on_item_complete: {success: {move_to: processed}, failure: {move_to: failed}}
      steps:
        - {name: E, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; sleep 0.02; cat \"$1\"', _, '${task}']}
        - {name: F, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran'], output_file: 'out/f${loop.index}'}
  - {name: W, wait_for: {glob: 'out/f*', timeout_sec: 10, poll_ms: 10, min_count: 12}}
  - {name: C, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; ls processed'], output_capture: lines}
";

fn world_of_tasks() -> World {
    let list = "  - {name: T, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; ls inbox/*.task'], output_capture: lines}\n";
    let world = world(&[list, STEPS]);
    for task in 3..=12 {
        world.write(&format!("inbox/{task}.task"), "task");
    }
    world
}

#[test]
fn a_run_survives_kill_upon_kill_and_ends_as_if_there_had_been_none() {
    let (worlds, mut chance) = soak();
    let undisturbed = world_of_tasks();
    undisturbed
        .uwf(&["orchestrate", "run", "p.yaml", "--archive-processed"])
        .exits(0);
    let undisturbed = Left::of(&undisturbed);
    for _ in 0..worlds.div_ceil(SHARE) {
        let world = world_of_tasks();
        let (mut kills, mut before) = (0, Done::of(&world));
        loop {
            let known = Ledger::read(&world.root());
            let thread = known.threads.keys().next().cloned();
            let has_ended = thread.as_ref().is_some_and(|it| !known.active.contains(it));
            let args = match &thread {
                None => vec!["orchestrate", "run", "p.yaml", "--archive-processed"],
                Some(thread) => vec!["orchestrate", "resume", thread],
            };
            if has_ended || kills == KILLS {
                world.uwf(&args).exits(0);
                break;
            }
            let mut engine = world.spawn(&args);
            // Nothing depends on how long this takes: it only has the kills come at different moments.
            std::thread::sleep(Duration::from_millis(chance.below(60) as u64));
            if engine.try_wait().unwrap().is_none() {
                kills += 1;
            }
            kill(engine);
            if chance.below(2) == 0 {
                kill_program(&world);
            }
            Ledger::read(&world.root()).keeps(&known);
            let now = Done::of(&world);
            now.keeps(&before, &[]);
            now.is_accounted_for(1);
            assert!(now.lost() <= kills);
            before = now;
        }
        let now = Done::of(&world);
        now.keeps(&before, &[]);
        now.is_accounted_for(0);
        assert_eq!(Left::of(&world), undisturbed);
        let inbox = fs::read_dir(world.project().join("inbox")).unwrap();
        assert_eq!(inbox.count(), 0);
    }
}

/// Kills the program that a dead engine has left, if it is still there.
fn kill_program(world: &World) {
    for run in fs::read_dir(world.root().join("runs"))
        .into_iter()
        .flatten()
    {
        let record = fs::read(run.unwrap().path().join("holder.json")).unwrap_or_default();
        let record: Value = serde_json::from_slice(&record).unwrap_or_default();
        let Some(program) = record["agent"]["pid"].as_u64() else {
            continue;
        };
        let root = variable(program, "ORCHESTRATE_RUN_ROOT").unwrap_or_default();
        if root.starts_with(world.dir().to_str().unwrap()) {
            kill_if_there(&format!("-{program}"));
        }
    }
}

/// A step that claims tasks until none is left. One that a lost attempt had claimed comes first.
fn claiming() -> String {
    let uwf = binary().display();
    format!(
        "steps:
  - name: Work
    command:
      - sh
      - -c
      - |
        task=$({uwf} orchestrate task claim) || exit 3
        echo \"${{task##*/}}\" >> worked
        sleep 0.01
        {uwf} orchestrate task done \"$task\"
    on: {{success: {{goto: Work}}, failure: {{goto: _end}}}}
"
    )
    .replace("${task", "$${task")
}

#[test]
fn claimed_tasks_are_lost_by_no_kill_and_worked_on_again_only_after_one() {
    let (worlds, mut chance) = soak();
    for _ in 0..worlds.div_ceil(SHARE) {
        let world = world(&[]);
        world.write("p.yaml", &claiming());
        for task in 3..=12 {
            world.write(&format!("inbox/{task}.task"), "task");
        }
        let mut kills = 0;
        loop {
            let known = Ledger::read(&world.root());
            let thread = known.threads.keys().next().cloned();
            if thread.as_ref().is_some_and(|it| !known.active.contains(it)) {
                break;
            }
            let args = match &thread {
                None => vec!["orchestrate", "run", "p.yaml"],
                Some(thread) => vec!["orchestrate", "resume", thread],
            };
            if kills == KILLS {
                world.uwf(&args).exits(0);
                break;
            }
            let mut engine = world.spawn(&args);
            // Nothing depends on how long this takes: it only has the kills come at different moments.
            std::thread::sleep(Duration::from_millis(20 + chance.below(100) as u64));
            kills += usize::from(engine.try_wait().unwrap().is_none());
            kill(engine);
        }
        let done = names(&world, "processed");
        let expected: Vec<String> = (1..=12).map(|task| format!("{task}.task")).collect();
        assert!(
            done.len() == 12 && expected.iter().all(|task| done.contains(task)),
            "{done:?}"
        );
        assert!(names(&world, "inbox").is_empty());
        let worked = fs::read_to_string(world.project().join("worked")).unwrap();
        let count = worked.lines().count();
        assert!((12..=12 + kills).contains(&count), "{kills}: {worked}");
    }
}

/// Returns the names of all files below a folder of the project.
fn names(world: &World, folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![world.project().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => names.push(entry.file_name().into_string().unwrap()),
            }
        }
    }
    names
}

//! Runs of pipelines are killed at random moments, with whatever their steps do meanwhile.

use std::fs;
use std::time::Duration;

use super::pipelines::{Done, Left, world};
use super::reader::Ledger;
use super::soak::soak;
use crate::processes::kill;
use crate::world::World;

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
    for _ in 0..worlds {
        let world = world_of_tasks();
        let (mut kills, mut before) = (0, Done::of(&world));
        let has_ended = loop {
            let known = Ledger::read(&world.root());
            let thread = known.threads.keys().next().cloned();
            let has_ended = thread.as_ref().is_some_and(|it| !known.active.contains(it));
            let args = match &thread {
                None => vec!["orchestrate", "run", "p.yaml", "--archive-processed"],
                Some(thread) => vec!["orchestrate", "resume", thread],
            };
            if has_ended {
                break true;
            }
            if kills == KILLS {
                world.uwf(&args).exits(0);
                break false;
            }
            let mut engine = world.spawn(&args);
            // Nothing depends on how long this takes: it only has the kills come at different moments.
            std::thread::sleep(Duration::from_millis(chance.below(60) as u64));
            if engine.try_wait().unwrap().is_none() {
                kills += 1;
            }
            kill(engine);
            Ledger::read(&world.root()).keeps(&known);
            let now = Done::of(&world);
            now.keeps(&before, &[]);
            now.is_accounted_for(1);
            assert!(now.lost() <= kills);
            before = now;
        };
        let now = Done::of(&world);
        now.keeps(&before, &[]);
        now.is_accounted_for(0);
        Left::of(&world).is_as(&undisturbed, has_ended);
        let inbox = fs::read_dir(world.project().join("inbox")).unwrap();
        assert_eq!(inbox.count(), 0);
    }
}

//! An engine whose agent has finished, and has left something running that may go on, is killed at each of its points:
//! what goes on keeps nobody out.

use std::sync::mpsc;
use std::time::Duration;

use super::reader::Ledger;
use super::sweep::{restore, save};
use super::tracer::{Point, Verdict, trace};
use crate::gates::{NOTE, runs};
use crate::world::{ONE_STEP, World, binary, wait_until};

#[test]
fn what_may_go_on_keeps_no_thread_busy_wherever_its_engine_is_killed() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("answers.yaml", NOTE);
    // What is left lives longer than an engine waits for it, and as long as the test wants it to.
    world.scripted_agent(&format!(
        "cd {project}\necho run >> runs\n\
         (sleep 0.5; while [ -e stay ]; do sleep 0.02; done) >/dev/null 2>&1 &\n\
         exec {uwf} agent mock answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
    world.configure("agents.default.keepRunning", "true");
    let thread = world.start("one");
    save(&world);
    let whole = trace(&world, &["thread", "step", &thread], |_| Verdict::GoOn);
    assert!(whole.stdout.contains("\"keptRunning\":true"), "{whole:?}");
    let finishes = |point: &Point| !is_engine(point) && point.call.ends_with("/pending.json");
    let finished = whole.points.iter().position(finishes).unwrap();
    let of_engine = |points: &[Point]| points.iter().filter(|point| is_engine(point)).count();
    for number in of_engine(&whole.points[..finished])..of_engine(&whole.points) {
        restore(&world);
        kill_and_go_on(&world, &thread, number);
    }
}

fn is_engine(point: &Point) -> bool {
    point.command.contains(" thread ")
}

/// Kills the engine of a step before its call with this number, and does the next step while something goes on.
fn kill_and_go_on(world: &World, thread: &str, number: usize) {
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let stay = Stay::new(world);
        scope.spawn(move || {
            let mut passed = 0;
            trace(world, &["thread", "step", thread], |point| {
                passed += usize::from(is_engine(point));
                if !is_engine(point) || passed != number + 1 {
                    return Verdict::GoOn;
                }
                tell.send(point.call.clone()).unwrap();
                Verdict::Kill
            })
        });
        let call = told.recv_timeout(Duration::from_secs(120));
        let call = call.unwrap_or_else(|_| panic!("no point {number}"));
        // The agent may still be about to exit.
        wait_until(
            &format!("a step goes on after a kill before `{call}`"),
            || {
                let step = world.step(thread);
                assert!([0, 5, 7].contains(&step.code), "{call}: {}", step.stderr);
                step.code != 5
            },
        );
        let steps = Ledger::read(&world.root()).threads[thread].len();
        assert_eq!((steps, runs(world)), (1, 1), "{call}");
        drop(stay);
    });
}

/// As long as this lives, so does what an agent leaves running.
struct Stay<'a>(&'a World);

impl<'a> Stay<'a> {
    fn new(world: &'a World) -> Self {
        world.write("stay", "");
        Self(world)
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0.project().join("stay"));
    }
}

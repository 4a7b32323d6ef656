//! The folder of artefacts is removed when the attempt has ended, and not earlier. It does not matter which process sees the end.

use std::fs;

use crate::processes::{is_running, kill_all_of, signal};
use crate::world::{ONE_STEP, World, wait_until};

const ANSWER: &str = "printf -- '---\\nnote: n\\n---\\n'";

/// A thread whose agent has left an artefact and waits for the file `go`; with its call, and the process of its program.
struct AtWork {
    world: World,
    thread: String,
    call: std::process::Child,
    worker: String,
}

impl AtWork {
    fn new() -> Self {
        let world = World::new();
        world.put(ONE_STEP);
        let body = format!(
            "printf x > \"$UWF_ARTIFACTS/a\"; echo $$ > worker\nwhile [ ! -e go ]; do sleep 0.02; done\n{ANSWER}"
        );
        world.script("leaves.sh", &body);
        world.agent("uwf-command", &["--", "./leaves.sh"]);
        let thread = world.start("one");
        let call = world.spawn(&["thread", "step", &thread]);
        let worker = world.project().join("worker");
        let read = || fs::read_to_string(&worker).unwrap_or_default();
        wait_until("the agent works", || read().ends_with('\n'));
        let worker = read().trim().to_owned();
        Self {
            world,
            thread,
            call,
            worker,
        }
    }

    fn has_folder(&self) -> bool {
        let folder = format!("runs/{}/artifacts", self.thread);
        self.world.root().join(folder).exists()
    }

    fn kill_engine(&mut self) {
        self.call.kill().unwrap();
        self.call.wait().unwrap();
    }
}

#[test]
fn a_call_that_is_told_to_stop_leaves_no_artefacts() {
    for name in ["TERM", "INT"] {
        let mut work = AtWork::new();
        signal(name, work.call.id());
        work.call.wait().unwrap();
        assert!(!is_running(&work.worker));
        assert!(!work.has_folder(), "{name}");
    }
}

#[test]
fn a_step_that_is_adopted_leaves_no_artefacts() {
    let mut work = AtWork::new();
    work.kill_engine();
    work.world.step(&work.thread).exits(5);
    assert!(work.has_folder(), "its agent is at work");
    work.world.write("go", "");
    wait_until("the step is finished", || {
        work.world.pending(&work.thread).is_some()
    });
    work.world.wait_until_free(&work.thread);
    let done = work.world.step(&work.thread).exits(0).json();
    assert_eq!(done["adopted"], serde_json::json!(true));
    let step = done["step"].as_str().unwrap();
    let kept = work.world.uwf(&["step", "cat", step, "a"]).exits(0);
    assert_eq!(kept.stdout, "x");
    assert!(!work.has_folder());
}

#[test]
fn a_killed_thread_leaves_no_artefacts() {
    for all_are_dead in [false, true] {
        let mut work = AtWork::new();
        if all_are_dead {
            kill_all_of(&work.world);
        } else {
            work.kill_engine();
        }
        work.call.wait().unwrap();
        assert!(work.has_folder());
        work.world.uwf(&["thread", "kill", &work.thread]).exits(0);
        assert!(!is_running(&work.worker));
        assert!(!work.has_folder(), "{all_are_dead}");
    }
}

#[test]
fn a_thread_that_is_killed_at_work_leaves_no_artefacts() {
    let mut work = AtWork::new();
    work.world.uwf(&["thread", "kill", &work.thread]).exits(0);
    work.call.wait().unwrap();
    assert!(!work.has_folder());
}

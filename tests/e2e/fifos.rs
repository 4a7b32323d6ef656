//! A FIFO in the place of a file: opening one waits for its other end, and nobody has it. No command hangs.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::{REVIEW, World};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: s }\n";

/// How long a command may take. It only ends a test that would hang: no command here does any work.
const LIMIT: Duration = Duration::from_secs(60);

/// A thread with a step, with every file that one can have.
struct Scene {
    world: World,
    thread: String,
    ended: String,
    head: String,
    start: String,
    workflow: String,
}

fn scene() -> Scene {
    let world = World::new();
    let workflow = world.put(REVIEW);
    world.mock(SCRIPT);
    let thread = world.start("review");
    let start = text(&world, &thread, "head");
    world.step(&thread).exits(0);
    let ended = world.start("review");
    world.uwf(&["thread", "kill", &ended]).exits(0);
    let head = text(&world, &thread, "head");
    Scene {
        world,
        thread,
        ended,
        head,
        start,
        workflow,
    }
}

fn text(world: &World, thread: &str, key: &str) -> String {
    world.show(thread)[key].as_str().unwrap().to_owned()
}

impl Scene {
    fn places(&self) -> Vec<PathBuf> {
        let root = self.world.root();
        let run = root.join("runs").join(&self.thread);
        let node = |hash: &str| root.join("cas").join(format!("{hash}.bin"));
        let mut places: Vec<PathBuf> = [
            "threads.yaml",
            "history.jsonl",
            "registry.yaml",
            "workflows.yaml",
            "config.yaml",
            ".env",
            "cas/.roots",
            "cas/.gc.lock",
            "cas/_index/CTS5P6RD8HMCS",
            "cas/_index/_meta",
            "locks/state.lock",
            "locks/state.seal",
            "logs/1970-01-01.jsonl",
        ]
        .map(|name| root.join(name))
        .into();
        let records = [
            "lock",
            "pending.json",
            "holder.json",
            "failure.json",
            "attempts.jsonl",
            "sessions.json",
            "chain.json",
            "live.jsonl",
            "begun.json",
            "used.json",
            "raises.json",
            "stdout",
            "stderr",
            "answer",
        ];
        places.extend(records.map(|name| run.join(name)));
        places.extend([node(&self.head), node(&self.start), node(&self.workflow)]);
        places.push(self.world.project().join("script.yaml"));
        places.push(self.world.project().join("review.yaml"));
        places
    }

    fn commands(&self) -> Vec<Vec<&str>> {
        vec![
            vec!["thread", "list", "--all"],
            vec!["thread", "show", &self.thread],
            vec!["thread", "steps", &self.thread],
            vec!["thread", "read", &self.thread],
            vec!["thread", "show", &self.ended],
            vec!["thread", "step", &self.thread],
            vec!["thread", "fork", &self.head],
            vec!["thread", "start", "review", "-p", "x"],
            vec!["workflow", "validate", "./review.yaml"],
            vec!["workflow", "put", "./review.yaml"],
            vec!["workflow", "list"],
            vec!["config", "list"],
            vec!["cas", "verify"],
            vec!["cas", "gc"],
            vec!["cas", "schema", "list"],
            vec!["log", "list"],
            vec!["doctor", "--offline", "--all"],
        ]
    }
}

/// Runs a command and fails if it does not end; what it says is another test's matter.
fn ends(world: &World, args: &[&str], place: &str) {
    let mut command = world.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{args:?} hangs with a FIFO as {place}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn no_command_hangs_whatever_file_is_a_fifo() {
    let scene = scene();
    let aside = scene.world.dir().join("aside");
    let copy = |from: &PathBuf, to: &PathBuf| {
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    };
    copy(&scene.world.root(), &aside);
    let script = fs::read(scene.world.project().join("script.yaml")).unwrap();
    for place in scene.places() {
        let _ = fs::remove_file(&place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&place).status();
        assert!(made.unwrap().success());
        for command in scene.commands() {
            ends(&scene.world, &command, &place.display().to_string());
        }
        fs::remove_dir_all(scene.world.root()).unwrap();
        copy(&aside, &scene.world.root());
        for (name, content) in [
            ("script.yaml", &script[..]),
            ("review.yaml", REVIEW.as_bytes()),
        ] {
            let path = scene.world.project().join(name);
            let _ = fs::remove_file(&path);
            fs::write(path, content).unwrap();
        }
    }
}

#[test]
fn a_fifo_in_the_place_of_a_file_is_named() {
    let scene = scene();
    for (place, command, code) in [
        (
            scene.world.root().join("threads.yaml"),
            vec!["thread", "list"],
            4,
        ),
        (
            scene.world.project().join("review.yaml"),
            vec!["workflow", "validate", "./review.yaml"],
            1,
        ),
        (
            scene
                .world
                .root()
                .join("cas")
                .join(format!("{}.bin", scene.head)),
            vec!["thread", "show", &scene.thread],
            4,
        ),
    ] {
        let before = fs::read(&place).unwrap();
        fs::remove_file(&place).unwrap();
        let made = Command::new("mkfifo").arg(&place).status();
        assert!(made.unwrap().success());
        scene
            .world
            .uwf(&command)
            .exits(code)
            .says("a FIFO, not a regular file");
        fs::remove_file(&place).unwrap();
        fs::write(&place, before).unwrap();
    }
}

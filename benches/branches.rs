//! What branches cost: a thread with many branches that is run to its end, beside as many threads that `thread step --all`
//! steps; and a step of a thread, of whose branches few or most have ended.
//!
//! `cargo bench -p uwf --bench branches` prints two tables. `UWF_BENCH_BRANCHES` sets the number of branches (1,000).

#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
const STEPS: usize = 11;
const AT_ONCE: usize = 4;
const ROLE: &str = "one: { goal: g, frontmatter: { type: object, required: [note], properties: { note: { type: string } } } }";
const CONFIG: &str =
    "agents:\n  mock: { command: uwf-mock, args: [answers.yaml] }\ndefaultAgent: mock\n";
const ANSWERS: &str = "roles:\n  one: [{ output: { note: n }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.01 } }]\n";

fn main() {
    let count = std::env::var("UWF_BENCH_BRANCHES").map_or(1000, |count| {
        count.parse().expect("UWF_BENCH_BRANCHES is a number")
    });
    println!("| {count} times an agent, {AT_ONCE} at once | seconds | / threads |");
    println!("|---|---|---|");
    let rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| (of_threads(count), of_branches(count)))
        .collect();
    let threads = median(rounds.iter().map(|round| round.0));
    let branches = median(rounds.iter().map(|round| round.1));
    let ratio = median(rounds.iter().map(|round| round.1 / round.0));
    println!("| threads, `thread step --all` | {threads:.1} | |");
    println!("| branches of one thread, `thread run` | {branches:.1} | {ratio:.2} |");
    println!("\n| `thread step` of {AT_ONCE} branches, with a limit | ms | / none ended |");
    println!("|---|---|---|");
    let first = steps_after(count, 0);
    let last = steps_after(count, count - 2 * AT_ONCE * STEPS);
    println!("| none has ended | {first:.1} | |");
    println!("| most have ended | {last:.1} | {:.2} |", last / first);
}

/// Returns how many seconds one step of each of so many threads takes.
fn of_threads(count: usize) -> f64 {
    let world = World::new(&format!(
        "name: demo\nroles:\n  {ROLE}\ngraph:\n  $START: {{ _: {{ role: one, prompt: p }} }}\n  one: {{ _: {{ role: $END, prompt: '' }} }}\n"
    ));
    for _ in 0..count {
        world.start();
    }
    let jobs = AT_ONCE.to_string();
    seconds(|| drop(world.uwf(&["thread", "step", "--all", "--jobs", &jobs])))
}

/// Returns how many seconds a thread with so many branches takes.
fn of_branches(count: usize) -> f64 {
    let world = World::with_branches(count);
    let thread = world.start();
    seconds(|| drop(world.uwf(&["thread", "run", &thread])))
}

/// Returns how many milliseconds a step takes when so many of the branches have ended.
fn steps_after(count: usize, ended: usize) -> f64 {
    let world = World::with_branches(count);
    let thread = world.start();
    world.uwf(&["config", "set", "limits.maxSteps", "100000"]);
    let rounds = ended / AT_ONCE;
    if rounds > 0 {
        world.uwf(&["thread", "step", &thread, "--count", &rounds.to_string()]);
    }
    let step = || seconds(|| drop(world.uwf(&["thread", "step", &thread])));
    1000.0 * median((0..STEPS).map(|_| step()))
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    Duration::as_secs_f64(&start.elapsed())
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// A root with a workflow `demo` and an agent that answers at once.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new(workflow: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let world = Self { dir };
        std::fs::create_dir(world.path("root")).expect("a root");
        for (file, text) in [
            ("demo.yaml", workflow),
            ("answers.yaml", ANSWERS),
            ("root/config.yaml", CONFIG),
        ] {
            std::fs::write(world.path(file), text).expect("a file");
        }
        world.uwf(&["workflow", "put", "demo.yaml"]);
        world
    }

    fn with_branches(count: usize) -> Self {
        Self::new(&format!(
            "name: demo\nroles:\n  {ROLE}\n  all: {{ goal: g, each: '[1..{count}]', role: one, max: {AT_ONCE} }}\ngraph:\n  $START: {{ _: {{ role: all, prompt: p }} }}\n  all: [{{ role: $END }}]\n"
        ))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a thread and returns its id.
    fn start(&self) -> String {
        let started = self.uwf(&["thread", "start", "demo", "-p", "x"]);
        let started: serde_json::Value = serde_json::from_str(&started).expect("JSON");
        started["thread"].as_str().expect("an id").to_owned()
    }

    fn uwf(&self, args: &[&str]) -> String {
        let program = std::env::var("UWF_BIN").unwrap_or(env!("CARGO_BIN_EXE_uwf").to_owned());
        let output = Command::new(program)
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .env("HOME", self.dir.path())
            .output()
            .expect("uwf runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

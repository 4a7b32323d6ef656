//! What a step of ours costs, told in commits of `git`: both are run in turn on the same disk, pair by pair,
//! and the ratio of each pair is taken, since absolute times mean nothing on a machine that does other work, too.
//!
//! `cargo bench` prints the table of `docs/performance.md`. `UWF_BENCH_PAIRS` sets the number of pairs.

#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::schemas;

const BINARY: &str = env!("CARGO_BIN_EXE_uwf");
const DEFAULT_PAIRS: usize = 40;
const NOW: i64 = 1_780_000_000_000;

/// Fills a world before it is measured.
type Prepare = fn(&mut World);

fn main() {
    let pairs = std::env::var("UWF_BENCH_PAIRS")
        .ok()
        .and_then(|text| text.parse().ok());
    let pairs = pairs.unwrap_or(DEFAULT_PAIRS);
    println!("| case | step / git commit, median of {pairs} pairs | lowest | highest | step, ms |");
    println!("|---|---|---|---|---|");
    let cases: [(&str, Prepare); 8] = [
        ("a fresh store", |_| {}),
        ("a condition before and after the step", World::decide),
        ("a thread of 1,000 steps", |world| world.lengthen(1_000)),
        ("a thread of 10,000 steps", |world| world.lengthen(10_000)),
        ("20,000 foreign nodes", |world| world.crowd(20_000)),
        ("100,000 foreign nodes", |world| world.crowd(100_000)),
        ("1,000 active threads", |world| world.busy(1_000)),
        ("10,000 active threads", |world| world.busy(10_000)),
    ];
    for (name, prepare) in cases {
        let mut world = World::new();
        prepare(&mut world);
        let measured = compare(
            pairs,
            || world.prepare(),
            || world.step(),
            || world.commit(),
        );
        println!("| {name} | {} |", measured.row());
    }
    let world = World::new();
    let durable = compare(
        pairs,
        || world.prepare(),
        || world.step(),
        || world.commit_durably(),
    );
    println!(
        "| a fresh store; `git` with `core.fsync=all` | {} |",
        durable.row()
    );
    let start_up = compare(
        pairs,
        || {},
        || run(Command::new(BINARY).arg("--version")),
        || {
            run(&mut Command::new("/bin/true"));
        },
    );
    println!("| `uwf --version` / `/bin/true` | {} |", start_up.row());
    let world = World::new();
    world.prepare();
    println!(
        "\nPeak memory of a step, engine and agent: {} KiB",
        world.peak_memory()
    );
}

/// Times of two commands that were run in turn.
struct Pairs {
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
}

impl Pairs {
    fn row(&self) -> String {
        let ratio =
            |(ours, theirs): (&Duration, &Duration)| ours.as_secs_f64() / theirs.as_secs_f64();
        let mut ratios: Vec<f64> = self.ours.iter().zip(&self.theirs).map(ratio).collect();
        let mut ours: Vec<f64> = self.ours.iter().map(Duration::as_secs_f64).collect();
        ratios.sort_by(f64::total_cmp);
        ours.sort_by(f64::total_cmp);
        let middle = |sorted: &[f64]| sorted[sorted.len() / 2];
        let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
        format!(
            "{:.2} | {low:.2} | {high:.2} | {:.2}",
            middle(&ratios),
            middle(&ours) * 1e3
        )
    }
}

/// Runs both in turn; what `prepare` does before each pair is not counted.
fn compare(pairs: usize, prepare: impl Fn(), ours: impl Fn(), theirs: impl Fn()) -> Pairs {
    let time = |run: &dyn Fn()| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    // One pair warms the caches and does not count.
    prepare();
    ours();
    theirs();
    let mut measured = Pairs {
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    for _ in 0..pairs {
        prepare();
        measured.ours.push(time(&ours));
        measured.theirs.push(time(&theirs));
    }
    measured
}

/// Runs a command to its end; one that fails makes the figures worthless.
fn run(command: &mut Command) {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A folder with a store, a thread that never ends, and a git repository beside it.
struct World {
    dir: tempfile::TempDir,
    thread: String,
    answers: Cell<usize>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::TempDir::new_in(bench_dir()).expect("a temp folder");
        let mut world = Self {
            dir,
            thread: String::new(),
            answers: Cell::new(0),
        };
        std::fs::write(world.path("loop.yaml"), WORKFLOW).expect("the workflow is written");
        run(&mut world.uwf(&["workflow", "put", "loop.yaml"]));
        run(&mut world.uwf(&["config", "set", "agents.mock.command", "uwf-mock"]));
        let script = json!([world.path("script.yaml")]).to_string();
        run(&mut world.uwf(&["config", "set", "agents.mock.args", &script]));
        run(&mut world.uwf(&["config", "set", "defaultAgent", "mock"]));
        world.thread = world.start("loop");
        let repository = world.path("git");
        run(Command::new("git").args(["init", "-q"]).arg(&repository));
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn uwf(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .env_remove("OCAS_DIR")
            .env("UWF_FORMAT", "json");
        command
    }

    /// Goes on with a workflow whose routes depend on conditions.
    fn decide(&mut self) {
        let (head, _) = WORKFLOW.split_once("graph:\n").expect("it has a graph");
        let workflow = head.replace("name: loop", "name: decide") + CONDITIONS;
        std::fs::write(self.path("decide.yaml"), workflow).expect("the workflow is written");
        run(&mut self.uwf(&["workflow", "put", "decide.yaml"]));
        self.thread = self.start("decide");
        // From here on there is an answer to look at before each step.
        self.prepare();
        self.step();
    }

    fn start(&self, workflow: &str) -> String {
        let output = self
            .uwf(&["thread", "start", workflow, "-p", "go on"])
            .output()
            .expect("uwf starts");
        let started: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        started["thread"].as_str().expect("a thread").to_owned()
    }

    /// Writes a script with an answer that no step gave before, so that every step writes all of its nodes.
    fn prepare(&self) {
        let index = self.answers.replace(self.answers.get() + 1);
        std::fs::write(self.path("script.yaml"), script(index)).expect("the script is written");
    }

    fn step(&self) {
        run(&mut self.uwf(&["thread", "step", &self.thread]));
    }

    fn commit(&self) {
        self.git(&["commit", "-q", "--allow-empty", "-m", "step"]);
    }

    fn commit_durably(&self) {
        let sync = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"];
        let commit = ["commit", "-q", "--allow-empty", "-m", "step"];
        self.git(&[&sync[..], &commit[..]].concat());
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(self.path("git"))
            .args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        run(command.args(args));
    }

    fn store(&self) -> Store {
        Store::open(self.path("root/cas"))
    }

    fn threads_file(&self) -> PathBuf {
        self.path("root/threads.yaml")
    }

    /// Gives the thread a chain of steps of another role, so that the mock's visits begin anew.
    fn lengthen(&self, steps: usize) {
        let store = self.store();
        let text = std::fs::read_to_string(self.threads_file()).expect("threads");
        let start = text.trim().rsplit(' ').next().expect("a head").to_owned();
        let put = |type_hash, payload: &serde_json::Value| {
            store
                .put_volatile(type_hash, payload, NOW)
                .expect("a node is stored")
        };
        let output = put(schemas::OBJECT, &json!({ "status": "_" }));
        let raw = put(schemas::TEXT, &json!("seed"));
        let mut prev: Option<CasRef> = None;
        for index in 0..steps {
            let step = json!({
                "start": start, "prev": prev, "role": "seeder", "output": output, "detail": raw,
                "agent": "uwf-seed", "edgePrompt": format!("step {index}"), "startedAtMs": NOW,
                "completedAtMs": NOW, "cwd": "/", "assembledPrompt": null,
            });
            prev = Some(put(schemas::STEP_NODE, &step));
        }
        let head = prev.expect("there is a step");
        let lines = text.replace(&start, head.as_str());
        std::fs::write(self.threads_file(), lines).expect("threads are written");
    }

    /// Adds nodes that have nothing to do with the thread.
    fn crowd(&self, nodes: usize) {
        let store = self.store();
        for index in 0..nodes {
            let text = json!(format!("foreign {index}"));
            store
                .put_volatile(schemas::TEXT, &text, NOW)
                .expect("a node is stored");
        }
    }

    /// Adds active threads.
    fn busy(&self, threads: usize) {
        let text = std::fs::read_to_string(self.threads_file()).expect("threads");
        let head = text.trim().rsplit(' ').next().expect("a head").to_owned();
        let mut lines = String::new();
        for index in 0..threads {
            let id = ThreadId::new(NOW.unsigned_abs() + index as u64, index as u128);
            writeln!(lines, "{id}: {head}").expect("a string takes all");
        }
        std::fs::write(self.threads_file(), lines + &text).expect("threads are written");
    }

    /// Returns the highest resident memory of a step's processes, as the kernel told while they ran.
    fn peak_memory(&self) -> u64 {
        let mut child = self
            .uwf(&["thread", "step", &self.thread])
            .stdout(Stdio::null())
            .spawn()
            .expect("uwf starts");
        let mut peak = 0;
        while child.try_wait().expect("the child is ours").is_none() {
            peak = peak.max(memory_of_tree(child.id()));
        }
        peak
    }
}

/// Returns the larger of a process's peak memory and its children's, in KiB.
fn memory_of_tree(pid: u32) -> u64 {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let status = read(format!("/proc/{pid}/status"));
    let own = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let own = own
        .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0);
    let children = read(format!("/proc/{pid}/task/{pid}/children"));
    let of_children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    of_children.map(memory_of_tree).fold(own, u64::max)
}

/// Returns where the worlds are made: on the disk of the build, unlike the system's temp folder.
fn bench_dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn script(index: usize) -> String {
    format!(
        "roles:\n  writer:\n    - output: \"---\\n$status: again\\nnote: answer {index}\\n---\\nBody {index}\\n\"\n"
    )
}

const WORKFLOW: &str = r#"
name: loop
description: Goes on for ever
roles:
  seeder:
    description: Stands for a long past
    goal: You seed.
    capabilities: []
    procedure: Seed.
    output: Nothing.
    frontmatter: { type: object }
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter:
      type: object
      properties:
        $status: { enum: [again, seed, done] }
        note: { type: string }
      required: [$status, note]
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  seeder: { _: { role: writer, prompt: "Write." } }
  writer:
    again: { role: writer, prompt: "Write on after {{note}}." }
    seed: { role: seeder, prompt: "Seed." }
    done: { role: $END, prompt: "Done." }
"#;

const CONDITIONS: &str = r#"conditions:
  ended: { expression: "$last('writer').note = 'the last'" }
  long: { expression: "$count(steps[role = 'writer']) > 1000000" }
graph:
  $START: [{ role: writer, prompt: "Write." }]
  seeder: [{ role: writer, prompt: "Write." }]
  writer:
    - { role: $END, condition: ended }
    - { role: seeder, condition: long, prompt: "Seed." }
    - { role: writer, prompt: "Write on after {{note}}." }
"#;

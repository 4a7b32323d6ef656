//! What a step of ours costs, told in commits of `git`: both are run in turn on the same disk, pair by pair,
//! and the ratio of each pair is taken, since absolute times mean nothing on a machine that does other work, too.
//!
//! `cargo bench` prints the table of `docs/performance.md`. `UWF_BENCH_PAIRS` sets the number of pairs, and `UWF_BIN` names
//! the binary that is measured in place of the one that cargo built.

#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::json;
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::schemas;

const DEFAULT_PAIRS: usize = 40;
const NOW: i64 = 1_780_000_000_000;

/// Returns a call of the binary that is measured.
fn binary() -> Command {
    let named = std::env::var_os("UWF_BIN");
    Command::new(named.unwrap_or_else(|| env!("CARGO_BIN_EXE_uwf").into()))
}

/// Fills a world before it is measured.
type Prepare = fn(&mut World);

fn main() {
    let pairs = std::env::var("UWF_BENCH_PAIRS")
        .ok()
        .and_then(|text| text.parse().ok());
    let rounds = pairs.unwrap_or(DEFAULT_PAIRS);
    println!("| case | step / commit | step / commit with `core.fsync=all` | step, ms |");
    println!("|---|---|---|---|");
    let cases: [(&str, Prepare); 7] = [
        ("a fresh store", |_| {}),
        ("an external program as agent", World::use_program),
        ("a condition before and after the step", World::decide),
        ("a thread of 10,000 steps", |world| world.lengthen(10_000)),
        ("100,000 foreign nodes", |world| world.crowd(100_000)),
        ("10,000 active threads", |world| world.busy(10_000)),
        ("10,000 active and 10,000 ended threads", |world| {
            world.busy(10_000);
            world.end(10_000);
        }),
    ];
    for (name, prepare) in cases {
        println!("| {name} | {} |", measured(rounds, prepare).row());
    }
    let writer = Writer::start();
    for (name, prepare) in &cases[..2] {
        let row = measured(rounds, *prepare).row();
        println!("| {name}, beside a writer that syncs all the time | {row} |");
    }
    drop(writer);
    let start_up = compare(
        rounds,
        || {},
        [&|| run(binary().arg("--version")), &|| {
            run(&mut Command::new("/bin/true"));
        }],
    );
    println!(
        "\n`uwf --version` / `/bin/true`: {}",
        ratio(&start_up[0], &start_up[1])
    );
    let world = World::new();
    world.prepare();
    println!(
        "Peak memory of a step, engine and agent: {} KiB",
        world.peak_memory()
    );
}

/// Times of a step and of both kinds of commits, which were run in turn.
struct Measured([Vec<f64>; 3]);

/// Fills a world and measures in it.
fn measured(rounds: usize, prepare: Prepare) -> Measured {
    let mut world = World::new();
    prepare(&mut world);
    let times = compare(
        rounds,
        || world.prepare(),
        [&|| world.step(), &|| world.commit(), &|| {
            world.commit_durably();
        }],
    );
    Measured(times)
}

impl Measured {
    fn row(&self) -> String {
        let [step, commit, durable] = &self.0;
        format!(
            "{} | {} | {:.1}",
            ratio(step, commit),
            ratio(step, durable),
            median(step.clone()) * 1e3
        )
    }
}

/// Returns the median of the ratios, round by round, with the lowest and the highest.
fn ratio(ours: &[f64], theirs: &[f64]) -> String {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    format!("{:.2} ({low:.2}–{high:.2})", median(ratios))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs all in turn, so many times, and returns the seconds that each took; what `prepare` does before each round is not
/// counted. One more round at the beginning warms the caches.
fn compare<const N: usize>(
    rounds: usize,
    prepare: impl Fn(),
    all: [&dyn Fn(); N],
) -> [Vec<f64>; N] {
    let mut times = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..=rounds {
        prepare();
        for (times, run) in times.iter_mut().zip(all) {
            let started = Instant::now();
            run();
            if round > 0 {
                times.push(started.elapsed().as_secs_f64());
            }
        }
    }
    times
}

/// Something that writes files on the same disk and syncs them, until it is dropped.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let write = move || {
            let dir = tempfile::TempDir::new_in(bench_dir()).expect("a temp folder");
            let mut index = 0_u8;
            while !stopped.load(Ordering::Relaxed) {
                let path = dir.path().join(index.to_string());
                let mut file = File::create(path).expect("a file is made");
                file.write_all(&[index; 65_536]).expect("it is written");
                file.sync_all().expect("it is synced");
                index = index.wrapping_add(1);
            }
        };
        Self {
            stop,
            thread: Some(std::thread::spawn(write)),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
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
        let mut command = binary();
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .env_remove("OCAS_DIR")
            .env("UWF_FORMAT", "json");
        command
    }

    /// Has a program of the user's do the steps, which prints the answer.
    fn use_program(&mut self) {
        let answer = self.path("answer.md");
        let args = json!(["--", "cat", answer]).to_string();
        run(&mut self.uwf(&["config", "set", "agents.program.command", "uwf-command"]));
        run(&mut self.uwf(&["config", "set", "agents.program.args", &args]));
        run(&mut self.uwf(&["config", "set", "defaultAgent", "program"]));
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

    /// Writes an answer that no step gave before, for the mock and for the program, so that every step writes all of its nodes.
    fn prepare(&self) {
        let index = self.answers.replace(self.answers.get() + 1);
        std::fs::write(self.path("script.yaml"), script(index)).expect("the script is written");
        std::fs::write(self.path("answer.md"), answer(index)).expect("the answer is written");
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

    /// Adds ended threads.
    fn end(&self, threads: usize) {
        let text = std::fs::read_to_string(self.threads_file()).expect("threads");
        let head = text.trim().rsplit(' ').next().expect("a head").to_owned();
        let mut lines = String::new();
        for index in 0..threads {
            let id = ThreadId::new(index as u64, index as u128);
            let record = json!({
                "thread": id, "workflow": head, "head": head, "completedAt": NOW, "reason": "completed",
            });
            writeln!(lines, "{record}").expect("a string takes all");
        }
        std::fs::write(self.path("root/history.jsonl"), lines).expect("the history is written");
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

fn answer(index: usize) -> String {
    format!("---\n$status: again\nnote: answer {index}\n---\nBody {index}\n")
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

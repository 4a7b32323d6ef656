//! What it costs to find a step by its place in a thread, and a page of a list: `cas has` with a name, and `thread list`,
//! as whole processes, for short and long threads and for many threads.
//!
//! `cargo bench -p uwf --bench lookups` prints two tables. Each figure is the median of some calls
//! in turn, so that a load of the machine hits all columns.

#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::schemas;

const NOW: i64 = 1_780_000_000_000;
const ROUNDS: usize = 21;
const WORKFLOW: &str = "name: demo\ndescription: d\nroles:\n  writer:\n    description: d\n    goal: g\n    capabilities: []\n    procedure: p\n    output: o\n    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }\ngraph:\n  $START: { _: { role: writer, prompt: p } }\n  writer: { _: { role: writer, prompt: p }, $SUSPEND: { role: $SUSPEND, prompt: p } }\n";

fn main() {
    let long = [100, 50_000].map(World::with_steps);
    println!("| look-up | 100 steps, ms | 50,000 steps, ms | ratio |");
    println!("|---|---|---|---|");
    for name in ["@@3", "@~40", "@/first", "@/writer"] {
        let first = long.each_ref().map(|world| time(|| world.has(name)));
        let row = medians(&long, |world| drop(world.has(name)));
        let [short, long] = first.map(millis);
        println!("| `{name}`, the first time | {short:.1} | {long:.1} | |");
        println!("| `{name}` | {row} |");
    }
    let many = [100, 10_000].map(World::with_threads);
    println!("\n| list | 100 threads, ms | 10,000 threads, ms | ratio |");
    println!("|---|---|---|---|");
    for options in [
        &["--limit", "20"][..],
        &["--limit", "20", "--workflow", "demo"],
        &["--limit", "20", "--here"],
        &["--limit", "20", "--label", "team=web"],
        &["--label", "team=none"],
        &[
            "--workflow",
            "demo",
            "--status",
            "suspended",
            "--limit",
            "1",
        ],
        &[],
    ] {
        let row = medians(&many, |world| {
            world.uwf(&[&["thread", "list"], options].concat());
        });
        println!("| `{}` | {row} |", options.join(" "));
    }
}

fn time<T>(call: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let _ = call();
    start.elapsed()
}

/// Returns the median times of both worlds, called in turn, and their ratio.
fn medians(worlds: &[World; 2], call: impl Fn(&World)) -> String {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (world, times) in worlds.iter().zip(&mut times) {
            times.push(time(|| call(world)));
        }
    }
    let [few, many] = times.map(|mut times| {
        times.sort_unstable();
        millis(times[ROUNDS / 2])
    });
    format!("{few:.1} | {many:.1} | {:.2}", many / few)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A root with a workflow and threads.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let world = Self { dir };
        std::fs::write(world.path("demo.yaml"), WORKFLOW).expect("a workflow");
        world.uwf(&["workflow", "put", "demo.yaml"]);
        world.uwf(&["thread", "start", "demo", "-p", "x"]);
        world
    }

    /// Returns a world with one thread of many steps. The first is of a role of its own.
    fn with_steps(steps: usize) -> Self {
        let world = Self::new();
        let store = world.store();
        let (text, start) = world.head();
        let put = |type_hash, payload: &serde_json::Value| {
            store
                .put_volatile(type_hash, payload, NOW)
                .expect("a node is stored")
        };
        let output = put(schemas::OBJECT, &json!({ "note": "n" }));
        let detail = put(schemas::TEXT, &json!("seed"));
        let mut prev: Option<CasRef> = None;
        for index in 0..steps {
            let role = if index == 0 { "first" } else { "writer" };
            let step = json!({
                "start": start, "prev": prev, "role": role, "output": output, "detail": detail,
                "agent": "uwf-seed", "edgePrompt": format!("step {index}"), "startedAtMs": NOW,
                "completedAtMs": NOW, "cwd": "/", "assembledPrompt": null,
            });
            prev = Some(put(schemas::STEP_NODE, &step));
        }
        let head = prev.expect("there is a step");
        let text = text.replace(&start, head.as_str());
        std::fs::write(world.path("root/threads.yaml"), text).expect("threads are written");
        world
    }

    /// Returns a world with many threads at one start, each tenth with a label.
    fn with_threads(threads: u32) -> Self {
        let world = Self::new();
        let (text, start) = world.head();
        let (mut heads, mut labels) = (text, String::new());
        for index in 0..threads {
            let thread = ThreadId::new(1_700_000_000_000 + u64::from(index), 1);
            heads = heads + thread.as_str() + ": " + &start + "\n";
            if index % 10 == 0 {
                let line = json!({ "thread": thread, "name": format!("task-{index}"), "labels": { "team": "web" } });
                labels = labels + &line.to_string() + "\n";
            }
        }
        let mut lines: Vec<&str> = heads.lines().collect();
        lines.sort_unstable();
        let heads = lines.join("\n") + "\n";
        std::fs::write(world.path("root/threads.yaml"), heads).expect("threads are written");
        std::fs::write(world.path("root/labels.jsonl"), labels).expect("labels are written");
        world
    }

    /// Returns the text of the active threads, and the head of the only one.
    fn head(&self) -> (String, String) {
        let text = std::fs::read_to_string(self.path("root/threads.yaml")).expect("threads");
        let start = text.trim().rsplit(' ').next().expect("a head").to_owned();
        (text, start)
    }

    fn store(&self) -> Store {
        Store::open(self.path("root/cas"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn has(&self, name: &str) -> String {
        self.uwf(&["cas", "has", name])
    }

    fn uwf(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_uwf"))
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .output()
            .expect("the command starts");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {problem}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

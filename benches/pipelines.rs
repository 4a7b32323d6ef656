//! What the steps of pipelines cost, beside a shell loop that runs the same commands and syncs a line for each, and beside
//! `make`, which keeps nothing.
//!
//! `cargo bench -p uwf --bench pipelines` prints a table. `UWF_BENCH_ITEMS` sets the length of the longest loop (10,000).

#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 3;
/// The lengths of lists of steps, and of loops but for the longest.
const STEPS: [usize; 3] = [1, 100, 1000];
const LOOPS: [usize; 2] = [100, 1000];

fn main() {
    let longest = std::env::var("UWF_BENCH_ITEMS").map_or(10_000, |count| {
        count.parse().expect("UWF_BENCH_ITEMS is a number")
    });
    println!("| `true` | uwf, ms | each, ms | shell loop, ms | make, ms | / shell loop |");
    println!("|---|---|---|---|---|---|");
    for count in STEPS {
        row(&format!("{count} steps"), count, &steps(count));
    }
    let mut each = Vec::new();
    for count in LOOPS.into_iter().chain([longest]) {
        each.push(row(&format!("a loop of {count}"), count, &items(count)));
    }
    println!(
        "\nan item of {longest} costs {:.2} of one of {}",
        each[2] / each[0],
        LOOPS[0]
    );
}

/// Measures all three in turn, prints a row, and returns what one command costs with us.
fn row(name: &str, count: usize, pipeline: &str) -> f64 {
    let rounds: Vec<[f64; 3]> = (0..ROUNDS)
        .map(|_| [ours(pipeline), shell(count), make(count)])
        .collect();
    let [uwf, shell, make] = [0, 1, 2].map(|at| median(rounds.iter().map(|round| round[at])));
    let ratio = median(rounds.iter().map(|round| round[0] / round[1]));
    let each = uwf / count as f64;
    println!("| {name} | {uwf:.1} | {each:.2} | {shell:.1} | {make:.1} | {ratio:.2} |");
    each
}

fn steps(count: usize) -> String {
    let mut text = "steps:\n".to_owned();
    for number in 0..count {
        let _ = writeln!(text, "  - {{ name: s{number}, command: ['true'] }}");
    }
    text
}

fn items(count: usize) -> String {
    let items: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!(
        "steps:\n  - name: Loop\n    for_each: {{ items: [{}], steps: [{{ name: s, command: ['true'] }}] }}\n",
        items.join(",")
    )
}

/// Returns how many milliseconds a run takes.
fn ours(pipeline: &str) -> f64 {
    let world = World::new();
    world.write("flow.yaml", pipeline);
    let program = std::env::var("UWF_BIN").unwrap_or(env!("CARGO_BIN_EXE_uwf").to_owned());
    world.time(&program, &["orchestrate", "run", "flow.yaml", "--quiet"])
}

/// Returns how many milliseconds a shell loop takes.
fn shell(count: usize) -> f64 {
    let world = World::new();
    let script = "for ((i = 0; i < $1; i++)); do /bin/true; echo \"$i\" >> log; sync log; done";
    world.time("bash", &["-c", script, "loop", &count.to_string()])
}

/// Returns how many milliseconds `make` takes.
fn make(count: usize) -> f64 {
    let world = World::new();
    let mut text = String::new();
    for number in 0..count {
        let before = match number {
            0 => String::new(),
            _ => format!("s{}", number - 1),
        };
        let _ = write!(text, "s{number}: {before}\n\t@/bin/true\n");
    }
    world.write("Makefile", &text);
    world.time("make", &["-s", &format!("s{}", count - 1)])
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// A workspace with a root of its own.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// Returns how many milliseconds a program takes.
    fn time(&self, program: &str, args: &[&str]) -> f64 {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .env("HOME", self.dir.path());
        let start = Instant::now();
        let output = command.output().expect("the program runs");
        let took = start.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {args:?}: {said}");
        took.as_secs_f64() * 1000.0
    }
}

//! What it costs to find a step by its place in a thread, and a page of a list: `cas has` with a name, and `thread list`,
//! as whole processes, for short and long threads and for many threads.
//!
//! `cargo bench -p uwf --bench lookups` prints two tables. Each figure is the median of some calls
//! in turn, so that a load of the machine hits all columns.

#![expect(clippy::print_stdout, reason = "the table is printed")]

#[expect(dead_code, reason = "another bench uses the rest of it")]
mod seeded;

use std::time::{Duration, Instant};

use seeded::World;

const ROUNDS: usize = 21;

fn main() {
    let long = [100, 50_000].map(World::with_steps);
    println!("| look-up | 100 steps, ms | 50,000 steps, ms | ratio |");
    println!("|---|---|---|---|");
    for name in ["@@3", "@~40", "@/first", "@/writer"] {
        let first = long.each_ref().map(|world| time(|| has(world, name)));
        let row = medians(&long, |world| drop(has(world, name)));
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

fn has(world: &World, name: &str) -> String {
    world.uwf(&["cas", "has", name])
}

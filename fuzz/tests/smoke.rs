//! Each target on its corpus and on mutations of it, the same in each run. With `UWF_FUZZ_SECONDS=60` each target takes
//! mutations for a minute, from a seed that is printed; `UWF_FUZZ_SEED` repeats it.

use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use uwf_fuzz::mutation::Chance;
use uwf_fuzz::{TARGETS, Target};

const RUNS: usize = 3000;
const SEED: u64 = 0x5eed;

/// How many mutations each target takes.
#[derive(Clone, Copy)]
enum Amount {
    Runs(usize),
    Time(Duration),
}

#[test]
fn targets_hold_for_their_corpus_and_for_mutations_of_it() {
    let (amount, seed) = match number("UWF_FUZZ_SECONDS") {
        Some(seconds) => (Amount::Time(Duration::from_secs(seconds)), new_seed()),
        None => (Amount::Runs(RUNS), SEED),
    };
    let seed = number("UWF_FUZZ_SEED").unwrap_or(seed);
    println!("seed {seed}");
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        for input in &inputs {
            check(name, target, input);
        }
        let count = mutate(name, target, &inputs, amount, seed);
        println!("{name}: {count} mutations of {} inputs", inputs.len());
    }
}

/// Runs a target on mutations, and returns how many it took.
fn mutate(name: &str, target: Target, inputs: &[Vec<u8>], amount: Amount, seed: u64) -> usize {
    let start = Instant::now();
    let mut chance = Chance::new(seed);
    let mut count = 0;
    while match amount {
        Amount::Runs(runs) => count < runs,
        Amount::Time(limit) => start.elapsed() < limit,
    } {
        check(name, target, &chance.mutated(inputs));
        count += 1;
    }
    count
}

/// Returns the number in a variable, if it is set.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Returns a seed that differs from run to run, and is not 0.
fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::from(now.expect("the clock is set").subsec_nanos()) + 1
}

/// Runs a target, and shows the input that it does not hold for.
fn check(name: &str, target: Target, input: &[u8]) {
    if catch_unwind(|| target(input)).is_err() {
        panic!("`{name}` does not hold for b\"{}\"", input.escape_ascii());
    }
}

/// Returns the inputs that are known, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let entries = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    assert!(
        files.len() > 2,
        "{} has {} inputs",
        folder.display(),
        files.len()
    );
    let read = |path| std::fs::read(path).expect("it can be read");
    files.into_iter().map(read).collect()
}

//! Each target on its corpus and on mutations of it, the same in each run. `UWF_FUZZ_RUNS` sets how many.

use std::panic::catch_unwind;
use std::path::Path;

use uwf_fuzz::mutation::Chance;
use uwf_fuzz::{TARGETS, Target};

const RUNS: usize = 3000;
const SEED: u64 = 0x5eed;

#[test]
fn targets_hold_for_their_corpus_and_for_mutations_of_it() {
    let runs = std::env::var("UWF_FUZZ_RUNS").ok();
    let runs = runs.map_or(RUNS, |text| text.parse().expect("a number"));
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        for input in &inputs {
            check(name, target, input);
        }
        let mut chance = Chance::new(SEED);
        for _ in 0..runs {
            check(name, target, &chance.mutated(&inputs));
        }
    }
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

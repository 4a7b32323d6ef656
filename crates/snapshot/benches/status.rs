//! What a snapshot of a tree of 50,000 files costs, beside `git status` of the same tree.
//!
//! `cargo bench -p uwf-snapshot` prints a table. `UWF_BENCH_PAIRS` sets the number of rounds (20).

#![expect(clippy::print_stdout, reason = "the table is printed")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use uwf_snapshot::{Place, Repository, Unsupervised};

const FOLDERS: usize = 500;
const FILES: usize = 100;

fn main() {
    let rounds = std::env::var("UWF_BENCH_PAIRS").map_or(20, |rounds| rounds.parse().unwrap());
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("work");
    make(&root);
    let repository = Repository::of(&root).unwrap().unwrap();
    let index = temp.path().join("index");
    let place = Place {
        index: &index,
        reference: "refs/uwf/threads/bench",
        most_bytes: 1 << 20,
        hides: |_| false,
        start: &Unsupervised,
    };
    // The first snapshot copies the user's index.
    repository.snapshot(place, "first").unwrap();
    println!("| 50,000 files | git status, ms | snapshot, ms | snapshot / status |");
    println!("|---|---|---|---|");
    for changed in [0, 10] {
        let pairs: Vec<[f64; 2]> = (0..rounds)
            .map(|round| {
                for file in 0..changed {
                    fs::write(root.join(format!("d{file}/f0")), format!("{round}")).unwrap();
                }
                [
                    time(|| git(&root, &["status", "--porcelain"])),
                    time(|| drop(repository.snapshot(place, "next").unwrap())),
                ]
            })
            .collect();
        let status = median(pairs.iter().map(|pair| pair[0]));
        let snapshot = median(pairs.iter().map(|pair| pair[1]));
        let ratio = median(pairs.iter().map(|pair| pair[1] / pair[0]));
        println!("| {changed} changed | {status:.0} | {snapshot:.0} | {ratio:.2} |");
    }
}

/// Makes a repository with one commit.
fn make(root: &Path) {
    for folder in 0..FOLDERS {
        let folder = root.join(format!("d{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES {
            fs::write(folder.join(format!("f{file}")), "a line of text\n").unwrap();
        }
    }
    git(root, &["init", "--quiet"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message=all"]);
}

fn git(root: &Path, args: &[&str]) {
    let who = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"];
    let mut command = Command::new("git");
    // A status that writes its index would make the next one cheaper.
    let command = command.env("GIT_OPTIONAL_LOCKS", "0").args(who);
    assert!(
        command
            .args(args)
            .current_dir(root)
            .output()
            .unwrap()
            .status
            .success()
    );
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1000.0
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

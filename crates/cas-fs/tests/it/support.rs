//! Fixtures and temporary stores for several test files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;

/// A time to store nodes at.
pub(crate) const NOW: i64 = 1_780_416_525_000;

/// Two texts whose nodes have one hash.
pub(crate) const COLLIDING: [&str; 2] = [
    "two different texts, and yet one hash for both of them: a collid",
    "tpgtwdhyarent texts, and yet one AYY1b=C/ both of them: a collid",
];

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures")).join(name)
}

pub(crate) fn fixture_text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// The values of a file with one JSON value a line.
pub(crate) fn fixture_lines(name: &str) -> Vec<Value> {
    let text = fixture_text(name);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn hash(digits: &str) -> CasRef {
    digits.parse().unwrap()
}

/// A new store with its first nodes, which is removed with its directory.
pub(crate) fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("cas"));
    store.create(NOW).unwrap();
    (dir, store)
}

/// A copy of the store that the reference program wrote.
pub(crate) fn reference_store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let from = fixture("store/cas");
    for folder in ["", "_index"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
        for entry in fs::read_dir(from.join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(
                    entry.path(),
                    dir.path().join(folder).join(entry.file_name()),
                )
                .unwrap();
            }
        }
    }
    let store = Store::open(dir.path());
    (dir, store)
}

/// The file of a node.
pub(crate) fn file(store: &Store, hash: CasRef) -> PathBuf {
    store.dir().join(format!("{hash}.bin"))
}

/// The names in a directory, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns as soon as a process waits for the lock of a file.
pub(crate) fn until_somebody_waits_for(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", fs::metadata(path).unwrap().ino());
    let waits = |line: &str| line.contains("-> ") && line.contains(&inode);
    while !fs::read_to_string("/proc/locks")
        .unwrap()
        .lines()
        .any(waits)
    {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

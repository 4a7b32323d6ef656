//! Several writers of one store, in threads and in processes, some of which are killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{NOW, names, store};
use serde_json::{Value, json};
use uwf_cas_fs::{Store, Verdict};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::TEXT;

/// The variable with the store for a writer process that a test started.
const WRITER: &str = "UWF_TEST_STORE";

fn text(number: usize) -> Value {
    json!(format!("text {number} {}", "x".repeat(number * 7 % 3000)))
}

/// Puts the text with this number, and the next one, as one batch.
fn put_text(store: &Store, number: usize) -> CasRef {
    let mut batch = store.batch();
    let hash = batch.put(TEXT, &text(number), NOW).unwrap();
    batch.put(TEXT, &text(number + 1), NOW).unwrap();
    batch.commit().unwrap();
    hash
}

fn put_texts(store: &Store, count: usize) -> Vec<CasRef> {
    (0..count).map(|number| put_text(store, number)).collect()
}

/// Starts this program again, to run one test as a writer.
fn spawn_writer(test: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(WRITER, dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn all_sound(store: &Store) -> Vec<CasRef> {
    let all = store.all().unwrap();
    for verified in store.verify(&all).unwrap() {
        assert_eq!(verified.verdict, Verdict::Ok, "{}", verified.hash);
    }
    all
}

fn no_temporary_files(store: &Store) {
    let left: Vec<String> = names(store.dir())
        .into_iter()
        .filter(|name| uwf_durable::is_temporary(name))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn threads_that_put_the_same_nodes_agree() {
    let (_dir, store) = store();
    let found: Vec<Vec<CasRef>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| put_texts(&store, 40)))
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    assert!(found.iter().all(|hashes| hashes == &found[0]));
    all_sound(&store);
    no_temporary_files(&store);
    assert_eq!(store.of_type(TEXT).unwrap().len(), 41);
}

#[test]
fn processes_that_create_and_fill_one_store_agree() {
    if let Some(dir) = std::env::var_os(WRITER) {
        let store = Store::open(dir);
        store.create(NOW).unwrap();
        put_texts(&store, 40);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cas");
    let test = "race::processes_that_create_and_fill_one_store_agree";
    let writers = [
        spawn_writer(test, &path),
        spawn_writer(test, &path),
        spawn_writer(test, &path),
    ];
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let store = Store::open(path);
    all_sound(&store);
    no_temporary_files(&store);
    assert_eq!(store.of_type(TEXT).unwrap().len(), 41);
}

#[test]
fn a_killed_writer_leaves_complete_nodes_only() {
    if let Some(dir) = std::env::var_os(WRITER) {
        let store = Store::open(dir);
        let first = store.all().unwrap().len();
        for number in first.. {
            put_text(&store, number);
        }
    }
    let (_dir, store) = store();
    let mut before = store.all().unwrap().len();
    for _ in 0..5 {
        let mut writer = spawn_writer(
            "race::a_killed_writer_leaves_complete_nodes_only",
            store.dir(),
        );
        while store.all().unwrap().len() < before + 10 {
            assert_eq!(
                writer.try_wait().unwrap(),
                None,
                "the writer stopped by itself"
            );
            thread::sleep(Duration::from_millis(1));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        before = all_sound(&store).len();
    }
    // Whoever comes next goes on where the others were stopped.
    let texts = put_texts(&store, 30);
    let found = store.of_type(TEXT).unwrap();
    assert!(texts.iter().all(|hash| found.contains(hash)));
}

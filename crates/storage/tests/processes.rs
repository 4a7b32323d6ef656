//! Several processes at the same files, some of them killed. The test program starts itself: a test whose
//! name begins with `as_` does its work only in a process that was started for it.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Advance, Root, State};

const ROOT: &str = "UWF_STORAGE_TEST_ROOT";
const NUMBER: &str = "UWF_STORAGE_TEST_NUMBER";
const THREADS: u64 = 20;
const STEPS: u64 = 25;

fn thread(number: u64) -> ThreadId {
    ThreadId::new(1_780_416_525_000 + number, 0)
}

/// Starts this program as another process that does the work of one test.
fn start(work: &str, root: &Root, number: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", work, "--nocapture"])
        .env(ROOT, root.path())
        .env(NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the root and the number that this process was started with, if it was started to do work.
fn order() -> Option<(Root, u64)> {
    let root = PathBuf::from(std::env::var_os(ROOT)?);
    let number = std::env::var(NUMBER).ok()?.parse().ok()?;
    Some((Root::at(root), number))
}

fn new_root() -> (tempfile::TempDir, Root) {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().to_owned());
    (temp, root)
}

#[test]
fn as_a_stepper() {
    let Some((root, number)) = order() else {
        return;
    };
    let state = State::new(&root);
    for step in 0..STEPS {
        let (from, to) = (CasRef::from_u64(step), CasRef::from_u64(step + 1));
        assert_eq!(
            state.advance(thread(number), from, to).unwrap(),
            Advance::Moved
        );
    }
}

#[test]
fn threads_that_step_at_once_lose_nothing() {
    let (_temp, root) = new_root();
    let state = State::new(&root);
    for number in 0..THREADS {
        state.insert(thread(number), CasRef::from_u64(0)).unwrap();
    }
    let mut steppers: Vec<Child> = (0..THREADS)
        .map(|number| start("as_a_stepper", &root, number))
        .collect();
    // Who only reads takes no lock, and sees all threads at every moment.
    while steppers
        .iter_mut()
        .any(|child| child.try_wait().unwrap().is_none())
    {
        assert_eq!(state.heads().unwrap().len(), 20);
        sleep(Duration::from_millis(2));
    }
    for mut stepper in steppers {
        assert!(stepper.wait().unwrap().success());
    }
    for (thread, head) in state.heads().unwrap() {
        assert_eq!(head, CasRef::from_u64(STEPS), "{thread}");
    }
}

#[test]
fn as_an_endless_stepper() {
    let Some((root, number)) = order() else {
        return;
    };
    let state = State::new(&root);
    loop {
        let head = state.head(thread(number)).unwrap().unwrap();
        let next = CasRef::from_u64(if head == CasRef::from_u64(1) { 2 } else { 1 });
        assert_eq!(
            state.advance(thread(number), head, next).unwrap(),
            Advance::Moved
        );
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_complete_file_and_no_lock() {
    let (_temp, root) = new_root();
    let state = State::new(&root);
    state.insert(thread(0), CasRef::from_u64(1)).unwrap();
    state.insert(thread(1), CasRef::from_u64(7)).unwrap();
    for wait_ms in 0..15 {
        let before = state.head(thread(0)).unwrap();
        let mut writer = start("as_an_endless_stepper", &root, 0);
        while state.head(thread(0)).unwrap() == before {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_millis(wait_ms));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let head = state.head(thread(0)).unwrap().unwrap();
        assert!([1, 2].map(CasRef::from_u64).contains(&head), "{head}");
        let other = state.advance(thread(1), CasRef::from_u64(7), CasRef::from_u64(7));
        assert_eq!(other.unwrap(), Advance::Moved);
    }
}

#[test]
fn as_an_engine() {
    let Some((root, number)) = order() else {
        return;
    };
    let lock = root.run(thread(number)).lease.try_acquire();
    let mut lock = lock.unwrap().unwrap();
    lock.inherit_on_exec().unwrap();
    // The agent ends when the test closes the stdin that all three share.
    let mut agent = Command::new("cat").stdout(Stdio::null()).spawn().unwrap();
    std::fs::write(root.path().join("agent-runs"), "").unwrap();
    agent.wait().unwrap();
}

#[test]
fn the_agent_of_an_engine_that_was_killed_keeps_the_thread_busy() {
    let (_temp, root) = new_root();
    let run = root.run(thread(3));
    let is_free = || run.lease.try_acquire().unwrap().is_some();
    let mut engine = start("as_an_engine", &root, 3);
    while !root.path().join("agent-runs").exists() {
        sleep(Duration::from_millis(2));
    }
    assert!(!is_free());
    let stdin = engine.stdin.take();
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert!(!is_free(), "the agent still runs");
    drop(stdin);
    for _ in 0..1000 {
        if is_free() {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("the lock outlived the agent");
}

#[test]
fn as_a_locker() {
    let Some((root, number)) = order() else {
        return;
    };
    let lock = root.run(thread(number)).lease.try_acquire().unwrap();
    let won = lock.is_some();
    std::fs::write(
        root.path().join(format!("{}-{won}", std::process::id())),
        "",
    )
    .unwrap();
    // Whoever won keeps the lock until the test closes stdin.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    drop(lock);
}

#[test]
fn of_many_processes_one_gets_a_thread_and_the_others_know_at_once() {
    let (_temp, root) = new_root();
    let mut lockers: Vec<Child> = (0..THREADS)
        .map(|_| start("as_a_locker", &root, 5))
        .collect();
    let told = || -> Vec<bool> {
        let files = std::fs::read_dir(root.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.split_once('-')?.1.parse().ok())
            .collect()
    };
    while told().len() < lockers.len() {
        sleep(Duration::from_millis(5));
    }
    assert_eq!(told().iter().filter(|won| **won).count(), 1);
    for locker in &mut lockers {
        drop(locker.stdin.take());
        assert!(locker.wait().unwrap().success());
    }
}

//! Threads of every version are read alike, and only as far as the caller asks.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::schemas;
use uwf_thread::{
    Expected, Head, ThreadError, answer, read_program, read_start, read_step, steps,
    steps_with_outputs, summarize, used_by, used_up_to,
};

/// A store with nodes that are typed as plain objects, as those of other programs may be.
struct World {
    dir: TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        store.create(0).unwrap();
        Self { dir, store }
    }

    fn put(&self, payload: &Value) -> CasRef {
        self.store.put(schemas::OBJECT, payload, 7).unwrap()
    }

    fn text(&self, text: &str) -> CasRef {
        self.store.put(schemas::TEXT, &json!(text), 7).unwrap()
    }

    fn start(&self) -> CasRef {
        self.put(&json!({ "workflow": schemas::WORKFLOW, "prompt": "Hello" }))
    }

    fn step(&self, start: CasRef, prev: Option<CasRef>, role: &str, cost: f64) -> CasRef {
        let detail = self.put(&json!({ "usage": { "costUsd": cost } }));
        let output = self.put(&json!({ "by": role, "cost": cost }));
        self.put(&json!({
            "start": start, "prev": prev, "role": role, "output": output, "detail": detail, "agent": "a",
        }))
    }

    /// Makes a chain of steps of `even` and `odd` in turn, of which the nth costs n dollars.
    fn chain(&self, length: usize) -> (CasRef, Vec<CasRef>) {
        let start = self.start();
        let mut hashes = Vec::new();
        for n in 1..=length {
            let role = ["even", "odd"][n % 2];
            hashes.push(self.step(start, hashes.last().copied(), role, n as f64));
        }
        (start, hashes)
    }

    fn remove(&self, hash: CasRef) {
        fs::remove_file(self.dir.path().join(format!("{hash}.bin"))).unwrap();
    }

    fn answer(&self, detail: &Value) -> Option<String> {
        answer(&self.store, detail).unwrap()
    }
}

#[track_caller]
fn is_not_a<T>(read: Result<T, ThreadError>, wanted: Expected) {
    match read.err() {
        Some(ThreadError::WrongType { expected, .. }) => assert_eq!(expected, wanted),
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_node_with_a_start_is_a_step() {
    let world = World::new();
    let (start, steps) = world.chain(1);
    let head = Head::read(&world.store, start).unwrap();
    assert!(matches!(&head, Head::Start(read) if read.hash == start && read.timestamp_ms == 7));
    assert_eq!(head.start(), start);
    let head = Head::read(&world.store, steps[0]).unwrap();
    assert!(matches!(&head, Head::Step(read) if read.hash == steps[0]));
    assert_eq!(head.start(), start);
}

#[test]
fn what_a_node_is_not_is_told() {
    let world = World::new();
    let (start, steps) = world.chain(1);
    let text = world.text("x");
    let half =
        world.put(&json!({ "start": start, "workflow": schemas::WORKFLOW, "prompt": "no step" }));
    is_not_a(Head::read(&world.store, text), Expected::Head);
    is_not_a(Head::read(&world.store, half), Expected::Head);
    is_not_a(read_start(&world.store, steps[0]), Expected::Start);
    is_not_a(read_step(&world.store, start), Expected::Step);
    is_not_a(read_step(&world.store, text), Expected::Step);
    let error = read_program(&world.store, start).unwrap_err();
    assert!(matches!(error, ThreadError::Workflow { hash, .. } if hash == start));
    let missing = "0123456789ABC".parse().unwrap();
    let error = Head::read(&world.store, missing).unwrap_err();
    assert!(matches!(error, ThreadError::Store(StoreError::Lost { hash, .. }) if hash == missing));
}

#[test]
fn steps_come_newest_first_and_the_start_has_none() {
    let world = World::new();
    let (start, made) = world.chain(3);
    let read: Vec<CasRef> = steps(&world.store, made[2])
        .map(|step| step.unwrap().hash)
        .collect();
    assert_eq!(read, [made[2], made[1], made[0]]);
    assert_eq!(steps(&world.store, start).count(), 0);
    let read = steps_with_outputs(&world.store, made[2]).unwrap();
    let outputs: Vec<&Value> = read.iter().map(|step| &step.output["cost"]).collect();
    assert_eq!(outputs, [&json!(1), &json!(2), &json!(3)]);
}

#[test]
fn a_step_is_read_only_when_it_is_asked_for() {
    let world = World::new();
    let (_, made) = world.chain(3);
    world.remove(made[1]);
    let mut steps = steps(&world.store, made[2]);
    assert_eq!(steps.next().unwrap().unwrap().hash, made[2]);
    assert!(steps.next().unwrap().is_err());
    assert!(steps.next().is_none(), "nothing follows an error");
}

#[test]
fn a_summary_reads_only_the_steps_after_the_recorded_one() {
    let world = World::new();
    let (start, made) = world.chain(5);
    let whole = summarize(&world.store, None, made[4]).unwrap();
    assert_eq!((whole.head, whole.steps), (made[4], 5));
    let odd: RoleName = "odd".parse().unwrap();
    let odd = &whole.visits[&odd];
    assert_eq!((odd.count, odd.last), (3, made[4]));
    let earlier = summarize(&world.store, None, made[2]).unwrap();
    let none = summarize(&world.store, Some(&whole), start).unwrap();
    assert_eq!((none.head, none.steps), (start, 0));
    let fork = world.step(start, Some(made[0]), "even", 9.0);
    let forked = summarize(&world.store, Some(&whole), fork).unwrap();
    assert_eq!(
        forked.steps, 2,
        "the record is of another branch: all is read"
    );
    world.remove(made[0]);
    world.remove(made[1]);
    let later = summarize(&world.store, Some(&earlier), made[4]).unwrap();
    assert_eq!(later, whole);
    world.remove(made[4]);
    assert_eq!(
        summarize(&world.store, Some(&whole), made[4]).unwrap(),
        whole
    );
}

#[test]
fn the_usage_of_a_chain_reads_only_the_steps_after_the_recorded_one() {
    let world = World::new();
    let (_, made) = world.chain(4);
    let whole = used_up_to(&world.store, None, made[3]).unwrap();
    assert_eq!((whole.used.runs, whole.used.cost_usd), (4, 10.0));
    let last = used_by(&world.store, made[3]).unwrap();
    assert_eq!((last.runs, last.cost_usd), (1, 4.0));
    let earlier = used_up_to(&world.store, None, made[1]).unwrap();
    world.remove(made[0]);
    let later = used_up_to(&world.store, Some(&earlier), made[3]).unwrap();
    assert_eq!(later, whole);
    assert!(used_up_to(&world.store, None, made[3]).is_err());
}

#[test]
fn the_answer_is_the_raw_text_or_the_last_turn_of_the_assistant_that_is_not_blank() {
    let world = World::new();
    let turn = |role: &str, content: &str| world.put(&json!({ "role": role, "content": content }));
    let turns = json!([
        turn("assistant", "first"),
        turn("assistant", "last"),
        turn("assistant", " \n"),
        turn("tool", "of a tool"),
    ]);
    let raw = |text: &str| json!({ "raw": world.text(text), "turns": turns });
    assert_eq!(world.answer(&raw("said")), Some("said".to_owned()));
    assert_eq!(world.answer(&raw(" \n")), Some("last".to_owned()));
    let not_text = json!({ "raw": world.put(&json!({})), "turns": turns });
    assert_eq!(world.answer(&not_text), Some("last".to_owned()));
    let in_place = json!({ "turns": [{ "content": "in place" }, "no hash", 7] });
    assert_eq!(world.answer(&in_place), Some("in place".to_owned()));
    assert_eq!(world.answer(&json!({ "turns": [] })), None);
    assert_eq!(world.answer(&json!("text")), None);
}

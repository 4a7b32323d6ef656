//! Processes that work on a run die or race: programs are never left to work beside their successors, and one process works at a
//! time.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::crash::reader::{Ledger, visits};
use crate::gates::{close_gate, open_gate, wait_for_ends};
use crate::gc::{age_all, gc, nodes};
use crate::processes::{is_running, kill, kill_if_there};
use crate::world::{World, wait_until};

const RUN: &[&str] = &["orchestrate", "run", "p.yaml"];

fn world(steps: &str) -> World {
    let world = World::new();
    world.write("p.yaml", &format!("steps:\n{steps}"));
    world
}

/// Returns what the steps have written when they were begun.
fn ran(world: &World) -> String {
    let ran = fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    ran.replace('\n', " ").trim().to_owned()
}

/// Starts a command, and returns when the steps that were begun are these.
#[track_caller]
fn spawn_until(world: &World, args: &[&str], begun: &str) -> Child {
    let engine = world.spawn(args);
    wait_until("the steps are begun", || ran(world) == begun);
    engine
}

/// Returns the only thread, with its keys.
#[track_caller]
fn thread(world: &World) -> (String, Vec<String>) {
    let ledger = Ledger::read(&world.root());
    assert_eq!(ledger.threads.len(), 1, "{ledger:?}");
    let (thread, steps) = ledger.threads.iter().next().unwrap();
    let visits = steps.last().map(|head| visits(&world.root(), head));
    let keys = visits.unwrap_or_default().into_iter();
    (thread.clone(), keys.map(|visit| visit.key).collect())
}

/// Returns the folder of the only run.
fn folder(world: &World) -> Option<PathBuf> {
    let mut runs = fs::read_dir(world.project().join(".orchestrate/runs")).ok()?;
    Some(runs.next()?.ok()?.path())
}

/// Waits for a process number that a step writes.
#[track_caller]
fn pid(world: &World, file: &str) -> String {
    let file = world.project().join(file);
    let read = || fs::read_to_string(&file).unwrap_or_default();
    wait_until("the number is written", || read().ends_with('\n'));
    read().trim().to_owned()
}

/// A step that waits while the gate is closed.
const GATED: &str =
    "  - {name: A, command: [sh, -c, 'echo A >> ran; while [ -e wait ]; do sleep 0.02; done']}\n";

#[test]
fn what_a_lost_attempt_left_is_ended_before_it_runs_again_and_what_a_settled_step_left_goes_on() {
    let world = world(
        "  - {name: A, command: [sh, -c, 'echo A >> ran; setsid sleep 1001 > /dev/null 2>&1 & echo $! > daemon']}
  - name: B
    command:
      - sh
      - -c
      - |
        echo B >> ran
        test -e hang || exit 0
        rm hang
        setsid sleep 1002 &
        echo $! > away
        env -i setsid sleep 1003 &
        echo $! > bare
        echo $$$$ > child
        exec sleep 1004
",
    );
    world.write("hang", "");
    let engine = spawn_until(&world, RUN, "A B");
    let [child, away, bare, daemon] = ["child", "away", "bare", "daemon"].map(|it| pid(&world, it));
    kill(engine);
    for process in [&child, &away, &bare] {
        assert!(is_running(process), "the engine alone was killed");
    }
    let (thread_id, _) = thread(&world);
    world.uwf(&["orchestrate", "resume", &thread_id]).exits(0);
    for process in [&child, &away, &bare] {
        assert!(!is_running(process));
    }
    let goes_on = is_running(&daemon);
    kill_if_there(&daemon);
    assert!(goes_on, "it belongs to a step that had settled");
    assert_eq!(ran(&world), "A B B");
    assert_eq!(thread(&world).1, ["A", "_resume", "B"]);
}

#[test]
fn a_program_that_lives_on_after_its_engine_is_shown_until_the_run_is_resumed() {
    let steps = GATED.replace("echo A", "echo $$$$ > pid; echo A");
    let world = world(&steps);
    world.write("wait", "");
    let engine = spawn_until(&world, RUN, "A");
    kill(engine);
    let status = || world.uwf(&["orchestrate", "status"]).exits(0).stdout;
    let data = || {
        world
            .uwf(&["orchestrate", "status", "--json"])
            .exits(0)
            .json()
    };
    let list = || world.uwf(&["orchestrate", "list"]).exits(0).stdout;
    let process = pid(&world, "pid");
    let shown = status();
    assert!(shown.contains("interrupted"), "{shown}");
    assert!(
        shown.contains("still alive") && shown.contains(&format!("process {process} `")),
        "{shown}"
    );
    assert_eq!(data()["programs_live"], true);
    assert!(
        data()["left_running"][0]
            .as_str()
            .unwrap()
            .starts_with(&process)
    );
    assert!(
        list().contains("interrupted, a program lives"),
        "{}",
        list()
    );
    kill_if_there(&process);
    wait_until("it is gone", || !is_running(&process));
    // What it was just running itself ends a moment later.
    wait_until("nothing lives", || !status().contains("still alive"));
    assert_eq!(data()["left_running"], Value::Null);
    assert!(!list().contains("lives"), "{}", list());
}

#[test]
fn a_kill_in_a_loop_costs_the_running_attempt_and_nothing_else() {
    let world = world(
        "  - {name: A, command: [sh, -c, 'echo A >> ran']}
  - name: L
    for_each:
      items: [0, 1, 2]
      steps:
        - {name: E, command: [sh, -c, 'echo E$1 >> ran; while test $1 = 1 -a -e wait; do sleep 0.02; done', _, '${loop.index}']}
        - {name: F, command: [sh, -c, 'echo F$1 >> ran', _, '${loop.index}']}
  - {name: C, command: [sh, -c, 'echo C >> ran']}
",
    );
    close_gate(&world);
    kill(spawn_until(&world, RUN, "A E0 F0 E1"));
    let id = folder(&world).unwrap();
    let id = id.file_name().unwrap().to_str().unwrap();
    open_gate(&world);
    let resumed = world.uwf(&["orchestrate", "resume", id, "--json"]).exits(0);
    assert_eq!(resumed.json()["run_id"], id);
    assert_eq!(ran(&world), "A E0 F0 E1 E1 F1 E2 F2 C");
    let (_, keys) = thread(&world);
    let resumes = keys.iter().filter(|key| *key == "_resume").count();
    let ledger = Ledger::read(&world.root());
    let head = ledger.threads.values().next().unwrap().last().unwrap();
    let visits = visits(&world.root(), head);
    let resume = visits.iter().find(|visit| visit.key == "_resume").unwrap();
    let lost = &resume.output["lost"];
    assert_eq!(
        (resumes, &lost["key"], &lost["attempt"]),
        (1, &"L[1].E".into(), &1.into())
    );
}

#[test]
fn of_several_resumes_one_works_and_the_others_name_it() {
    let world = world(GATED);
    close_gate(&world);
    let engine = spawn_until(&world, RUN, "A");
    let (thread_id, _) = thread(&world);
    let resume = ["orchestrate", "resume", &thread_id];
    world.uwf(&resume).exits(75).says(&engine.id().to_string());
    world.uwf(&["thread", "step", &thread_id]).exits(5);
    kill(engine);
    let mut all: Vec<Child> = (0..8).map(|_| world.spawn(&resume)).collect();
    wait_for_ends(&mut all, 7);
    open_gate(&world);
    let codes = all
        .into_iter()
        .map(|resume| resume.wait_with_output().unwrap().status.code());
    let mut codes: Vec<_> = codes.map(|code| code.unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 75, 75, 75, 75, 75, 75, 75]);
    assert_eq!(ran(&world), "A A");
    assert_eq!(thread(&world).1, ["_resume", "A"]);
}

#[test]
fn of_several_new_runs_with_one_id_one_is_made() {
    let world = world(GATED);
    let args = [RUN, &["--run-id", "r"]].concat();
    let all: Vec<Child> = (0..8).map(|_| world.spawn(&args)).collect();
    let mut codes = Vec::new();
    for run in all {
        let ended = run.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let code = ended.status.code().unwrap();
        assert!(
            code == 0 || said.contains("there is a run `r` already"),
            "{said}"
        );
        codes.push(code);
    }
    codes.sort_unstable();
    assert_eq!(codes, [0, 2, 2, 2, 2, 2, 2, 2]);
    assert_eq!(
        (ran(&world).as_str(), thread(&world).1),
        ("A", vec!["A".to_owned()])
    );
}

#[test]
fn the_head_follows_while_a_long_step_runs_or_waits() {
    let long = [
        "  - {name: L, command: [sh, -c, 'echo L >> ran; while [ -e wait ]; do sleep 0.02; done']}\n",
        "  - {name: L, wait_for: {glob: 'go', timeout_sec: 100, poll_ms: 20}}\n",
    ];
    for step in long {
        let quick = "  - {name: Q1, command: ['true']}\n  - {name: Q2, command: ['true']}\n";
        let world = world(&format!("{quick}{step}"));
        close_gate(&world);
        let engine = world.spawn(RUN);
        wait_until("the head follows", || {
            world.root().join("threads.yaml").exists()
                && Ledger::read(&world.root())
                    .threads
                    .values()
                    .any(|steps| steps.len() == 2)
        });
        open_gate(&world);
        world.write("go", "");
        assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(0));
        assert_eq!(thread(&world).1, ["Q1", "Q2", "L"]);
    }
}

#[test]
fn a_collector_keeps_what_a_dead_run_has_and_what_a_completed_one_needs() {
    let world = world(
        "  - {name: Q, command: [sh, -c, 'echo a text of its own']}
  - {name: A, command: [sh, -c, 'echo A >> ran; while [ -e wait ]; do sleep 0.02; done; echo b']}
",
    );
    close_gate(&world);
    kill(spawn_until(&world, RUN, "A"));
    let (thread_id, _) = thread(&world);
    age_all(&world, 30 * 24 * 3600);
    gc(&world, &[]).exits(0);
    open_gate(&world);
    world.uwf(&["orchestrate", "resume", &thread_id]).exits(0);
    assert_eq!(
        (ran(&world).as_str(), thread(&world).1),
        ("A A", ["Q", "_resume", "A"].map(str::to_owned).to_vec())
    );
    age_all(&world, 30 * 24 * 3600);
    gc(&world, &[]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(thread(&world).1.len(), 3);
    let texts = nodes(&world)
        .into_iter()
        .map(|node| fs::read(node).unwrap());
    let text = b"a text of its own";
    let mut kept = texts.filter(|node| node.windows(text.len()).any(|part| part == text));
    assert!(kept.next().is_some(), "the log of a step is kept");
}

#[test]
fn the_picture_can_be_read_at_every_instant() {
    let world = world(
        "  - name: L
    for_each:
      items: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
      steps:
        - {name: E, command: [sh, -c, 'sleep 0.04; seq 3000'], output_capture: lines}
",
    );
    let mut engine = world.spawn(RUN);
    let (mut read, mut seen) = (0, 0);
    let mut last = String::new();
    while engine.try_wait().unwrap().is_none() {
        let Some(text) =
            folder(&world).and_then(|it| fs::read_to_string(it.join("state.json")).ok())
        else {
            assert_eq!(seen, 0, "it was there");
            continue;
        };
        let picture: Value = serde_json::from_str(&text).unwrap();
        assert!(picture["status"].is_string(), "{text}");
        read += 1;
        seen += usize::from(text != last);
        last = text;
    }
    assert!(read > 20 && seen > 3, "{read}, {seen}");
}

#[test]
fn another_program_with_the_number_of_a_lost_one_lives() {
    let world = world(GATED);
    close_gate(&world);
    let engine = spawn_until(&world, RUN, "A");
    let (thread_id, _) = thread(&world);
    let record = world
        .root()
        .join("runs")
        .join(&thread_id)
        .join("holder.json");
    let lease = || -> Value { serde_json::from_slice(&fs::read(&record).unwrap()).unwrap() };
    wait_until("the program is on record", || lease()["agent"].is_object());
    kill(engine);
    let mut lease = lease();
    let program = lease["agent"]["pid"].to_string();
    // The system counts start times in ticks of 10 ms: the other program begins in a later one.
    std::thread::sleep(Duration::from_millis(20));
    let other = world.command_of("sleep").arg("1000").spawn().unwrap();
    lease["agent"]["pid"] = other.id().into();
    fs::write(&record, lease.to_string()).unwrap();
    open_gate(&world);
    world.uwf(&["orchestrate", "resume", &thread_id]).exits(0);
    assert!(is_running(other.id()), "it is younger than the record says");
    assert!(!is_running(&program));
    kill(other);
}

#[test]
fn few_open_files_are_enough() {
    let world = world(
        "  - {name: A, command: [sh, -c, 'echo A >> ran; seq 100'], output_file: out/a, output_capture: lines}
  - name: L
    for_each: {items_from: steps.A.lines, steps: [{name: E, command: [echo, '${item}'], output_file: 'out/${item}'}]}
",
    );
    let mut command = world.command_of("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]);
    let ran = command
        .arg(crate::world::binary())
        .args(RUN)
        .output()
        .unwrap();
    assert_eq!(
        ran.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn an_attempt_that_failed_is_not_repeated_after_a_kill() {
    let world = world(
        "  - {name: A, command: [sh, -c, 'echo A >> ran; exit 1'], retries: {max: 4, delay_ms: 150}}\n",
    );
    let mut engine = spawn_until(&world, RUN, "A A");
    // The second attempt has ended, or ends meanwhile: then the kill costs one attempt.
    std::thread::sleep(Duration::from_millis(60));
    kill(engine);
    let (thread_id, _) = thread(&world);
    let resume = ["orchestrate", "resume", &thread_id, "--json"];
    engine = spawn_until(&world, &resume, "A A A");
    std::thread::sleep(Duration::from_millis(60));
    kill(engine);
    let ran_before = ran(&world).split(' ').count();
    let run = world.uwf(&resume).exits(1);
    let attempts = ran(&world).split(' ').count();
    assert!((5..=7).contains(&attempts), "{attempts}, {ran_before}");
    let state: Value =
        serde_json::from_slice(&fs::read(folder(&world).unwrap().join("state.json")).unwrap())
            .unwrap();
    assert_eq!(state["steps"]["A"]["attempts"], 5, "{}", run.stderr);
}

//! Steps of many threads by one call, and steps that nobody waits for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate, runs};
use crate::processes::{is_running, signal, with_variable};
use crate::trees::LOOP;
use crate::world::{ONE_STEP, REVIEW, Run, World, wait_until};

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    world
}

/// Returns the JSON lines of a command by their threads.
fn lines(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn threads_of(lines: &[Value]) -> BTreeSet<&str> {
    lines
        .iter()
        .map(|line| line["thread"].as_str().unwrap())
        .collect()
}

#[test]
fn several_threads_get_their_steps_in_turn_and_a_failure_stops_no_other() {
    let world = world();
    let ended = world.start("one");
    world.step(&ended).exits(0);
    let (first, last) = (world.start("one"), world.start("one"));
    let run = world
        .uwf(&["thread", "step", &first, &ended, &last])
        .exits(7);
    let lines = lines(&run);
    assert_eq!(lines[0]["thread"], json!(first));
    assert_eq!(lines[1]["thread"], json!(ended));
    assert_eq!(lines[1]["exit"], json!(7));
    assert_eq!(lines[2]["thread"], json!(last));
    assert_eq!(lines[2]["status"], json!("completed"));
    run.says("3 threads: 2 stepped, 1 failed");
}

#[test]
fn with_a_limit_each_thread_gets_its_turn() {
    let world = World::new();
    world.put(LOOP);
    let script = "roles: { writer: [{ output: { $status: again } }] }";
    world.mock(script);
    let threads = [(); 3].map(|()| world.start("loop"));
    let turns = [(); 6].map(|()| {
        let run = world.uwf(&["thread", "step", "--all", "--limit", "1"]);
        lines(&run.exits(0))[0]["thread"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    assert_eq!(turns[..3], threads);
    assert_eq!(turns[3..], threads);
}

#[test]
fn all_steps_the_idle_threads_and_skips_the_busy_one() {
    for jobs in ["1", "3"] {
        let world = world();
        let busy = world.start("one");
        let engine = at_work(&world, &["thread", "step", &busy]);
        let idle: Vec<String> = (0..3).map(|_| world.start("one")).collect();
        world.write("fast.yaml", NOTE);
        let agent = "uwf-mock fast.yaml";
        let all = ["thread", "step", "--all", "--agent", agent, "--jobs", jobs];
        let run = world
            .uwf(&[&all[..], &["--status", "active"]].concat())
            .exits(0);
        let lines = lines(&run);
        assert_eq!(lines.len(), 4, "{}", run.stdout);
        let skipped = lines.iter().filter(|line| line["skipped"] == json!(true));
        let skipped: Vec<&str> = skipped.filter_map(|line| line["thread"].as_str()).collect();
        assert_eq!(skipped, [&busy]);
        assert!(
            idle.iter()
                .all(|id| threads_of(&lines).contains(id.as_str()))
        );
        run.says("4 threads: 3 stepped, 1 skipped");
        open_gate(&world);
        engine.wait_with_output().unwrap();
    }
}

#[test]
fn a_failing_thread_decides_the_exit_code_and_stops_no_other() {
    for jobs in ["1", "2"] {
        let world = World::new();
        world.put(ONE_STEP);
        // The agent fails for the first thread only.
        let failing = world.start("one");
        world.write("answers.yaml", NOTE);
        world.scripted_agent(&format!(
            "[ \"$1\" = {failing} ] && exit 9\nexec {} agent mock answers.yaml \"$@\"",
            crate::world::binary().display(),
        ));
        let good: Vec<String> = (0..2).map(|_| world.start("one")).collect();
        let args = ["thread", "step", "--all", "--jobs", jobs];
        let run = world.uwf(&args).exits(3);
        let lines = lines(&run);
        assert_eq!(lines.len(), 3, "{}", run.stdout);
        for thread in &good {
            assert_eq!(world.show(thread)["status"], json!("completed"));
        }
        let failed = lines.iter().find(|line| line["thread"] == json!(failing));
        assert_eq!(failed.unwrap()["class"], json!("crash"));
        run.says("2 stepped, 1 failed").says("exited with code 9");
        // A thread whose attempt failed is not idle: it is tried again only if that is asked for.
        world.uwf(&args).exits(0).says("note: 0 threads");
        let again = [&args[..], &["--status", "failed"]].concat();
        world.uwf(&again).exits(3);
    }
}

#[test]
fn all_goes_on_with_each_thread_until_it_needs_a_person() {
    for jobs in ["1", "2"] {
        let world = World::new();
        world.put(REVIEW);
        world.mock(
            "roles: { writer: [{ output: { plan: p } }], reviewer: [{ output: { $status: ask, question: q } }] }",
        );
        let threads = [world.start("review"), world.start("review")];
        let all = ["thread", "step", "--all", "--count", "all"];
        let run = world.uwf(&[&all[..], &["--jobs", jobs]].concat()).exits(0);
        assert_eq!(lines(&run).len(), 4, "{}", run.stdout);
        run.says("2 threads: 2 stepped");
        for thread in threads {
            assert_eq!(world.show(&thread)["status"], json!("suspended"));
        }
    }
}

#[test]
fn jobs_work_at_once_and_an_interrupt_ends_all_of_them() {
    let world = world();
    close_gate(&world);
    let threads: Vec<String> = (0..3).map(|_| world.start("one")).collect();
    let engine = world.spawn(&["thread", "step", "--all", "--jobs", "2"]);
    let agents = || -> Vec<u64> {
        let pid = |thread: &String| world.show(thread)["running"]["agentPid"].as_u64();
        threads.iter().filter_map(pid).collect()
    };
    wait_until("two agents are on record", || agents().len() == 2);
    let agents = agents();
    signal("INT", engine.id());
    let run = Run::from(engine.wait_with_output().unwrap()).exits(130);
    assert!(!agents.iter().any(is_running), "{}", run.stderr);
    assert!(runs(&world) <= 2, "the third was not started");
    let attempts = threads
        .iter()
        .map(|thread| world.show(thread)["attempts"].clone());
    let recorded = attempts.filter(|list| !list.as_array().unwrap().is_empty());
    assert_eq!(recorded.count(), 2, "{}", run.stderr);
    open_gate(&world);
    world
        .uwf(&["thread", "step", "--all", "--jobs", "3"])
        .exits(0);
}

#[test]
fn what_starts_nothing_for_one_thread_starts_nothing_for_several() {
    let world = world();
    close_gate(&world);
    let (first, last) = (world.start("one"), world.start("one"));
    let run = world
        .uwf(&["thread", "step", &first, &last, "--dry-run"])
        .exits(0);
    assert_eq!(threads_of(&lines(&run)), BTreeSet::from([&*first, &*last]));
    assert_eq!(runs(&world), 0);
    let run = world
        .uwf(&["thread", "step", &first, &last, "--background"])
        .exits(0);
    assert!(lines(&run).iter().all(|line| line["pid"].is_u64()));
    wait_until("both agents work", || runs(&world) == 2);
    open_gate(&world);
    world.uwf(&["thread", "wait", &first, &last]).exits(0);
}

#[test]
fn a_background_step_that_cannot_be_done_fails_at_once() {
    let world = world();
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let run = world
        .uwf(&["thread", "step", &thread, "--background"])
        .exits(7);
    let output = run.json()["output"].as_str().unwrap().to_owned();
    run.says(&output);
    assert!(
        std::fs::read_to_string(output)
            .unwrap()
            .contains("has ended")
    );
}

#[test]
fn an_interrupt_ends_the_wait_for_a_busy_thread() {
    let world = world();
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    let mut waiter = world.spawn(&["thread", "step", &thread, "--wait"]);
    let mut said = [0; 5];
    std::io::Read::read_exact(waiter.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"note:");
    // It has said that it waits. Until the signal is watched, it ends the process as usual.
    signal("INT", waiter.id());
    let status = waiter.wait_with_output().unwrap().status;
    use std::os::unix::process::ExitStatusExt;
    assert!(
        status.code() == Some(130) || status.signal() == Some(2),
        "{status}"
    );
    open_gate(&world);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    let world = world();
    let thread = world.start("one");
    for args in [
        &["--all", &thread][..],
        &["--status", "idle", &thread],
        &["--after", "7d", &thread],
        &["--background", "--all"],
        &["--dry-run", "--all"],
        &[],
        &["--all", "--status", "completed"],
        &["--all", "--jobs", "0"],
        &["--wait=soon", &thread],
    ] {
        world.uwf(&[&["thread", "step"], args].concat()).exits(2);
    }
    assert_eq!(runs(&world), 0);
}

#[test]
fn a_step_waits_for_a_busy_thread_as_long_as_it_is_told() {
    let world = world();
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    world
        .uwf(&["thread", "step", &thread, "--wait=200ms"])
        .exits(5)
        .says("is busy");
    let waiter = world.spawn(&["thread", "step", &thread, "--wait"]);
    wait_until("the log tells of the second refusal", || {
        let log = world.uwf(&["log", "show", "--lines"]).stdout;
        log.lines().filter(|line| line.contains("refused")).count() >= 2
    });
    open_gate(&world);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
    // The step of the other call completed the thread.
    let run = Run::from(waiter.wait_with_output().unwrap()).exits(7);
    run.says("waiting until it is free");
    assert_eq!(runs(&world), 1);
}

#[test]
fn a_step_in_the_background_outlives_its_call() {
    let world = world();
    close_gate(&world);
    let thread = world.start("one");
    let run = world
        .uwf(&["thread", "step", &thread, "--background"])
        .exits(0);
    let started = run.json();
    let pid = started["pid"].as_u64().unwrap();
    assert!(is_running(pid));
    assert_eq!(world.show(&thread)["status"], json!("running"));
    let session = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = session
        .rsplit(')')
        .next()
        .unwrap()
        .split(' ')
        .nth(4)
        .unwrap();
    assert_eq!(session, pid.to_string(), "it leads a session of its own");
    world
        .uwf(&["thread", "step", &thread, "--background"])
        .exits(5);
    open_gate(&world);
    world.uwf(&["thread", "wait", &thread]).exits(0);
    // The report is printed after the thread is free.
    wait_until("the output has the report", || {
        let output = std::fs::read_to_string(started["output"].as_str().unwrap());
        output.unwrap().contains("\"status\":\"completed\"")
    });
    assert_eq!(runs(&world), 1);
}

#[test]
fn a_dry_run_shows_what_the_agent_would_get_and_changes_nothing() {
    let world = world();
    let thread = world.start("one");
    world.uwf(&[
        "config",
        "set",
        "agents.default.args",
        r#"["--token", "s3cr3t-s3cr3t"]"#,
    ]);
    let before = snapshot(&world);
    let run = world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(0);
    let plan = run.json();
    assert_eq!(plan["role"], json!("writer"));
    assert_eq!(plan["cwd"], json!(world.project().canonicalize().unwrap()));
    assert_eq!(plan["instruction"], json!("Write a note."));
    assert!(!run.stdout.contains("s3cr3t"), "{}", run.stdout);
    let command = plan["command"].as_array().unwrap();
    assert_eq!(
        command[1..],
        [
            json!("--token"),
            json!("***MASKED***"),
            json!(thread),
            json!("writer")
        ]
    );
    assert_eq!(snapshot(&world), before);
    assert_eq!(runs(&world), 0);

    world.uwf(&["config", "set", "agents.default.args", "[]"]);
    world.step(&thread).exits(0);
    let step = world.show(&thread)["head"].clone();
    let told = world
        .uwf(&["step", "read", "--prompt", step.as_str().unwrap()])
        .exits(0);
    let told = told.stdout.trim().to_owned();
    assert!(
        told.ends_with(plan["prompt"].as_str().unwrap().trim()),
        "{told}"
    );
    world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(7);
}

/// Returns the files below the root with their sizes. What a call leaves in the process log does not count.
fn snapshot(world: &World) -> BTreeSet<(String, u64)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![world.root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() && entry.file_name() != "logs" {
                folders.push(entry.path());
            } else {
                found.insert((entry.path().display().to_string(), meta.len()));
            }
        }
    }
    found
}

#[test]
fn the_process_of_a_job_is_not_left_behind() {
    let world = world();
    for _ in 0..2 {
        world.start("one");
    }
    world
        .uwf(&["thread", "step", "--all", "--jobs", "2"])
        .exits(0);
    let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
    assert_eq!(with_variable(&root), Vec::<String>::new());
}

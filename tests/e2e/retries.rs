//! Attempts that follow failed ones by themselves: when they are made, which agent makes them, and which commands wait for them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failures::AGAIN;
use crate::processes::{catches_signals, signal};
use crate::world::{ONE_STEP, Run, World, wait_until};

/// An agent whose provider refuses so many calls at the step before it answers.
pub(crate) fn refused(times: u32) -> String {
    format!(
        "roles:\n  writer:\n    - {{ exit: 1, class: rate-limit, failures: {times}, output: {{ note: n }} }}\n"
    )
}

/// A world with a thread whose agent is refused so many times, and is tried three times with this time between.
pub(crate) fn refusing(times: u32, backoff: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(&refused(times));
    world.configure("agents.default.retry.max", "2");
    world.configure("agents.default.retry.backoff", backoff);
    let thread = world.start("one");
    (world, thread)
}

/// Adds an agent that answers from a script of the mock.
fn mock(world: &World, alias: &str, script: &str) {
    let path = world.write(&format!("{alias}.yaml"), script);
    let args = serde_json::to_string(&[path]).unwrap();
    world.configure(&format!("agents.{alias}.command"), "uwf-mock");
    world.configure(&format!("agents.{alias}.args"), &args);
}

pub(crate) fn attempts(world: &World, thread: &str) -> Vec<Value> {
    let view = world.show(thread);
    view["attempts"].as_array().unwrap().clone()
}

pub(crate) fn status(world: &World, thread: &str) -> String {
    world.show(thread)["status"].as_str().unwrap().to_owned()
}

/// Returns the objects on stdout, one for each step and failed attempt.
fn objects(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Waits until the thread does not wait any more.
fn due(world: &World, thread: &str) {
    wait_until("the time has come", || status(world, thread) != "waiting");
}

#[test]
fn a_step_that_comes_too_early_starts_nothing_and_says_until_when() {
    let (world, thread) = refusing(1, "1h");
    let run = world.step(&thread).exits(3);
    let told = run.json();
    let at = told["nextTryAt"].as_str().unwrap().to_owned();
    assert_eq!(told["nextAgent"], json!("default"), "{told}");
    let until = format!("{} UTC", at[..19].replace('T', " "));
    run.says(&format!(
        "agent `default` makes the next attempt at {until}"
    ))
    .says(&format!("`uwf thread run {thread}` waits for that"));

    let early = world.step(&thread).exits(5);
    assert_eq!(early.stdout, "");
    let early = early.says(&format!(
        "thread `{thread}` waits until {until}: `writer` failed (rate-limit)"
    ));
    early.says(&format!("`uwf thread step {thread} --now`"));
    assert_eq!(attempts(&world, &thread).len(), 1);

    let view = world.show(&thread);
    assert_eq!(view["status"], json!("waiting"), "{view}");
    assert_eq!(
        (&view["nextTryAt"], &view["nextAgent"]),
        (&json!(at), &json!("default"))
    );
    let list = world
        .uwf(&["thread", "list", "--status", "waiting"])
        .exits(0);
    assert_eq!(list.json()[0]["nextTryAt"], json!(at));
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert!(
        text.stdout.contains(&format!("waiting until {until}")),
        "{}",
        text.stdout
    );
    let text = world.uwf(&["thread", "list", "--format", "text"]);
    assert!(
        text.stdout.contains("then agent default tries again"),
        "{}",
        text.stdout
    );

    // Nobody is to be mailed because of a thread that waits.
    let all = world.uwf(&["thread", "step", "--all", "-q"]).exits(0);
    assert_eq!((all.stdout.as_str(), all.stderr.as_str()), ("", ""));

    let now = world.uwf(&["thread", "step", &thread, "--now"]).exits(0);
    assert_eq!(now.json()["status"], json!("completed"));
}

#[test]
fn a_thread_whose_time_has_come_is_idle_and_goes_on_with_all_others() {
    let (world, thread) = refusing(1, "300ms");
    world.step(&thread).exits(3);
    due(&world, &thread);
    assert_eq!(status(&world, &thread), "idle");
    world.uwf(&["thread", "step", "--all"]).exits(0);
    assert_eq!(status(&world, &thread), "completed");
}

#[test]
fn a_run_waits_for_each_attempt_and_twice_as_long_the_second_time() {
    let (world, thread) = refusing(2, "400ms");
    let told = world.dir().join("told");
    world.configure(
        "hooks.failed.command",
        &format!("cat >> {}", told.display()),
    );
    let started = Instant::now();
    let run = world.uwf(&["thread", "run", &thread]).exits(0);
    assert!(started.elapsed() >= Duration::from_millis(1200));
    let objects = objects(&run);
    let failed: Vec<&Value> = objects
        .iter()
        .filter(|one| one["class"].is_string())
        .collect();
    assert_eq!(failed.len(), 2, "{objects:#?}");
    let run = run.says("`writer` failed: the script says `exit: 1`");
    run.says(&format!("thread {thread} waits until"));
    // The hook is told of each failure, and when the next attempt is made.
    let told = fs::read_to_string(told).unwrap();
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 2);
    for (told, failed) in told.iter().zip(failed) {
        assert!(told["nextTryAt"].is_string(), "{told}");
        assert_eq!(told["nextTryAt"], failed["nextTryAt"]);
        assert_eq!(told["nextAgent"], json!("default"));
    }
}

#[test]
fn a_run_ends_when_the_attempts_are_used_up_and_a_person_may_try_at_once() {
    let (world, thread) = refusing(3, "100ms");
    let run = world.uwf(&["thread", "run", &thread]).exits(3);
    assert_eq!(attempts(&world, &thread).len(), 3);
    let last = objects(&run)
        .into_iter()
        .rfind(|one| one["class"].is_string())
        .unwrap();
    assert_eq!(last["nextTryAt"], Value::Null, "{last}");
    assert_eq!(status(&world, &thread), "failed");
    world.uwf(&["thread", "step", "--all"]).exits(0);
    assert_eq!(attempts(&world, &thread).len(), 3);
    world.step(&thread).exits(0);
}

#[test]
fn who_asks_for_it_waits_and_who_does_not_want_to_is_told_so() {
    let (world, thread) = refusing(1, "500ms");
    world.step(&thread).exits(3);
    world
        .uwf(&["thread", "step", &thread, "--wait=50ms"])
        .exits(5)
        .says("waits until");
    world.uwf(&["thread", "step", &thread, "--wait"]).exits(0);

    let (world, thread) = refusing(1, "1h");
    // Whether the attempt that failed is of this run or of an earlier one.
    for printed in [2, 1] {
        let run = world.uwf(&["thread", "run", &thread, "--no-wait"]).exits(5);
        let objects = objects(&run);
        assert_eq!(objects.len(), printed, "{objects:?}");
        assert_eq!(objects.last().unwrap()["stopped"], json!("waiting"));
        assert_eq!(objects.last().unwrap()["exit"], json!(5));
        assert_eq!(attempts(&world, &thread).len(), 1);
    }
    world.uwf(&["thread", "run", &thread, "--now"]).exits(0);
}

#[test]
fn a_signal_ends_the_wait_of_a_run_and_a_kill_forgets_nothing() {
    let (world, thread) = refusing(1, "1h");
    for (name, code) in [("TERM", Some(143)), ("INT", Some(130)), ("KILL", None)] {
        let run = world.spawn(&["thread", "run", &thread]);
        // The first run makes the attempt that fails, and may not have begun to wait. The second one finds that the thread waits.
        wait_until("the run waits", || {
            status(&world, &thread) == "waiting" && catches_signals(run.id())
        });
        signal(name, run.id());
        let ended = run.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), code, "{name}");
        assert_eq!(attempts(&world, &thread).len(), 1);
        world.step(&thread).exits(5);
    }
    world.uwf(&["thread", "step", &thread, "--now"]).exits(0);
}

#[test]
fn an_agent_that_was_killed_in_the_next_attempt_is_tried_again_at_once() {
    let (world, thread) = refusing(1, "100ms");
    world.step(&thread).exits(3);
    due(&world, &thread);
    // The mock answers late, and is killed with its engine before.
    world.mock(&refused(1).replace("failures: 1", "failures: 1, sleepMs: 60000"));
    let step = world.spawn(&["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    crate::processes::kill(step);
    crate::processes::kill_group(agent);
    world.wait_until_free(&thread);
    world.mock(&refused(1));
    world.step(&thread).exits(0);
}

#[test]
fn what_a_person_asks_for_is_not_delayed() {
    let (world, thread) = refusing(9, "1h");
    mock(&world, "other", &refused(0));
    world.step(&thread).exits(3);
    world.step(&thread).exits(5);
    // Each of these makes an attempt.
    for options in [&["--now"][..], &["--new-session"], &["--agent", "default"]] {
        let before = attempts(&world, &thread).len();
        let args = [&["thread", "step", &thread], options].concat();
        world.uwf(&args).exits(3);
        assert_eq!(attempts(&world, &thread).len(), before + 1, "{options:?}");
    }
    world
        .uwf(&["thread", "step", &thread, "--agent", "other"])
        .exits(0);
}

#[test]
fn an_agent_that_a_person_chose_is_not_tried_again_by_itself() {
    let (world, thread) = refusing(1, "1h");
    let args = ["thread", "run", &thread, "--agent", "default"];
    let run = world.uwf(&args).exits(3);
    assert_eq!(objects(&run)[0]["nextTryAt"], Value::Null);
    assert_eq!(status(&world, &thread), "failed");
    world.step(&thread).exits(0);
}

#[test]
fn a_poke_works_while_the_thread_waits() {
    let world = World::new();
    world.put(AGAIN);
    let more = "{ $status: more, note: n }";
    world.mock(&format!(
        "roles:\n  writer:\n    - output: {more}\n    - {{ exit: 1, class: overloaded }}\n"
    ));
    world.configure("agents.default.retry.max", "1");
    world.configure("agents.default.retry.backoff", "1h");
    let thread = world.start("again");
    world.step(&thread).exits(0);
    world.step(&thread).exits(3);
    world.step(&thread).exits(5);
    world
        .uwf(&["thread", "poke", &thread, "-p", "Better"])
        .exits(0);
    // The new step has another head, where no attempt has failed.
    assert_eq!(status(&world, &thread), "idle");
}

#[test]
fn a_fallback_takes_the_step_at_once_and_the_next_step_begins_with_the_first_agent() {
    let world = World::new();
    world.put(AGAIN);
    mock(
        &world,
        "first",
        "roles:\n  writer:\n    - { exit: 1, class: rate-limit, failures: 2, output: { $status: more, note: a } }\n    - { exit: 1, class: rate-limit, failures: 0, output: { $status: done, note: b } }\n",
    );
    mock(
        &world,
        "second",
        "roles:\n  writer:\n    - output: { $status: more, note: of second }\n",
    );
    world.configure("defaultAgent", "first");
    world.configure("agents.first.fallback", r#"["second"]"#);
    let thread = world.start("again");
    let run = world.step(&thread).exits(3);
    assert_eq!(run.json()["nextAgent"], json!("second"));
    // It is nobody's turn to wait.
    assert_eq!(status(&world, &thread), "idle");
    let dry = world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(0);
    assert!(dry.stdout.contains("second.yaml"), "{}", dry.stdout);
    world.step(&thread).exits(0);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(
        steps["steps"][1]["output"]["note"],
        json!("of second"),
        "{steps}"
    );
    world.step(&thread).exits(0);
    assert_eq!(status(&world, &thread), "completed");
}

#[test]
fn a_run_goes_through_all_fallbacks_and_then_fails() {
    let world = World::new();
    world.put(ONE_STEP);
    for alias in ["a", "b", "c"] {
        mock(&world, alias, &refused(99));
    }
    world.configure("defaultAgent", "a");
    world.configure("agents.a.retry.max", "1");
    world.configure("agents.a.retry.backoff", "50ms");
    world.configure("agents.a.fallback", r#"["b", "c"]"#);
    let thread = world.start("one");
    world.uwf(&["thread", "run", &thread]).exits(3);
    let agents = |world: &World| -> Vec<String> {
        let attempts = attempts(world, &thread).into_iter();
        attempts
            .map(|one| one["alias"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(agents(&world), ["a", "a", "b", "c"]);
    assert_eq!(status(&world, &thread), "failed");
}

#[test]
fn attempts_end_when_as_many_have_failed_as_are_kept() {
    let world = World::new();
    world.put(ONE_STEP);
    for alias in ["a", "b"] {
        mock(&world, alias, &refused(99));
        world.configure(&format!("agents.{alias}.retry.max"), "30");
        world.configure(&format!("agents.{alias}.retry.backoff"), "1h");
    }
    world.configure("defaultAgent", "a");
    world.configure("agents.a.fallback", r#"["b"]"#);
    let thread = world.start("one");
    world.step(&thread).exits(3);
    // The same failure was there thirty times more.
    let file = world.root().join(format!("runs/{thread}/attempts.jsonl"));
    let of_first = fs::read_to_string(&file).unwrap();
    fs::write(&file, of_first.repeat(31)).unwrap();
    let told = world.step(&thread).exits(3).json();
    assert_eq!(told["nextAgent"], json!("b"), "{told}");
    assert_eq!(status(&world, &thread), "waiting");
    let all = fs::read_to_string(&file).unwrap();
    let of_second = all.lines().last().unwrap().to_owned() + "\n";
    fs::write(&file, of_first.repeat(31) + &of_second.repeat(18)).unwrap();
    let step = ["thread", "step", "--now", &thread];
    for _ in 0..2 {
        let told = world.uwf(&step).exits(3).json();
        assert_eq!(told["nextTryAt"], Value::Null, "{told}");
        assert_eq!(status(&world, &thread), "failed");
    }
    world.uwf(&["thread", "run", &thread]).exits(3);
    world
        .uwf(&["config", "set", "agents.a.retry.max", "41"])
        .exits(1)
        .says("a whole number from 1 to 40");
}

#[test]
fn only_the_failures_that_the_config_names_are_followed_by_an_attempt() {
    let (world, thread) = refusing(1, "1h");
    world.mock("roles: { writer: [{ exit: 1, failures: 1, output: { note: n } }] }");
    let told = world.step(&thread).exits(3).json();
    assert_eq!(
        (&told["class"], &told["nextTryAt"]),
        (&json!("crash"), &Value::Null)
    );
    assert_eq!(status(&world, &thread), "failed");
    world.configure("agents.default.retry.on", r#"["crash"]"#);
    // What the config says now is what counts.
    world.step(&thread).exits(5);
    world
        .uwf(&["config", "unset", "agents.default.retry.on"])
        .exits(0);
    world.step(&thread).exits(0);
}

#[test]
fn a_clock_that_was_set_back_keeps_no_thread_waiting() {
    let (world, thread) = refusing(1, "1h");
    world.step(&thread).exits(3);
    let ended = attempts(&world, &thread)[0]["endedAtMs"].as_i64().unwrap();
    let file = world.root().join(format!("runs/{thread}/attempts.jsonl"));
    let record = fs::read_to_string(&file).unwrap();
    let tomorrow = (ended + 86_400_000).to_string();
    fs::write(
        &file,
        record.replace(
            &format!("\"endedAtMs\":{ended}"),
            &format!("\"endedAtMs\":{tomorrow}"),
        ),
    )
    .unwrap();
    assert_eq!(status(&world, &thread), "idle");
    world.step(&thread).exits(0);
}

#[test]
fn a_limit_of_the_thread_is_told_before_the_wait() {
    let (world, thread) = refusing(1, "1h");
    world.step(&thread).exits(3);
    world.configure("limits.maxTokens", "1");
    world.step(&thread).exits(6);
    assert_eq!(status(&world, &thread), "suspended");
}

#[test]
fn a_config_that_leads_in_a_circle_is_named_and_walked_once() {
    let world = World::new();
    world.put(ONE_STEP);
    for (alias, other) in [("a", "b"), ("b", "a")] {
        mock(&world, alias, &refused(99));
        let path = world.root().join("config.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let entry = format!("  {alias}:\n");
        let with = format!("{entry}    fallback: [{other}]\n");
        fs::write(path, text.replace(&entry, &with)).unwrap();
    }
    let found = world.uwf(&["config", "validate"]).exits(1);
    let text = format!("{}{}", found.stdout, found.stderr);
    assert!(text.contains("it leads back to `a`: a → b → a"), "{text}");
    world.configure("defaultAgent", "a");
    let thread = world.start("one");
    world.uwf(&["thread", "run", &thread]).exits(3);
    assert_eq!(attempts(&world, &thread).len(), 2);
}

#[test]
fn an_answer_of_a_fallback_that_waits_is_used_and_not_paid_again() {
    let world = World::new();
    world.put(ONE_STEP);
    mock(&world, "first", &refused(99));
    let tool = world.script(
        "tool.sh",
        "cat > /dev/null; echo ran >> runs; while [ -e wait ]; do sleep 0.02; done; printf -- '---\\nnote: n\\n---\\n'",
    );
    let args = serde_json::to_string(&["--", tool.to_str().unwrap()]).unwrap();
    world.configure("agents.second.command", "uwf-command");
    world.configure("agents.second.args", &args);
    world.configure("defaultAgent", "first");
    world.configure("agents.first.fallback", r#"["second"]"#);
    let thread = world.start("one");
    world.step(&thread).exits(3);
    world.write("wait", "");
    let engine = world.spawn(&["thread", "step", &thread]);
    let adapter = world.agent_at_work(&thread);
    wait_until("the program works", || {
        world.project().join("runs").exists()
    });
    crate::processes::kill(engine);
    signal("KILL", adapter);
    fs::remove_file(world.project().join("wait")).unwrap();
    wait_until("the answer waits", || {
        world.show(&thread)["waitingAnswer"].is_object()
    });
    world.step(&thread).exits(0);
    let runs = fs::read_to_string(world.project().join("runs")).unwrap();
    assert_eq!(runs, "ran\n");
}

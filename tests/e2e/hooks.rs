//! Hooks are told once of what became of a step, after it was recorded, and cannot change anything about it.

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::world::{ONE_STEP, REVIEW, Run, World};

const ANSWERS: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: why }\n    - output: { $status: approved, summary: s }\n";

/// A world with hooks for these events, which write down what they are told, and a thread of the review.
fn told_of(events: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(ANSWERS);
    for event in events {
        hook(&world, event, &format!("cat >> {}", log(&world)));
    }
    let thread = world.start("review");
    (world, thread)
}

fn log(world: &World) -> String {
    world.dir().join("told").display().to_string()
}

fn hook(world: &World, event: &str, command: &str) {
    world.configure(&format!("hooks.{event}.command"), command);
}

/// Returns what the hooks were told.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.dir().join("told")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn events(world: &World) -> Vec<String> {
    let told = told(world);
    let events = told
        .iter()
        .map(|one| one["event"].as_str().unwrap().to_owned());
    events.collect()
}

fn hook_log(world: &World) -> Vec<Value> {
    let log = world.uwf(&["log", "show", "--lines"]).exits(0);
    let entries = log
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .filter(|entry| entry["event"] == "hook-failed")
        .collect()
}

/// Returns what a command printed, without what differs in every run.
fn seen(run: &Run) -> (i32, Value, String) {
    let mut json = run.json();
    for key in ["thread", "head", "step", "durationMs"] {
        json.as_object_mut().unwrap().remove(key);
    }
    (run.code, json, run.stderr.clone())
}

#[test]
fn hooks_are_told_of_each_event_once_with_the_keys_of_the_report() {
    let (world, thread) = told_of(&["step", "suspended", "completed", "failed", "blocked"]);
    let done = world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    assert_eq!(events(&world), ["step", "step", "suspended"]);
    let reports: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told = told(&world);
    for (key, value) in reports[1].as_object().unwrap() {
        assert_eq!(&told[2][key], value, "{key}");
    }
    assert_eq!(told[2]["suspendMessage"], json!("Need: why"));
    assert_eq!(told[2]["workflowName"], json!("review"));
    assert_eq!(told[2]["name"], Value::Null);
    assert_eq!(told[2]["labels"], json!({}));
    assert_eq!(told[0].get("usage"), Some(&told[0]["usage"]));
    // Nothing happens to a thread that waits, so there is nothing to tell.
    world.step(&thread).exits(6);
    assert_eq!(events(&world).len(), 3);
    world
        .uwf(&["thread", "resume", &thread, "-p", "so"])
        .exits(0);
    assert_eq!(events(&world)[3..], ["step", "completed"]);
    assert_eq!(hook_log(&world), [] as [Value; 0]);
}

#[test]
fn a_failed_attempt_is_told_of_as_it_is_printed() {
    let (world, thread) = told_of(&["failed", "step"]);
    world.scripted_agent("echo no model >&2; exit 3");
    let failed = world.step(&thread).exits(3).json();
    let told = told(&world);
    assert_eq!(told.len(), 1);
    for (key, value) in failed.as_object().unwrap() {
        assert_eq!(&told[0][key], value, "{key}");
    }
    assert_eq!(told[0]["workflowName"], json!("review"));
}

#[test]
fn a_hook_that_fails_or_takes_too_long_changes_nothing_and_is_logged() {
    let (world, thread) = told_of(&[]);
    let plain = seen(&world.step(&thread));
    let other = world.start("review");
    hook(&world, "step", "echo heard; echo gone wrong >&2; exit 9");
    assert_eq!(seen(&world.step(&other)), plain);
    let log = hook_log(&world);
    assert_eq!(log[0]["thread"], json!(other));
    for part in ["event=step", "exit status: 9", "heard gone wrong"] {
        assert!(log[0]["msg"].as_str().unwrap().contains(part), "{log:?}");
    }
    let slow = world.start("review");
    hook(&world, "step", "sleep 600 & sleep 600");
    world.configure("hooks.step.timeout", "50ms");
    assert_eq!(seen(&world.step(&slow)), plain);
    assert!(
        hook_log(&world)[1]["msg"]
            .as_str()
            .unwrap()
            .contains("was ended after 50ms")
    );
}

#[test]
fn a_hook_finds_the_thread_free_and_its_own_calls_run_no_hooks() {
    let (world, thread) = told_of(&["suspended", "completed"]);
    let uwf = crate::world::binary().display().to_string();
    let go_on = format!(
        "echo \"$UWF_HOOK $UWF_HOOK_THREAD\" >> {0}.words; {uwf} thread step \"$UWF_HOOK_THREAD\" > {0}.step",
        log(&world)
    );
    hook(&world, "step", &go_on);
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["steps"], json!(2));
    assert_eq!(events(&world), [] as [&str; 0]);
    let words = std::fs::read_to_string(world.dir().join("told.words")).unwrap();
    assert_eq!(words, format!("step {thread}\n"));
}

#[test]
fn a_hook_runs_where_the_thread_works_with_the_variables_of_env_and_without_its_secrets_in_the_input()
 {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: the\\secret-of-env }\n");
    std::fs::write(world.root().join(".env"), "HOOK_URL=the\\secret-of-env\n").unwrap();
    let put = ONE_STEP.replace(
        "role: $END, prompt: \"Done: {{note}}\"",
        "role: $SUSPEND, prompt: \"See {{note}}\"",
    );
    world.put(&put);
    hook(
        &world,
        "suspended",
        &format!(
            "cat > {0}; pwd >> {0}.where; echo $HOOK_URL >> {0}.where",
            log(&world)
        ),
    );
    let folder = world.dir().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let started = world.uwf(&[
        "thread",
        "start",
        "one",
        "-p",
        "x",
        "--cwd",
        folder.to_str().unwrap(),
    ]);
    let thread = started.exits(0).json()["thread"].clone();
    world.step(thread.as_str().unwrap()).exits(0);
    assert_eq!(told(&world)[0]["suspendMessage"], json!("See ***"));
    let place = std::fs::read_to_string(world.dir().join("told.where")).unwrap();
    let folder = folder.canonicalize().unwrap();
    assert_eq!(place, format!("{}\nthe\\secret-of-env\n", folder.display()));
}

#[test]
fn an_interrupt_while_a_hook_runs_stops_what_would_go_on() {
    let calls: [&[&str]; 3] = [
        &["thread", "step", "-c", "3"],
        &["thread", "run"],
        &["thread", "run", "-q"],
    ];
    for (name, number) in [("INT", 130), ("TERM", 143)] {
        for call in calls {
            let (world, thread) = told_of(&[]);
            hook(&world, "step", &format!("kill -{name} $PPID; sleep 600"));
            let run = world.uwf(&[call, &[thread.as_str()]].concat());
            run.exits(number).says(&format!("interrupted by SIG{name}"));
            assert_eq!(world.show(&thread)["steps"], json!(1));
        }
    }
}

#[test]
fn an_interrupt_while_a_hook_runs_is_not_forgotten_while_a_busy_thread_is_waited_for() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let (free, busy) = (world.start("one"), world.start("one"));
    let engine = at_work(&world, &["thread", "step", &busy]);
    hook(&world, "step", "kill -INT $PPID; sleep 600");
    world.write("fast.yaml", NOTE);
    let agent = "uwf-mock fast.yaml";
    let step = [
        "thread",
        "step",
        &free,
        &busy,
        "--agent",
        agent,
        "--wait=20s",
    ];
    world.uwf(&step).exits(130);
    assert_eq!(world.show(&free)["status"], json!("completed"));
    world.uwf(&["config", "unset", "hooks.step.command"]);
    open_gate(&world);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
}

#[test]
fn an_interrupt_while_a_hook_runs_starts_no_other_hook_and_keeps_the_result() {
    let (world, thread) = told_of(&["suspended"]);
    world.step(&thread).exits(0);
    hook(&world, "step", "kill -INT $PPID; sleep 600");
    let run = world.uwf(&["thread", "run", &thread]).exits(6);
    assert!(run.stdout.contains("suspended"), "{}", run.stdout);
    assert_eq!(events(&world), [] as [&str; 0]);
    let log = hook_log(&world);
    assert!(log[1]["msg"].as_str().unwrap().contains("was not started"));
}

#[test]
fn a_hook_for_an_unknown_event_is_a_mistake_of_the_config() {
    let world = World::new();
    world.mock(ANSWERS);
    world
        .uwf(&["config", "set", "hooks.complete.command", "true"])
        .exits(1)
        .says("did you mean `completed`?");
    hook(&world, "completed", "no-such-program --now");
    let doctor = world.uwf(&["doctor", "--offline"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let hook = checks.iter().find(|one| one["check"] == "hook").unwrap();
    assert_eq!(
        (&hook["status"], &hook["subject"]),
        (&json!("warning"), &json!("completed"))
    );
    assert!(
        hook["message"]
            .as_str()
            .unwrap()
            .contains("no-such-program")
    );
}

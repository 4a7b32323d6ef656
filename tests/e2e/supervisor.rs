//! The supervisor of a thread: it is asked after some steps, may suspend the thread and never ends it, and no failure of
//! its model keeps a thread from going on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::gc::age_all;
use crate::model_server::{ModelServer, Scripted};
use crate::processes::{kill, signal, with_variable};
use crate::world::{REVIEW, World, wait_until};

/// A writer whose work is always rejected.
const ROUND_AND_ROUND: &str = "roles:
  writer:
    - output: { plan: p }
  reviewer:
    - output: { $status: rejected, reason: again }
";

fn says(decision: &str, reason: &str) -> Scripted {
    Scripted::says(&json!({ "decision": decision, "reason": reason }).to_string())
}

/// A thread that goes round, with a supervisor that is asked after every second step.
fn supervised(server: &ModelServer) -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(ROUND_AND_ROUND);
    world.model("small", &server.base_url());
    world.configure("supervisor.every", "2");
    world.configure("supervisor.model", "small");
    let thread = world.start("review");
    (world, thread)
}

#[track_caller]
fn steps(world: &World, thread: &str, count: usize) {
    for _ in 0..count {
        world.step(thread).exits(0);
    }
}

fn count_steps(world: &World, thread: &str) -> Value {
    world.show(thread)["steps"].clone()
}

/// Returns the messages of the process log with this event.
fn logged(world: &World, event: &str) -> Vec<String> {
    let log = world.uwf(&["log", "show"]).exits(0).json();
    let entries = log.as_array().unwrap().iter();
    let entries = entries.filter(|entry| entry["event"] == event);
    entries.map(ToString::to_string).collect()
}

#[test]
fn a_thread_that_goes_round_is_suspended_and_a_person_lets_it_go_on() {
    let server = ModelServer::start(vec![
        says("suspend", "It goes round: the plan never changes."),
        says("continue", "It goes on."),
    ]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    assert_eq!(
        server.requests().len(),
        0,
        "it is asked before the next step"
    );
    let refused = world.step(&thread).exits(6);
    refused
        .says("is suspended by its supervisor: It goes round: the plan never changes.")
        .says(&format!("uwf thread resume {thread}"));

    let shown = world.show(&thread);
    assert_eq!(shown["status"], "suspended");
    assert_eq!(shown["suspendedRole"], "writer");
    assert_eq!(shown["verdict"]["decision"], "suspend");
    assert_eq!(shown["verdict"]["model"], "served-model");
    assert_eq!(shown["verdict"]["usage"]["inputTokens"], 10);
    assert_eq!(shown["verdict"]["head"], shown["head"]);
    let hash = shown["verdict"]["hash"].as_str().unwrap();
    let node = world.uwf(&["cas", "get", hash]).exits(0).json();
    assert_eq!(
        node["payload"]["reason"],
        "It goes round: the plan never changes."
    );
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let text = text.exits(0).stdout;
    assert!(
        text.contains("suspended by its supervisor, next is writer"),
        "{text}"
    );
    assert!(text.contains("It goes round"), "{text}");
    let listed = world
        .uwf(&["thread", "list", "--status", "suspended"])
        .json();
    assert_eq!(listed[0]["statusDisplay"], "suspended [supervisor]");
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(
        read.contains("but the supervisor suspended the thread"),
        "{read}"
    );

    world.step(&thread).exits(6);
    world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(6);
    assert_eq!(server.requests().len(), 1, "a head is judged once");
    let resumed = world.uwf(&["thread", "resume", &thread, "-p", "Change the plan."]);
    assert_eq!(resumed.exits(0).json()["role"], "writer");
    assert_eq!(server.requests().len(), 1, "a person has decided");
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["status"], &shown["steps"]),
        (&json!("idle"), &json!(3))
    );
    assert_eq!(shown["verdict"]["released"], true);
    steps(&world, &thread, 2);
    assert_eq!(server.requests().len(), 2, "the fourth step was judged");
}

#[test]
fn the_model_sees_the_task_and_the_newest_steps() {
    let server = ModelServer::start(vec![says("continue", "All is well.")]);
    let (world, thread) = supervised(&server);
    world.configure("supervisor.every", "14");
    steps(&world, &thread, 15);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let body = requests[0].json();
    assert_eq!(body["model"], "vendor/small");
    let seen = body["messages"][1]["content"].as_str().unwrap();
    assert!(seen.contains("Task:\nthe task\n"), "{seen}");
    assert!(
        seen.contains("(2 earlier steps are left out)\n3. [writer] {\"plan\":\"p\"}\n"),
        "{seen}"
    );
    assert!(
        seen.ends_with("14. [reviewer] {\"reason\":\"again\",\"$status\":\"rejected\"}\n"),
        "{seen}"
    );
    let shown = world.show(&thread);
    assert_eq!(shown["verdict"]["decision"], "continue");
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let text = text.exits(0).stdout;
    assert!(text.contains("continue: All is well."), "{text}");
}

#[test]
fn a_verdict_costs_and_counts_for_the_limits() {
    let server = ModelServer::start(vec![says("continue", "All is well.")]);
    let (world, thread) = supervised(&server);
    world.configure("limits.maxCostUsd", "0.5");
    world.configure("limits.unknownUsage", "ignore");
    steps(&world, &thread, 4);
    let usage = &world.show(&thread)["usage"];
    assert_eq!(usage["costUsd"], 0.25, "{usage}");
    assert_eq!(usage["tokens"], 15, "{usage}");
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["costUsd"], 0.25, "{cost}");
    // The second verdict reaches the limit: no agent starts after it.
    let refused = world.step(&thread).exits(6);
    refused.says("`maxCostUsd` is reached");
    assert_eq!(count_steps(&world, &thread), 4);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn without_a_supervisor_no_model_is_asked() {
    let server = ModelServer::start(vec![says("suspend", "Never.")]);
    let (world, thread) = supervised(&server);
    world.uwf(&["config", "unset", "supervisor.every"]).exits(0);
    steps(&world, &thread, 5);
    assert_eq!(server.requests().len(), 0);
    assert!(
        !world
            .root()
            .join("runs")
            .join(&thread)
            .join("reviews.json")
            .exists()
    );
    assert_eq!(world.show(&thread).get("verdict"), None);
}

#[test]
fn a_supervisor_that_is_switched_off_holds_no_thread() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    world.step(&thread).exits(6);
    world.uwf(&["config", "unset", "supervisor.every"]).exits(0);
    assert_eq!(world.show(&thread)["status"], "idle");
    steps(&world, &thread, 1);
}

#[test]
fn an_agent_that_fails_after_a_verdict_is_tried_again_without_another() {
    let server = ModelServer::start(vec![says("continue", "All is well.")]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    world.agent("false", &[]);
    world.step(&thread).exits(3);
    world.step(&thread).exits(3);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_run_ends_when_the_supervisor_suspends_its_thread() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    let run = world.uwf(&["thread", "run", &thread]).exits(6);
    run.says("suspended by its supervisor: It loops.");
    assert_eq!(count_steps(&world, &thread), 2);
}

#[test]
fn no_failure_of_the_model_keeps_a_thread_from_going_on() {
    let cases = [
        ("refused", Scripted::body(401, "{}"), 1),
        (
            "broken",
            Scripted::body(500, "{}").header("retry-after", "0"),
            4,
        ),
        ("no JSON", Scripted::body(200, "<html>"), 1),
        ("garbage", Scripted::says("I think it is fine."), 4),
        ("another word", says("kill", "It loops."), 4),
        ("no reason", says("suspend", ""), 4),
        ("empty", Scripted::says(""), 1),
        ("cut", Scripted::Truncate("{".to_owned()), 1),
        ("reset", Scripted::Reset, 0),
        ("silent", Scripted::Hang, 1),
        ("endless", Scripted::Endless, 1),
    ];
    for (name, script, least) in cases {
        let server = ModelServer::start(vec![script]);
        let (world, thread) = supervised(&server);
        world.configure("supervisor.timeout", "2s");
        steps(&world, &thread, 3);
        assert_eq!(count_steps(&world, &thread), 3, "{name}");
        assert!(server.requests().len() >= least, "{name}");
        assert_eq!(world.show(&thread).get("verdict"), None, "{name}");
        let logged = logged(&world, "not-judged");
        assert_eq!(logged.len(), 1, "{name}: {logged:?}");
    }
}

#[test]
fn a_model_that_is_not_there_keeps_no_thread_from_going_on() {
    let server = ModelServer::start(vec![says("suspend", "Never.")]);
    let (world, thread) = supervised(&server);
    world.configure("supervisor.model", "large");
    let findings = world.uwf(&["config", "validate"]).exits(1);
    let said = format!("{}{}", findings.stdout, findings.stderr);
    assert!(said.contains("`large` is not in `models`"), "{said}");
    steps(&world, &thread, 3);
    let log = logged(&world, "not-judged");
    assert!(log[0].contains("unknown_model"), "{log:?}");
    assert_eq!(server.requests().len(), 0);
}

/// Waits until the model was asked, and returns the processes that ask it.
fn asking(world: &World, server: &ModelServer) -> Vec<String> {
    wait_until("the model is asked", || !server.requests().is_empty());
    let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
    let mut found = with_variable(&root);
    found.retain(|process| process.contains("review-thread"));
    found
}

#[test]
fn an_engine_that_is_killed_during_the_verdict_loses_nothing() {
    let server = ModelServer::start(vec![Scripted::Hang, says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    let engine = world.spawn(&["thread", "step", &thread]);
    assert_eq!(asking(&world, &server).len(), 1);
    world.step(&thread).exits(5);
    kill(engine);
    wait_until("the process that asks has ended with its engine", || {
        asking(&world, &server).is_empty()
    });
    assert_eq!(count_steps(&world, &thread), 2);
    world.step(&thread).exits(6);
    world.step(&thread).exits(6);
    assert_eq!(server.requests().len(), 2);
    let cost = world.show(&thread)["usage"]["costUsd"].clone();
    assert_eq!(cost, 0.25, "one verdict counts");
}

#[test]
fn a_process_that_is_killed_while_it_asks_keeps_no_thread_from_going_on() {
    let server = ModelServer::start(vec![Scripted::Hang]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    let mut engine = world.spawn(&["thread", "step", &thread]);
    let asking = asking(&world, &server);
    signal("KILL", asking[0].split_whitespace().next().unwrap());
    assert!(engine.wait().unwrap().success());
    assert_eq!(count_steps(&world, &thread), 3);
}

#[test]
fn an_interrupt_during_the_verdict_ends_the_call_and_starts_no_agent() {
    let server = ModelServer::start(vec![Scripted::Hang]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    let mut engine = world.spawn(&["thread", "step", &thread]);
    assert_eq!(asking(&world, &server).len(), 1);
    std::thread::sleep(Duration::from_millis(50));
    signal("INT", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(130));
    wait_until("the process that asks has ended", || {
        asking(&world, &server).is_empty()
    });
    assert_eq!(count_steps(&world, &thread), 2);
}

#[test]
fn the_hook_of_suspended_threads_is_told_once_what_the_supervisor_says() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    let told = world.project().join("told");
    world.configure(
        "hooks.suspended.command",
        &format!("cat >> {}", told.display()),
    );
    steps(&world, &thread, 2);
    world.step(&thread).exits(6);
    world.step(&thread).exits(6);
    let told = std::fs::read_to_string(told).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["event"], "suspended");
    assert_eq!(told["thread"], json!(thread));
    assert_eq!(told["suspendMessage"], "It loops.");
}

#[test]
fn a_verdict_is_kept_by_the_collector_and_travels_with_its_thread() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    steps(&world, &thread, 2);
    world.step(&thread).exits(6);
    let hash = world.show(&thread)["verdict"]["hash"].clone();
    age_all(&world, 365 * 24 * 3600);
    world.uwf(&["cas", "gc"]).exits(0);
    assert_eq!(world.show(&thread)["verdict"]["reason"], "It loops.");
    let bundle = world.project().join("bundle.tar");
    let bundle = bundle.to_str().unwrap();
    world
        .uwf(&["thread", "export", &thread, "-o", bundle])
        .exits(0);
    let other = World::new();
    other.uwf(&["thread", "import", bundle]).exits(0);
    let there = other.show(&thread);
    assert_eq!(there["verdict"]["hash"], hash);
    assert_eq!(there["verdict"]["reason"], "It loops.");
    assert_eq!(there["usage"]["costUsd"], 0.25);
    other.configure("supervisor.every", "2");
    assert_eq!(other.show(&thread)["status"], "suspended");
}

#[test]
fn the_supervisor_of_a_workflow_goes_before_that_of_the_config() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, _) = supervised(&server);
    world.configure("supervisor.every", "9");
    world.configure("supervisor.model", "nobody");
    let yaml = format!("{REVIEW}supervisor: {{ every: 1, model: small }}\n");
    let file = world.write("review.yaml", &yaml);
    world.put(&yaml);
    let thread = world.start("review");
    steps(&world, &thread, 1);
    world.step(&thread).exits(6).says("It loops.");
    assert_eq!(server.requests().len(), 1);
    // It holds without any config of a supervisor, too.
    world.uwf(&["config", "unset", "supervisor.every"]).exits(0);
    assert_eq!(world.show(&thread)["status"], "suspended");
    let listed = world.uwf(&["thread", "list", "--status", "suspended"]);
    assert_eq!(listed.exits(0).json()[0]["thread"], json!(thread));
    world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(6);
    world.uwf(&["thread", "resume", &thread]).exits(0);
    // It is a part of the workflow, also where that is written out.
    let text = world.uwf(&["workflow", "export", "review"]).exits(0).stdout;
    assert!(text.contains("every: 1"), "{text}");
    let shown = world.uwf(&["workflow", "show", "review", "--format", "text"]);
    assert!(shown.exits(0).stdout.contains("supervisor.every"));
    let file = file.to_str().unwrap();
    world.uwf(&["workflow", "validate", file]).exits(0);
    world.write("review.yaml", &yaml.replace("every: 1", "every: 0"));
    let refused = world.uwf(&["workflow", "validate", file]).exits(1);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("whole number from 1"), "{said}");
}

//! The summary of a thread: a model writes it, every view shows it, and a model that fails leaves the thread as it was.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::processes::{kill, with_variable};
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

const REJECTED: &str = "roles:
  writer:
    - output: { plan: p, note: n }
  reviewer:
    - output: { $status: rejected, reason: again }
";

fn says(summary: &str) -> Scripted {
    Scripted::says(&json!({ "summary": summary }).to_string())
}

/// A thread with one step, and a model.
fn stepped(server: &ModelServer) -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REJECTED);
    world.model("small", &server.base_url());
    world.configure("summary.model", "small");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    (world, thread)
}

fn summarize(world: &World, thread: &str) -> Value {
    world.uwf(&["thread", "summarize", thread]).exits(0).json()
}

#[test]
fn a_summary_is_shown_everywhere_and_a_new_one_takes_its_place() {
    let server = ModelServer::start(vec![says("A plan was made."), says("It was rejected.")]);
    let (world, thread) = stepped(&server);
    let summary = summarize(&world, &thread);
    assert_eq!(summary["thread"], json!(thread));
    assert_eq!(summary["text"], "A plan was made.");
    assert_eq!(summary["model"], "served-model");
    let hash = summary["hash"].as_str().unwrap();
    let node = world.uwf(&["cas", "get", hash]).exits(0).json();
    assert_eq!(node["payload"]["text"], "A plan was made.");
    let request = server.requests()[0].json();
    let seen = request["messages"][1]["content"].as_str().unwrap();
    assert!(seen.contains("Task:\nthe task\n"), "{seen}");
    assert!(seen.contains("1. [writer] {\"plan\":\"p\""), "{seen}");

    let shown = world.show(&thread);
    assert_eq!(shown["summary"]["text"], "A plan was made.");
    assert_eq!(shown["summary"]["head"], shown["head"]);
    assert_eq!(shown["usage"]["costUsd"], 0.25, "it was paid for");
    let text = |args: &[&str]| world.uwf(args).exits(0).stdout;
    let shown = text(&["thread", "show", &thread, "--format", "text"]);
    assert!(shown.contains("A plan was made."), "{shown}");
    let listed = world.uwf(&["thread", "list"]).exits(0).json();
    assert_eq!(listed[0]["summary"], "A plan was made.");
    let listed = text(&["thread", "list", "--format", "text"]);
    assert!(listed.contains("A plan was made."), "{listed}");
    let read = text(&["thread", "read", &thread]);
    assert!(
        read.contains("## Summary\n") && read.contains("A plan was made."),
        "{read}"
    );
    assert!(!read.contains("Later steps"), "{read}");

    world.step(&thread).exits(0);
    let read = text(&["thread", "read", &thread]);
    assert!(read.contains("Later steps are not in it."), "{read}");
    summarize(&world, &thread);
    assert_eq!(world.show(&thread)["summary"]["text"], "It was rejected.");
    assert_eq!(world.show(&thread)["usage"]["costUsd"], 0.5);
}

#[test]
fn the_model_of_a_summary_can_be_chosen() {
    let server = ModelServer::start(vec![says("A plan was made.")]);
    let (world, thread) = stepped(&server);
    world.model("large", &server.base_url());
    world
        .uwf(&["thread", "summarize", &thread, "--model", "large"])
        .exits(0);
    assert_eq!(server.requests()[0].json()["model"], "vendor/large");
    world.uwf(&["config", "unset", "summary.model"]).exits(0);
    world.configure("defaultModel", "large");
    summarize(&world, &thread);
    assert_eq!(server.requests()[1].json()["model"], "vendor/large");
}

#[test]
fn an_ended_thread_is_summarized_and_one_without_a_step_is_not() {
    let server = ModelServer::start(vec![says("A note was written.")]);
    let (world, review) = stepped(&server);
    world.uwf(&["thread", "kill", &review]).exits(0);
    summarize(&world, &review);
    assert_eq!(
        world.show(&review)["summary"]["text"],
        "A note was written."
    );
    let fresh = world.start("review");
    let refused = world.uwf(&["thread", "summarize", &fresh]).exits(1);
    refused.says("has no step yet");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_model_that_fails_leaves_the_thread_as_it_was() {
    let cases = [
        ("refused", Scripted::body(401, "{}"), 3),
        (
            "broken",
            Scripted::body(500, "{}").header("retry-after", "0"),
            3,
        ),
        ("no JSON", Scripted::body(200, "<html>"), 3),
        ("garbage", Scripted::says("Once upon a time."), 3),
        ("empty", says(" "), 3),
        ("nothing", Scripted::says(""), 3),
        ("cut", Scripted::Truncate("{".to_owned()), 3),
        ("reset", Scripted::Reset, 3),
        ("silent", Scripted::Hang, 3),
        ("endless", Scripted::Endless, 3),
    ];
    for (name, script, code) in cases {
        let server = ModelServer::start(vec![says("The first."), script]);
        let (world, thread) = stepped(&server);
        world.configure("summary.timeout", "2s");
        summarize(&world, &thread);
        let before = world.show(&thread);
        let run = world.uwf(&["thread", "summarize", &thread]);
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        run.says(&format!("thread `{thread}` was not summarized: "));
        let after = world.show(&thread);
        for key in ["head", "status", "summary", "attempts", "steps"] {
            assert_eq!(before[key], after[key], "{name}: {key}");
        }
        world.step(&thread).exits(0);
    }
}

#[test]
fn a_model_that_is_not_in_the_config_is_a_mistake_of_the_caller() {
    let server = ModelServer::start(vec![says("Never.")]);
    let (world, thread) = stepped(&server);
    let run = world.uwf(&["thread", "summarize", &thread, "--model", "smal"]);
    run.exits(1)
        .says("the model `smal` is not in the config, did you mean `small`?")
        .says("hint: ");
    world.uwf(&["config", "unset", "summary.model"]).exits(0);
    let run = world.uwf(&["thread", "summarize", &thread]).exits(1);
    run.says("no model is configured").says("hint: ");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_thread_is_summarized_while_it_is_stepped_and_stepped_while_it_is_summarized() {
    let server = ModelServer::start(vec![Scripted::Hang]);
    let (world, thread) = stepped(&server);
    let summarizing = world.spawn(&["thread", "summarize", &thread]);
    wait_until("the model is asked", || !server.requests().is_empty());
    world.step(&thread).exits(0);
    kill(summarizing);
    wait_until("the process that asks has ended with its engine", || {
        let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
        with_variable(&root).is_empty()
    });
    assert_eq!(world.show(&thread).get("summary"), None);
    assert_eq!(world.show(&thread)["steps"], 2);
}

#[test]
fn a_summary_travels_with_its_thread() {
    let server = ModelServer::start(vec![says("A plan was made.")]);
    let (world, thread) = stepped(&server);
    summarize(&world, &thread);
    let bundle = world.project().join("bundle.tar");
    let bundle = bundle.to_str().unwrap();
    world
        .uwf(&["thread", "export", &thread, "-o", bundle])
        .exits(0);
    let other = World::new();
    other.uwf(&["thread", "import", bundle]).exits(0);
    assert_eq!(
        other.show(&thread)["summary"],
        world.show(&thread)["summary"]
    );
    other.uwf(&["thread", "import", bundle]).exits(0);
}

/// A thread whose next step is its last, and that is summarized then.
fn summarized_at_its_end(server: &ModelServer) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(REJECTED);
    world.model("small", &server.base_url());
    world.configure("summary.model", "small");
    world.configure("summary.auto", "true");
    let thread = world.start("one");
    (world, thread)
}

/// Waits until the log has this event.
fn wait_for_log(world: &World, event: &str) {
    wait_until(event, || {
        let log = world.uwf(&["log", "show"]).exits(0).json();
        let mut entries = log.as_array().unwrap().iter();
        entries.any(|entry| entry["event"] == event)
    });
}

#[test]
fn a_completed_thread_is_summarized_by_itself() {
    let server = ModelServer::start(vec![says("A note was written.")]);
    let (world, thread) = summarized_at_its_end(&server);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["status"], "completed");
    wait_for_log(&world, "summarized");
    assert_eq!(
        world.show(&thread)["summary"]["text"],
        "A note was written."
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn no_thread_is_summarized_by_itself_before_its_end_or_without_the_config() {
    let server = ModelServer::start(vec![says("Never.")]);
    let (world, thread) = summarized_at_its_end(&server);
    world.put(REVIEW);
    let other = world.start("review");
    world.step(&other).exits(0);
    world.uwf(&["thread", "kill", &other]).exits(0);
    world.configure("summary.auto", "false");
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["status"], "completed");
    assert_eq!(server.requests().len(), 0);
    let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
    assert_eq!(with_variable(&root), Vec::<String>::new());
}

#[test]
fn nobody_waits_for_the_summary_of_a_completed_thread() {
    let server = ModelServer::start(vec![Scripted::Hang]);
    let (world, thread) = summarized_at_its_end(&server);
    world.configure("summary.timeout", "3s");
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["status"], "completed");
    wait_for_log(&world, "not-summarized");
    assert_eq!(world.show(&thread).get("summary"), None);
}

#[test]
fn no_failure_of_the_model_changes_the_end_of_a_thread() {
    for script in [
        Scripted::body(401, "{}"),
        Scripted::body(200, "<html>"),
        Scripted::says(""),
    ] {
        let server = ModelServer::start(vec![script]);
        let (world, thread) = summarized_at_its_end(&server);
        world.step(&thread).exits(0);
        wait_for_log(&world, "not-summarized");
        let shown = world.show(&thread);
        assert_eq!(shown["status"], "completed");
        assert_eq!(shown.get("summary"), None);
    }
}

#[test]
fn many_threads_that_end_at_once_are_all_summarized_and_none_fails() {
    let server = ModelServer::start(vec![Scripted::body(401, "{}"), says("A note was written.")]);
    let (world, first) = summarized_at_its_end(&server);
    let threads = [
        first,
        world.start("one"),
        world.start("one"),
        world.start("one"),
    ];
    world.uwf(&["thread", "step", "--all"]).exits(0);
    let more: Vec<String> = (0..4).map(|_| world.start("one")).collect();
    world
        .uwf(&["thread", "step", "--all", "--jobs", "2"])
        .exits(0);
    let all: Vec<&String> = threads.iter().chain(&more).collect();
    wait_until("seven of eight are summarized", || {
        let shown = all.iter().map(|thread| world.show(thread));
        shown.filter(|shown| shown.get("summary").is_some()).count() == 7
    });
    for thread in all {
        assert_eq!(world.show(thread)["attempts"], json!([]));
    }
}

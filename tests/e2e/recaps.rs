//! Histories that are too long for a prompt: a model summarizes the older steps, once, and a role may begin a new session on
//! each visit.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::world::World;

/// A role that is done again and again, and sees all that happened each time.
const FRESH: &str = "name: fresh
context: { maxChars: 4000, older: summary }
roles:
  writer:
    goal: g
    session: fresh
    frontmatter:
      type: object
      properties: { $status: { enum: [again, done] } }
      required: [$status]
graph:
  $START: { _: { role: writer, prompt: go } }
  writer: { again: { role: writer, prompt: again }, done: { role: $END } }
";

/// A world whose agent answers with so much that four answers do not fit into a prompt, and two fit beside a recap.
fn world(server: &ModelServer) -> (World, String) {
    let world = World::new();
    world.put(FRESH);
    world.model("small", &server.base_url());
    world.configure("summary.model", "small");
    let answer = json!({ "output": { "$status": "again" }, "body": "word ".repeat(180) });
    world.mock(&json!({ "roles": { "writer": [answer] } }).to_string());
    let thread = world.start("fresh");
    (world, thread)
}

fn steps(world: &World, thread: &str, count: usize) {
    let count = count.to_string();
    world
        .uwf(&["thread", "step", thread, "-c", &count])
        .exits(0);
}

/// Returns the prompt of the last step.
fn prompt(world: &World, thread: &str) -> String {
    world
        .uwf(&["step", "read", "--prompt", thread])
        .exits(0)
        .stdout
}

/// Returns what the model was told in one of its requests.
fn told(server: &ModelServer, number: usize) -> String {
    let request = server.requests()[number].json();
    request["messages"][1]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_steps_that_do_not_fit_are_summarized_once_and_the_next_summary_goes_on_from_it() {
    let server = ModelServer::start(vec![
        Scripted::says("Three came first."),
        Scripted::says("Five came first."),
    ]);
    let (world, thread) = world(&server);
    steps(&world, &thread, 4);
    assert_eq!(server.requests().len(), 0, "all of it fits");
    steps(&world, &thread, 1);
    let asked = prompt(&world, &thread);
    let recap = "A model wrote this summary of steps 1 to 3:\n<summary>\nThree came first.\n</summary>\n<step number=\"4\"";
    assert!(asked.contains(recap), "{asked}");
    assert!(asked.contains("visit 5 of the role"), "{asked}");
    let first = told(&server, 0);
    assert!(first.starts_with("Task:\nthe task\n\nSteps:\n<step number=\"1\""));
    assert!(first.contains("<step number=\"3\"") && !first.contains("<step number=\"4\""));
    steps(&world, &thread, 1);
    assert!(prompt(&world, &thread).contains("Three came first."));
    assert_eq!(server.requests().len(), 1, "it was found again");
    steps(&world, &thread, 1);
    assert_eq!(server.requests().len(), 2);
    let asked = prompt(&world, &thread);
    assert!(
        asked.contains("steps 1 to 5:\n<summary>\nFive came first."),
        "{asked}"
    );
    assert!(!asked.contains("Three came first."), "{asked}");
    let second = told(&server, 1);
    assert!(
        second
            .contains("Summary of steps 1 to 3:\nThree came first.\n\nSteps:\n<step number=\"4\"")
    );
    assert_eq!(world.show(&thread)["usage"]["costUsd"], 0.5);
}

#[test]
fn a_summary_outlives_the_agent_that_needed_it_and_is_paid_once() {
    let server = ModelServer::start(vec![Scripted::says("Three came first.")]);
    let (world, thread) = world(&server);
    steps(&world, &thread, 4);
    let script = json!({ "roles": { "writer": [{ "exit": 3 }] } });
    world.mock(&script.to_string());
    world.step(&thread).exits(3);
    world.step(&thread).exits(3);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(world.show(&thread)["usage"]["costUsd"], 0.25);
    let recaps: Value =
        serde_json::from_str(&world.state(&format!("runs/{thread}/recaps.json"))).unwrap();
    let node = recaps[0]["node"].as_str().unwrap();
    world.uwf(&["cas", "gc", "--older-than", "1h"]).exits(0);
    let node = world.uwf(&["cas", "get", node]).exits(0).json();
    assert_eq!(node["payload"]["text"], "Three came first.");
    let plan = world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(0);
    assert!(plan.stdout.contains("Three came first."), "{}", plan.stdout);
}

#[test]
fn a_summary_that_cannot_be_used_is_counted_and_not_bought_again_at_each_prompt() {
    let server = ModelServer::start(vec![Scripted::says(" "), Scripted::says("All of it.")]);
    let (world, thread) = world(&server);
    steps(&world, &thread, 4);
    world.mock(&json!({ "roles": { "writer": [{ "exit": 3 }] } }).to_string());
    world.step(&thread).exits(3);
    assert_eq!(world.show(&thread)["usage"]["costUsd"], 0.25);
    world.step(&thread).exits(3);
    let answer = json!({ "output": { "$status": "again" }, "body": "word ".repeat(180) });
    world.mock(&json!({ "roles": { "writer": [answer] } }).to_string());
    steps(&world, &thread, 2);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(world.show(&thread)["usage"]["costUsd"], 0.25);
    steps(&world, &thread, 1);
    assert_eq!(server.requests().len(), 2, "the next one is due");
    assert!(prompt(&world, &thread).contains("All of it."));
}

#[test]
fn a_model_that_fails_costs_no_step() {
    for script in [
        Scripted::body(401, "{}"),
        Scripted::says(" "),
        Scripted::body(200, "<html>"),
    ] {
        let server = ModelServer::start(vec![script]);
        let (world, thread) = world(&server);
        steps(&world, &thread, 4);
        world.step(&thread).exits(0);
        let asked = prompt(&world, &thread);
        assert!(asked.contains("One earlier step is not shown."), "{asked}");
        let noted = world.state(&format!("runs/{thread}/stderr"));
        assert!(noted.contains("could not be summarized"), "{noted}");
    }
}

#[test]
fn the_history_is_bounded_by_the_role_then_the_workflow_then_the_config() {
    let check = |of_role: &str, of_workflow: &str, of_config: Option<&str>, shown: usize| {
        let world = World::new();
        let yaml = FRESH.replace("context: { maxChars: 4000, older: summary }\n", of_workflow);
        world.put(&yaml.replace(
            "    session: fresh\n",
            &format!("    session: fresh\n{of_role}"),
        ));
        let answer = json!({ "output": { "$status": "again" }, "body": "word ".repeat(180) });
        world.mock(&json!({ "roles": { "writer": [answer] } }).to_string());
        if let Some(most) = of_config {
            world.configure("context.maxChars", most);
        }
        let thread = world.start("fresh");
        steps(&world, &thread, 6);
        let asked = prompt(&world, &thread);
        assert_eq!(asked.matches("<step number=").count(), shown, "{asked}");
    };
    check("", "", None, 5);
    check("", "", Some("2500"), 2);
    check("", "context: { maxChars: 3500 }\n", Some("2500"), 3);
    check(
        "    context: { maxChars: 1500 }\n",
        "context: { maxChars: 3500 }\n",
        Some("2500"),
        1,
    );
}

#[test]
fn a_fresh_role_begins_a_new_session_on_each_visit_and_is_corrected_within_it() {
    let again = || Scripted::says("---\n$status: again\n---\n\nThe first.");
    let server = ModelServer::start(vec![again(), Scripted::says("no answer"), again()]);
    let world = World::new();
    world.put(FRESH);
    world.model("m", &server.base_url());
    world.configure("defaultModel", "m");
    world.configure("extract", "strict");
    world.agent("uwf-llm", &[]);
    let thread = world.start("fresh");
    steps(&world, &thread, 2);
    let messages = |number: usize| {
        let request = server.requests()[number].json();
        request["messages"].as_array().unwrap().clone()
    };
    assert_eq!(messages(1).len(), 1, "a new session");
    let asked = messages(1)[0]["content"].as_str().unwrap().to_owned();
    assert!(
        asked.contains("## Task") && asked.contains("The first."),
        "{asked}"
    );
    assert!(!asked.contains("since your last step"), "{asked}");
    assert_eq!(messages(2).len(), 3, "the correction goes on in it");
    world
        .uwf(&["thread", "poke", &thread, "-p", "Better."])
        .exits(0);
    assert_eq!(messages(3).len(), 5, "and so does a poke");
}

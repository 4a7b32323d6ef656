//! Prices of models: a cost that no agent tells is computed, and every place marks it as estimated.

use serde_json::{Value, json};

use crate::children_care;
use crate::model_server::{ModelServer, Scripted};
use crate::processes::signal;
use crate::world::{REVIEW, World, wait_until};

/// A writer whose tokens are known, and a reviewer who tells the cost.
const SCRIPT: &str = r"
roles:
  writer:
    - output: { plan: p }
      model: m-1
      usage: { inputTokens: 1000, cachedTokens: 400, outputTokens: 100 }
  reviewer:
    - output: { $status: ask, question: which? }
      model: m-2
      usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.5 }
";

/// A world with prices for both models, and a thread with one step of each role.
fn world() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(SCRIPT);
    for (key, value) in [
        ("prices.m-1.input", "100"),
        ("prices.m-1.output", "1000"),
        ("prices.m-1.cacheRead", "10"),
        ("prices.m-*.input", "1000"),
        ("prices.m-*.output", "1000"),
    ] {
        world.configure(key, value);
    }
    let thread = world.start("review");
    (world, thread)
}

fn step_view(world: &World, thread: &str, step: u64) -> Value {
    let place = format!("{thread}@{step}");
    world.uwf(&["step", "show", &place]).exits(0).json()
}

fn cost(world: &World, args: &[&str]) -> Value {
    let args = [&["thread", "cost"], args].concat();
    world.uwf(&args).exits(0).json()
}

#[test]
fn a_cost_that_no_agent_tells_is_computed_and_marked() {
    let (world, thread) = world();
    world
        .uwf(&["thread", "step", &thread, "-c", "all"])
        .exits(6);
    // 600 × 100 + 400 × 10 + 100 × 1000 dollars for a million tokens
    let writer = &step_view(&world, &thread, 1)["usage"];
    assert_eq!(writer["costUsd"], json!(0.164));
    assert_eq!(writer["costEstimated"], json!(true));
    let reviewer = &step_view(&world, &thread, 2)["usage"];
    assert_eq!(
        reviewer["costUsd"],
        json!(0.5),
        "what the agent tells counts"
    );
    assert_eq!(reviewer.get("costEstimated"), None);
    let report = cost(&world, &[&thread]);
    let rows = report["rows"].as_array().unwrap();
    let row = |role: &str| rows.iter().find(|row| row["key"] == role).unwrap();
    assert_eq!(row("writer")["costEstimated"], json!(true));
    assert_eq!(row("reviewer").get("costEstimated"), None);
    assert_eq!(report["total"]["costUsd"], json!(0.664));
    assert_eq!(report["total"]["costEstimated"], json!(true));
    let text = world.uwf(&["thread", "cost", &thread, "--format", "text"]);
    let text = text.exits(0).stdout;
    let ends = ["$0.50", "~$0.16", "~$0.66"];
    for (line, end) in text.lines().skip(1).zip(ends) {
        let cost = line.split_whitespace().last();
        assert_eq!(cost, Some(end), "{text}");
    }
}

#[test]
fn every_view_marks_an_estimated_cost() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    let text = |args: &[&str]| world.uwf(args).exits(0).stdout;
    for args in [
        &["thread", "show", &thread, "--format", "text"][..],
        &["thread", "list", "--format", "text"],
        &["thread", "read", &thread],
        &["thread", "read", &thread, "--html"],
        &["thread", "tail", &thread, "--format", "text"],
    ] {
        let shown = text(args);
        assert!(shown.contains("~$0.16"), "{args:?}: {shown}");
        assert_eq!(
            shown.matches("$0.16").count(),
            shown.matches("~$0.16").count()
        );
    }
    assert_eq!(world.show(&thread)["usage"]["costEstimated"], json!(true));
}

#[test]
fn an_estimated_cost_counts_for_limits() {
    let (world, thread) = world();
    world.configure("limits.maxCostUsd", "0.1");
    world.step(&thread).exits(0);
    world
        .step(&thread)
        .exits(6)
        .says("`maxCostUsd` is reached: ~$0.16 of $0.10 were paid");
    let limit = &world.show(&thread)["limit"];
    assert_eq!(limit["spent"], json!(0.164));
    assert_eq!(limit["costEstimated"], json!(true));
}

#[test]
fn a_failed_attempt_has_an_estimated_cost_too() {
    let (world, thread) = world();
    world.mock("roles:\n  writer:\n    - { exit: 3, model: m-1, usage: { inputTokens: 1000, outputTokens: 0 } }\n");
    world.step(&thread).exits(3);
    let usage = world.show(&thread)["attempts"][0]["usage"].clone();
    assert_eq!(usage["costUsd"], json!(0.1));
    assert_eq!(usage["costEstimated"], json!(true));
    assert_eq!(world.show(&thread)["usage"]["costEstimated"], json!(true));
}

#[test]
fn without_a_price_the_cost_stays_unknown() {
    let (world, thread) = world();
    world.uwf(&["config", "unset", "prices"]).exits(0);
    // An entry without `output` is no price.
    world.configure("prices.m-1.input", "1");
    world.step(&thread).exits(0);
    let usage = &step_view(&world, &thread, 1)["usage"];
    assert_eq!(usage["costUsd"], json!(null));
    assert_eq!(usage.get("costEstimated"), None);
    let validated = world.uwf(&["config", "validate"]).exits(1);
    let problem = &validated.json()["errors"][0];
    assert_eq!(problem["key"], json!("prices.m-1"));
    assert_eq!(problem["problem"], json!("`output` is missing"));
}

#[test]
fn a_model_of_the_table_needs_no_config() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - { output: { plan: p }, model: claude-sonnet-4-5-20250929, usage: { inputTokens: 1000000, cachedTokens: 200000, cacheWriteTokens: 100000, outputTokens: 100000 } }\n");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let usage = &step_view(&world, &thread, 1)["usage"];
    // 0.7 × 3 + 0.2 × 0.3 + 0.1 × 3.75 + 0.1 × 15
    assert_eq!(usage["costUsd"], json!(4.035));
    assert_eq!(usage["cacheWriteTokens"], json!(100_000));
}

/// Answers of a child's two roles, whose cost is not told.
const CHILD: &str = "roles:\n  first: [{ output: { note: f } }]\n  one: [{ output: { note: a }, model: m-1, usage: { inputTokens: 1000, outputTokens: 0 } }]\n  two: [{ output: { note: b }, model: m-1, usage: { inputTokens: 1000, outputTokens: 0 } }]\n";

#[test]
fn a_parent_sums_the_estimated_costs_of_its_children() {
    let (world, thread) = children_care::world("workflow: ./inner.yaml", CHILD);
    world.configure("prices.m-1.input", "100");
    world.configure("prices.m-1.output", "100");
    world.uwf(&["thread", "run", &thread]).exits(0);
    let usage = &world.show(&thread)["usage"];
    assert_eq!(usage["costUsd"], json!(0.2));
    assert_eq!(usage["costEstimated"], json!(true));
    let total = &cost(&world, &[&thread])["total"];
    assert_eq!(total["costEstimated"], json!(true));
    world.uwf(&["cas", "verify"]).exits(0);
    let there = children_care::elsewhere(&world, &thread);
    let usage = there(&["thread", "show", &thread]).exits(0).json()["usage"].clone();
    assert_eq!(usage["costUsd"], json!(0.2));
    assert_eq!(usage["costEstimated"], json!(true));
    there(&["cas", "verify"]).exits(0);
}

#[test]
fn a_run_sums_the_estimated_costs_of_the_workflows_that_it_starts() {
    let world = World::new();
    world.write("flow.yaml", "name: flow\nroles:\n  writer: { goal: g, frontmatter: { type: object } }\ngraph:\n  $START: { _: { role: writer, prompt: Go. } }\n  writer: { _: { role: $END, prompt: '' } }\n");
    world.write(
        "p.yaml",
        "name: p\nsteps:\n- name: Solve\n  workflow: {name: ./flow.yaml, task: t}\n",
    );
    world.mock("roles:\n  writer: [{ output: { note: n }, model: gpt-5, usage: { inputTokens: 1000, outputTokens: 0 } }]\n");
    world.uwf(&["orchestrate", "run", "p.yaml"]).exits(0);
    let usage = &world.show("@")["usage"];
    assert_eq!(usage["costUsd"], json!(0.00125));
    assert_eq!(usage["costEstimated"], json!(true));
    let shown = world.uwf(&["thread", "read", "@"]).exits(0).stdout;
    assert!(
        shown.contains("`Solve`") || shown.contains("Solve"),
        "{shown}"
    );
    world.uwf(&["cas", "verify"]).exits(0);
    world.uwf(&["cas", "gc"]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
}

/// The usage of an answer whose cost the endpoint does not tell.
fn tokens() -> Value {
    json!({ "prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": { "cached_tokens": 0 } })
}

#[test]
fn verdicts_and_summaries_have_estimated_costs_too() {
    let verdict = json!({ "decision": "continue", "reason": "It goes on." }).to_string();
    let summary = json!({ "summary": "A plan was made." }).to_string();
    let server = ModelServer::start(vec![
        Scripted::says(&verdict).using(&tokens()),
        Scripted::says(&summary).using(&tokens()),
    ]);
    let (world, thread) = world();
    world.configure("prices.served-model.input", "10");
    world.configure("prices.served-model.output", "100");
    world.model("small", &server.base_url());
    world.configure("supervisor.every", "1");
    world.configure("supervisor.model", "small");
    world.configure("summary.model", "small");
    world.step(&thread).exits(0);
    world.step(&thread).exits(0);
    let shown = world.show(&thread);
    let usage = &shown["verdict"]["usage"];
    assert_eq!(usage["costUsd"], json!(0.02));
    assert_eq!(usage["costEstimated"], json!(true));
    let summary = world.uwf(&["thread", "summarize", &thread]).exits(0).json();
    assert_eq!(summary["usage"]["costUsd"], json!(0.02));
    assert_eq!(summary["usage"]["costEstimated"], json!(true));
    assert_eq!(world.show(&thread)["usage"]["costUsd"], json!(0.704));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn what_a_model_reads_has_the_price_of_that_model() {
    let data = json!({ "plan": "p" }).to_string();
    let server = ModelServer::start(vec![Scripted::says(&data).using(&tokens())]);
    let (world, thread) = world();
    world.configure("prices.served-model.input", "10");
    world.configure("prices.served-model.output", "100");
    world.model("small", &server.base_url());
    world.configure("modelOverrides.extract", "small");
    world.mock("roles:\n  writer:\n    - { output: 'The plan is p.', model: m-1, usage: { inputTokens: 1000, outputTokens: 0 } }\n");
    world.step(&thread).exits(0);
    let detail = step_view(&world, &thread, 1);
    assert_eq!(detail["extraction"]["model"], json!("served-model"));
    // 0.1 of the agent, and 0.02 of the model that read
    assert_eq!(detail["usage"]["costUsd"], json!(0.12));
    assert_eq!(detail["usage"]["costEstimated"], json!(true));
}

#[test]
fn the_prices_that_hold_are_listed_with_their_source() {
    let (world, _) = world();
    world.configure("prices.gpt-5.input", "0");
    let listed = world.uwf(&["config", "prices"]).exits(0);
    let hint = "`uwf config set prices.gpt-5.output <dollars>`";
    let listed = listed.says(hint).json();
    world.configure("prices.gpt-*.input", "0");
    let hint = "`uwf config set 'prices.gpt-*.output' <dollars>`";
    world.uwf(&["config", "prices"]).exits(0).says(hint);
    let day = listed["builtInDate"].as_str().unwrap();
    assert_eq!(day.len(), "2025-12-31".len());
    let rows = listed["prices"].as_array().unwrap();
    let row = |model: &str| rows.iter().find(|row| row["model"] == model).unwrap();
    let own = json!({ "model": "m-1", "input": 100.0, "output": 1000.0, "cacheRead": 10.0, "cacheWrite": null, "source": "config" });
    assert_eq!(row("m-1"), &own);
    assert_eq!(row("m-*")["source"], json!("config"));
    assert_eq!(
        row("gpt-5")["source"],
        json!("built-in"),
        "the own one lacks its output"
    );
    assert!(row("gpt-5")["page"].as_str().unwrap().contains("openai"));
    world.configure("prices.gpt-5.output", "0.125");
    let text = world
        .uwf(&["config", "prices", "--format", "text"])
        .exits(0)
        .stdout;
    let line = |model: &str| {
        let mut lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.find(|words| words.first() == Some(&model)).unwrap()
    };
    assert_eq!(line("gpt-5"), ["gpt-5", "$0", "$0.125", "-", "-", "config"]);
    let built_in = format!("built-in, {day}");
    assert!(line("gpt-5-mini*").join(" ").contains(&built_in), "{text}");
}

#[test]
fn an_impossible_price_is_refused_where_it_is_set_and_where_it_is_read() {
    let (world, thread) = world();
    let refused = |key: &str, value: &str, says: &str| {
        world
            .uwf(&["config", "set", key, value])
            .exits(1)
            .says(says);
    };
    refused("prices.m-1.input", "-1", "a number from 0");
    refused("prices.m-1.input", "cheap", "a number from 0");
    refused("prices.m-1.inptu", "1", "did you mean `input`?");
    refused("prices.a*b.input", "1", "one `*` at the end");
    refused("prices.m-1", "1", "incomplete: `prices.<model>.<field>`");
    let config = world.root().join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        format!("{text}\n").replace("input: 100\n", "input: -100\n"),
    )
    .unwrap();
    let step = world.step(&thread).exits(1);
    step.says("`-100` is not a price: it is a number from 0")
        .says("uwf config validate");
}

/// A tool that tells the tokens of a message, and would tell the cost at the end, which never comes.
const CUT_OFF: &str = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m-1"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":1000,"output_tokens":100}},"session_id":"s1"}'
exec sleep 60
"#;

#[test]
fn what_an_agent_used_before_it_was_ended_has_an_estimated_cost() {
    let (world, thread) = world();
    world.configure("limits.maxCostUsd", "1");
    let tool = world.script("tool", CUT_OFF);
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    let mut engine = world.spawn(&["thread", "step", &thread]);
    let usage = format!("runs/{thread}/usage.json");
    wait_until("the tokens are told", || {
        world.state(&usage).contains("costEstimated")
    });
    signal("INT", engine.id());
    engine.wait().unwrap();
    let shown = world.show(&thread);
    assert_eq!(shown["attempts"][0]["usage"]["costUsd"], json!(0.2));
    assert_eq!(shown["usage"]["costUnknown"], json!(0));
    assert_eq!(shown["usage"]["costEstimated"], json!(true));
    world.mock(SCRIPT);
    world.step(&thread).exits(0);
}

#[test]
fn the_cost_of_removed_threads_stays_marked() {
    let (world, thread) = world();
    world.step(&thread).exits(0);
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    let report = cost(&world, &[]);
    assert_eq!(report["removed"]["costUsd"], json!(0.164));
    assert_eq!(report["removed"]["costEstimated"], json!(true));
    assert_eq!(report["total"]["costEstimated"], json!(true));
}

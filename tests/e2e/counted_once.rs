//! What was spent once counts once, also when the answer of an attempt that was ended is used by a later one.

use serde_json::json;

use crate::crash::tracer::{Verdict, trace};
use crate::processes::{kill, signal};
use crate::trees::LOOP;
use crate::world::{World, wait_until};

/// A tool that tells the tokens of its messages while it works, and the cost at the end. Its answers are in files
/// `answer-<n>`; the call whose number is in `slow` waits for a file `gate`.
const TOOL: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n
echo '{"type":"system","subtype":"init","session_id":"s1"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":100,"output_tokens":20}},"session_id":"s1"}'
if [ "$n" = "$(cat slow)" ]; then touch ready; while [ ! -e gate ]; do sleep 0.02; done; fi
[ -e answer-$n ] && answer=$(cat answer-$n) || answer='---\n$status: again\n---\ndone'
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20}}\n' "$answer"
"#;

/// A thread with these limits, whose call number `slow` waits, and whose calls begin with these answers.
fn world(limits: &str, slow: usize, answers: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(&format!("{LOOP}limits: {limits}\n"));
    for (number, answer) in answers.iter().enumerate() {
        world.write(&format!("answer-{number}"), answer);
    }
    world.write("slow", &slow.to_string());
    let tool = world.script("tool", TOOL);
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    (world, thread)
}

/// Ends the adapter and the engine while their program works, and lets the program finish.
fn ends_early(world: &World, thread: &str) {
    let engine = world.spawn(&["thread", "step", thread]);
    wait_until("the tool works", || world.project().join("ready").exists());
    let usage = format!("runs/{thread}/usage.json");
    wait_until("the tokens are told", || {
        world.state(&usage).contains("inputTokens")
    });
    let adapter = world.agent_at_work(thread);
    kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    world.wait_until_free(thread);
}

fn calls(world: &World) -> usize {
    let files = std::fs::read_dir(world.project()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("asked-")).count()
}

#[test]
fn tokens_of_an_answer_that_a_later_attempt_uses_count_once() {
    // The step needs 120.
    let (world, thread) = world("{ maxTokens: 130 }", 0, &[]);
    ends_early(&world, &thread);
    world.step(&thread).exits(0);
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (1, json!(1))
    );
    world.step(&thread).exits(0);
    world
        .step(&thread)
        .exits(6)
        .says("`maxTokens` is reached: 240 of 130 tokens");
}

#[test]
fn the_cost_of_a_conversation_that_a_later_attempt_finishes_counts_once_and_as_a_whole() {
    let limits = "{ maxCostUsd: 0.6, unknownUsage: ignore }";
    let (world, thread) = world(limits, 1, &["no front matter"]);
    ends_early(&world, &thread);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (2, json!(1))
    );
    let step_hash = report["step"].as_str().unwrap();
    let shown = world.uwf(&["step", "show", step_hash]).exits(0).json();
    assert_eq!(shown["usage"]["costUsd"], json!(0.5));
    world.step(&thread).exits(0);
    world.step(&thread).exits(6).says("`maxCostUsd` is reached");
}

#[test]
fn the_cost_of_an_answer_is_known_once_it_is_used() {
    let (world, thread) = world("{ maxCostUsd: 0.6, unknownUsage: ignore }", 0, &[]);
    ends_early(&world, &thread);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].clone();
    let listed = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(listed["attempts"][0]["countedIn"], head, "{listed}");
    world.configure("limits.maxCostUsd", "0.6");
    world.step(&thread).exits(0);
}

#[test]
fn an_answer_that_is_used_counts_once_also_if_the_engine_dies_when_the_head_has_moved() {
    let (world, thread) = world("{ maxTokens: 130 }", 0, &[]);
    ends_early(&world, &thread);
    let mut has_moved = false;
    let traced = trace(&world, &["thread", "step", &thread], |point| {
        if has_moved && point.command.contains(" thread ") {
            return Verdict::Kill;
        }
        has_moved = point.call.starts_with("rename ") && point.call.ends_with(" root/threads.yaml");
        Verdict::GoOn
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    assert_eq!(world.show(&thread)["steps"], json!(1));
    world.step(&thread).exits(0);
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (2, json!(2))
    );
}

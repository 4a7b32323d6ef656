//! What a step used up is what the model's server said, over all requests of the step.

use serde_json::{Value, json};

use crate::builtin::{finish, world};
use crate::model_server::{ModelServer, Scripted};
use crate::processes::{kill, signal};
use crate::trees::LOOP;
use crate::world::{ONE_STEP, World, wait_until};

fn usage(world: &World, thread: &str) -> Value {
    let head = world.show(thread)["head"].clone();
    let shown = world.uwf(&["step", "show", head.as_str().unwrap()]);
    shown.exits(0).json()["usage"].clone()
}

/// The usage as most servers tell it.
fn told(input: u64, cached: u64, output: u64) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": cached },
    })
}

#[track_caller]
fn is_sum(usage: &Value, input: u64, cached: u64, output: u64) {
    let keys = ["inputTokens", "cachedTokens", "outputTokens"];
    let found = keys.map(|key| usage[key].as_u64());
    assert_eq!(found, [Some(input), Some(cached), Some(output)], "{usage}");
}

#[test]
fn the_rounds_of_the_builtin_agent_are_summed_as_the_server_tells_them() {
    let read = || Scripted::calls(&[("read_file", json!({ "path": "a" }))]);
    let server = ModelServer::start(vec![
        read().using(&told(1000, 0, 30)),
        read().using(&told(1100, 900, 40)),
        finish(json!({ "wrong": true })).using(&told(1200, 1000, 50)),
        Scripted::body(503, "busy"),
        finish(json!({ "note": "n", "body": "Done." })).using(&told(1300, 1100, 60)),
    ]);
    let world = world(ONE_STEP, &server);
    world.write("a", "text\n");
    world.agent("uwf-builtin", &[]);
    world.configure("prices.served-model.input", "10");
    world.configure("prices.served-model.output", "100");
    world.configure("prices.served-model.cacheRead", "1");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    assert_eq!(server.requests().len(), 5);
    let usage = usage(&world, &thread);
    is_sum(&usage, 4600, 3000, 180);
    // 1600 × 10 + 3000 × 1 + 180 × 100
    assert_eq!(usage["costUsd"], json!(0.037));
    assert_eq!(usage["costEstimated"], json!(true));
}

#[test]
fn a_correction_of_a_model_is_summed_with_its_first_answer() {
    let stream = |text: &str, usage: Value| {
        let delta =
            json!({ "model": "served-model", "choices": [{ "delta": { "content": text } }] });
        let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
        // Some servers tell the usage with each piece; the last one counts.
        let early =
            json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 1 } });
        let last = json!({ "choices": [], "usage": usage });
        let events = [delta, early, end, last].map(|event| event.to_string());
        Scripted::Stream(events.into_iter().chain(["[DONE]".to_owned()]).collect())
    };
    let server = ModelServer::start(vec![
        stream("no front matter", told(100, 0, 5)),
        stream("---\nnote: n\n---\n", told(200, 90, 6)),
    ]);
    let world = world(ONE_STEP, &server);
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    is_sum(&usage(&world, &thread), 300, 90, 11);
}

#[test]
fn reasoning_that_only_the_total_tells_counts_as_output() {
    let with_total = json!({
        "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
        "completion_tokens_details": { "reasoning_tokens": 94 },
        "prompt_cache_hit_tokens": 20,
    });
    let server = ModelServer::start(vec![
        Scripted::says("---\nnote: n\n---\n").using(&with_total),
    ]);
    let world = world(ONE_STEP, &server);
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    is_sum(&usage(&world, &thread), 32, 20, 103);
}

/// Codex, which tells the usage of the whole session at the end of each call. The second call waits for a file `gate`.
const CODEX: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n
echo '{"type":"thread.started","thread_id":"s1"}'
if [ "$n" = 1 ]; then touch ready; while [ ! -e gate ]; do sleep 0.02; done; fi
printf '%s\n' '{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"---\n$status: again\n---\ndone"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":'$((n * 200 + 100))',"cached_input_tokens":'$((n * 50))',"output_tokens":'$((n * 30 + 20))'}}'
"#;

#[test]
fn an_answer_of_a_session_that_a_later_attempt_uses_counts_without_the_calls_before() {
    let world = World::new();
    world.put(LOOP);
    let tool = world.script("tool", CODEX);
    world.agent("uwf-codex", &["--program", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    world.step(&thread).exits(0);
    is_sum(&usage(&world, &thread), 100, 0, 20);
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the tool works", || world.project().join("ready").exists());
    let adapter = world.agent_at_work(&thread);
    kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    world.wait_until_free(&thread);
    world.step(&thread).exits(0);
    assert!(
        !world.project().join("asked-2").exists(),
        "its answer is used"
    );
    is_sum(&usage(&world, &thread), 200, 50, 30);
    world.step(&thread).exits(0);
    is_sum(&usage(&world, &thread), 200, 50, 30);
}

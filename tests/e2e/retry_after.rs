//! What a provider says about the next call: it is on record, and the next attempt follows it.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::retries::{attempts, refused, refusing};
use crate::world::{ONE_STEP, Run, World, wait_until};

#[test]
fn what_the_provider_asks_for_is_on_record_and_goes_before_the_backoff() {
    let (world, thread) = refusing(1, "1s");
    world.mock(&refused(1).replace("failures", "retryAfterMs: 7200000, failures"));
    let told = world.step(&thread).exits(3).json();
    let attempt = &attempts(&world, &thread)[0];
    assert_eq!(attempt["retryAfterMs"], json!(7_200_000));
    let at = attempt["endedAtMs"].as_i64().unwrap() + 7_200_000;
    assert_eq!(told["nextTryAt"], json!(iso(at)));
}

/// Returns a time as programs read it.
fn iso(ms: i64) -> String {
    uwf_util::time::format_iso(ms)
}

#[test]
fn a_model_that_is_busy_says_when_to_come_again() {
    let busy = Scripted::body(429, "slow down").header("Retry-After", "1");
    let server = ModelServer::start(vec![busy]);
    let world = World::new();
    world.put(ONE_STEP);
    world.model("m", &server.base_url());
    world.configure("defaultModel", "m");
    world.agent("uwf-llm", &[]);
    world.configure("agents.default.retry.max", "1");
    world.configure("agents.default.retry.backoff", "1ms");
    let thread = world.start("one");
    let told = world.step(&thread).exits(3).json();
    assert_eq!(told["class"], json!("rate-limit"), "{told}");
    assert_eq!(attempts(&world, &thread)[0]["retryAfterMs"], json!(1000));
    assert!(told["nextTryAt"].is_string(), "{told}");
}

#[test]
fn a_model_that_refused_has_cost_nothing_and_no_limit_of_cost_stops_the_next_attempt() {
    let busy = Scripted::body(429, "slow down").header("Retry-After", "0");
    let mut script = vec![busy; 4];
    script.push(Scripted::says("---\nnote: n\n---\n"));
    let server = ModelServer::start(script);
    let world = World::new();
    world.put(ONE_STEP);
    world.model("m", &server.base_url());
    for (key, value) in [
        ("defaultModel", "m"),
        ("limits.maxCostUsd", "5"),
        ("agents.default.retry.max", "1"),
        ("agents.default.retry.backoff", "1ms"),
    ] {
        world.configure(key, value);
    }
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    world.uwf(&["thread", "run", &thread]).exits(0);
    let refused = &attempts_of(&world, &thread)[0];
    assert_eq!(refused["usage"]["costUsd"], json!(0.0), "{refused}");
}

/// Returns the attempts at a thread that has ended.
fn attempts_of(world: &World, thread: &str) -> Vec<serde_json::Value> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["attempts"].as_array().unwrap().clone()
}

#[test]
fn a_wait_for_the_next_attempt_and_for_a_busy_thread_is_one_wait() {
    let (world, thread) = refusing(1, "4s");
    let slow = world.script("slow.sh", "touch working; exec sleep 60");
    world.step(&thread).exits(3);
    let began = Instant::now();
    let waiting = world.spawn(&["thread", "step", "--wait=6s", &thread]);
    let agent = format!("uwf-command -- {}", slow.display());
    let working = world.spawn(&["thread", "step", &thread, "--agent", &agent]);
    wait_until("the other agent works", || {
        world.project().join("working").exists()
    });
    let waited: Run = waiting.wait_with_output().unwrap().into();
    waited.exits(5);
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(5), "{took:?}");
    assert!(took < Duration::from_millis(9500), "{took:?}");
    crate::processes::signal("INT", working.id());
    working.wait_with_output().unwrap();
}

#[test]
fn limits_of_accounts_that_tools_tell_of_are_waited_for() {
    let world = World::new();
    world.put(ONE_STEP);
    let far = uwf_util::time::parse_filter("2100-01-01", 0).unwrap() / 1000;
    let event = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{far}}}}}"#
    );
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit","session_id":"s1"}"#;
    world.write("events", &format!("{event}\n{failed}\n"));
    let events = world.project().join("events");
    let tool = world.script(
        "claude",
        &format!("cat > /dev/null; cat {}; exit 1", events.display()),
    );
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    world.configure("agents.default.retry.max", "1");
    let thread = world.start("one");
    let told = world.step(&thread).exits(3).json();
    assert_eq!(told["class"], json!("rate-limit"), "{told}");
    // Nobody is believed who asks for decades.
    let attempt = &attempts(&world, &thread)[0];
    let at = attempt["endedAtMs"].as_i64().unwrap() + 8 * 86_400_000;
    assert_eq!(told["nextTryAt"], json!(iso(at)));
}

/// A tool that keeps its arguments. It is refused as long as there is a file `limit`, and then answers.
const TOOL: &str = r#"echo "$*" >> calls
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"assistant","session_id":"s1","message":{"content":[{"type":"text","text":"I work."}]}}'
if [ -e limit ]; then
  echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 overloaded","session_id":"s1"}'
  exit 1
fi
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"---\nnote: n\n---\n","session_id":"s1"}'"#;

#[test]
fn a_session_that_the_provider_refuses_again_and_again_is_kept() {
    let world = World::new();
    world.put(ONE_STEP);
    let tool = world.script("claude", TOOL);
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    world.write("limit", "");
    let thread = world.start("one");
    for _ in 0..4 {
        world.step(&thread).exits(3);
    }
    fs::remove_file(world.project().join("limit")).unwrap();
    world.step(&thread).exits(0);
    let calls = fs::read_to_string(world.project().join("calls")).unwrap();
    let goes_on = |call: &&str| call.contains("--resume s1");
    assert_eq!(calls.lines().filter(goes_on).count(), 4, "{calls}");
}

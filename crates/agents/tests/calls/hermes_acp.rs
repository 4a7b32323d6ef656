//! The hermes agent over the agent client protocol, with a server that is a shell script.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, says};

const GOOD: &str = r"say '---\n$status: done\ntext: x\n---\nbody\n'";
const END: &str = r#"reply 3 '{"stopReason":"end_turn"}'"#;

/// Makes a server that opens session `s-1`. It does `load` when it shall go on with a session, `prompt` when it
/// is prompted and `other` with what else comes, and keeps all that it got in the file `got`.
fn server(world: &World, load: &str, prompt: &str, other: &str) -> String {
    let folder = world.path("");
    let folder = folder.display();
    let body = format!(
        r#"cd '{folder}'; echo "$*" >> started
reply() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$1" "$2"; }}
fail() {{ printf '{{"jsonrpc":"2.0","id":%s,"error":%s}}\n' "$1" "$2"; }}
tell() {{ printf '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":%s}}}}\n' "$1"; }}
say() {{ tell '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'"$1"'"}}}}'; }}
call() {{ tell '{{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"terminal: ls","kind":"execute"}}'; }}
ask() {{ printf '{{"jsonrpc":"2.0","id":"ask-1","method":"session/request_permission","params":{{"sessionId":"s-1","toolCall":{{"toolCallId":"p","title":"change","kind":"edit"}},"options":%s}}}}\n' "$1"; }}
while read -r line; do
  printf '%s\n' "$line" >> got
  case $line in
  *'"method":"initialize"'*) reply 1 '{{"protocolVersion":1,"agentCapabilities":{{"loadSession":true}}}}' ;;
  *'"method":"session/new"'*) reply 2 '{{"sessionId":"s-1","models":{{"currentModelId":"custom:m"}}}}' ;;
  *'"method":"session/load"'*) {load} ;;
  *'"method":"session/prompt"'*) {prompt} ;;
  *) {other} ;;
  esac
done
echo ended >> got"#
    );
    world.script("hermes", &body)
}

fn answering(world: &World, prompt: &str) -> String {
    server(world, "reply 2 null", prompt, ":")
}

fn own<'a>(program: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["--mode", "acp", "--program", program], options].concat()
}

/// Returns what the server got, without what it noted beside it.
fn got(world: &World) -> Vec<Value> {
    let got = world.read("got");
    got.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn prompts(world: &World) -> Vec<String> {
    let got = got(world).into_iter();
    let prompts = got.filter(|message| message["method"] == "session/prompt");
    prompts
        .map(|message| {
            message["params"]["prompt"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn an_exchange_makes_a_step() {
    let mut world = World::new();
    let usage = r#"{"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":20,"totalTokens":220}}"#;
    let program = answering(&world, &format!("{GOOD}; reply 3 '{usage}'"));
    let step = world.step("hermes", &own(&program, &[]), "writer");
    assert_eq!(step.output["text"], "x");
    assert_eq!(step.detail.session_id.as_deref(), Some("s-1"));
    assert_eq!(step.detail.model.as_deref(), Some("custom:m"));
    let usage = step.detail.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(200), Some(20))
    );
    assert_eq!((usage.cached_tokens, usage.cost_usd), (None, None));
    assert!(usage.duration_ms.is_some());
    assert_eq!(world.read("started"), "acp\n");
    assert_eq!(prompts(&world), [step.prompt]);
    let messages = got(&world);
    assert_eq!(
        messages[0]["params"]["clientCapabilities"]["terminal"],
        false
    );
    assert_eq!(messages[1]["params"]["mcpServers"], json!([]));
    assert!(
        world.read("got").ends_with("ended\n"),
        "the server ends when its stdin does"
    );
}

#[test]
fn what_is_said_before_tools_is_a_turn_and_no_part_of_the_answer() {
    let mut world = World::new();
    let talk = r#"say 'Let me '; say 'look.'; call
        tell '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed","rawOutput":"a.txt"}'
        tell '{"sessionUpdate":"something_new","x":1}'
        echo 'no message at all'; echo '{"jsonrpc":"2.0","id":'
        printf '{"jsonrpc":"2.0","method":"session/upd'; sleep 0.1; printf 'ate","params":{}}\n'"#;
    let program = answering(&world, &format!("{talk}\n{GOOD}; {END}"));
    let step = world.step("hermes", &own(&program, &[]), "writer");
    assert!(
        world
            .text(step.detail.raw)
            .starts_with("---\n$status: done")
    );
    assert_eq!(step.detail.turns.len(), 3);
    assert_eq!(step.detail.usage.unwrap().input_tokens, None);
    let live = fs::read_to_string(world.run_dir().scratch.live_file()).unwrap();
    let live: Vec<Value> = live
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(live[0]["delta"], "Let me ");
    assert_eq!(
        (&live[2]["content"], &live[2]["index"]),
        (&json!("Let me look."), &json!(0))
    );
    assert_eq!(live.last().unwrap()["role"], "assistant");
}

#[test]
fn permissions_follow_the_policy_and_are_on_record() {
    let options = r#"[{"optionId":"a1","kind":"allow_always"},{"optionId":"a2","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]"#;
    for (policy, outcome) in [
        (&[][..], json!({ "outcome": "selected", "optionId": "r" })),
        (
            &["--permissions", "deny"],
            json!({ "outcome": "selected", "optionId": "r" }),
        ),
        (
            &["--permissions", "allow-once"],
            json!({ "outcome": "selected", "optionId": "a2" }),
        ),
        (
            &["--permissions", "allow-always"],
            json!({ "outcome": "selected", "optionId": "a1" }),
        ),
    ] {
        let mut world = World::new();
        let program = server(
            &world,
            ":",
            &format!("ask '{options}'"),
            &format!("{GOOD}; {END}"),
        );
        let step = world.step("hermes", &own(&program, policy), "writer");
        let answer = got(&world).pop().unwrap();
        assert_eq!(answer["id"], "ask-1");
        assert_eq!(answer["result"]["outcome"], outcome, "{policy:?}");
        // The first turn is the call.
        let turn = world.store.get(step.detail.turns[1]).unwrap().payload;
        let content = turn["content"].as_str().unwrap();
        assert!(
            content.starts_with("permission for `change` (edit): "),
            "{content}"
        );
    }
}

#[test]
fn a_request_that_offers_nothing_that_fits_is_cancelled() {
    let mut world = World::new();
    let offer = r#"[{"optionId":"yes","kind":"allow_always"}]"#;
    let program = server(
        &world,
        ":",
        &format!("ask '{offer}'"),
        &format!("{GOOD}; {END}"),
    );
    world.step(
        "hermes",
        &own(&program, &["--permissions", "allow-once"]),
        "writer",
    );
    let answer = got(&world).pop().unwrap();
    assert_eq!(
        answer["result"],
        json!({ "outcome": { "outcome": "cancelled" } })
    );
}

#[test]
fn unknown_requests_are_answered_with_an_error() {
    let mut world = World::new();
    let ask = r#"printf '{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}\n'"#;
    let program = server(&world, ":", ask, &format!("{GOOD}; {END}"));
    world.step(
        "hermes",
        &own(&program, &["--permissions", "allow-always"]),
        "writer",
    );
    let answer = got(&world).pop().unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(0), &json!(-32601))
    );
}

#[test]
fn a_correction_goes_to_the_same_session() {
    let mut world = World::new();
    let program = server(
        &world,
        "say 'an old answer'; reply 2 '{}'",
        &format!("case $line in *'not accepted'*) {GOOD} ;; *) say 'forgot' ;; esac; {END}"),
        ":",
    );
    let step = world.step("hermes", &own(&program, &[]), "writer");
    assert_eq!(step.detail.extraction.attempts, 2);
    let loads: Vec<Value> = got(&world)
        .into_iter()
        .filter(|message| message["method"] == "session/load")
        .collect();
    assert_eq!(loads.len(), 1);
    assert_eq!(loads[0]["params"]["sessionId"], "s-1");
    let prompts = prompts(&world);
    assert!(prompts[1].starts_with("Your answer was not accepted"));
    let roles: Vec<Value> = step
        .detail
        .turns
        .iter()
        .map(|turn| world.store.get(*turn).unwrap().payload["role"].clone())
        .collect();
    assert_eq!(
        roles,
        ["assistant", "user", "assistant"],
        "without what was replayed"
    );
}

#[test]
fn a_session_that_is_gone_is_replaced_by_a_new_one() {
    for load in [
        r#"fail 2 '{"code":-32602,"message":"no such session"}'"#,
        // Some servers say yes first, and refuse the prompt without a word.
        r#"reply 2 '{}'; read -r line; reply 3 '{"stopReason":"refusal"}'"#,
    ] {
        let mut world = World::new();
        let program = server(&world, load, &format!("{GOOD}; {END}"), ":");
        world.step("hermes", &own(&program, &[]), "writer");
        let step = world.step("hermes", &own(&program, &[]), "writer");
        assert_eq!(world.read("started"), "acp\nacp\nacp\n", "{load}");
        assert_eq!(prompts(&world).last(), Some(&step.prompt));
    }
}

#[test]
fn failures_say_what_the_agent_said_and_keep_what_it_did() {
    let world = World::new();
    let check = |prompt: &str, words: &str| {
        let program = answering(&world, prompt);
        let failure = world.fail("hermes", &own(&program, &[]), "writer");
        assert!(failure.error.contains(words), "{prompt}: {}", failure.error);
        failure
    };
    let error = r#"'{"code":-32603,"message":"Internal error","data":{"details":"out of money"}}'"#;
    let failure = check(
        &format!("say 'Let me look.'; call; fail 3 {error}"),
        "`session/prompt` was refused: Internal error: out of money",
    );
    assert_eq!(
        (failure.turns.len(), failure.session_id.as_deref()),
        (1, Some("s-1"))
    );
    check(
        "echo 'Traceback: oh' >&2; exit 3",
        "exited with code 3 before it answered `session/prompt`: Traceback: oh",
    );
    check("exit 0", "ended before it answered `session/prompt`");
    check(
        r#"say half; reply 3 '{"stopReason":"max_tokens"}'"#,
        "stop reason `max_tokens`",
    );
    check(
        &format!("say 'HTTP 401: Invalid API key'; {END}"),
        "could not reach its model: HTTP 401",
    );
}

#[test]
fn a_server_that_hangs_is_cancelled_and_ended() {
    let check = |limit: &str, prompt: &str, words: &str| {
        let world = World::new();
        let program = server(&world, ":", prompt, ":");
        let began = Instant::now();
        let failure = world.fail("hermes", &own(&program, &[limit, "400ms"]), "writer");
        says(&failure, words);
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
        let last = got(&world).pop().unwrap();
        assert_eq!(last["method"], "session/cancel");
    };
    check("--idle-timeout", ":", "without a message of 0.4 s");
    check("--timeout", ":", "time limit of 0.4 s");
}

#[test]
fn a_huge_chunk_is_taken() {
    let mut world = World::new();
    let huge = "printf '%s' '{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"'; head -c 5000000 /dev/zero | tr '\\0' x; printf '%s\\n' '\"}}}}'";
    let program = answering(&world, &format!("{GOOD}; {huge}; {END}"));
    let step = world.step("hermes", &own(&program, &[]), "writer");
    assert!(world.text(step.detail.raw).len() > 5_000_000);
}

#[test]
fn a_long_prompt_is_no_argument() {
    let mut world = World::new();
    world.instruction = "x".repeat(200_000);
    let program = answering(&world, &format!("{GOOD}; {END}"));
    let step = world.step("hermes", &own(&program, &[]), "writer");
    assert_eq!(prompts(&world), [step.prompt]);
}

#[test]
fn an_agent_that_says_too_much_is_ended() {
    let world = World::new();
    let program = answering(&world, "while :; do say 'on and on'; done");
    let failure = world.fail(
        "hermes",
        &own(&program, &["--max-output", "10KiB"]),
        "writer",
    );
    says(&failure, "more than 10.0 KiB");
}

//! The hermes agent: a step through each of its two modes, with a shell script in the place of hermes.

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{ONE_STEP, World, wait_until};

/// A world with a hermes whose `chat` forgets the form at first, and whose `acp` asks before it writes a file.
fn world(options: &[&str]) -> World {
    let world = World::new();
    world.put(ONE_STEP);
    let hermes = world.script("hermes", HERMES);
    let program = ["--program", hermes.to_str().unwrap()];
    world.agent("uwf-hermes", &[&program, options].concat());
    world
}

const HERMES: &str = r#"
if [ "$1" = chat ]; then
  echo "session_id: 20261122_011522_30ba39" >&2
  case "$*" in
  *--resume*) printf -- '---\nnote: n\n---\nBody.\n' ;;
  *) echo "I forgot the form." ;;
  esac
  exit
fi
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":%s}}\n' "$1"; }
while read -r line; do
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}\n' ;;
  *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}\n' ;;
  *'"method":"session/prompt"'*)
    update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I write it now."}}'
    update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"write: a.txt","kind":"edit"}'
    printf '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"write: a.txt","kind":"edit"},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}\n' ;;
  *'"outcome":"selected"'*)
    case $line in *'"optionId":"yes"'*) echo x > a.txt ;; esac
    update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"---\nnote: n\n---\nBody.\n"}}'
    printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":20}}}\n' ;;
  esac
done
"#;

fn details(world: &World, step: &Value) -> Value {
    world
        .uwf(&["step", "show", step.as_str().unwrap()])
        .exits(0)
        .json()
}

#[test]
fn a_chat_is_corrected_in_its_session() {
    let world = world(&[]);
    let thread = world.start("one");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["agent"], json!("uwf-hermes"));
    let details = details(&world, &report["step"]);
    assert_eq!(details["sessionId"], json!("20261122_011522_30ba39"));
    assert_eq!(details["extraction"]["method"], json!("correction"));
    assert_eq!(details["usage"]["inputTokens"], json!(null));
}

#[test]
fn an_agent_that_asks_is_answered_by_the_policy_of_the_config() {
    for (policy, writes) in [(&[][..], false), (&["--permissions", "allow-once"], true)] {
        let world = world(&[&["--mode", "acp"], policy].concat());
        let thread = world.start("one");
        let report = world.step(&thread).exits(0).json();
        assert_eq!(world.project().join("a.txt").exists(), writes, "{policy:?}");
        let details = details(&world, &report["step"]);
        assert_eq!(details["usage"]["inputTokens"], json!(200));
        let turns = details["turns"].as_array().unwrap();
        assert_eq!(turns[0]["content"], json!("I write it now."));
        let decision = turns[1]["content"].as_str().unwrap();
        let expected = if writes { "allowed once" } else { "rejected" };
        assert!(decision.contains(expected), "{decision}");
        assert!(details["raw"].as_str().unwrap().starts_with("---\nnote"));
    }
}

#[test]
fn a_hermes_that_is_not_installed_says_how_to_get_it() {
    let world = world(&[]);
    world.agent("uwf-hermes", &["--program", "no-such-hermes"]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("`no-such-hermes` could not be started")
        .says("pip install");
}

/// A hermes whose answer is none, and that does not end with its stdin. It leaves a file `ending` when its stdin is
/// closed, or when it is asked to end.
const STAYS: &str = r#"
echo call >> calls
while read -r line; do
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}\n' ;;
  *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}\n' ;;
  *'"method":"session/load"'*) printf '{"jsonrpc":"2.0","id":2,"result":{}}\n' ;;
  *'"method":"session/prompt"'*)
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I forgot the form."}}}}\n'
    printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}\n' ;;
  esac
done
WHEN
while :; do sleep 0.1; done
"#;

#[test]
fn a_signal_while_a_program_is_ended_starts_no_other_one_for_the_correction() {
    for when in ["touch ending", "trap 'touch ending' INT TERM"] {
        let world = world(&["--mode", "acp"]);
        world.script("hermes", &STAYS.replace("WHEN", when));
        let thread = world.start("one");
        let engine = world.spawn(&["thread", "step", &thread]);
        wait_until("the program is ended", || {
            world.project().join("ending").exists()
        });
        signal("INT", engine.id());
        assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(130));
        let calls = std::fs::read_to_string(world.project().join("calls")).unwrap();
        assert_eq!(calls, "call\n", "{when}");
    }
}

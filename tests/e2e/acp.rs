//! The acp agent: a step through a program that speaks the Agent Client Protocol, which is a shell script.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

/// An agent that asks before it writes a file. It can go on with its session `s-1` if `$1` says so.
const AGENT: &str = r#"
says() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
echo "$*" >> started
answers=0
while read -r line; do
  printf '%s\n' "$line" >> heard
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{%s}}}\n' "$1" ;;
  *'"method":"session/new"'*)
    if [ -e locked ]; then printf '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}\n'
    else printf '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1","models":{"currentModelId":"m-1"}}}\n'; fi ;;
  *'"method":"session/load"'*) printf '{"jsonrpc":"2.0","id":2,"result":{}}\n' ;;
  *'"method":"session/prompt"'*)
    printf '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"write: a.txt","kind":"edit"},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}\n' ;;
  *'"outcome":"selected"'*)
    case $line in *'"optionId":"yes"'*) echo x > a.txt ;; esac
    says '---\n$status: again\nnote: n\n---\nBody.\n'
    printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":20}}}\n' ;;
  esac
done
"#;

/// A workflow whose writer writes until a checker, who never comes, is content.
pub(crate) const TWICE: &str = r#"
name: twice
description: A writer who writes again
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter:
      oneOf:
        - { type: object, properties: { $status: { const: again }, note: { type: string } }, required: [$status, note] }
        - { type: object, properties: { $status: { const: done } }, required: [$status] }
graph:
  $START: { _: { role: writer, prompt: "Write a note." } }
  writer:
    again: { role: writer, prompt: "Write again." }
    done: { role: $END, prompt: "Done." }
"#;

const LOADS: &str = r#""loadSession":true"#;

/// A world with an agent that has these capabilities.
fn world(options: &[&str], capabilities: &str) -> (World, String) {
    let world = World::new();
    world.put(TWICE);
    let agent = world.script("agent", AGENT);
    let program = ["--", agent.to_str().unwrap(), capabilities, "--permissions"];
    world.agent("uwf-acp", &[options, &program].concat());
    let thread = world.start("twice");
    (world, thread)
}

fn text(world: &World, file: &str) -> String {
    fs::read_to_string(world.project().join(file)).unwrap_or_default()
}

#[test]
fn each_word_permits_what_it_says() {
    for (word, writes) in [("read", false), ("edit", true), ("run", true)] {
        let (world, thread) = world(&["--model", "m-1"], LOADS);
        let step = ["thread", "step", &thread, "--permissions", word];
        let report = world.uwf(&step).exits(0).json();
        assert_eq!(report["agent"], "uwf-acp");
        assert_eq!(world.project().join("a.txt").exists(), writes, "{word}");
        let step = report["step"].as_str().unwrap();
        let shown = world.uwf(&["step", "show", step, "--format", "json"]);
        let shown = shown.exits(0).json();
        assert_eq!(shown["sessionId"], "s-1");
        assert_eq!(shown["model"], "m-1");
        assert_eq!(shown["usage"]["inputTokens"], 200);
        let refused = match writes {
            true => Value::Null,
            false => json!([{ "tool": "edit", "calls": 1 }]),
        };
        assert_eq!(shown["refusedCalls"], refused);
        // What stands after the program is its own.
        let started = text(&world, "started");
        assert!(started.trim_end().ends_with("--permissions"), "{started}");
    }
}

#[test]
fn a_session_goes_on_if_the_agent_can_go_on_with_it() {
    let (world, thread) = world(&[], LOADS);
    world.step(&thread).exits(0);
    world.step(&thread).exits(0);
    let heard = text(&world, "heard");
    assert!(heard.contains(r#""method":"session/load""#), "{heard}");
    assert_eq!(heard.matches("session/new").count(), 1, "{heard}");
}

#[test]
fn an_agent_without_that_gets_the_whole_task_in_a_new_session() {
    let (world, thread) = world(&[], "");
    world.step(&thread).exits(0);
    let run = world.uwf(&["-v", "thread", "step", &thread]).exits(0);
    let note = "the agent cannot go on with sessions";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let heard = text(&world, "heard");
    assert_eq!(heard.matches("session/new").count(), 2, "{heard}");
    assert_eq!(heard.matches("session/prompt").count(), 2, "{heard}");
}

/// An agent that answers with what the file `answer` holds, and asks nothing. It can load sessions if there is a file `loads`, and
/// tells what a session was about only after it has said that it is loaded, as Gemini CLI does.
const LATE: &str = r#"
says() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
while read -r line; do
  printf '%s\n' "$line" >> heard
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":%s}}}\n' "$(cat loads || echo false)" ;;
  *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}\n' ;;
  *'"method":"session/load"'*)
    printf '{"jsonrpc":"2.0","id":2,"result":{}}\n'
    sleep 0.1; says '---\n$status: done\n---\nAn old answer.\n' ;;
  *'"method":"session/prompt"'*)
    says "$(cat answer)"; printf '%s' '---\n$status: again\nnote: n\n---\nBody.\n' > answer
    printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":70,"output_tokens":7}}}}}\n' ;;
  esac
done
"#;

fn late_world(first_answer: &str) -> (World, String) {
    let world = World::new();
    world.put(TWICE);
    let agent = world.script("agent", LATE);
    world.agent("uwf-acp", &["--", agent.to_str().unwrap()]);
    world.write("answer", first_answer);
    let thread = world.start("twice");
    (world, thread)
}

#[test]
fn what_comes_late_of_a_session_that_was_loaded_is_not_the_answer() {
    let (world, thread) = late_world(r"---\n$status: again\nnote: n\n---\nBody.\n");
    world.write("loads", "true");
    world.step(&thread).exits(0);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["done"], false, "{report}");
    let step = report["step"].as_str().unwrap();
    let shown = world.uwf(&["step", "show", step, "--format", "json"]);
    let shown = shown.exits(0).json();
    assert_eq!(shown["usage"]["inputTokens"], 70);
    assert!(!shown.to_string().contains("An old answer"), "{shown}");
}

#[test]
fn an_agent_that_cannot_go_on_with_its_session_is_corrected_in_a_new_one() {
    let (world, thread) = late_world("no front matter");
    let report = world.step(&thread).exits(0).json();
    let step = report["step"].as_str().unwrap();
    let shown = world.uwf(&["step", "show", step, "--format", "json"]);
    let shown = shown.exits(0).json();
    assert_eq!(shown["extraction"]["method"], "correction");
    assert_eq!(shown["extraction"]["attempts"], 2);
    let heard = text(&world, "heard");
    let asked = heard.lines().filter(|line| line.contains("session/prompt"));
    let asked: Vec<&str> = asked.collect();
    assert_eq!(asked.len(), 2, "{heard}");
    let has = |part: &str| assert!(asked[1].contains(part), "{part}: {}", asked[1]);
    has("Your answer was not accepted");
    has("Write a note.");
}

#[test]
fn an_agent_that_wants_a_login_or_is_not_there_says_so() {
    let (world, thread) = world(&[], LOADS);
    world.write("locked", "");
    world
        .step(&thread)
        .exits(3)
        .says("the agent wants a login")
        .says("log in with the agent's own program");
    world.agent("uwf-acp", &["--", "no-such-agent"]);
    world
        .step(&thread)
        .exits(3)
        .says("`no-such-agent` could not be started");
    world.agent("uwf-acp", &["x"]);
    world.step(&thread).exits(3).says("stand after a `--`");
}

//! A call that an agent asks permission for suspends its thread, and a person decides it with `thread resume`.

use std::fs;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{ONE_STEP, Run, World, wait_until};

/// An agent that wants to run the command in the file `wanted`. It hangs at its prompt while there is a file `hang`.
const AGENT: &str = r#"
says() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
ends() { printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"%s","usage":{"inputTokens":200,"outputTokens":20}}}\n' "$1"; }
while read -r line; do
  printf '%s\n' "$line" >> heard
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}\n' ;;
  *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}\n' ;;
  *'"method":"session/load"'*) printf '{"jsonrpc":"2.0","id":2,"result":{}}\n' ;;
  *'"method":"session/prompt"'*)
    if [ -e hang ]; then rm hang; sleep 2; exit 1; fi
    says 'I need this.'
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run it","kind":"execute"}}}\n'
    printf '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"Run it","kind":"execute","rawInput":{"command":"%s"}},"options":[{"optionId":"always","name":"For good","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"never","name":"Not at all","kind":"reject_once"}]}}\n' "$(cat wanted)" ;;
  *'"optionId":"never"'*) says '---\nnote: without\n---\n'; ends end_turn ;;
  *'"outcome":"selected"'*) cat wanted >> ran
    if [ -e forgets ]; then rm forgets; says 'It is done.'; else says '---\nnote: done\n---\n'; fi; ends end_turn ;;
  *'"method":"session/cancel"'*) ends cancelled ;;
  esac
done
"#;

/// A world with a thread that was suspended by a question of its agent.
fn suspended() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let agent = world.script("hermes", AGENT);
    world.write("wanted", "rm -r out");
    let program = ["--program", agent.to_str().unwrap()];
    let asks = ["--ask", "suspend"];
    world.agent("uwf-hermes", &[&program[..], &asks].concat());
    world.configure("agents.default.permissions", "read");
    let thread = world.start("one");
    let step = world.step(&thread).exits(0);
    assert_eq!(step.json()["status"], "suspended");
    (world, thread)
}

fn resume(world: &World, thread: &str, answer: &str) -> Run {
    world.uwf(&["thread", "resume", thread, "-p", answer])
}

fn text(world: &World, file: &str) -> String {
    fs::read_to_string(world.project().join(file)).unwrap_or_default()
}

/// Returns the last prompt that the agent got.
fn last_prompt(world: &World) -> String {
    let heard = text(world, "heard");
    let mut prompts = heard.lines().filter(|line| line.contains("session/prompt"));
    let last: Value = serde_json::from_str(prompts.next_back().unwrap()).unwrap();
    last["params"]["prompt"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_question_names_the_call_and_is_on_record() {
    let (world, thread) = suspended();
    let shown = world.show(&thread);
    assert_eq!(shown["status"], "suspended");
    let message = shown["suspendMessage"].as_str().unwrap();
    for part in [
        r#"May this be done? `Run it` (execute), with {"command":"rm -r out"}"#,
        "`-p yes` permits it once",
        "`always` (For good)",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let step = &steps["steps"][1];
    assert_eq!(step["output"]["$status"], "$SUSPEND");
    let hash = step["hash"].as_str().unwrap();
    let detail = world
        .uwf(&["step", "show", hash, "--format", "json"])
        .exits(0)
        .json();
    let asked = &detail["askedPermission"];
    assert_eq!(asked["input"], r#"{"command":"rm -r out"}"#);
    assert_eq!(
        asked["options"][2],
        json!({ "id": "never", "name": "Not at all", "kind": "reject_once" })
    );
    assert_eq!(detail["usage"]["inputTokens"], 200);
    assert_eq!(step.get("refusedCalls"), None);
    assert_eq!(text(&world, "ran"), "");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_yes_permits_that_call_in_the_same_session() {
    let (world, thread) = suspended();
    let done = resume(&world, &thread, "yes").exits(0).json();
    assert_eq!(done["result"], "Done: done");
    assert_eq!(text(&world, "ran"), "rm -r out");
    let heard = text(&world, "heard");
    assert!(heard.contains(r#""method":"session/load""#), "{heard}");
    assert!(heard.contains(r#""optionId":"once""#), "{heard}");
    let prompt = last_prompt(&world);
    assert!(
        prompt.contains("A person permits it. Make exactly this call again"),
        "{prompt}"
    );
}

#[test]
fn anything_but_a_yes_refuses_the_call_and_is_told_to_the_agent() {
    for answer in ["no", "move it to the trash instead"] {
        let (world, thread) = suspended();
        let done = resume(&world, &thread, answer).exits(0).json();
        assert_eq!(done["result"], "Done: without");
        assert_eq!(
            done["refusedCalls"],
            json!([{ "tool": "execute", "calls": 1 }])
        );
        assert_eq!(text(&world, "ran"), "");
        let prompt = last_prompt(&world);
        assert!(prompt.contains("A person refuses it."), "{prompt}");
        assert!(prompt.contains(answer), "{prompt}");
    }
}

#[test]
fn an_answer_of_the_agent_can_be_chosen_by_its_name() {
    for (answer, id) in [
        ("always", "always"),
        ("For Good", "always"),
        ("never", "never"),
    ] {
        let (world, thread) = suspended();
        resume(&world, &thread, answer).exits(0);
        let heard = text(&world, "heard");
        assert!(heard.contains(&format!(r#""optionId":"{id}""#)), "{heard}");
    }
}

#[test]
fn a_yes_is_about_one_call_only() {
    let (world, thread) = suspended();
    world.write("wanted", "rm -r /");
    let asks_again = |run: Run| assert_eq!(run.exits(0).json()["status"], "suspended");
    asks_again(resume(&world, &thread, "yes"));
    assert_eq!(text(&world, "ran"), "");
    let message = world.show(&thread)["suspendMessage"].to_string();
    assert!(message.contains("rm -r /"), "{message}");
    // Nobody has said anything to that.
    asks_again(world.uwf(&["thread", "resume", &thread]));
    resume(&world, &thread, "yes").exits(0);
    assert_eq!(text(&world, "ran"), "rm -r /");
}

#[test]
fn a_correction_is_not_covered_by_the_yes_that_was_used_before() {
    let (world, thread) = suspended();
    world.write("forgets", "");
    let asks_again = resume(&world, &thread, "yes").exits(0).json();
    assert_eq!(asks_again["status"], "suspended");
    assert_eq!(text(&world, "ran"), "rm -r out");
}

#[test]
fn a_yes_that_was_killed_on_its_way_is_said_again_and_told_to_the_agent() {
    let (world, thread) = suspended();
    world.write("hang", "");
    let engine = world.spawn(&["thread", "resume", &thread, "-p", "yes"]);
    wait_until("the agent has the answer", || {
        !world.project().join("hang").exists()
    });
    let agent = world.agent_at_work(&thread);
    signal("KILL", engine.id());
    signal("KILL", u32::try_from(agent).unwrap());
    engine.wait_with_output().unwrap();
    let mut last = resume(&world, &thread, "yes");
    wait_until("the thread is free", || {
        let is_free = last.code != 5;
        if !is_free {
            last = resume(&world, &thread, "yes");
        }
        is_free
    });
    assert_eq!(last.exits(0).json()["result"], "Done: done");
    assert_eq!(text(&world, "ran"), "rm -r out");
    let prompt = last_prompt(&world);
    assert!(prompt.contains("A person permits it."), "{prompt}");
}

#[test]
fn without_the_option_a_call_that_is_not_permitted_is_refused() {
    let (world, _) = suspended();
    world.configure(
        "agents.default.args",
        &format!(
            r#"["--program", "{}"]"#,
            world.project().join("hermes").display()
        ),
    );
    let thread = world.start("one");
    assert_eq!(
        world.step(&thread).exits(0).json()["result"],
        "Done: without"
    );
}

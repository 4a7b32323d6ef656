//! The session of an agent whose run ended without a word: the next attempt goes on there, and is told what is new.

use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{ONE_STEP, Run, World, path_with, wait_until};

/// A tool that works and then hangs, but not if there is a file `go`. Each call leaves its prompt and arguments.
const HANGS: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n; echo "$@" > args-$n
echo '{"type":"system","subtype":"init","session_id":"s1"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I look."}]},"session_id":"s1"}'
[ -e go ] || exec sleep 1000
cat result"#;

const RESULT: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","session_id":"s1"}"#;

fn world() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    answers(&world, r"---\nnote: n\n---\n");
    world.script("bin/claude", HANGS);
    world.agent("uwf-claude-code", &[]);
    let thread = world.start("one");
    (world, thread)
}

fn answers(world: &World, answer: &str) {
    world.write("result", &RESULT.replace("ANSWER", answer));
}

fn uwf(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("PATH", path_with(&world.project().join("bin")));
    command
}

fn step(world: &World, thread: &str) -> Run {
    let mut command = uwf(world, &["thread", "step", thread]);
    command.output().unwrap().into()
}

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.project().join(name)).unwrap()
}

/// Starts a step and waits until its tool has begun to work.
fn at_work(world: &World, thread: &str) -> Child {
    let engine = uwf(world, &["thread", "step", thread]).spawn().unwrap();
    let open = format!("runs/{thread}/begun.json");
    wait_until("the session is noted", || world.state(&open).contains("s1"));
    engine
}

#[test]
fn a_step_that_was_interrupted_goes_on_in_its_session() {
    let (world, thread) = world();
    let mut engine = at_work(&world, &thread);
    signal("TERM", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(143));
    world.write("go", "");
    step(&world, &thread).exits(0);
    assert!(!read(&world, "args-0").contains("--resume"));
    assert!(read(&world, "args-1").contains("--resume s1"));
    let asked = read(&world, "asked-1");
    assert!(asked.starts_with("Your last attempt at this step failed: you were interrupted"));
    assert!(!asked.contains("Write a note."), "{asked}");
}

#[test]
fn a_step_that_was_interrupted_on_another_machine_starts_a_session_and_is_told_everything() {
    let (world, thread) = world();
    let mut engine = at_work(&world, &thread);
    signal("TERM", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(143));
    // As in a root that was copied from there.
    let begun: Value =
        serde_json::from_str(&world.state(&format!("runs/{thread}/begun.json"))).unwrap();
    let here = begun["machine"].as_str().unwrap();
    for name in ["begun.json", "sessions.json"] {
        let name = format!("runs/{thread}/{name}");
        let record = world.state(&name);
        assert!(record.contains(here), "{record}");
        let record = record.replace(here, "0000000000007");
        std::fs::write(world.root().join(name), record).unwrap();
    }
    world.write("go", "");
    step(&world, &thread).exits(0);
    assert!(!read(&world, "args-1").contains("--resume"));
    assert!(read(&world, "asked-1").contains("Write a note."));
}

#[test]
fn another_answer_of_a_person_reaches_a_session_that_goes_on() {
    let (world, thread) = world();
    world.write("go", "");
    answers(&world, r"---\n$status: $SUSPEND\nreason: which one?\n---\n");
    step(&world, &thread).exits(0);
    let resume = |answer: &str| -> Run {
        let mut command = uwf(&world, &["thread", "resume", &thread, "-p", answer]);
        command.output().unwrap().into()
    };
    world.write("result", "");
    world.script("bin/claude", &HANGS.replace("cat result", "exit 1"));
    resume("The red one.").exits(3);
    assert!(read(&world, "asked-1").contains("The red one."));
    resume("The red one.").exits(3);
    assert!(!read(&world, "asked-2").contains("red one"), "it is known");
    world.script("bin/claude", HANGS);
    answers(&world, r"---\nnote: n\n---\n");
    resume("No, the blue one.").exits(0);
    let asked = read(&world, "asked-3");
    assert!(asked.starts_with("Your last attempt"), "{asked}");
    assert!(
        asked.contains("The answer:\n\nNo, the blue one."),
        "{asked}"
    );
}

#[test]
fn an_agent_that_dies_without_a_word_gets_its_own_session_on_record_and_no_other() {
    let (world, thread) = world();
    let begun = world.root().join("runs").join(&thread).join("begun.json");
    let dies = format!(
        "until grep -qs s1 {}; do sleep 0.02; done; kill -9 $PPID; exit 1",
        begun.display()
    );
    world.script("bin/claude", &HANGS.replace("cat result", &dies));
    world.write("go", "");
    step(&world, &thread).exits(3);
    step(&world, &thread).exits(3);
    let stranger = world.script("stranger.sh", "exit 9");
    let stranger = stranger.to_str().unwrap();
    world
        .uwf(&["thread", "step", &thread, "--agent", stranger])
        .exits(3);
    let shown = world.show(&thread);
    let attempts = shown["attempts"].as_array().unwrap().iter();
    let sessions: Vec<&Value> = attempts.map(|attempt| &attempt["sessionId"]).collect();
    assert_eq!(sessions, [&json!("s1"), &json!("s1"), &Value::Null]);
}

/// A tool behind two kinds of agents that answers with a body of its own, until its sessions are `gone`. While there is a
/// file `hold`, a new session waits for a file `gate`.
const FORGETS: &str = r#"n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count
cat > asked-$n
case "$*" in
*resume*) [ -e gone ] && { echo 'No conversation found with session ID: s1' >&2; exit 1; } ;;
*) if [ -e hold ]; then touch ready; while [ ! -e gate ]; do sleep 0.02; done; fi ;;
esac
"#;

/// Returns worlds with a thread of two steps in a session that is gone then, one for each kind of agent.
fn worlds_without_their_session() -> [(World, String); 2] {
    ["command", "claude-code"].map(|kind| {
        let world = World::new();
        world.put(crate::trees::LOOP);
        let answer = match kind {
            "command" => {
                "echo session=s1 >&2; printf -- '---\\n$status: again\\n---\\nbody of call %s\\n' $n".to_owned()
            }
            _ => "sed \"s/NUMBER/$n/\" result; echo".to_owned(),
        };
        answers(&world, r"---\n$status: again\n---\nbody of call NUMBER");
        let tool = world.script("tool", &format!("cd {}\n{FORGETS}{answer}", world.project().display()));
        let tool = tool.to_str().unwrap();
        match kind {
            "command" => world.agent(
                "uwf-command",
                &["--session-regex", "session=(\\w+)", "--resume-args", "resume {session}", "--", tool],
            ),
            _ => world.agent("uwf-claude-code", &["--program", tool]),
        }
        let thread = world.start("loop");
        world.step(&thread).exits(0);
        world.step(&thread).exits(0);
        assert!(read(&world, "asked-2").contains("since your last step"), "{kind}");
        world.write("gone", "");
        (world, thread)
    })
}

#[test]
fn a_new_session_in_place_of_one_that_is_gone_is_told_everything() {
    for (world, thread) in worlds_without_their_session() {
        let report = world.step(&thread).exits(0).json();
        assert!(read(&world, "asked-3").contains("since your last step"));
        let asked = read(&world, "asked-4");
        assert!(!asked.contains("since your last step"), "{asked}");
        for body in ["body of call 1", "body of call 2"] {
            assert!(asked.contains(body), "{asked}");
        }
        let step = report["step"].as_str().unwrap();
        let recorded = world
            .uwf(&["step", "read", "--prompt", step])
            .exits(0)
            .stdout;
        assert!(recorded.contains("body of call 1"), "{recorded}");
    }
}

#[test]
fn the_answer_of_a_new_session_in_place_of_a_lost_one_outlives_a_crash() {
    for (world, thread) in worlds_without_their_session() {
        world.write("hold", "");
        let engine = world.spawn(&["thread", "step", &thread]);
        wait_until("the new session works", || {
            world.project().join("ready").exists()
        });
        let adapter = world.agent_at_work(&thread);
        crate::processes::kill(engine);
        signal("KILL", adapter);
        world.write("gate", "");
        wait_until("nothing of the attempt runs", || {
            world.step(&thread).code != 5
        });
        assert_eq!(world.show(&thread)["steps"], json!(3));
        assert_eq!(read(&world, "count"), "4\n");
    }
}

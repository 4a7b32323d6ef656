//! `uwf thread sessions`: which sessions a thread knows, and what follows when they are dropped.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::processes::signal;
use crate::world::{World, wait_until};

/// A thread of two steps in one session of a model.
fn stepped() -> (ModelServer, World, String) {
    let server = ModelServer::start(vec![Scripted::says("---\n$status: again\n---\n")]);
    let world = World::new();
    world.put(crate::trees::LOOP);
    world.model("m", &server.base_url());
    world.configure("defaultModel", "m");
    world.agent("uwf-llm", &[]);
    let thread = world.start("loop");
    assert_eq!(listed(&world, &thread, &[]), json!([]));
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    (server, world, thread)
}

fn listed(world: &World, thread: &str, options: &[&str]) -> Value {
    let args = [&["thread", "sessions", thread], options].concat();
    let listed = world.uwf(&args).exits(0).json();
    assert_eq!(listed["thread"], json!(thread));
    listed["sessions"].clone()
}

#[test]
fn a_session_is_listed_with_its_steps_and_is_new_after_it_was_dropped() {
    let (server, world, thread) = stepped();
    let sessions = listed(&world, &thread, &[]);
    let session = &sessions[0];
    assert_eq!(session["role"], "writer");
    assert_eq!(session["agent"], "uwf-llm");
    assert_eq!(
        (&session["steps"], &session["failed"]),
        (&json!(2), &json!(0))
    );
    assert!(
        session["sinceMs"].as_i64() < session["usedMs"].as_i64(),
        "{session}"
    );
    let text = world.uwf(&["thread", "sessions", &thread, "--format", "text"]);
    let text = text.exits(0).stdout;
    assert!(text.starts_with("ROLE") && text.contains(session["session"].as_str().unwrap()));

    assert_eq!(listed(&world, &thread, &["--role", "reader"]), json!([]));
    assert_eq!(listed(&world, &thread, &["--agent", "uwf-llm"]), sessions);
    let drop = |options: &[&str]| {
        let args = [&["thread", "sessions", &thread, "--drop"], options].concat();
        world.uwf(&args).exits(0).json()["dropped"].clone()
    };
    assert_eq!(drop(&["--agent", "uwf-builtin"]), json!([]));
    let dropped = drop(&["--role", "writer"]);
    assert_eq!(dropped[0]["session"], session["session"]);
    assert_eq!(listed(&world, &thread, &[]), json!([]));
    assert_eq!(drop(&[]), json!([]), "there is none any more");

    world.step(&thread).exits(0);
    let asked = server.requests().last().unwrap().json();
    assert_eq!(asked["messages"].as_array().unwrap().len(), 1, "{asked}");
    let asked = asked["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(
        asked.contains("<step number=\"1\""),
        "the whole prompt: {asked}"
    );
    assert_ne!(
        listed(&world, &thread, &[])[0]["session"],
        session["session"]
    );
}

#[test]
fn the_sessions_of_a_busy_thread_are_listed_and_not_dropped() {
    let world = World::new();
    world.put(crate::trees::LOOP);
    let tool = world.script("tool", "exec sleep 1000");
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    let mut engine = world.spawn(&["thread", "step", &thread]);
    world.agent_at_work(&thread);
    assert_eq!(listed(&world, &thread, &[]), json!([]));
    world
        .uwf(&["thread", "sessions", &thread, "--drop"])
        .exits(5)
        .says("is at work");
    signal("TERM", engine.id());
    engine.wait().unwrap();
}

/// A tool with a session. Its third call waits for a file `gate`.
const SLOW: &str = r"n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count; cat > /dev/null
if [ $n = 3 ]; then touch ready; while [ ! -e gate ]; do sleep 0.02; done; fi
echo session=s1 >&2; printf -- '---\n$status: again\n---\n'";

#[test]
fn a_session_is_kept_while_an_answer_waits_that_belongs_to_it() {
    let world = World::new();
    world.put(crate::trees::LOOP);
    let project = world.project().display().to_string();
    let tool = world.script("tool", &format!("cd {project}\n{SLOW}"));
    let tool = tool.to_str().unwrap();
    let resume = "resume {session}";
    let regex = "session=(\\w+)";
    world.agent(
        "uwf-command",
        &[
            "--session-regex",
            regex,
            "--resume-args",
            resume,
            "--",
            tool,
        ],
    );
    let thread = world.start("loop");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the tool works", || world.project().join("ready").exists());
    let adapter = world.agent_at_work(&thread);
    crate::processes::kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    let drop = || world.uwf(&["thread", "sessions", &thread, "--drop"]);
    wait_until("the tool has ended", || drop().code != 5);
    let refused = drop().exits(1);
    let refused = refused
        .says("an answer of `writer` waits")
        .says("with its session");
    refused.says("`uwf thread step");
    assert_eq!(listed(&world, &thread, &[])[0]["session"], "s1");
    world.step(&thread).exits(0);
    let count = std::fs::read_to_string(world.project().join("count")).unwrap();
    assert_eq!(count, "3\n", "the answer was used");
    assert_eq!(drop().exits(0).json()["dropped"][0]["session"], "s1");
}

//! Failed checks go back to agents that keep no session: as a whole new prompt, and to the next attempt.

use serde_json::json;

use crate::checks::{EDGE, asked, output, world as world_of_sessions};
use crate::processes::{is_running, signal};
use crate::world::{World, wait_until};

/// A check that says something else than its command. The prompt shows the command.
const SAYS: &str = "{ run: [{ name: says, command: ./says.sh }], attempts: 0 }";

/// A world with a role that has these checks, and an agent without sessions.
fn world(checks: &str, edges: &str) -> (World, String) {
    let (world, thread) = world_of_sessions(checks, edges);
    let agent = world.project().join("agent.sh");
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    (world, thread)
}

#[test]
fn what_fails_goes_back_as_a_whole_new_prompt() {
    let (world, thread) = world(r#"{ run: ["test -e fixed", "true"], attempts: 2 }"#, "");
    world.write("do-2", "touch fixed");
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["checks"][0]["exitCode"], json!(0), "{done}");
    let asked = asked(&world);
    assert_eq!(asked.len(), 3, "{asked:?}");
    for (at, prompt) in asked[1..].iter().enumerate() {
        assert!(prompt.starts_with(asked[0].trim_end()), "{prompt}");
        let own = format!(
            "## Your Answer\n\nYou have worked on this already. Your work is kept, and this was your answer:\n\n```\n---\nnote: n{at}\n---\n```"
        );
        assert!(prompt.contains(&own), "{prompt}");
        let failed = "The check `test -e fixed` failed: exit code 1.";
        assert_eq!(prompt.matches(failed).count(), 1, "{prompt}");
        let said = prompt.split("## Failed Checks").nth(1).unwrap();
        assert!(!said.contains("`true`"), "{said}");
    }
    assert_eq!(output(&world, &thread)["note"], json!("n2"));
}

#[test]
fn a_long_answer_goes_back_without_its_middle() {
    let (world, thread) = world(r#"{ run: ["test -e fixed"], attempts: 1 }"#, "");
    world.write(
        "do-0",
        r"printf -- '---\nnote: n0\n---\n'; yes line | head -c 100000; echo the end; exit",
    );
    world.write("do-1", "touch fixed");
    world.step(&thread).exits(0);
    let prompt = &asked(&world)[1];
    assert!(prompt.contains("left out …]"), "{prompt}");
    assert!(prompt.contains("note: n0") && prompt.contains("the end\n```"));
    assert!(prompt.len() < 24 * 1024, "{}", prompt.len());
}

#[test]
fn the_edge_is_taken_only_after_the_last_correction() {
    let (world, thread) = world(r#"{ run: ["false"], attempts: 1 }"#, EDGE);
    world.step(&thread).exits(0);
    let data = output(&world, &thread);
    assert_eq!(data["$status"], json!("checks-failed"), "{data}");
    assert_eq!(data["answer"]["note"], json!("n1"));
    assert_eq!(asked(&world).len(), 2);
}

#[test]
fn the_next_attempt_is_told_what_failed_before() {
    let (world, thread) = world(SAYS, "");
    world.script("says.sh", "echo too bad; test -e fixed");
    let raw = world.step(&thread).exits(3).json()["raw"].clone();
    world.write("do-1", "touch fixed");
    world.step(&thread).exits(0);
    let asked = asked(&world);
    let (first, second) = (&asked[0], &asked[1]);
    assert!(!first.contains("too bad"), "{first}");
    assert!(second.starts_with(first.trim_end()), "{second}");
    let raw = format!("`uwf cas cat {}`", raw.as_str().unwrap());
    for part in ["The check `says`", "too bad", &raw] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

#[test]
fn a_new_session_is_told_what_failed_in_the_one_that_was_given_up() {
    let (world, thread) = world_of_sessions(SAYS, "");
    world.script("says.sh", "echo too bad; test -e fixed");
    for _ in 0..3 {
        world.step(&thread).exits(3);
    }
    world.write("do-3", "touch fixed");
    world.step(&thread).exits(0);
    let told = &asked(&world)[3];
    assert!(told.contains("You write."), "a whole prompt: {told}");
    assert!(told.contains("too bad"), "{told}");
}

#[test]
fn an_answer_to_failed_checks_is_found_after_a_crash() {
    let (world, thread) = world(r#"["test -e fixed"]"#, "");
    let busy = "echo $$ > worker; while [ ! -e go ]; do sleep 0.02; done; touch fixed";
    world.write("do-1", busy);
    let mut engine = world.spawn(&["thread", "step", &thread]);
    let worker = world.project().join("worker");
    wait_until("the agent works again", || worker.exists());
    let agent = world.agent_at_work(&thread);
    engine.kill().unwrap();
    engine.wait().unwrap();
    signal("KILL", agent);
    world.write("go", "");
    let worker = std::fs::read_to_string(worker).unwrap();
    wait_until("the program has ended", || !is_running(worker.trim()));
    world.step(&thread).exits(0);
    assert_eq!(output(&world, &thread)["note"], json!("n1"));
    assert_eq!(asked(&world).len(), 2, "nobody is paid twice");
}

#[test]
fn an_agent_that_cannot_do_better_fails_after_its_corrections() {
    let (world, thread) = world(r#"["false"]"#, "");
    world.mock("roles: { writer: [{ output: { note: n } }] }");
    let says = "check `false` failed: exit code 1, after 2 corrections";
    let failed = world.step(&thread).exits(3).says(says).json();
    assert_eq!(failed["class"], json!("checks-failed"), "{failed}");
}

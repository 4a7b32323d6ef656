//! Resuming is a step like others: what an agent finished is not run again, and what failed is tried again.

use serde_json::json;

use crate::gates::{at_work, gated_agent, open_gate, runs};
use crate::processes::kill;
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

/// Starts a command, kills it while its agent works, and lets the agent finish.
fn kill_while_the_agent_works(world: &World, thread: &str, args: &[&str]) {
    kill(at_work(world, args));
    open_gate(world);
    wait_until("the agent has finished", || world.pending(thread).is_some());
    world.wait_until_free(thread);
}

fn suspended_thread(world: &World) -> String {
    world.put(REVIEW);
    gated_agent(
        world,
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n    - output: { $status: approved, summary: s }\n",
    );
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    thread
}

#[test]
fn a_resume_whose_engine_was_killed_is_adopted_by_the_next_resume() {
    let world = World::new();
    let thread = suspended_thread(&world);
    kill_while_the_agent_works(&world, &thread, &["thread", "resume", &thread, "-p", "yes"]);
    let run = world
        .uwf(&["thread", "resume", &thread, "-p", "yes"])
        .exits(0)
        .says("note: this step was finished before: its agent was not told what you said");
    let report = run.json();
    assert_eq!(
        (&report["adopted"], &report["done"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(runs(&world), 3);
}

#[test]
fn a_resume_whose_engine_was_killed_is_adopted_by_the_next_step() {
    let world = World::new();
    let thread = suspended_thread(&world);
    kill_while_the_agent_works(&world, &thread, &["thread", "resume", &thread, "-p", "yes"]);
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
    assert_eq!(runs(&world), 3);
}

/// The smallest workflow that an ended thread can be taken up in again.
pub(crate) fn again() -> String {
    ONE_STEP.replace("name: one", "name: again").replace(
        "{ _: { role: writer, prompt: \"Write a note.\" } }",
        "{ new: { role: writer, prompt: Write. }, resume: { role: writer, prompt: Once more. } }",
    )
}

#[test]
fn an_ended_thread_that_could_not_be_taken_up_has_ended_as_before() {
    let world = World::new();
    world.put(&again());
    gated_agent(
        &world,
        "roles:\n  writer:\n    - output: { note: first }\n    - output: { note: second }\n",
    );
    let thread = world.start("again");
    world.step(&thread).exits(0);
    let resume = ["thread", "resume", &thread, "-p", "longer"];
    let failing = world.script("failing.sh", "exit 4");
    let failing = [&resume[..], &["--agent", failing.to_str().unwrap()]].concat();
    world.uwf(&failing).exits(3);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    let said = |command: &[&str]| {
        let args = [&["thread"], command, &["--format", "text"]].concat();
        world.uwf(&args).exits(0).stdout
    };
    let (list, show) = (said(&["list", "--all"]), said(&["show", &thread]));
    assert!(list.contains("could not be resumed: "), "{list}");
    assert!(show.contains("completed, can be resumed; the last attempt to resume it failed"));
    let listed = world.uwf(&["thread", "list", "--all"]).json();
    assert!(listed[0]["failureReason"].is_string(), "{listed}");
    world.step(&thread).exits(7);
    let report = world.uwf(&resume).exits(0).json();
    assert_eq!(report["role"], json!("writer"));
    let steps = world.uwf(&["thread", "steps", &thread]).json();
    assert_eq!(steps["steps"][2]["output"], json!({ "note": "second" }));
    let listed = world.uwf(&["thread", "list", "--all"]).json();
    assert_eq!(listed[0]["failureReason"], json!(null));
}

#[test]
fn an_ended_thread_whose_engine_was_killed_is_adopted() {
    let world = World::new();
    world.put(&again());
    gated_agent(&world, "roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("again");
    world.step(&thread).exits(0);
    kill_while_the_agent_works(&world, &thread, &["thread", "resume", &thread, "-p", "x"]);
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
    assert_eq!(runs(&world), 2);
    world.step(&thread).exits(7);
}

#[test]
fn a_step_of_a_role_that_was_not_asked_for_is_not_adopted() {
    let world = World::new();
    world.put(REVIEW);
    let script = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: approved, summary: s }\n";
    gated_agent(&world, script);
    let thread = world.start("review");
    let answers = world.project().join("answers.yaml");
    let by_hand = [
        "agent",
        "mock",
        answers.to_str().unwrap(),
        &thread,
        "reviewer",
    ];
    world.uwf(&by_hand).exits(0);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (&report["role"], &report["adopted"]),
        (&json!("writer"), &json!(false))
    );
}

#[test]
fn a_question_that_is_not_answered_is_told() {
    let world = World::new();
    let thread = suspended_thread(&world);
    world.uwf(&["thread", "resume", &thread]).exits(0).says(
        "note: `reviewer` asked: Need: q\n      No answer was given (`-p`), so the role is told to continue",
    );
}

#[test]
fn an_answer_is_kept_when_its_attempt_fails() {
    let world = World::new();
    let thread = suspended_thread(&world);
    let failing = |words: &str| {
        let agent = "uwf-command -- false";
        let args = ["thread", "resume", &thread, "-p", words, "--agent", agent];
        world.uwf(&args).exits(3)
    };
    let retry =
        format!("`uwf thread resume {thread} --agent 'uwf-command -- false' -p \"it's 42\"`");
    failing("it's 42").says(&retry);
    let long = "a thought\n".repeat(30);
    failing(&long).says("-p \"…\"`");
    let attempts = &world.show(&thread)["attempts"];
    assert_eq!(attempts[0]["words"], json!("it's 42"));
    assert_eq!(attempts[1]["words"], json!(long));
}

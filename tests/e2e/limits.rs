//! A thread stops at its limits, says so, and goes on when a person raises them.

use std::process::Command;

use serde_json::{Value, json};

use crate::gates::{at_work, gated_agent, open_gate};
use crate::processes::{kill, kill_group, signal};
use crate::world::{ONE_STEP, REVIEW, Run, World, binary};

/// A writer whose work is always rejected.
const FOR_EVER: &str = "roles:
  writer:
    - output: { plan: p }
      usage: { inputTokens: 100, outputTokens: 50, costUsd: 0.25 }
  reviewer:
    - output: { $status: rejected, reason: r }
      usage: { inputTokens: 100, outputTokens: 50, costUsd: 0.25 }
";

/// The same where the agents do not tell what they use up.
const SECRETIVE: &str = "roles:
  writer:
    - output: { plan: p }
  reviewer:
    - output: { $status: rejected, reason: r }
";

/// A thread of the review workflow with these limits.
fn limited(limits: &str, script: &str) -> (World, String) {
    let world = World::new();
    world.put(&format!("{REVIEW}limits: {limits}\n"));
    world.mock(script);
    let thread = world.start("review");
    (world, thread)
}

/// Runs steps until one does not run.
#[track_caller]
fn steps_until_limit(world: &World, thread: &str) -> usize {
    for done in 0..20 {
        let run = world.step(thread);
        if run.code != 0 {
            run.exits(6);
            return done;
        }
    }
    panic!("no limit was reached");
}

fn resume(world: &World, thread: &str, args: &[&str]) -> Run {
    world.uwf(&[&["thread", "resume", thread], args].concat())
}

fn count_steps(world: &World, thread: &str) -> Value {
    world.show(thread)["steps"].clone()
}

#[test]
fn a_shell_loop_ends_with_6_at_a_limit() {
    let (world, thread) = limited("{ maxSteps: 3 }", FOR_EVER);
    let script = format!(
        "while {} thread step {thread} >/dev/null; do :; done",
        binary().display()
    );
    let looped = Command::new("sh")
        .args(["-c", &format!("{script}; exit $?")])
        .env("UWF_STORAGE_ROOT", world.root())
        .current_dir(world.project())
        .output()
        .unwrap();
    // The loop itself succeeds; what ended it is the code of the last step.
    assert_eq!(looped.status.code(), Some(0));
    let run: Run = looped.into();
    run.says("`maxSteps` is reached: 3 of 3 steps (set by the workflow)")
        .says(&format!("uwf thread resume {thread} --raise maxSteps=6"));
    world.step(&thread).exits(6);
    assert_eq!(count_steps(&world, &thread), json!(3));
}

#[test]
fn the_step_that_reaches_a_limit_says_so_and_a_count_ends_with_6() {
    let (world, thread) = limited("{ maxSteps: 2 }", FOR_EVER);
    let run = world.uwf(&["thread", "step", &thread, "-c", "5"]).exits(6);
    let reports: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0].get("limit"), None);
    assert_eq!(reports[1]["status"], json!("suspended"));
    assert_eq!(reports[1]["limit"]["key"], json!("maxSteps"));
    assert_eq!(reports[1]["limit"]["raise"], json!("maxSteps=4"));
    // As many steps as were asked for are no failure.
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
}

#[test]
fn a_thread_at_its_limit_is_shown_and_found_as_suspended() {
    let (world, thread) = limited("{ maxVisits: { reviewer: 1 } }", FOR_EVER);
    assert_eq!(steps_until_limit(&world, &thread), 3);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("suspended"));
    assert_eq!(shown["suspendedRole"], json!("reviewer"));
    let expected = json!({
        "key": "maxVisits", "role": "reviewer", "max": 1, "spent": 1, "unknown": null, "runs": 0,
        "setBy": "workflow", "raise": "maxVisits.reviewer=2",
    });
    assert_eq!(shown["limit"], expected);
    let hint = shown["hint"].as_str().unwrap();
    assert!(hint.contains("--raise maxVisits.reviewer=2"), "{hint}");
    let listed = world
        .uwf(&["thread", "list", "--status", "suspended"])
        .json();
    assert_eq!(listed[0]["thread"], json!(thread));
    assert_eq!(listed[0]["limit"], expected);
    assert_eq!(listed[0]["statusDisplay"], json!("suspended [limit]"));
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    for part in [
        "suspended at a limit, next is reviewer",
        "1 of 1 visits of `reviewer`",
        "--raise maxVisits.reviewer=2",
    ] {
        assert!(text.stdout.contains(part), "{}", text.stdout);
    }
}

#[test]
fn a_raise_lets_the_thread_go_on_where_it_would_have_gone() {
    let (world, thread) = limited("{ maxSteps: 2 }", FOR_EVER);
    steps_until_limit(&world, &thread);
    resume(&world, &thread, &[])
        .exits(6)
        .says("--raise maxSteps=4");
    resume(&world, &thread, &["-p", "go on"]).exits(6);
    let report = resume(&world, &thread, &["--raise", "maxSteps=4", "-p", "shorter"])
        .exits(0)
        .json();
    assert_eq!(report["role"], json!("writer"));
    let step = report["step"].as_str().unwrap();
    let prompt = world.uwf(&["step", "read", step, "--prompt"]).stdout;
    assert!(prompt.trim_end().ends_with("shorter"), "{prompt}");
    world.step(&thread).exits(0);
    world
        .step(&thread)
        .exits(6)
        .says("4 of 4 steps (set by a raise)");
    assert_eq!(world.show(&thread)["limit"]["setBy"], json!("raise"));
    // Without the record of the raise the limit holds again.
    let record = world.root().join("runs").join(&thread).join("raises.json");
    std::fs::remove_file(record).unwrap();
    world
        .step(&thread)
        .exits(6)
        .says("4 of 2 steps (set by the workflow)");
}

#[test]
fn a_raise_must_raise() {
    let (world, thread) = limited("{ maxSteps: 2 }", FOR_EVER);
    steps_until_limit(&world, &thread);
    let refused = |raise: &str, code: i32, text: &str| {
        resume(&world, &thread, &["--raise", raise])
            .exits(code)
            .says(text);
    };
    refused("maxSteps=1", 1, "would lower a limit that is 2");
    refused("maxTokens=100", 1, "no such limit");
    refused("maxStep=3", 2, "did you mean `maxSteps`?");
    refused("maxSteps=x", 2, "a whole number from 1");
    refused("maxSteps=2", 6, "2 of 2 steps");
    assert_eq!(count_steps(&world, &thread), json!(2));
}

#[test]
fn a_resume_whose_agent_failed_can_be_made_again_as_it_was() {
    let (world, thread) = limited("{ maxSteps: 1 }", FOR_EVER);
    steps_until_limit(&world, &thread);
    let failing = world.script("failing.sh", "exit 4");
    let raise = ["--raise", "maxSteps=2"];
    let fail = [&raise[..], &["--agent", failing.to_str().unwrap()]].concat();
    resume(&world, &thread, &fail).exits(3);
    resume(&world, &thread, &raise).exits(0);
    world.step(&thread).exits(6);
}

#[test]
fn the_stricter_of_workflow_and_config_counts() {
    let (world, thread) = limited("{ maxSteps: 3 }", FOR_EVER);
    world.configure("limits.maxSteps", "1");
    assert_eq!(steps_until_limit(&world, &thread), 1);
    assert_eq!(world.show(&thread)["limit"]["setBy"], json!("config"));
    world.configure("limits.maxSteps", "9");
    assert_eq!(steps_until_limit(&world, &thread), 2);
    assert_eq!(world.show(&thread)["limit"]["setBy"], json!("workflow"));
}

#[test]
fn cost_tokens_and_time_are_summed_over_steps_and_failed_attempts() {
    let (world, thread) = limited("{ maxCostUsd: 1 }", FOR_EVER);
    assert_eq!(steps_until_limit(&world, &thread), 4);
    world.step(&thread).says("$1.00 of $1.00");
    let (world, thread) = limited("{ maxTokens: 400 }", FOR_EVER);
    assert_eq!(steps_until_limit(&world, &thread), 3);
    world.step(&thread).says("450 of 400 tokens");

    let failing = "roles:\n  writer:\n    - { exit: 3, sleepMs: 60, usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.4 } }\n";
    let (world, thread) = limited("{ maxCostUsd: 1 }", failing);
    for _ in 0..3 {
        world.step(&thread).exits(3);
    }
    world.step(&thread).exits(6).says("$1.20 of $1.00");
    let (world, thread) = limited("{ maxDuration: 100ms }", failing);
    // Two runs sleep longer than the limit; on a slow machine one takes as long.
    let runs = (0..2).take_while(|_| world.step(&thread).code == 3);
    assert!(runs.count() > 0);
    world
        .step(&thread)
        .exits(6)
        .says("`maxDuration` is reached");
    assert_eq!(world.show(&thread)["status"], json!("suspended"));
}

#[test]
fn attempts_that_are_not_kept_any_more_still_count() {
    let failing =
        "roles:\n  writer:\n    - { exit: 3, usage: { inputTokens: 1, outputTokens: 1 } }\n";
    let (world, thread) = limited("{ maxTokens: 120 }", failing);
    for _ in 0..60 {
        world.step(&thread).exits(3);
    }
    world.step(&thread).exits(6).says("120 of 120 tokens");
}

#[test]
fn who_does_not_tell_counts_as_reaching_the_limit() {
    let (world, thread) = limited("{ maxCostUsd: 1 }", SECRETIVE);
    assert_eq!(steps_until_limit(&world, &thread), 1);
    world
        .step(&thread)
        .says("1 of 1 runs do not tell their cost")
        .says("--raise unknownUsage=ignore");
    assert_eq!(world.show(&thread)["limit"]["unknown"], json!(1));
    resume(&world, &thread, &["--raise", "maxCostUsd=5"])
        .exits(6)
        .says("note: the thread keeps what was raised: maxCostUsd=5")
        .says("limit $5.00, set by a raise");
    resume(&world, &thread, &["--raise", "unknownUsage=ignore"]).exits(0);
    world.step(&thread).exits(0);

    let (world, thread) = limited("{ maxCostUsd: 1, unknownUsage: ignore }", SECRETIVE);
    world.uwf(&["thread", "step", &thread, "-c", "3"]).exits(0);
    // A workflow cannot make the user's own limit lax.
    world.configure("limits.maxTokens", "1000");
    world.step(&thread).exits(6).says("set by the config");
}

#[test]
fn the_sums_can_be_made_again_from_the_thread() {
    let (world, thread) = limited("{ maxCostUsd: 2 }", FOR_EVER);
    for _ in 0..4 {
        world.step(&thread).exits(0);
        let record = world.root().join("runs").join(&thread).join("used.json");
        let sums: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
        assert_eq!(sums["used"]["tokensUnknown"], json!(0));
        std::fs::remove_file(record).unwrap();
    }
    assert_eq!(steps_until_limit(&world, &thread), 4);
}

#[test]
fn a_fork_counts_its_own_steps_and_inherits_no_raise() {
    let (world, thread) = limited("{ maxSteps: 2 }", FOR_EVER);
    steps_until_limit(&world, &thread);
    let report = resume(&world, &thread, &["--raise", "maxSteps=3"])
        .exits(0)
        .json();
    let head = report["step"].as_str().unwrap();
    let fork = world.uwf(&["thread", "fork", head]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    world.step(fork).exits(6).says("3 of 2 steps");
}

#[test]
fn a_thread_that_asks_and_is_at_its_limit_needs_both() {
    let asks = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: which }\n    - output: { $status: approved, summary: s }\n";
    let (world, thread) = limited("{ maxSteps: 2 }", asks);
    let last = world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    assert!(last.stdout.contains("Need: which"), "{}", last.stdout);
    world.step(&thread).exits(6).says("Need: which");
    let shown = world.show(&thread);
    assert_eq!(shown["suspendMessage"], json!("Need: which"));
    assert_eq!(shown["limit"]["key"], json!("maxSteps"));
    let text = world
        .uwf(&["thread", "show", &thread, "--format", "text"])
        .stdout;
    assert!(text.contains("--raise maxSteps=4 -p \"…\""), "{text}");
    resume(&world, &thread, &["-p", "that one"])
        .exits(6)
        .says("2 of 2 steps");
    let report = resume(
        &world,
        &thread,
        &["-p", "that one", "--raise", "maxSteps=4"],
    )
    .exits(0);
    assert_eq!(report.json()["done"], json!(true));
}

#[test]
fn an_ended_thread_is_not_taken_up_beyond_a_limit() {
    let world = World::new();
    let again = ONE_STEP.replace("name: one", "name: again").replace(
        "{ _: { role: writer, prompt: \"Write a note.\" } }",
        "{ new: { role: writer, prompt: Write. }, resume: { role: writer, prompt: Once more. } }",
    );
    world.put(&format!("{again}limits: {{ maxSteps: 1 }}\n"));
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("again");
    assert_eq!(
        world.step(&thread).exits(0).json()["status"],
        json!("completed")
    );
    let history = world.state("history.jsonl");
    resume(&world, &thread, &["-p", "more"])
        .exits(6)
        .says("1 of 1 steps");
    assert_eq!(world.state("history.jsonl"), history);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    resume(&world, &thread, &["-p", "more", "--raise", "maxSteps=2"]).exits(0);
}

#[test]
fn a_config_whose_limits_cannot_be_is_refused_where_it_is_used() {
    let (world, thread) = limited("{ maxSteps: 3 }", FOR_EVER);
    world
        .uwf(&["config", "set", "limits.maxSteps", "0"])
        .exits(1)
        .says("a whole number from 1");
    let path = world.root().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{config}limits: {{ maxDuration: soon }}\n")).unwrap();
    world.step(&thread).exits(1).says("a duration such as");
    assert_eq!(count_steps(&world, &thread), json!(0));
}

#[test]
fn a_run_that_was_ended_before_it_could_tell_may_have_cost_something() {
    let slow = "roles:\n  writer:\n    - output: { plan: p }\n      sleepMs: 20000\n";
    let (world, thread) = limited("{ maxTokens: 1000 }", slow);
    let step = world.spawn(&["thread", "step", &thread]);
    world.agent_at_work(&thread);
    signal("TERM", step.id());
    assert_eq!(step.wait_with_output().unwrap().status.code(), Some(143));
    world
        .step(&thread)
        .exits(6)
        .says("1 of 1 runs do not tell their tokens");
    let attempt = &world.show(&thread)["attempts"][0];
    assert_eq!(
        (&attempt["class"], &attempt["usage"]),
        (&json!("cancelled"), &json!(null))
    );

    // Of an agent that dies with its engine, only the record of who held the thread is left.
    let (world, thread) = limited("{ maxTokens: 1000 }", slow);
    let step = world.spawn(&["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    kill(step);
    kill_group(agent);
    world.wait_until_free(&thread);
    world
        .step(&thread)
        .exits(6)
        .says("1 of 1 runs do not tell their tokens");
    let attempt = &world.show(&thread)["attempts"][0];
    assert_eq!(
        (&attempt["role"], &attempt["agent"]),
        (&json!("writer"), &json!("uwf-mock"))
    );
    assert_eq!(attempt["class"], json!("crash"));
    assert_eq!(
        attempt["error"],
        json!("the agent was ended together with its engine")
    );
    world
        .step(&thread)
        .exits(6)
        .says("1 of 1 runs do not tell their tokens");
    // Nobody knows how long it took either.
    let limited = [
        "thread",
        "resume",
        &thread,
        "--accept-unknown",
        "1",
        "--agent",
        "false",
    ];
    world.uwf(&limited).exits(3);
}

#[test]
fn a_step_that_was_taken_in_later_is_counted_once() {
    let world = World::new();
    world.put(&format!("{REVIEW}limits: {{ maxTokens: 250 }}\n"));
    gated_agent(&world, FOR_EVER);
    let thread = world.start("review");
    kill(at_work(&world, &["thread", "step", &thread]));
    open_gate(&world);
    world.wait_until_free(&thread);
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
    world.step(&thread).exits(0);
    world.step(&thread).exits(6).says("300 of 250 tokens");
}

#[test]
fn the_document_of_a_thread_ends_with_why_it_does_not_go_on() {
    let (world, thread) = limited("{ maxSteps: 2 }", FOR_EVER);
    steps_until_limit(&world, &thread);
    let document = world.uwf(&["thread", "read", &thread]).stdout;
    let end = "## Suspended\n\n**writer** is next, but a limit is reached: ";
    assert!(document.contains(end), "{document}");
    assert!(document.contains("2 of 2 steps"), "{document}");
}

#[test]
fn a_step_sums_only_what_is_new() {
    let script = FOR_EVER.replacen(
        "    - output",
        "    - output: { plan: first }\n      usage: { costUsd: 0.5 }\n    - output",
        1,
    );
    let (world, thread) = limited("{ maxCostUsd: 1.75 }", &script);
    let report = world.step(&thread).exits(0).json();
    let step = world
        .uwf(&["cas", "get", report["step"].as_str().unwrap()])
        .json();
    world.step(&thread).exits(0);
    // What was summed is not looked at again.
    let detail = step["payload"]["detail"].as_str().unwrap();
    std::fs::remove_file(world.root().join("cas").join(format!("{detail}.bin"))).unwrap();
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    std::fs::remove_file(world.root().join("runs").join(&thread).join("used.json")).unwrap();
    world.step(&thread).exits(4).says(&format!(
        "node `{detail}` is needed, and is not in the store"
    ));
}

#[test]
fn a_call_that_meets_a_limit_proposes_itself_with_what_the_person_said() {
    let (world, thread) = limited(
        "{ maxSteps: 1 }",
        "roles: { writer: [{ output: { $status: $SUSPEND, reason: which? } }] }\n",
    );
    world.step(&thread).exits(0);
    let run = resume(&world, &thread, &["-p", "it's blue"]).exits(6);
    run.says(&format!(
        "`uwf thread resume {thread} --raise maxSteps=2 -p \"it's blue\"` goes on"
    ));
}

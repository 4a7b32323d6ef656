//! Answers that wait: engine and adapter of a step were killed, and its program went on and finished. Nothing may drop such
//! an answer, because it is paid for.

use serde_json::{Value, json};

use super::tracer::{Verdict, trace};
use super::windows::{ADAPTER, finished, world_of_a_tool};
use crate::trees::LOOP;
use crate::world::{World, wait_until};

/// Kills engine and adapter of `thread step` or `thread poke` while the program works, and waits until the program has
/// finished. Its answer waits then.
fn world_with_a_waiting_answer(verb: &str) -> (World, String) {
    world_with_a_waiting_answer_to(verb, &[])
}

/// The same, for a call with options.
fn world_with_a_waiting_answer_to(verb: &str, options: &[&str]) -> (World, String) {
    let (world, thread) = world_of_a_tool();
    wait_for_an_answer(&world, &thread, verb, options);
    (world, thread)
}

/// Kills engine and adapter of such a call in a world of a tool, and waits until the program has finished.
pub(super) fn wait_for_an_answer(world: &World, thread: &str, verb: &str, options: &[&str]) {
    let mut launches = 0;
    let args = [&["thread", verb, thread], options].concat();
    let traced = trace(world, &args, |point| {
        let is_launch = point.call.contains("launched") && point.command.contains(ADAPTER);
        launches += usize::from(is_launch);
        match is_launch && launches == 5 {
            true => Verdict::KillWith(ADAPTER),
            false => Verdict::GoOn,
        }
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    let launched = world.root().join("runs").join(thread).join("launched.json");
    let launched: Value = serde_json::from_slice(&std::fs::read(launched).unwrap()).unwrap();
    assert!(
        launched["program"].is_object() && launched["ended"] == json!(false),
        "{launched}"
    );
    wait_until("the program has finished", || finished(world) == 2);
}

/// Ends the call that reads an answer that waits, before each call of its adapter. The program must not run again.
fn the_call_that_reads_a_waiting_answer(by: Verdict) {
    for nth in 1.. {
        let (world, thread) = world_with_a_waiting_answer("step");
        let args = ["thread", "step", &thread];
        let mut calls = 0;
        let traced = trace(&world, &args, |point| {
            let is_of_adapter = point.command.contains(ADAPTER);
            calls += usize::from(is_of_adapter);
            match is_of_adapter && calls == nth {
                true => by,
                false => Verdict::GoOn,
            }
        });
        if calls < nth {
            assert!(nth > 5, "{:#?}", traced.points);
            return;
        }
        if traced.code != Some(0) {
            world.step(&thread).exits(0);
        }
        assert_eq!(finished(&world), 2, "{:#?}", traced.points);
    }
}

#[test]
fn an_answer_that_waits_is_used_though_the_adapter_that_read_it_was_killed() {
    the_call_that_reads_a_waiting_answer(Verdict::Kill);
}

#[test]
fn an_answer_that_waits_is_used_though_the_engine_that_read_it_was_told_to_end() {
    the_call_that_reads_a_waiting_answer(Verdict::Terminate);
}

#[test]
fn a_migration_does_not_drop_an_answer_that_waits() {
    let (world, thread) = world_with_a_waiting_answer("step");
    world.put(&LOOP.replace("goal: g", "goal: h"));
    let migrate = ["thread", "migrate", &thread];
    world.uwf(&migrate).exits(1).says("`writer` waits");
    world.step(&thread).exits(0);
    assert_eq!(finished(&world), 2);
    world.uwf(&migrate).exits(0);
    world.step(&thread).exits(0);
    assert_eq!(finished(&world), 3);
}

#[test]
fn a_poke_does_not_drop_an_answer_that_waits_nor_a_step_that_of_a_poke() {
    for (verb, other) in [("step", "poke"), ("poke", "step")] {
        let (world, thread) = world_with_a_waiting_answer(verb);
        assert_eq!(world.show(&thread)["waitingAnswer"]["role"], "writer");
        let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
        let hint = format!("by writer: `uwf thread {verb} {thread}`");
        assert!(text.stdout.contains(&hint), "{}", text.stdout);
        let refused = world.uwf(&["thread", other, &thread]).exits(1);
        let refused = refused.says("an answer of `writer` waits");
        refused.says(&format!("hint: `uwf thread {verb} {thread}`"));
        world.uwf(&["thread", verb, &thread]).exits(0);
        assert_eq!(finished(&world), 2, "{verb}");
        world.uwf(&["thread", other, &thread]).exits(0);
        assert_eq!(finished(&world), 3, "{verb}");
    }
}

#[test]
fn a_poke_with_other_words_does_not_drop_an_answer_that_waits() {
    let (world, thread) = world_with_a_waiting_answer_to("poke", &["-p", "again, please"]);
    let poke = ["thread", "poke", &thread];
    for other in [&[][..], &["-p", "shorter"]] {
        let refused = world.uwf(&[&poke, other].concat()).exits(1);
        refused.says(&format!("uwf thread poke {thread} -p 'again, please'"));
    }
    // The record of the attempt tells the words after the lease record is gone.
    world.uwf(&["thread", "pause", &thread]).exits(0);
    world.uwf(&["thread", "unpause", &thread]).exits(0);
    world
        .uwf(&[&poke[..], &["-p", "again, please"]].concat())
        .exits(0);
    assert_eq!(finished(&world), 2);
}

#[test]
fn a_run_that_lost_its_engine_counts_in_a_thread_that_is_ended() {
    let (world, thread) = world_with_a_waiting_answer("step");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let cost = world.uwf(&["thread", "cost"]).exits(0).json();
    assert_eq!(cost["total"]["runs"], 2, "{cost}");
    let attempts = world.show(&thread)["attempts"].clone();
    assert_eq!(attempts.as_array().map(Vec::len), Some(1), "{attempts}");
}

#[test]
fn a_run_that_lost_its_engine_counts_when_its_thread_is_removed() {
    let (world, thread) = world_with_a_waiting_answer("step");
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    let cost = world.uwf(&["thread", "cost"]).exits(0).json();
    assert_eq!(cost["removed"]["runs"], 2, "{cost}");
    assert_eq!(cost["total"]["runs"], 2, "{cost}");
}

#[test]
fn an_import_does_not_drop_an_answer_that_waits() {
    let (world, thread) = world_with_a_waiting_answer("step");
    let other = world.dir().join("other");
    let elsewhere = ["--root", other.to_str().unwrap()];
    let at = |args: &[&str]| world.uwf(&[&elsewhere, args].concat());
    world
        .uwf(&["thread", "export", &thread, "-o", "behind"])
        .exits(0);
    at(&["thread", "import", "behind"]).exits(0);
    at(&["config", "set", "agents.mock.command", "uwf-mock"]).exits(0);
    let script = world.write(
        "script.yaml",
        "roles:\n  writer:\n    - output: { $status: again }\n",
    );
    let args = json!([script.to_str().unwrap()]).to_string();
    at(&["config", "set", "agents.mock.args", &args]).exits(0);
    at(&["thread", "step", &thread, "--agent", "mock"]).exits(0);
    at(&["thread", "export", &thread, "-o", "ahead"]).exits(0);
    let import = ["thread", "import", "ahead"];
    let imported = world.uwf(&[&import[..], &["--format", "json"]].concat());
    assert_eq!(
        imported.exits(5).json()["threads"][0]["outcome"],
        "answerWaits"
    );
    let said = world.uwf(&[&import[..], &["--format", "text"]].concat());
    let show = format!("`uwf thread show {thread}`");
    assert!(said.exits(5).stdout.contains(&show));
    world.step(&thread).exits(0);
    assert_eq!(finished(&world), 2);
    world.uwf(&import).exits(1).says("went on");
}

/// Returns the `--agent` that makes the tool of [`world_of_a_tool`] work.
fn tool_option(world: &World) -> String {
    let tool = world.project().join("tool");
    format!("uwf-command -- {}", tool.display())
}

#[test]
fn a_call_that_chooses_another_agent_does_not_drop_an_answer_that_waits() {
    let (world, thread) = world_of_a_tool();
    let option = tool_option(&world);
    world.agent("uwf-mock", &["script.yaml"]);
    wait_for_an_answer(&world, &thread, "step", &["--agent", &option]);
    let uses = format!("uwf thread step {thread} --agent '{option}'");
    assert_eq!(world.show(&thread)["waitingAnswer"]["agent"], json!(option));
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert!(text.stdout.contains(&uses), "{}", text.stdout);
    for other in [&["step"][..], &["step", "--agent", "uwf-mock other.yaml"]] {
        let refused = world.uwf(&[&["thread"], other, &[&thread]].concat());
        let refused = refused.exits(1).says("another agent");
        refused.says(&uses).says("--new-session");
    }
    world.uwf(&["thread", "step", "--all"]).says(&uses);
    world
        .uwf(&["thread", "step", &thread, "--agent", &option])
        .exits(0);
    assert_eq!(finished(&world), 2);
}

#[test]
fn other_arguments_in_the_config_do_not_drop_an_answer_that_waits() {
    let (world, thread) = world_with_a_waiting_answer("poke");
    let option = tool_option(&world);
    world.agent("uwf-command", &["--", "true"]);
    let refused = world.uwf(&["thread", "poke", &thread]).exits(1);
    refused.says(&format!("`uwf thread poke {thread} --agent '{option}'`"));
    world
        .uwf(&["thread", "poke", &thread, "--agent", &option])
        .exits(0);
    assert_eq!(finished(&world), 2);
}

#[test]
fn a_new_session_gives_an_answer_that_waits_up() {
    let (world, thread) = world_with_a_waiting_answer("step");
    world.agent("uwf-mock", &["-- nothing"]);
    let option = tool_option(&world);
    let step = ["thread", "step", &thread, "--new-session", "--agent"];
    let given_up = world.uwf(&[&step[..], &[&option]].concat()).exits(0);
    given_up.says("an answer of `writer` waited and is given up");
    assert_eq!(finished(&world), 3);
}

#[test]
fn lists_and_the_doctor_name_an_answer_that_waits_and_its_loss_is_said() {
    let (world, thread) = world_with_a_waiting_answer("step");
    let listed = world.uwf(&["thread", "list"]).exits(0).json();
    assert_eq!(listed[0]["waitingAnswer"]["role"], "writer", "{listed}");
    let text = world.uwf(&["thread", "list", "--format", "text"]);
    let note = "an answer of writer has no step yet";
    assert!(text.stdout.contains(note), "{}", text.stdout);
    let doctor = world.uwf(&["doctor", "--offline", "--format", "text"]);
    let uses = format!("`uwf thread step {thread}`");
    assert!(doctor.stdout.contains(&uses), "{}", doctor.stdout);
    let exported = world.uwf(&["thread", "export", &thread, "-o", "one.tar"]);
    exported.exits(0).says("an answer of `writer` waits in");
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0);
    killed.says("an answer of `writer` waited in");
    let (world, thread) = world_with_a_waiting_answer("poke");
    let removed = world.uwf(&["thread", "rm", "--force", &thread]);
    removed.exits(0).says("and is given up");
}

#[test]
fn the_step_of_an_answer_that_waited_tells_the_time_of_its_program() {
    let (world, thread) = world_with_a_waiting_answer("step");
    let before = world.show(&thread)["usage"]["runs"].clone();
    world.step(&thread).exits(0);
    let shown = world.show(&thread);
    let attempt = world.uwf(&["thread", "steps", &thread]).exits(0).json()["attempts"][0].clone();
    assert_eq!((before, &attempt["countedIn"]), (json!(1), &shown["head"]));
    let head = shown["head"].as_str().unwrap();
    let node = world.uwf(&["step", "show", head]).exits(0).json();
    assert_eq!(node["startedAtMs"], attempt["startedAtMs"], "{node}");
    assert!(node["completedAtMs"].as_i64() > node["startedAtMs"].as_i64());
}

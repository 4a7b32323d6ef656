//! Each command is killed before each of its system calls: nothing that was recorded is lost, the same command goes
//! on, and no finished answer is paid for twice.

use serde_json::{Value, json};

use super::reader::Ledger;
use super::sweep::{is_recorded_as_finished, kill_at, kill_before, kill_everywhere};
use super::tracer::{Verdict, trace};
use crate::gates::{NOTE, at_work, close_gate, gated_agent, runs, wait_for_ends};
use crate::orphans::late;
use crate::processes::that_were_started_with;
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

const REVIEWED: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n    - output: { $status: approved, summary: s }\n";
/// The words of the processes that may be killed.
const ENGINE: &str = " thread ";
const AGENT: &str = " agent mock ";

/// A world with a thread of a workflow, whose agent counts its runs.
pub(super) fn world(workflow: &str, script: &str) -> (World, String) {
    let world = World::new();
    let name = workflow.trim_start().lines().next().unwrap();
    world.put(workflow);
    gated_agent(&world, script);
    let thread = world.start(name.strip_prefix("name: ").unwrap());
    (world, thread)
}

fn steps(world: &World, thread: &str) -> usize {
    Ledger::read(&world.root()).threads[thread].len()
}

/// Asserts that a kill was tried before a call that begins with these words.
#[track_caller]
pub(super) fn was_killed_before(calls: &[String], start: &str) {
    let is_there = calls.iter().any(|call| call.starts_with(start));
    assert!(is_there, "no `{start}` in {calls:#?}");
}

#[test]
fn a_step_whose_engine_is_killed_anywhere_is_done_once() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, ENGINE, |_| {
        world.show(&thread);
        let again = world.step(&thread);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        world.step(&thread).exits(7);
        assert_eq!((steps(&world, &thread), runs(&world)), (1, 1));
    });
    was_killed_before(&calls, "start a process");
    was_killed_before(&calls, "sync root/cas");
    was_killed_before(&calls, "write root/history.jsonl");
    was_killed_before(&calls, "rename root/.uwf-temp-");
}

#[test]
fn a_failed_attempt_whose_engine_is_killed_anywhere_counts_once() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.scripted_agent(&format!(
        "echo run >> {}/runs\necho failing >&2\nexit 9",
        world.project().display()
    ));
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, ENGINE, |traced| {
        world.wait_until_free(&thread);
        world.step(&thread).exits(3);
        // A process that is killed before it becomes the agent is no engine, and counts as an agent.
        let point = traced.killed().unwrap();
        let extra = usize::from(point.call.starts_with("become "));
        let counted = world.show(&thread)["usage"]["runs"].clone();
        assert_eq!(counted, json!(runs(&world) + extra));
    });
    was_killed_before(&calls, "start a process");
    was_killed_before(&calls, "rename root/runs");
}

#[test]
fn a_step_in_the_middle_whose_engine_is_killed_anywhere_is_done_once() {
    let (world, thread) = world(REVIEW, REVIEWED);
    let args = ["thread", "step", &thread];
    kill_everywhere(&world, &args, ENGINE, |traced| {
        let done = steps(&world, &thread);
        assert!(done <= 1);
        let again = world.step(&thread).exits(0).json();
        // The next step runs only if this one was in the thread already.
        assert_eq!(steps(&world, &thread), done + 1, "{:?}", traced.killed());
        assert_eq!(again["role"], json!(["writer", "reviewer"][done]));
        assert_eq!(runs(&world), done + 1);
    });
}

#[test]
fn a_step_whose_agent_is_killed_anywhere_is_lost_only_before_it_is_on_record() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, AGENT, |traced| {
        let finished = is_recorded_as_finished(traced);
        assert_eq!(traced.code, Some(if finished { 0 } else { 3 }));
        let again = world.step(&thread);
        assert_eq!(again.code, if finished { 7 } else { 0 });
        assert_eq!(steps(&world, &thread), 1);
        assert_eq!(runs(&world), if finished { 1 } else { 2 });
    });
    was_killed_before(&calls, "rename root/cas/");
    was_killed_before(&calls, "write root/runs/");
}

#[test]
fn a_step_whose_adapter_is_killed_anywhere_is_lost_only_before_it_is_on_record() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let tool = "echo run >> runs; cat > prompt; printf -- '---\\nnote: n\\n---\\n'";
    let tool = world.script("tool.sh", tool);
    world.scripted_agent(&format!(
        "exec {} agent command -- {} \"$@\"",
        crate::world::binary().display(),
        tool.display()
    ));
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, " agent command ", |traced| {
        let finished = is_recorded_as_finished(traced);
        let again = world.step(&thread);
        assert_eq!(again.code, if finished { 7 } else { 0 });
        assert_eq!(steps(&world, &thread), 1);
        assert!(runs(&world) <= if finished { 1 } else { 2 });
    });
    was_killed_before(&calls, "start a process");
    was_killed_before(&calls, "rename root/cas/");
}

#[test]
fn an_agent_without_an_engine_that_is_killed_anywhere_leaves_a_whole_step_or_none() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let script = world.project().join("answers.yaml");
    let args = ["agent", "mock", script.to_str().unwrap(), &thread, "writer"];
    let calls = kill_everywhere(&world, &args, AGENT, |traced| {
        let next = world.step(&thread).exits(0).json();
        assert_eq!(next["adopted"], json!(is_recorded_as_finished(traced)));
        assert_eq!(steps(&world, &thread), 1);
    });
    was_killed_before(&calls, "sync root/cas/");
}

#[test]
fn a_finished_step_whose_adoption_is_killed_anywhere_is_not_done_again() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let args = ["thread", "step", &thread];
    kill_before(&world, &args, ENGINE, |call| call == "sync root/cas");
    assert!(world.pending(&thread).is_some());
    let calls = kill_everywhere(&world, &args, ENGINE, |_| {
        world.show(&thread);
        let again = world.step(&thread);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        assert_eq!((steps(&world, &thread), runs(&world)), (1, 1));
    });
    was_killed_before(&calls, "rename root/.uwf-temp-");
}

#[test]
fn a_late_step_is_not_taken_in_when_the_next_attempt_is_killed_anywhere() {
    let (world, thread, late) = late();
    let args = ["thread", "step", &thread];
    kill_everywhere(&world, &args, ENGINE, |_| {
        let again = world.step(&thread);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        let step = Ledger::read(&world.root()).threads[&thread][0].clone();
        assert_ne!(step, late);
        assert_eq!(runs(&world), 2);
    });
}

#[test]
fn a_resume_that_is_killed_anywhere_asks_the_agent_once() {
    let (world, thread) = world(REVIEW, REVIEWED);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let args = ["thread", "resume", &thread, "-p", "the answer"];
    kill_everywhere(&world, &args, ENGINE, |_| {
        let again = world.uwf(&args);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        assert_eq!((steps(&world, &thread), runs(&world)), (3, 3));
    });
}

#[test]
fn a_poke_that_is_killed_anywhere_replaces_one_step_by_one() {
    for words in [ENGINE, AGENT] {
        let (world, thread) = world(REVIEW, REVIEWED);
        world.step(&thread).exits(0);
        let args = ["thread", "poke", &thread];
        let calls = kill_everywhere(&world, &args, words, |_| {
            assert_eq!(steps(&world, &thread), 1);
            world.uwf(&args).exits(0);
            assert_eq!(steps(&world, &thread), 1);
            assert!(!Ledger::read(&world.root()).replaced.is_empty());
        });
        if words == ENGINE {
            was_killed_before(&calls, "write root/history.jsonl");
        }
    }
}

#[test]
fn a_start_that_is_killed_anywhere_starts_a_whole_thread_or_none() {
    let (world, _) = world(ONE_STEP, NOTE);
    let args = ["thread", "start", "one", "-p", "the task"];
    kill_everywhere(&world, &args, ENGINE, |_| {
        let before = Ledger::read(&world.root()).active.len();
        assert!((1..=2).contains(&before));
        let again = world.uwf(&args).exits(0).json();
        world.step(again["thread"].as_str().unwrap()).exits(0);
        assert_eq!(Ledger::read(&world.root()).threads.len(), before + 1);
    });
}

#[test]
fn a_named_start_that_is_killed_anywhere_starts_a_named_thread_or_leaves_the_name_free() {
    let (world, _) = world(ONE_STEP, NOTE);
    let args = [
        "thread", "start", "one", "-p", "the task", "--name", "fix-42",
    ];
    let mut seen = std::collections::BTreeSet::new();
    let calls = kill_everywhere(&world, &args, ENGINE, |_| {
        let is_there = Ledger::read(&world.root()).active.len() == 2;
        seen.insert(is_there);
        let (shown, started) = if is_there { (0, 1) } else { (1, 0) };
        world.uwf(&["thread", "show", "fix-42"]).exits(shown);
        world.uwf(&args).exits(started);
        assert_eq!(Ledger::read(&world.root()).active.len(), 2);
        world.step("fix-42").exits(0);
    });
    was_killed_before(&calls, "rename root/.uwf-temp-");
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
}

#[test]
fn a_change_of_a_name_that_is_killed_anywhere_is_whole_or_not_made() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world
        .uwf(&["thread", "label", &thread, "team=web"])
        .exits(0);
    let args = ["thread", "rename", &thread, "fix-42"];
    let mut seen = std::collections::BTreeSet::new();
    kill_everywhere(&world, &args, ENGINE, |_| {
        let shown = world.show(&thread);
        assert_eq!(shown["labels"], json!({ "team": "web" }));
        seen.insert(shown["name"] == json!("fix-42"));
        world.uwf(&args).exits(0);
        assert_eq!(world.show("fix-42")["thread"], json!(thread));
    });
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
}

#[test]
fn a_fork_that_is_killed_anywhere_leaves_the_original_as_it_was() {
    let (world, thread) = world(REVIEW, REVIEWED);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].clone();
    let args = ["thread", "fork", head.as_str().unwrap()];
    kill_everywhere(&world, &args, ENGINE, |_| {
        assert_eq!(world.show(&thread)["head"], head);
        let fork = world.uwf(&args).exits(0).json();
        assert_eq!(steps(&world, fork["thread"].as_str().unwrap()), 1);
    });
}

#[test]
fn a_migration_that_is_killed_anywhere_goes_on_when_it_is_repeated() {
    let (world, thread) = world(REVIEW, REVIEWED);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let head = world.show(&thread)["head"].clone();
    world.put(&REVIEW.replace("You write.", "You write well."));
    let args = ["thread", "migrate", &thread];
    let mut seen = std::collections::BTreeSet::new();
    let calls = kill_everywhere(&world, &args, ENGINE, |_| {
        seen.insert(world.show(&thread)["head"] == head);
        let migrated = world.uwf(&args).exits(0).json();
        assert_ne!(migrated["head"], head);
        assert_eq!(world.show(&thread)["head"], migrated["head"]);
        assert_eq!((steps(&world, &thread), runs(&world)), (2, 2));
        assert_eq!(world.state("history.jsonl").lines().count(), 1);
        // It still waits for the answer to its question.
        world.step(&thread).exits(6);
        world.uwf(&["cas", "verify"]).exits(0);
    });
    was_killed_before(&calls, "write root/history.jsonl");
    was_killed_before(&calls, "rename root/.uwf-temp-");
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
}

#[test]
fn a_migration_adopts_a_finished_step_first_wherever_it_is_killed() {
    let (world, thread) = world(REVIEW, REVIEWED);
    let step = ["thread", "step", &thread];
    kill_before(&world, &step, ENGINE, |call| call == "sync root/cas");
    assert!(world.pending(&thread).is_some());
    world.put(&REVIEW.replace("You write.", "You write well."));
    let args = ["thread", "migrate", &thread];
    kill_everywhere(&world, &args, ENGINE, |_| {
        world.uwf(&args).exits(0);
        assert_eq!((steps(&world, &thread), runs(&world)), (1, 1));
        let next = world.step(&thread).exits(0).json();
        assert_eq!(next["role"], json!("reviewer"));
    });
}

#[test]
fn the_end_of_a_fork_that_is_killed_anywhere_is_recorded_once() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].clone();
    let fork = world.uwf(&["thread", "fork", head.as_str().unwrap()]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    let calls = kill_everywhere(&world, &["thread", "step", &fork], ENGINE, |_| {
        let again = world.step(&fork);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        let history = world.state("history.jsonl");
        assert_eq!(history.matches(&fork).count(), 1, "{history}");
        assert_eq!((steps(&world, &fork), runs(&world)), (1, 1));
    });
    was_killed_before(&calls, "sync root/history.jsonl");
}

#[test]
fn a_kill_that_is_killed_anywhere_can_be_repeated() {
    let (world, thread) = world(REVIEW, REVIEWED);
    world.step(&thread).exits(0);
    let args = ["thread", "kill", &thread];
    let calls = kill_everywhere(&world, &args, ENGINE, |_| {
        let again = world.uwf(&args);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        assert_eq!(world.show(&thread)["status"], json!("cancelled"));
        assert_eq!(steps(&world, &thread), 1);
        world.step(&thread).exits(7);
    });
    was_killed_before(&calls, "write root/history.jsonl");
}

#[test]
fn a_kill_of_a_thread_at_work_that_is_killed_anywhere_can_be_repeated() {
    let (world, _) = world(ONE_STEP, NOTE);
    for number in 0.. {
        let thread = world.start("one");
        let mut engine = [at_work(&world, &["thread", "step", &thread])];
        world.agent_at_work(&thread);
        let args = ["thread", "kill", &thread];
        let killed = kill_at(&world, &args, " thread kill ", number, Verdict::Kill);
        let again = world.uwf(&args);
        assert!([0, 7].contains(&again.code), "{}", again.stderr);
        wait_for_ends(&mut engine, 1);
        let ended = engine[0].wait().unwrap();
        assert!(!ended.success(), "at {:?}", killed.killed());
        let left = that_were_started_with(&thread);
        assert!(left.is_empty(), "{left:?} at {:?}", killed.killed());
        assert_eq!(world.show(&thread)["status"], json!("cancelled"));
        Ledger::read(&world.root());
        if killed.killed().is_none() {
            assert!(number > 0);
            break;
        }
    }
}

#[test]
fn an_agent_that_starts_while_its_thread_is_killed_is_ended() {
    let (world, thread) = world(ONE_STEP, NOTE);
    close_gate(&world);
    let mut kill = None;
    let step = trace(&world, &["thread", "step", &thread], |point| {
        // The step is held when it is about to start its agent.
        if kill.is_none() && point.call == "start a process" {
            kill = Some(world.spawn(&["thread", "kill", &thread]));
            wait_until("the thread has ended", || {
                !world.state("threads.yaml").contains(&thread)
            });
        }
        Verdict::GoOn
    });
    assert_ne!(step.code, Some(0), "{}", step.stderr);
    let kill = kill.expect("the window was hit").wait_with_output();
    assert!(kill.unwrap().status.success());
    let left = that_were_started_with(&thread);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.show(&thread)["status"], json!("cancelled"));
}

#[test]
fn a_registration_that_is_killed_anywhere_leaves_the_old_workflow_or_the_new_one() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let old = world.uwf(&["workflow", "show", "one"]).exits(0).json();
    let changed = ONE_STEP.replace("You write.", "You write well.");
    world.write("one.yaml", &changed);
    let args = ["workflow", "put", "one.yaml"];
    let mut seen = std::collections::BTreeSet::new();
    let calls = kill_everywhere(&world, &args, " workflow ", |_| {
        let left = world.uwf(&["workflow", "show", "one"]).exits(0).json();
        seen.insert(left["hash"] == old["hash"]);
        let put = world.uwf(&args).exits(0).json();
        let now = world.uwf(&["workflow", "show", "one"]).exits(0).json();
        assert_eq!(now["hash"], put["hash"]);
        assert_ne!(now["hash"], old["hash"]);
        world.step(&thread).exits(0);
    });
    was_killed_before(&calls, "rename root/.uwf-temp-");
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
}

#[test]
fn a_node_whose_put_is_killed_anywhere_is_whole_or_not_there() {
    let (world, _) = world(ONE_STEP, NOTE);
    let args = ["cas", "put-text", "a text"];
    let calls = kill_everywhere(&world, &args, " cas ", |_| {
        world.uwf(&["cas", "verify"]).exits(0);
        let hash = world.uwf(&args).exits(0).json()["hash"].clone();
        let node = world.uwf(&["cas", "get", hash.as_str().unwrap()]);
        assert_eq!(node.exits(0).json()["payload"], json!("a text"));
    });
    was_killed_before(&calls, "rename root/cas/");
}

#[test]
fn a_change_of_the_config_that_is_killed_anywhere_is_whole_or_not_made() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let get = |key: &str| -> Value { world.uwf(&["config", "get", key]).exits(0).json() };
    world.configure("agents.default.timeout", "1h");
    let [old, agent] = ["agents.default.timeout", "agents.default.command"].map(get);
    let args = ["config", "set", "agents.default.timeout", "2h"];
    let mut seen = Vec::new();
    let calls = kill_everywhere(&world, &args, " config ", |_| {
        seen.push(get("agents.default.timeout") == old);
        assert_eq!(get("agents.default.command"), agent);
        world.uwf(&args).exits(0);
        assert_ne!(get("agents.default.timeout"), old);
        world.step(&thread).exits(0);
    });
    was_killed_before(&calls, "rename root/.uwf-temp-");
    assert!(seen.contains(&true) && seen.contains(&false), "{seen:?}");
}

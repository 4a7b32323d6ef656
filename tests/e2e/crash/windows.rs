//! The table "What survives what" of `docs/architecture.md`, line by line. Each test asserts that its window was hit.

use serde_json::json;

use super::reader::Ledger;
use super::sweep::{kill_before, kill_everywhere_by};
use super::tracer::{Point, Verdict, trace};
use crate::gates::{gated_agent, runs};
use crate::trees::LOOP;
use crate::world::{REVIEW, World};

const ENGINE: &str = " thread ";
const AGENT: &str = " agent mock ";
const PLANS: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";

/// A world whose review has a plan.
fn planned() -> (World, String, String) {
    let world = World::new();
    world.put(REVIEW);
    gated_agent(&world, PLANS);
    let thread = world.start("review");
    let report = world.step(&thread).exits(0).json();
    let head = report["head"].as_str().unwrap().to_owned();
    (world, thread, head)
}

/// The words in the command line of the adapter of [`world_of_a_tool`].
pub(super) const ADAPTER: &str = "uwf-command ";

/// A world with a thread that goes on for ever. Its agent is a program behind an adapter, which counts the runs that it
/// finished. The thread has one step.
pub(super) fn world_of_a_tool() -> (World, String) {
    let world = World::new();
    world.put(LOOP);
    let body = format!(
        "printf -- '---\\n$status: again\\n---\\nrun %s\\n' $(wc -l < {finished}); echo $UWF_HEAD >> {finished}",
        finished = world.write("finished", "").display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    world.step(&thread).exits(0);
    (world, thread)
}

/// Returns how many runs the program of [`world_of_a_tool`] has finished.
pub(super) fn finished(world: &World) -> usize {
    let finished = std::fs::read_to_string(world.project().join("finished"));
    finished.unwrap().lines().count()
}

/// Kills the adapter before each of its calls, by this verdict. The program that it started is not killed: a run that
/// it finished must be the one of the step.
fn the_adapter_anywhere(by: Verdict) {
    let (world, thread) = world_of_a_tool();
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere_by(&world, &args, ADAPTER, by, |traced| {
        if traced.code != Some(0) {
            world.step(&thread).exits(0);
        }
        assert_eq!(finished(&world), 2);
        let read = world.uwf(&["thread", "read", &thread, "--quota", "1"]);
        assert!(read.stdout.contains("run 1\n"), "{}", read.stdout);
    });
    assert!(calls.len() > 15, "{calls:#?}");
}

#[test]
fn the_adapter_when_its_program_had_ended() {
    the_adapter_anywhere(Verdict::Kill);
}

#[test]
fn the_adapter_and_the_engine_when_their_program_goes_on() {
    the_adapter_anywhere(Verdict::KillWith(ADAPTER));
}

#[test]
fn an_answer_without_a_line_end_counts_if_its_program_was_seen_to_end() {
    let (world, thread) = world_of_a_tool();
    let body = "printf -- '---\\n$status: again\\n---\\nno line end'; echo run >> finished";
    world.script("tool", body);
    let mut is_killed = false;
    let args = ["thread", "step", &thread];
    let traced = trace(&world, &args, |point| {
        let writes_nodes = point.call.starts_with("create root/cas/");
        if is_killed || !writes_nodes || !point.command.contains(ADAPTER) {
            return Verdict::GoOn;
        }
        is_killed = true;
        Verdict::KillWith(ADAPTER)
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    world.step(&thread).exits(0);
    assert_eq!(finished(&world), 2);
}

fn head(world: &World, thread: &str) -> String {
    world.show(thread)["head"].as_str().unwrap().to_owned()
}

fn is_the_head_moving(call: &str) -> bool {
    call.starts_with("rename ") && call.ends_with(" root/threads.yaml")
}

#[test]
fn the_agent_before_it_finished() {
    let (world, thread, before) = planned();
    let args = ["thread", "step", &thread];
    let killed = kill_before(&world, &args, AGENT, |call| call.ends_with("/pending.json"));
    assert_eq!(killed.code, Some(3), "{}", killed.stderr);
    assert_eq!(
        (head(&world, &thread), world.pending(&thread)),
        (before, None)
    );
    let attempts = world.show(&thread)["attempts"].clone();
    assert_eq!(attempts.as_array().unwrap().len(), 1, "{attempts}");
    let again = world.step(&thread).exits(0).json();
    assert_eq!(
        (&again["role"], &again["adopted"]),
        (&json!("reviewer"), &json!(false))
    );
    assert_eq!(runs(&world), 3);
}

#[test]
fn the_agent_after_its_pending_record() {
    let (world, thread, _) = planned();
    let args = ["thread", "step", &thread];
    // The last that an agent does is to print the hash.
    let killed = kill_before(&world, &args, AGENT, |call| {
        call.starts_with("write ") && call.ends_with("/stdout")
    });
    assert_eq!(killed.code, Some(0), "{}", killed.stderr);
    assert_eq!(Ledger::read(&world.root()).threads[&thread].len(), 2);
    assert_eq!(runs(&world), 2);
}

#[test]
fn the_engine_between_check_and_head() {
    let (world, thread, before) = planned();
    let args = ["thread", "step", &thread];
    kill_before(&world, &args, ENGINE, is_the_head_moving);
    assert_eq!(head(&world, &thread), before);
    let step = world.pending(&thread).unwrap()["step"].clone();
    let again = world.step(&thread).exits(0).json();
    assert_eq!((&again["adopted"], &again["head"]), (&json!(true), &step));
    assert_eq!((runs(&world), world.pending(&thread)), (2, None));
}

#[test]
fn the_engine_in_a_poke() {
    let (world, thread, old) = planned();
    kill_before(
        &world,
        &["thread", "poke", &thread],
        ENGINE,
        is_the_head_moving,
    );
    assert_eq!(head(&world, &thread), old);
    let step = world.pending(&thread).unwrap()["step"].clone();
    let again = world.step(&thread).exits(0).json();
    assert_eq!((&again["adopted"], &again["head"]), (&json!(true), &step));
    assert_eq!(again["replaced"], json!(old));
    assert_eq!(runs(&world), 2);
    let ledger = Ledger::read(&world.root());
    assert_eq!(ledger.threads[&thread], [step.as_str().unwrap()]);
    assert!(ledger.replaced.contains_key(&old));
}

#[test]
fn the_agent_in_a_poke() {
    let (world, thread, old) = planned();
    let args = ["thread", "poke", &thread];
    let killed = kill_before(&world, &args, AGENT, |call| call.ends_with("/pending.json"));
    assert_eq!(killed.code, Some(3), "{}", killed.stderr);
    assert_eq!((head(&world, &thread), world.pending(&thread)), (old, None));
}

#[test]
fn the_engine_between_head_and_clean_up() {
    let (world, thread, before) = planned();
    let args = ["thread", "step", &thread];
    let mut has_moved = false;
    let traced = trace(&world, &args, |point| {
        if has_moved && point.command.contains(ENGINE) {
            return Verdict::Kill;
        }
        has_moved = is_the_head_moving(&point.call);
        Verdict::GoOn
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    let now = head(&world, &thread);
    assert_ne!(now, before);
    // The record names the head, and is removed.
    assert_eq!(world.pending(&thread).unwrap()["step"], json!(now));
    let next = world.step(&thread).exits(0).json();
    assert_eq!(
        (&next["role"], &next["adopted"]),
        (&json!("writer"), &json!(false))
    );
    assert_eq!((runs(&world), world.pending(&thread)), (3, None));
}

#[test]
fn the_machine() {
    let (world, thread, _) = planned();
    let saved: Vec<_> = files_of_the_store(&world);
    let traced = trace(&world, &["thread", "step", &thread], |_| Verdict::GoOn);
    let new: Vec<String> = files_of_the_store(&world)
        .into_iter()
        .filter(|file| !saved.contains(file))
        .collect();
    assert!(new.len() > 3, "{new:?}");
    let points = &traced.points;
    let at = |what: &dyn Fn(&str) -> bool| points.iter().position(|point| what(&point.call));
    let moved = at(&is_the_head_moving).expect("the head moves");
    let before: &[Point] = &points[..moved];
    // All that the new head needs is on the disk before the head is.
    let is_done = |call: &str| before.iter().any(|point| point.call == call);
    let step = head(&world, &thread);
    let needed = needed_by(&world, &step, &new);
    assert!(needed.len() >= 4, "{needed:?} of {new:?}");
    for file in needed {
        assert!(
            is_done(&format!("sync root/cas/{file}")),
            "{file} in {before:#?}"
        );
    }
    let names = before
        .iter()
        .rposition(|point| point.call == "sync root/cas");
    let last = before
        .iter()
        .rposition(|point| point.call.starts_with("sync root/cas/"));
    assert!(names > last, "the names come after the nodes: {before:#?}");
    // Nobody waits for the disk behind the lock that all threads share.
    let locked = |point: &Point| point.call == "lock root/locks/state.lock";
    let locked = before.iter().position(locked).unwrap();
    assert!(
        Some(locked) > names,
        "the nodes are synced first: {before:#?}"
    );
    let temporary = points[moved].call.split(' ').nth(1).unwrap();
    assert!(is_done(&format!("sync {temporary}")), "{before:#?}");
    assert_eq!(points[moved + 1].call, "sync root");
}

#[test]
fn the_machine_when_an_agent_works_without_an_engine() {
    let (world, thread, _) = planned();
    let saved = files_of_the_store(&world);
    let script = world.project().join("answers.yaml");
    let args = [
        "agent",
        "mock",
        script.to_str().unwrap(),
        &thread,
        "reviewer",
    ];
    let traced = trace(&world, &args, |_| Verdict::GoOn);
    let calls: Vec<&str> = traced
        .points
        .iter()
        .map(|point| point.call.as_str())
        .collect();
    let recorded = calls
        .iter()
        .position(|call| call.starts_with("rename ") && call.ends_with("/pending.json"));
    let (before, after) = calls.split_at(recorded.expect("the step is put on record"));
    let mut new = files_of_the_store(&world);
    new.retain(|file| !saved.contains(file));
    assert!(new.len() >= 4, "{new:?}");
    for file in new {
        let named = before
            .iter()
            .find(|call| call.ends_with(&format!(" root/cas/{file}")));
        let temporary = named.unwrap().split(' ').nth(1).unwrap();
        let synced = format!("sync {temporary}");
        assert!(before.contains(&synced.as_str()), "{file} in {before:#?}");
    }
    let named = |call: &&str| call.starts_with("rename root/cas/");
    let last = before.iter().rposition(named).unwrap();
    assert!(before[last..].contains(&"sync root/cas"), "{before:#?}");
    assert_eq!(after[1], format!("sync root/runs/{thread}"));
}

fn files_of_the_store(world: &World) -> Vec<String> {
    let files = std::fs::read_dir(world.root().join("cas")).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Returns which of the files have nodes that the step refers to, or the step itself.
fn needed_by(world: &World, step: &str, files: &[String]) -> Vec<String> {
    let walked = world.uwf(&["cas", "walk", step]).exits(0).stdout;
    let of_step = |file: &&String| walked.contains(file.strip_suffix(".bin").unwrap());
    files.iter().filter(of_step).cloned().collect()
}

#[test]
fn every_row_of_the_table_names_its_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{folder}/docs/architecture.md")).unwrap();
    let table = page.split("## What survives what").nth(1).unwrap();
    let rows = table.lines().filter(|line| {
        ["| the", "| a ", "| an "]
            .iter()
            .any(|begin| line.starts_with(begin))
    });
    let files = [
        "crash/windows.rs",
        "crash/care.rs",
        "crash/children.rs",
        "crash/commands.rs",
        "crash/garbage.rs",
        "crash/leftovers.rs",
        "crash/pipelines.rs",
        "crash/pipelines_soak.rs",
        "crash/printed.rs",
        "crash/registry.rs",
        "crash/travel.rs",
        "crash/worktrees.rs",
        "checks_kept.rs",
        "counted_once.rs",
        "refused_steps.rs",
        "crashes.rs",
        "kept_running.rs",
        "orchestrate/kills.rs",
        "supervisor.rs",
        "branches_answered.rs",
        "sharing_children_killed.rs",
        "sharing_runs.rs",
        "sharing_runs_killed.rs",
        "sharing_runs_played.rs",
        "worktrees_cut_short.rs",
    ];
    let tests = files
        .map(|file| std::fs::read_to_string(format!("{folder}/tests/e2e/{file}")).unwrap())
        .concat();
    let mut found = 0;
    for row in rows.take_while(|row| row.matches('|').count() == 4) {
        for name in row.split('|').nth(3).unwrap().split('`').skip(1).step_by(2) {
            assert!(tests.contains(&format!("\nfn {name}()")), "{name}");
            found += 1;
        }
    }
    assert!(found >= 9, "{found}");
}

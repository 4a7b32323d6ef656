//! Processes that work on shared runs are killed, and another machine goes on when their leases have ended.

use std::collections::BTreeSet;
use std::fs;

use crate::crash::sweep::{kill_at, kill_before};
use crate::crash::tracer::{Point, Traced, Verdict, trace};
use crate::processes::{self, signal};
use crate::sharing::{at_remote, head, with_server};
use crate::sharing_runs::{
    agree_on, at_work, done, machines, open_gate, pipeline, program, shared, shared_as,
};
use crate::world::{World, is_soak, wait_until};

const STEPS: [&str; 3] = ["A", "B", "C"];

/// The end of the call that moves the head here.
const HEADS: &str = " root/threads.yaml";

/// The words of the processes that are killed.
const ENGINE: &str = " thread ";

/// Returns how many steps of the pipeline a run has, as a machine knows it.
fn settled(world: &World, thread: &str) -> usize {
    let listed = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = listed["steps"].as_array().unwrap()[1..].iter();
    steps.filter(|step| step["role"] != "_resume").count()
}

fn chain(world: &World, thread: &str) -> BTreeSet<String> {
    let listed = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = listed["steps"].as_array().unwrap().iter();
    steps.map(|step| step["hash"].to_string()).collect()
}

/// Returns the steps that a machine keeps beside a run.
fn kept_beside(world: &World, thread: &str) -> BTreeSet<String> {
    let shown = world.show(thread)["refusedSteps"].clone();
    let kept = shown.as_array().cloned().unwrap_or_default().into_iter();
    kept.map(|one| one["step"].to_string()).collect()
}

fn wait_for_lease(world: &World, thread: &str) {
    wait_until("the lease has ended", || {
        at_remote(world, thread)["leftMs"].is_null()
    });
}

/// Who goes on first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    SameMachine,
    OtherMachine,
}

/// Kills a process before its system call with this number while it does the second step of a new run.
fn check_at(machines: &[World; 2], number: usize, next: Next) {
    check(machines, &number.to_string(), next, |one, step| {
        kill_at(one, step, ENGINE, number, Verdict::Kill)
    });
}

/// Does that with any call. `name` tells the run from others.
fn check(machines: &[World; 2], name: &str, next: Next, kill: impl Fn(&World, &[&str]) -> Traced) {
    let [one, other] = machines;
    let _ = fs::remove_file(one.project().join("done"));
    let thread = shared_as(machines, &format!("r{name}-{next:?}"));
    let killed = kill(one, &["thread", "step", &thread]);
    let call = killed.killed().map(|point| point.call.clone());
    let at = format!("{name}: {call:?}, {next:?}");
    if next == Next::SameMachine {
        wait_until("what was killed is done", || one.step(&thread).code != 5);
    }
    // A program whose engine was killed has ended by then.
    wait_for_lease(other, &thread);
    other.uwf(&["fetch", &thread]).exits(0);
    let (known, before) = (settled(other, &thread), done(machines).len());
    wait_until("the run is at its end", || {
        let code = other.step(&thread).code;
        assert!([0, 5, 7].contains(&code), "{code} {at}");
        code == 7
    });
    assert_eq!(settled(other, &thread), STEPS.len(), "{at}");
    assert_eq!(done(machines).len() - before, STEPS.len() - known, "{at}");
    // What the machine whose process was killed still has is no step of the run.
    one.step(&thread).exits(7);
    assert_eq!(settled(one, &thread), STEPS.len(), "{at}");
    assert!(
        kept_beside(one, &thread).is_disjoint(&chain(one, &thread)),
        "{at}"
    );
    assert_eq!(head(one, &thread), head(other, &thread), "{at}");
    assert!(at_remote(one, &thread)["leftMs"].is_null(), "{at}");
}

/// Returns the calls before which a process is killed: with a soak, all. Otherwise every third one from the record of the
/// settled step on, and a few before it.
fn chosen(points: &[&Point]) -> BTreeSet<usize> {
    const OTHERS: usize = 4;
    let is_record = |point: &&Point| point.call.contains("/pending.json");
    let settles = points.iter().position(is_record).unwrap();
    let (before, after) = match is_soak() {
        true => (1, 1),
        false => (settles.div_ceil(OTHERS), 3),
    };
    let others = (0..settles).step_by(before);
    others
        .chain((settles..points.len()).step_by(after))
        .collect()
}

#[test]
fn a_process_that_does_a_step_of_a_run_is_killed_and_another_machine_goes_on() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&STEPS));
        machines[0].configure("remote.lease", "1s");
        // The first one makes files that the others find.
        let first = shared(&machines);
        machines[0].step(&first).exits(0);
        let thread = shared_as(&machines, "traced");
        let whole = trace(&machines[0], &["thread", "step", &thread], |_| {
            Verdict::GoOn
        });
        let points = whole.points.iter();
        let points = points.filter(|point| point.command.contains(ENGINE));
        let points: Vec<&Point> = points.collect();
        for number in chosen(&points) {
            check_at(&machines, number, Next::OtherMachine);
            if number.is_multiple_of(4) || is_soak() {
                check_at(&machines, number, Next::SameMachine);
            }
        }
        // There the remote has the step, and the head here has not moved. The numbers of the calls before it are not always the same.
        for next in [Next::OtherMachine, Next::SameMachine] {
            check(&machines, "moves", next, |one, step| {
                kill_before(one, step, ENGINE, |call| call.ends_with(HEADS))
            });
        }
        machines[0].uwf(&["remote", "verify"]).exits(0);
        for world in &machines {
            world.uwf(&["cas", "verify"]).exits(0);
        }
    });
}

#[test]
fn a_program_that_was_left_running_is_ended_when_its_machine_comes_back() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&STEPS));
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines);
        let engine = at_work(&machines, one, &["thread", "step", &thread]);
        let left = program(&machines);
        processes::kill(engine);
        signal("STOP", &left);
        open_gate(&machines);
        other.step(&thread).exits(5).says("is busy");
        wait_for_lease(other, &thread);
        other.step(&thread).exits(0);
        assert!(processes::is_running(&left));
        one.step(&thread).exits(0);
        assert!(!processes::is_running(&left), "another one did its step");
        assert_eq!(done(&machines), "ABBC");
        agree_on(&machines, &thread, &STEPS);
    });
}

#[test]
fn a_machine_whose_process_was_killed_goes_on_itself() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&STEPS));
        let [one, other] = &machines;
        let thread = shared(&machines);
        let engine = at_work(&machines, one, &["thread", "step", &thread]);
        let left = program(&machines);
        processes::kill(engine);
        open_gate(&machines);
        other.step(&thread).exits(5).says("is busy");
        one.uwf(&["thread", "run", &thread]).exits(0);
        assert!(!processes::is_running(&left));
        assert_eq!(done(&machines), "ABBC");
        agree_on(&machines, &thread, &["A", "_resume", "B", "C"]);
    });
}

#[test]
fn a_kill_ends_a_process_that_has_shared_steps_of_the_run_before() {
    with_server(|server| {
        let last = pipeline(&["C"]).replace("name: p\nsteps:\n", "");
        let last = last.replace("-e wait ", "-e wait-for-C ");
        let machines = machines(server, &format!("{}{last}", pipeline(&["A", "B"])));
        let [one, other] = &machines;
        one.write("wait-for-C", "");
        other.configure("remote.lease", "2s");
        let thread = shared(&machines);
        let mut working = other.spawn(&["thread", "run", &thread]);
        wait_until("the last program works", || done(&machines) == "ABC");
        let program = program(&machines);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert_eq!(working.wait().unwrap().code(), Some(7));
        assert!(!processes::is_running(&program), "it works for nothing");
        assert_eq!(other.show(&thread)["status"], "cancelled");
        agree_on(&machines, &thread, &["A", "B"]);
    });
}

#[test]
fn a_kill_ends_the_program_that_another_machine_runs() {
    with_server(|server| {
        let machines = machines(server, &pipeline(&STEPS));
        let [one, other] = &machines;
        other.configure("remote.lease", "2s");
        let thread = shared(&machines);
        let mut working = at_work(&machines, other, &["thread", "step", &thread]);
        let program = program(&machines);
        one.uwf(&["thread", "kill", &thread])
            .exits(0)
            .says("its lease is ended");
        assert_eq!(working.wait().unwrap().code(), Some(7));
        assert!(!processes::is_running(&program), "it works for nothing");
        open_gate(&machines);
        for world in &machines {
            assert_eq!(world.show(&thread)["status"], "cancelled");
        }
        other.step(&thread).exits(7);
        agree_on(&machines, &thread, &["A"]);
    });
}

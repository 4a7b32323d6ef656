//! Calls that step shared threads with children are killed, and the other machine goes on when their leases have ended.

use std::collections::BTreeSet;

use serde_json::json;

use crate::children_care::done;
use crate::crash::sweep::kill_at;
use crate::crash::tracer::{Point, Verdict, trace};
use crate::gates::runs;
use crate::sharing::with_server;
use crate::sharing_children::{BRANCHES, family_at_remote, family_of, machines, share};
use crate::world::{World, is_soak, wait_until};

/// The words of the processes that are killed.
const ENGINE: &str = " thread ";

/// A family whose thread has done this many steps, with this many branches of two steps each.
struct Case {
    role: &'static str,
    branches: usize,
    calls: usize,
}

impl Case {
    /// Starts a thread, does the first steps, and shares it.
    fn start(&self, machines: &[World; 2]) -> String {
        let thread = machines[0].start("outer");
        for _ in 0..=self.calls {
            machines[0].step(&thread).exits(0);
        }
        share(machines, &thread);
        thread
    }

    /// Kills a call before some of its system calls, each time with a new family. The other machine goes on.
    fn check(&self) {
        with_server(|server| {
            let machines = machines(server, self.role);
            machines[0].configure("remote.lease", "1s");
            let thread = self.start(&machines);
            let whole = trace(&machines[0], &["thread", "step", &thread], |_| {
                Verdict::GoOn
            });
            let points = whole.points.iter();
            let points = points.filter(|point| point.command.contains(ENGINE));
            for number in chosen(&points.collect::<Vec<_>>()) {
                self.check_at(&machines, number);
            }
            machines[0].uwf(&["remote", "verify"]).exits(0);
            for world in &machines {
                world.uwf(&["cas", "verify"]).exits(0);
            }
        });
    }

    fn check_at(&self, machines: &[World; 2], number: usize) {
        let [one, other] = machines;
        let thread = self.start(machines);
        let paid_before = runs(one) + runs(other) - (1 + self.calls * self.branches);
        let step = ["thread", "step", &thread];
        let killed = kill_at(one, &step, ENGINE, number, Verdict::Kill);
        let at = format!("{number}: {:?}", killed.killed());
        let is_same_machine_next = number.is_multiple_of(2);
        if is_same_machine_next {
            wait_until("what was killed is done", || one.step(&thread).code != 5);
        }
        other.uwf(&["fetch", &thread]).exits(0);
        let settled = agent_steps(other, &thread);
        let before = runs(other);
        wait_until("the thread is at its end", || {
            let code = other.step(&thread).code;
            assert!([0, 5, 7].contains(&code), "{code} {at}");
            done(other, &thread) == json!(true)
        });
        let needed = 1 + 2 * self.branches;
        assert_eq!(agent_steps(other, &thread), needed, "{at}");
        assert_eq!(runs(other) - before, needed - settled, "{at}");
        if is_same_machine_next {
            assert_eq!(runs(one) + runs(other) - paid_before, needed, "{at}");
        }
        let there = family_at_remote(other, &thread);
        assert_eq!(
            there.len(),
            1 + self.branches,
            "one child for each id: {at}"
        );
        assert!(
            there.iter().all(|one| one["status"] == json!("ended")),
            "{at}"
        );
        // What the machine whose call was killed still has is no step of the family.
        one.step(&thread).exits(7);
        one.uwf(&["fetch", &thread]);
        for child in family_of(one, &thread).keys() {
            one.step(child).exits(7);
        }
        assert_eq!(family_of(one, &thread), family_of(other, &thread), "{at}");
        assert_eq!(family_at_remote(other, &thread), there, "{at}");
    }
}

/// Returns how many steps agents did in a family, as a machine has it.
fn agent_steps(world: &World, thread: &str) -> usize {
    let family = family_of(world, thread);
    let steps = family.iter().map(|(one, steps)| match one == thread {
        // The second step is that of the children.
        true => steps.len().min(1),
        false => steps.len(),
    });
    steps.sum()
}

/// Returns the calls before which a process is killed: with a soak, all. Otherwise those that change a head or record that a thread is
/// shared, the one after each of them, and a few others.
fn chosen(points: &[&Point]) -> BTreeSet<usize> {
    const OTHERS: usize = 3;
    let stride = if is_soak() {
        1
    } else {
        points.len().div_ceil(OTHERS)
    };
    let mut chosen: BTreeSet<usize> = (0..points.len()).step_by(stride).collect();
    for (number, point) in points.iter().enumerate() {
        let file = point.call.rsplit(' ').next().unwrap_or_default();
        let is_placed = point.call.starts_with("rename ") || point.call.starts_with("link ");
        let is_head = is_placed && file == "root/threads.yaml";
        let is_end = point.call.starts_with("write ") && file == "root/history.jsonl";
        let is_record = file.starts_with("root/shared/") && !point.call.starts_with("create ");
        if is_head || is_end || is_record {
            chosen.extend([number, number + 1]);
        }
    }
    chosen
}

#[test]
fn the_first_step_of_a_child_is_killed_and_another_machine_goes_on() {
    Case {
        role: "workflow: ./inner.yaml",
        branches: 1,
        calls: 0,
    }
    .check();
}

#[test]
fn the_last_step_of_a_child_is_killed_and_another_machine_goes_on() {
    Case {
        role: "workflow: ./inner.yaml",
        branches: 1,
        calls: 1,
    }
    .check();
}

#[test]
fn the_first_steps_of_branches_are_killed_and_another_machine_goes_on() {
    Case {
        role: BRANCHES,
        branches: 2,
        calls: 0,
    }
    .check();
}

#[test]
fn the_last_steps_of_branches_are_killed_and_another_machine_goes_on() {
    Case {
        role: BRANCHES,
        branches: 2,
        calls: 1,
    }
    .check();
}

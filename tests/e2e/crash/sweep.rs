//! Kills a command at each of its points in turn, and judges what is left.

use std::collections::HashSet;
use std::process::Command;

use super::reader::Ledger;
use super::tracer::{Point, Traced, Verdict, trace};
use crate::world::{World, is_soak};

/// Kills the process whose command line has the words before [its calls](chosen) in turn, each time in the same
/// world. After each kill all that was recorded must still be there, before and after `go_on` has gone on with the
/// work. Returns the calls before which it was killed.
#[track_caller]
pub(crate) fn kill_everywhere(
    world: &World,
    args: &[&str],
    words: &str,
    go_on: impl FnMut(&Traced),
) -> Vec<String> {
    kill_everywhere_by(world, args, words, Verdict::Kill, go_on)
}

/// Kills as [`kill_everywhere`] does, by this verdict.
#[track_caller]
pub(crate) fn kill_everywhere_by(
    world: &World,
    args: &[&str],
    words: &str,
    by: Verdict,
    mut go_on: impl FnMut(&Traced),
) -> Vec<String> {
    save(world);
    let before = Ledger::read(&world.root());
    let whole = trace(world, args, |_| Verdict::GoOn);
    restore(world);
    let of_process: Vec<&Point> = whole.points.iter().filter(|it| it.command.contains(words)).collect();
    let mut calls = Vec::new();
    for number in chosen(&of_process) {
        let traced = kill_at(world, args, words, number, by);
        let Some(point) = traced.killed() else {
            // This time it made fewer calls.
            break;
        };
        let at = At(number, point);
        let left = Ledger::read(&world.root());
        left.keeps(&before);
        go_on(&traced);
        Ledger::read(&world.root()).keeps(&left);
        drop(at);
        calls.push(point.call.clone());
        restore(world);
    }
    calls
}

/// Returns the numbers of the calls before which a process is killed: with a soak, all. Otherwise, the first of each kind in each
/// folder, and so many others at even distances.
pub(crate) fn chosen(points: &[&Point]) -> Vec<usize> {
    const OTHERS: usize = 20;
    let stride = if is_soak() { 1 } else { points.len().div_ceil(OTHERS).max(1) };
    let mut seen = HashSet::new();
    let numbered = points.iter().enumerate();
    let chosen = numbered.filter(|(number, point)| {
        let is_first = seen.insert(kind(&point.call));
        is_first || number % stride == 0
    });
    chosen.map(|(number, _)| number).collect()
}

/// Returns what a call does, and in which folder.
fn kind(call: &str) -> (&str, &str) {
    let (what, path) = call.split_once(' ').unwrap_or((call, ""));
    // A file is renamed to the last name.
    let path = path.rsplit(' ').next().unwrap_or(path);
    (what, path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// Runs a command and kills the process whose command line has the words before its call with this number.
pub(crate) fn kill_at(
    world: &World,
    args: &[&str],
    words: &str,
    number: usize,
    by: Verdict,
) -> Traced {
    let mut passed = 0;
    trace(world, args, |point| {
        if !point.command.contains(words) {
            return Verdict::GoOn;
        }
        passed += 1;
        match passed == number + 1 {
            true => by,
            false => Verdict::GoOn,
        }
    })
}

/// Runs a command and kills the process whose command line has the words before the first call that is looked for.
/// Fails if there was none.
#[track_caller]
pub(crate) fn kill_before(
    world: &World,
    args: &[&str],
    words: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Traced {
    let mut is_killed = false;
    let traced = trace(world, args, |point| {
        if is_killed || !point.command.contains(words) || !is_wanted(&point.call) {
            return Verdict::GoOn;
        }
        is_killed = true;
        Verdict::Kill
    });
    assert!(traced.killed().is_some(), "not hit: {:#?}", traced.points);
    traced
}

/// Tells whether an agent had put its step on record as finished when a process was killed.
pub(crate) fn is_recorded_as_finished(traced: &Traced) -> bool {
    // A record is written in place or renamed into it.
    let wrote = |call: &str| {
        let changes = ["write ", "rename "]
            .iter()
            .any(|way| call.starts_with(way));
        changes && call.ends_with("/pending.json")
    };
    let mut passed = traced.before_the_kill().iter();
    passed.any(|point| point.command.contains(" agent ") && wrote(&point.call))
}

/// Says at which point a test failed.
struct At<'a>(usize, &'a Point);

impl Drop for At<'_> {
    #[expect(clippy::print_stderr, reason = "a test that failed says where")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("killed at point {}: {:?}", self.0, self.1);
        }
    }
}

pub(crate) fn save(world: &World) {
    for folder in ["root", "project"] {
        copy(world, folder, &format!("saved-{folder}"));
    }
}

pub(crate) fn restore(world: &World) {
    for folder in ["root", "project"] {
        std::fs::remove_dir_all(world.dir().join(folder)).unwrap();
        copy(world, &format!("saved-{folder}"), folder);
    }
}

fn copy(world: &World, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| world.dir().join(name));
    let mut copy = Command::new("cp");
    assert!(copy.arg("-a").args([from, to]).status().unwrap().success());
}

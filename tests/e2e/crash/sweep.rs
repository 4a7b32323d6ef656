//! Kills a command at each of its points in turn, and judges what is left.

use std::collections::HashSet;
use std::process::Command;

use super::reader::Ledger;
use super::tracer::{Point, Traced, Verdict, trace};
use crate::world::{World, is_soak};

/// Kills the process whose command line has the words, before each of its calls in turn: each time in the same
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

/// Kills as [`kill_everywhere`] does. The world is prepared again before each kill: a copy of it is not the same.
#[track_caller]
pub(crate) fn kill_everywhere_prepared(
    world: &World,
    prepare: impl Fn(),
    args: &[&str],
    words: &str,
    go_on: impl FnMut(&Traced),
) -> Vec<String> {
    sweep(world, prepare, (args, words, Verdict::Kill), go_on)
}

/// Kills as [`kill_everywhere`] does, by this verdict.
#[track_caller]
pub(crate) fn kill_everywhere_by(
    world: &World,
    args: &[&str],
    words: &str,
    by: Verdict,
    go_on: impl FnMut(&Traced),
) -> Vec<String> {
    sweep(world, || {}, (args, words, by), go_on)
}

fn sweep(
    world: &World,
    prepare: impl Fn(),
    (args, words, by): (&[&str], &str, Verdict),
    mut go_on: impl FnMut(&Traced),
) -> Vec<String> {
    save(world);
    let before = Ledger::read(&world.root());
    let mut calls = Vec::new();
    loop {
        prepare();
        let traced = kill_at(world, args, words, calls.len(), by);
        let Some(point) = traced.killed() else {
            return calls;
        };
        judge(world, &before, &At(calls.len(), point), || go_on(&traced));
        calls.push(point.call.clone());
        restore(world);
    }
}

/// Kills as [`kill_everywhere`] does, before [many](chosen) of the calls: for commands whose sweep takes minutes.
#[track_caller]
pub(crate) fn kill_at_many(
    world: &World,
    args: &[&str],
    words: &str,
    mut go_on: impl FnMut(&Traced),
) -> Vec<String> {
    save(world);
    let before = Ledger::read(&world.root());
    let whole = trace(world, args, |_| Verdict::GoOn);
    restore(world);
    let of_process: Vec<&Point> = whole
        .points
        .iter()
        .filter(|it| it.command.contains(words))
        .collect();
    let mut calls = Vec::new();
    for number in chosen(&of_process) {
        let traced = kill_like(world, args, words, &of_process[..=number]);
        let Some(point) = traced.killed() else {
            // This time it made fewer calls of this kind.
            continue;
        };
        judge(world, &before, &At(number, point), || go_on(&traced));
        calls.push(point.call.clone());
        restore(world);
    }
    calls
}

/// Checks what a kill has left, goes on, and checks what there is then.
#[track_caller]
fn judge(world: &World, before: &Ledger, _at: &At<'_>, go_on: impl FnOnce()) {
    let left = Ledger::read(&world.root());
    left.keeps(before);
    go_on();
    Ledger::read(&world.root()).keeps(&left);
}

/// Returns the numbers of the calls before which a process is killed: with a soak, all, and all of a few. Of more, the first of each
/// kind in each folder, and ten others at even distances.
pub(crate) fn chosen(points: &[&Point]) -> Vec<usize> {
    const FEW: usize = 40;
    const OTHERS: usize = 10;
    let stride = match is_soak() || points.len() <= FEW {
        true => 1,
        false => points.len().div_ceil(OTHERS),
    };
    let mut seen = HashSet::new();
    let numbered = points.iter().enumerate();
    let chosen = numbered.filter(|(number, point)| {
        let is_first = seen.insert(kind(&point.call));
        is_first || number % stride == 0
    });
    chosen.map(|(number, _)| number).collect()
}

/// Returns what a call does, and in which folder: `rename root/a root/runs/b` is a rename into `root/runs`.
fn kind(call: &str) -> (&str, &str) {
    let what = call
        .find('/')
        .map_or(call, |at| call[..at].rsplit_once(' ').map_or("", |it| it.0));
    let path = call.rsplit(' ').next().unwrap_or_default();
    (what, path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// Runs a command and kills the process whose command line has the words before the last of these calls, which an earlier run made:
/// names of files may differ, and the calls of processes that run at once may come in another order.
fn kill_like(world: &World, args: &[&str], words: &str, calls: &[&Point]) -> Traced {
    let wanted = kind(&calls[calls.len() - 1].call);
    let mut left = calls
        .iter()
        .filter(|point| kind(&point.call) == wanted)
        .count();
    trace(world, args, |point| {
        if !point.command.contains(words) || kind(&point.call) != wanted || left == 0 {
            return Verdict::GoOn;
        }
        left -= 1;
        match left {
            0 => Verdict::Kill,
            _ => Verdict::GoOn,
        }
    })
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

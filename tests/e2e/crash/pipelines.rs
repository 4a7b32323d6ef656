//! Runs of pipelines are killed before each of their system calls. A step that has settled is never done again, a lost attempt
//! is named, every task ends in one place, and the last picture is that of an undisturbed run.

use std::fs;

use super::pipelines_left::{Done, Left, chain, picture, run_roots};
use super::reader::Ledger;
use super::sweep::{restore, save};
use super::tracer::{Point, Traced, Verdict, trace};
use crate::world::{World, is_soak};

/// The words of the processes that may be killed.
const ENGINE: &str = " orchestrate ";

/// A step that says that it was done.
const A: &str = "  - {name: A, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; echo a'], output_file: out/a}\n";

/// A loop over tasks, each of which is moved when its item is done. The second item fails while there is a file `fail`.
const LOOP: &str = "  - name: L
    for_each:
      items: [inbox/1.task, inbox/2.task]
      as: task
      on_item_complete: {success: {move_to: processed}, failure: {move_to: failed}}
      steps:
        - {name: E, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; cat \"$1\"; test $1 != inbox/2.task || test ! -e fail', _, '${task}']}
";
const C: &str = "  - {name: C, command: [sh, -c, 'echo $ORCHESTRATE_STEP >> ran; cat out/a'], output_capture: lines}\n";

/// A world with a pipeline of these steps.
pub(super) fn world(steps: &[&str]) -> World {
    let world = World::new();
    world.write("p.yaml", &format!("steps:\n{}", steps.concat()));
    for task in ["1", "2"] {
        world.write(&format!("inbox/{task}.task"), task);
    }
    fs::create_dir(world.root()).unwrap();
    world
}

/// Goes on with the only run, or makes it if it was not made.
#[track_caller]
fn go_on(world: &World, args: &[&str]) {
    let ledger = Ledger::read(&world.root());
    match ledger.threads.keys().next() {
        None => {
            world.uwf(args).exits(0);
        }
        // A process that was killed when the run had just ended may not have written the last picture.
        Some(thread) => {
            world.uwf(&["orchestrate", "resume", thread]).exits(0);
        }
    }
}

/// Tells whether a call is one of the engine. A child that is not yet the program of its step looks the same.
fn is_of_engine(point: &Point) -> bool {
    point.command.contains(ENGINE) && !point.call.starts_with("become ")
}

/// Kills a command before the first of its calls that is wanted.
fn kill_before(world: &World, args: &[&str], is_wanted: impl FnMut(&str) -> bool) -> Traced {
    strike(world, args, Verdict::Kill, is_wanted).0
}

/// Does something to a command before the first of its calls that is wanted, and also returns that call.
fn strike(
    world: &World,
    args: &[&str],
    by: Verdict,
    mut is_wanted: impl FnMut(&str) -> bool,
) -> (Traced, Option<Point>) {
    let mut hit = None;
    let traced = trace(world, args, |point| {
        if hit.is_some() || !is_of_engine(point) || !is_wanted(&point.call) {
            return Verdict::GoOn;
        }
        hit = Some(point.clone());
        by
    });
    (traced, hit)
}

/// A command that is killed, and what it leaves if it is not.
struct Case<'a> {
    world: &'a World,
    args: &'a [&'a str],
    /// The steps that are done again although they have settled: they had failed.
    again: &'a [&'a str],
    undisturbed: Left,
    keys: Vec<String>,
    lost: usize,
}

impl<'a> Case<'a> {
    #[track_caller]
    fn new(world: &'a World, args: &'a [&'a str], again: &'a [&'a str]) -> Self {
        save(world);
        world.uwf(args).exits(0);
        let undisturbed = Left::of(world);
        let done = Done::of(world);
        restore(world);
        Self {
            world,
            args,
            again,
            undisturbed,
            keys: done.keys(),
            lost: done.lost(),
        }
    }

    /// Goes on after a kill, compares with what an undisturbed run leaves, and makes the world as it was. Returns the call
    /// before which the command was killed; `None` if it was not.
    #[track_caller]
    fn judge(&self, number: usize, traced: &Traced) -> Option<String> {
        let Some(point) = traced.killed() else {
            assert_eq!(traced.code, Some(0), "{}", traced.stderr);
            restore(self.world);
            return None;
        };
        self.judge_at(number, point);
        Some(point.call.clone())
    }

    /// Goes on after something was done to the command at a point.
    #[track_caller]
    fn judge_at(&self, number: usize, point: &Point) {
        let world = self.world;
        let at = At(number, point);
        let left = Ledger::read(&world.root());
        let settled = Done::of(world);
        for folder in run_roots(world) {
            picture(&folder);
        }
        go_on(world, self.args);
        Ledger::read(&world.root()).keeps(&left);
        let now = Done::of(world);
        now.keeps(&settled, self.again);
        now.is_accounted_for(0);
        assert!(now.lost() >= self.lost, "an attempt is forgotten");
        assert_eq!(now.keys(), self.keys);
        assert_eq!(Left::of(world), self.undisturbed);
        drop(at);
        restore(world);
    }

    /// Kills the command before each of its calls in turn; without a soak, before every third.
    #[track_caller]
    fn kill_everywhere(&self) -> Vec<String> {
        let stride = stride(3);
        let mut calls = Vec::new();
        loop {
            let number = calls.len() * stride;
            let mut passed = 0;
            let traced = kill_before(self.world, self.args, |_| {
                passed += 1;
                passed == number + 1
            });
            match self.judge(number, &traced) {
                Some(call) => calls.push(call),
                None => return calls,
            }
        }
    }
}

/// Returns every how many calls are tried.
fn stride(usual: usize) -> usize {
    if is_soak() { 1 } else { usual }
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

#[test]
fn a_new_run_that_is_killed_anywhere_goes_on_where_it_was() {
    let world = world(&[A]);
    let case = Case::new(&world, &["orchestrate", "run", "p.yaml"], &[]);
    let calls = case.kill_everywhere();
    assert!(calls.len() > 20, "{calls:#?}");
}

/// Returns the only thread.
#[track_caller]
fn thread(world: &World) -> String {
    let ledger = Ledger::read(&world.root());
    ledger.threads.keys().next().expect("a thread").clone()
}

/// A world whose run was stopped by the second item of its loop, and can go on.
fn stopped() -> World {
    let world = world(&[A, LOOP, C]);
    world.write("fail", "");
    let args = ["orchestrate", "run", "p.yaml", "--archive-processed"];
    world.uwf(&args).exits(1);
    fs::remove_file(world.project().join("fail")).unwrap();
    world
}

#[test]
fn a_resume_that_is_killed_anywhere_ends_the_loop_moves_each_task_once_and_makes_the_archive() {
    let world = stopped();
    let args = ["orchestrate", "resume", &thread(&world)];
    let calls = Case::new(&world, &args, &["L[1].E"]).kill_everywhere();
    assert!(calls.len() > 25, "{calls:#?}");
}

#[test]
fn a_request_to_end_anywhere_interrupts_a_run_that_can_be_resumed() {
    let world = world(&[A, LOOP, C]);
    let args = ["orchestrate", "run", "p.yaml", "--archive-processed"];
    let case = Case::new(&world, &args, &[]);
    let (mut number, mut interrupted) = (0, 0);
    loop {
        let mut passed = 0;
        let (traced, hit) = strike(&world, &args, Verdict::Terminate, |_| {
            passed += 1;
            passed == number + 1
        });
        let Some(point) = hit else {
            break;
        };
        // It is too late for a request, or too early for this process to heed it.
        let expected = [Some(143), Some(0), None];
        assert!(
            expected.contains(&traced.code),
            "{point:?}: {:?} {}",
            traced.code,
            traced.stderr
        );
        if traced.code == Some(143) {
            interrupted += 1;
            let folder = run_roots(&world).pop().unwrap();
            assert_eq!(picture(&folder)["status"], "interrupted", "{point:?}");
        }
        case.judge_at(number, &point);
        number += stride(9);
    }
    assert!(interrupted > 5, "{interrupted}");
}

#[test]
fn a_resume_after_a_kill_that_is_killed_anywhere_names_every_lost_attempt() {
    let world = world(&[A, C]);
    let mut started = 0;
    // The program of the second step is about to start.
    let traced = trace(&world, &["orchestrate", "run", "p.yaml"], |point| {
        started += usize::from(point.call.starts_with("become ") && point.command.contains(ENGINE));
        match started {
            2 => Verdict::KillWith(ENGINE),
            _ => Verdict::GoOn,
        }
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    let args = ["orchestrate", "resume", &thread(&world)];
    let case = Case::new(&world, &args, &[]);
    assert_eq!(case.lost, 1);
    let calls = case.kill_everywhere();
    assert!(calls.len() > 20, "{calls:#?}");
}

#[test]
fn a_run_that_was_killed_before_its_thread_was_there_is_made_by_the_command_of_the_hint() {
    let world = world(&[A]);
    let run = ["orchestrate", "run", "p.yaml", "--run-id", "r"];
    let heads = |call: &str| call.starts_with("rename ") && call.ends_with(" root/threads.yaml");
    let traced = kill_before(&world, &run, heads);
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    let folder = world.project().join(".orchestrate/runs/r");
    assert!(folder.join("thread").exists());
    for args in [
        &["resume", "r"][..],
        &["status", "r"],
        &["status"],
        &["report", "r"],
        &["logs", "r"],
    ] {
        let said = world.uwf(&[&["orchestrate"], args].concat()).exits(2);
        said.says("run `r` was not made completely")
            .says("`uwf orchestrate run WORKFLOW --run-id r` makes the run");
    }
    let list = world.uwf(&["orchestrate", "list"]).exits(0).stdout;
    assert!(list.contains("was not made completely"), "{list}");
    world.uwf(&run).exits(0);
    let list = world.uwf(&["orchestrate", "list"]).exits(0).stdout;
    assert!(list.contains("completed"), "{list}");
}

#[test]
fn a_run_that_was_killed_before_its_first_picture_goes_on_though_the_resume_is_killed_then() {
    let world = world(&[A]);
    let run = ["orchestrate", "run", "p.yaml"];
    let pictures = |call: &str| call.starts_with("rename ") && call.ends_with("/state.json");
    let traced = kill_before(&world, &run, pictures);
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    let id = thread(&world);
    let resume = ["orchestrate", "resume", &id];
    let mut is_recorded = false;
    let traced = kill_before(&world, &resume, |call| {
        is_recorded |= call.starts_with("rename ") && call.ends_with("/pending.json");
        is_recorded && !call.ends_with("/pending.json")
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
    world.uwf(&resume).exits(0);
}

#[test]
fn each_window_of_a_run_is_survived() {
    let world = stopped();
    let id = thread(&world);
    let args = ["orchestrate", "resume", &id];
    let case = Case::new(&world, &args, &["L[1].E"]);
    let windows: [(&str, &str, usize); 15] = [
        // The resume is recorded, and the next attempt is.
        ("write ", "/pending.json", 0),
        ("write ", "/holder.json", 1),
        ("start a process", "", 0),
        // The first step is recorded.
        ("rename root/cas/", ".bin", 3),
        ("write ", "/pending.json", 1),
        // The head follows.
        ("sync root/cas", "", 0),
        ("rename ", " root/threads.yaml", 0),
        // The task is moved.
        ("rename ", "/2.task", 0),
        ("sync project/processed", "", 0),
        // The archive is whole, then it has its name, the run is ended, and the last picture is written.
        ("sync project/.orchestrate/runs/", "", 2),
        ("sync project/.orchestrate/runs/", "", 3),
        ("write root/history.jsonl", "", 0),
        ("rename ", " root/threads.yaml", 1),
        ("rename ", "/state.json", 0),
        ("rename ", "/state.json", 1),
    ];
    for (begin, end, nth) in windows {
        let mut passed = 0;
        let traced = kill_before(&world, &args, |call| {
            passed += usize::from(call.starts_with(begin) && call.ends_with(end));
            passed == nth + 1
        });
        let hit = case.judge(nth, &traced);
        assert!(hit.is_some(), "{begin}…{end} {nth}: {:#?}", traced.points);
    }
}

#[test]
fn the_machine_finds_the_folder_of_a_run_before_its_head_and_every_node_of_the_head() {
    let world = world(&[A, LOOP, C]);
    let args = ["orchestrate", "run", "p.yaml", "--archive-processed"];
    let traced = trace(&world, &args, |_| Verdict::GoOn);
    assert_eq!(traced.code, Some(0), "{}", traced.stderr);
    let engine = traced.points.iter().filter(|point| is_of_engine(point));
    let calls: Vec<&str> = engine.map(|point| point.call.as_str()).collect();
    let find = |begin: &str, end: &str| {
        let is_it = |call: &&str| call.starts_with(begin) && call.ends_with(end);
        calls
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("{begin}…{end}: {calls:#?}"))
    };
    let run = run_roots(&world).pop().unwrap();
    let run = run.strip_prefix(world.dir()).unwrap().to_str().unwrap();
    let made = find("rename ", " root/threads.yaml");
    // The folder, its name, and the way to the thread come first, and are durable.
    let runs = "sync project/.orchestrate/runs";
    let order = [
        find("make folder ", run),
        calls
            .iter()
            .position(|call| *call == runs)
            .expect("the name of the folder is durable"),
        find("rename ", &format!(" {run}/thread")),
        made,
    ];
    assert!(order.is_sorted(), "{order:?} {calls:#?}");
    let named = find("rename ", &format!(" {run}/thread"));
    let draft = calls[named].split(' ').nth(1).unwrap();
    assert!(
        calls[..named].contains(&format!("sync {draft}").as_str()),
        "{calls:#?}"
    );
    assert!(
        calls[named..made].contains(&format!("sync {run}").as_str()),
        "{calls:#?}"
    );
    // All that the last head needs is durable before the run is completed.
    let completed = find("write root/history.jsonl", "").min(calls.len());
    let newest = chain(&world).pop().unwrap().hash;
    let walked = world.uwf(&["cas", "walk", &newest]).exits(0).stdout;
    let mut needed = 0;
    for file in fs::read_dir(world.root().join("cas")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(hash) = name
            .strip_suffix(".bin")
            .filter(|hash| walked.contains(hash))
        else {
            continue;
        };
        needed += 1;
        let path = format!(" root/cas/{hash}.bin");
        let place = find("rename ", &path);
        let draft = calls[place].split(' ').nth(1).unwrap();
        let is_synced = calls[..completed].contains(&format!("sync{path}").as_str())
            || calls[..place].contains(&format!("sync {draft}").as_str());
        assert!(is_synced && place < completed, "{hash}: {calls:#?}");
    }
    assert!(needed > 20, "{needed}");
}

//! Waits for files.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use uwf_pipeline::course::{Dependencies, WaitTask};
use uwf_pipeline::{ErrorKind, Masks, StepResult, Waited};
use uwf_runner::{Attempt, AttemptEnd, Surroundings, wait};

use crate::steps::{Steps, stop_signals};

fn files(glob: &str, min_count: u64, timeout_ms: u64, poll_ms: u64) -> WaitTask {
    WaitTask {
        glob: glob.to_owned(),
        timeout_ms,
        poll_ms,
        min_count,
        secrets: Vec::new(),
        depends_on: Dependencies::default(),
    }
}

fn attempt(steps: &Steps, task: &WaitTask) -> Attempt {
    let around = Surroundings {
        workspace: &steps.world.workspace,
        ours: &steps.ours,
        masks: &Masks::of([]),
        signals: &steps.signals,
        grace: steps.grace,
    };
    wait(&around, task, steps.time(), &mut || Ok(())).unwrap()
}

#[track_caller]
fn result(steps: &Steps, task: &WaitTask) -> (StepResult, Waited) {
    match attempt(steps, task).end {
        AttemptEnd::Settled(result) => {
            let waited = result.waited.clone().unwrap();
            (*result, waited)
        }
        AttemptEnd::Interrupted(stop) => panic!("interrupted: {stop:?}"),
    }
}

#[test]
fn files_that_are_there_end_the_wait_at_once() {
    let steps = Steps::new();
    for path in ["q/b.task", "q/a.task", "q/c.tmp"] {
        steps.world.write(path, "");
    }
    fs::create_dir(steps.world.inside("q/folder.task")).unwrap();
    steps.world.link("q/out.task", steps.world.outside(""));
    let (found, waited) = result(&steps, &files("q/*.task", 2, 60_000, 60_000));
    assert_eq!(found.exit_code, 0);
    assert_eq!(waited.files, ["q/a.task", "q/b.task"]);
    assert_eq!((waited.poll_count, waited.timed_out), (1, false));
    assert!(waited.wait_duration_ms < 10_000);
}

#[test]
fn a_wait_ends_when_enough_files_have_their_names() {
    let steps = Steps::new();
    let (dir, task) = (steps.world.inside("q"), files("q/*.task", 2, 60_000, 20));
    let begun = Instant::now();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        fs::create_dir(&dir).unwrap();
        for name in ["1", "2"] {
            let temporary = dir.join(name).with_extension("tmp");
            fs::write(&temporary, "whole").unwrap();
            std::thread::sleep(Duration::from_millis(60));
            fs::rename(&temporary, dir.join(name).with_extension("task")).unwrap();
        }
    });
    let (found, waited) = result(&steps, &task);
    assert!(begun.elapsed() >= Duration::from_millis(180));
    writer.join().unwrap();
    assert_eq!((found.exit_code, waited.timed_out), (0, false));
    assert_eq!(waited.files, ["q/1.task", "q/2.task"]);
}

#[test]
fn a_wait_that_lasts_too_long_says_what_was_there() {
    let steps = Steps::new();
    steps.world.write("q/a.task", "");
    let begun = Instant::now();
    let (found, waited) = result(&steps, &files("q/*.task", 2, 250, 100));
    assert!(begun.elapsed() >= Duration::from_millis(250));
    assert_eq!(found.exit_code, 124);
    let error = found.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(
        error
            .message
            .starts_with("1 file matches `q/*.task` after "),
        "{}",
        error.message
    );
    assert_eq!(waited.files, ["q/a.task"]);
    assert!(waited.timed_out && waited.wait_duration_ms >= 250);
    // At 0, 100, 200 and 250; a slow machine leaves some out.
    assert!(
        (2..=4).contains(&waited.poll_count),
        "{}",
        waited.poll_count
    );
}

#[test]
fn a_wait_ends_with_the_time_of_the_run() {
    let mut steps = Steps::new();
    steps.run_time = Some(Duration::from_millis(50));
    let (found, waited) = result(&steps, &files("none/*", 1, 60_000, 60_000));
    let error = found.error.unwrap();
    assert_eq!(error.kind, ErrorKind::RunTimeout);
    let said = "and 1 must: the `--timeout` of the run is 0.05";
    assert!(error.message.ends_with(said), "{}", error.message);
    assert_eq!(found.exit_code, 124);
    assert!(waited.timed_out && waited.poll_count <= 2);
}

#[test]
fn a_signal_ends_a_wait_at_once() {
    for (_, number) in stop_signals() {
        let signal = Signal::from_named_raw(number).unwrap();
        let steps = Steps::new();
        steps.signals.watch().unwrap();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            kill_process(getpid(), signal).unwrap();
        });
        let begun = Instant::now();
        let end = attempt(&steps, &files("none/*", 1, 600_000, 600_000)).end;
        killer.join().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60));
        let AttemptEnd::Interrupted(stop) = end else {
            panic!("{end:?}");
        };
        assert_eq!(stop.signal, number);
    }
}

#[test]
fn a_wait_outside_of_the_workspace_or_without_what_it_needs_is_refused() {
    let steps = Steps::new();
    let refused = |task: &WaitTask| match attempt(&steps, task).end {
        AttemptEnd::Settled(result) => (result.exit_code, result.error.unwrap().kind),
        AttemptEnd::Interrupted(stop) => panic!("interrupted: {stop:?}"),
    };
    for glob in ["/tmp/*", "../*"] {
        let kind = refused(&files(glob, 1, 60_000, 10));
        assert_eq!(kind, (2, ErrorKind::PathViolation), "{glob}");
    }
    let mut task = files("*", 1, 60_000, 10);
    task.depends_on.required = vec!["needed".to_owned()];
    assert_eq!(refused(&task), (2, ErrorKind::FailedDeps));
    task.secrets = vec!["TOKEN".to_owned()];
    assert_eq!(refused(&task), (2, ErrorKind::MissingSecrets));
}

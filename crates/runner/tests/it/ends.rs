//! How programs are ended: by limits of time, by signals to this process, and with everything that they started.

use std::fs;
use std::time::{Duration, Instant};

use uwf_pipeline::course::RunTask;
use uwf_pipeline::{Captured, Ended, ErrorKind};
use uwf_runner::{Attempt, AttemptEnd, NotWanted, RunError};

use crate::steps::{Steps, into_file, sh, stop_signals};

const LONG: Duration = Duration::from_secs(60);

fn limited(ms: u64, script: &str) -> RunTask {
    RunTask {
        timeout_ms: Some(ms),
        ..sh(script)
    }
}

/// Waits until no process has this word in its command line.
#[track_caller]
fn ends_everywhere(word: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while runs_somewhere(word) {
        assert!(
            Instant::now() < deadline,
            "a process with `{word}` still runs"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn runs_somewhere(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|dir| fs::read(dir.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn a_step_whose_time_is_over_is_ended_with_what_it_printed() {
    let steps = Steps::new();
    let begun = Instant::now();
    let task = limited(
        1000,
        "echo partial; trap 'echo asked; exit 0' TERM; sleep 777001 & wait",
    );
    let (result, report) = steps.attempt(&into_file("out", task));
    assert!(begun.elapsed() >= Duration::from_millis(1000) && begun.elapsed() < LONG / 10);
    assert_eq!(result.exit_code, 124);
    assert_eq!(result.error.unwrap().kind, ErrorKind::Timeout);
    assert_eq!(report.ended, Some(Ended::TimedOut));
    assert_eq!(steps.world.read("out"), "partial\nasked\n");
    ends_everywhere("777001");
}

#[test]
fn a_program_that_ignores_the_request_is_killed_after_the_grace() {
    let mut steps = Steps::new();
    steps.grace = Duration::from_millis(300);
    let begun = Instant::now();
    let result = steps.result(&limited(1000, "trap '' TERM; while :; do sleep 0.05; done"));
    assert_eq!(result.exit_code, 124);
    assert!(begun.elapsed() >= Duration::from_millis(1300) && begun.elapsed() < LONG / 10);
}

#[test]
fn a_process_in_a_session_of_its_own_is_ended_too() {
    let steps = Steps::new();
    let result = steps.result(&limited(
        300,
        "setsid sleep 777002 & setsid sleep 777002; wait",
    ));
    assert_eq!(result.exit_code, 124);
    ends_everywhere("777002");
}

#[test]
fn the_limit_of_the_run_is_told_from_that_of_the_step() {
    let mut steps = Steps::new();
    steps.run_time = Some(Duration::from_millis(100));
    for task in [sh("sleep 600"), limited(60_000, "sleep 600")] {
        let (code, kind, message) = steps.failure(&task);
        assert_eq!((code, kind), (124, ErrorKind::RunTimeout));
        let said = "the time of the run was over: the `--timeout` of the run is 0.1";
        assert_eq!(message, said);
    }
    steps.run_time = Some(Duration::ZERO);
    let (code, kind, _) = steps.failure(&into_file("out", sh("touch started")));
    assert_eq!((code, kind), (124, ErrorKind::RunTimeout));
    assert_eq!(steps.world.names(""), ["closed"]);
    steps.run_time = Some(LONG);
    let (code, kind, message) = steps.failure(&limited(100, "sleep 600"));
    assert_eq!((code, kind), (124, ErrorKind::Timeout));
    let said = "the time of the step was over: the `timeout_sec` of the step is 0.1";
    assert_eq!(message, said);
}

#[test]
fn what_keeps_the_output_open_is_ended_and_named() {
    let steps = Steps::new();
    let begun = Instant::now();
    let (result, report) = steps.attempt(&sh("setsid sleep 777003 & echo done"));
    assert_eq!(result.exit_code, 0);
    assert!(begun.elapsed() < LONG / 6);
    assert_eq!(report.leaked.len(), 1);
    assert!(
        report.leaked[0].contains("sleep 777003"),
        "{:?}",
        report.leaked
    );
    ends_everywhere("777003");
}

#[test]
fn what_runs_on_without_the_output_runs_on() {
    let steps = Steps::new();
    let script = "(while [ ! -e stop ]; do sleep 0.02; done; touch stopped) >/dev/null 2>&1 &";
    let (result, report) = steps.attempt(&sh(script));
    assert_eq!((result.exit_code, report.leaked.len()), (0, 0));
    assert_eq!(steps.result(&limited(100, "sleep 600")).exit_code, 124);
    steps.world.write("stop", "");
    while !steps.world.inside("stopped").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Makes an attempt that this process is told to stop in.
fn interrupted(steps: &Steps, task: &RunTask) -> (i32, Attempt) {
    let attempt = steps.try_attempt(task, &mut |_| Ok(())).unwrap();
    match &attempt.end {
        AttemptEnd::Interrupted(stop) => (stop.signal, attempt),
        AttemptEnd::Settled(result) => panic!("{result:?}"),
    }
}

#[test]
fn a_signal_to_us_goes_to_the_program_and_nothing_settles() {
    for (name, number) in stop_signals() {
        let steps = Steps::new();
        steps.world.write("out", "old");
        let script = format!(
            "trap 'echo got {name}; exit 1' {name}; echo begun; kill -{name} $PPID; \
             while :; do sleep 0.02; done"
        );
        let (signal, attempt) = interrupted(&steps, &into_file("out", sh(&script)));
        assert_eq!(signal, number);
        assert_eq!((attempt.report.ended, attempt.report.writes), (None, None));
        assert_eq!(steps.world.read("out"), "old");
        assert_eq!(steps.world.names(""), ["closed", "out"]);
        let log = String::from_utf8(steps.log("stdout").unwrap()).unwrap();
        assert_eq!(log, format!("begun\ngot {name}\n"));
        // The next step is not started.
        let (signal, _) = interrupted(&steps, &sh("touch started"));
        assert_eq!(signal, number);
        assert!(!steps.world.inside("started").exists());
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let steps = Steps::new();
    let begun = Instant::now();
    let script = "trap '' TERM; kill -TERM $PPID; sleep 0.5; kill -TERM $PPID; sleep 600";
    let (signal, _) = interrupted(&steps, &sh(script));
    assert_eq!(signal, 15);
    assert!(begun.elapsed() < steps.grace, "{:?}", begun.elapsed());
}

#[test]
fn a_program_that_is_not_wanted_is_ended() {
    let steps = Steps::new();
    let mut told = None;
    let failed = steps.try_attempt(&sh("sleep 777004"), &mut |pid| {
        told = Some(pid);
        Err(NotWanted)
    });
    assert!(matches!(failed, Err(RunError::NotWanted)), "{failed:?}");
    let process = format!("/proc/{}", told.unwrap());
    assert!(!fs::exists(process).unwrap());
}

#[test]
fn output_that_comes_slowly_is_whole() {
    let steps = Steps::new();
    let (result, _) = steps.attempt(&sh("for i in 1 2 3; do echo $i; sleep 0.15; done"));
    let expected = Captured::Text {
        output: "1\n2\n3\n".into(),
        truncated: false,
    };
    assert_eq!(result.captured, Some(expected));
}

//! Unusual workspaces, and what many attempts leave behind.

use std::fs;

use uwf_pipeline::{Captured, Masks};
use uwf_process::Signals;
use uwf_runner::{AttemptEnd, AttemptSpec, OutputText, Surroundings, Watcher, Workspace, attempt};

use crate::steps::{Steps, command, into_file, sh};

#[test]
fn a_workspace_may_be_deep_and_have_an_unusual_name() {
    let mut steps = Steps::new();
    let mut path = steps.world.inside("a b\nü '\"$x");
    while path.as_os_str().len() < 3000 {
        path.push("x".repeat(200));
    }
    fs::create_dir_all(&path).unwrap();
    steps.world.workspace = Workspace::open(&path, &[]).unwrap();
    let (result, _) = steps.attempt(&into_file("new/out", command(&["pwd"])));
    assert_eq!(result.exit_code, 0);
    let said = fs::read_to_string(path.join("new/out")).unwrap();
    let real = path.canonicalize().unwrap();
    assert_eq!(said, format!("{}\n", real.display()));
    let workspace = &steps.world.workspace;
    assert_eq!(workspace.paths("*/o*").unwrap(), ["new/out"]);
    assert_eq!(workspace.move_into("new/out", "old").unwrap(), "old/out");
    workspace.clean("old").unwrap();
}

#[test]
fn many_attempts_leave_no_file_open_and_no_process() {
    let steps = Steps::new();
    // Other tests have files open, too, but not these.
    let top = steps.world.outside("..").canonicalize().unwrap();
    let open = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = all.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        targets.filter(|target| target.starts_with(&top)).count()
    };
    steps.world.write("in/a", "");
    let attempts = |count| {
        for _ in 0..count {
            assert_eq!(
                steps
                    .result(&into_file("out", sh("echo 1; echo 2 >&2")))
                    .exit_code,
                0
            );
            steps.failure(&command(&["no-such-program"]));
            steps.world.workspace.paths("*/*").unwrap();
        }
    };
    attempts(1);
    let before = open();
    attempts(20);
    assert_eq!(open(), before);
    let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    assert_eq!(children, "");
}

#[test]
fn output_is_shown_while_it_comes_and_without_secrets() {
    let steps = Steps::new();
    let seen = std::sync::Mutex::new(Vec::new());
    let begun = std::time::Instant::now();
    let show = |stream, masked: &[u8]| {
        let text = String::from_utf8(masked.to_vec()).unwrap();
        let mut seen = seen.lock().unwrap();
        seen.push((stream, text, begun.elapsed()));
    };
    let masks = Masks::of([&b"s3cr3tvalue"[..]]);
    let signals = Signals::default();
    let around = Surroundings {
        workspace: &steps.world.workspace,
        ours: &steps.ours,
        masks: &masks,
        signals: &signals,
        grace: steps.grace,
    };
    let spec = AttemptSpec {
        told: &[],
        stdout_log: steps.world.log("stdout"),
        max_stdout_log: 1 << 20,
        stderr_log: steps.world.log("stderr"),
        output_text: OutputText::Exact,
        run_time: None,
        show: &show,
    };
    let mut ticks = 0;
    let mut watcher = Watcher {
        started: &mut |_| Ok(()),
        tick: &mut || {
            ticks += 1;
            if ticks < 1000 {
                Ok(())
            } else {
                Err(uwf_runner::NotWanted)
            }
        },
    };
    let task = sh("echo s3cr3tvalue; sleep 0.5; echo two >&2");
    let attempt = attempt(&around, &task, &spec, &mut watcher).unwrap();
    let AttemptEnd::Settled(result) = attempt.end else {
        panic!("{:?}", attempt.end);
    };
    let text = |output: &str| Captured::Text {
        output: output.to_owned(),
        truncated: false,
    };
    assert_eq!(result.captured, Some(text("***\n")));
    let seen = seen.into_inner().unwrap();
    let texts: Vec<&str> = seen.iter().map(|(_, text, _)| &**text).collect();
    assert_eq!(texts, ["***\n", "two\n"]);
    assert!(seen[1].2 - seen[0].2 >= std::time::Duration::from_millis(400));
    assert!(ticks > 1, "the watcher is asked while the program runs");
}

//! How much memory a step takes whose output is large. The limit is one of the whole process, so this file has one test.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::path::Path;

use uwf_pipeline::course::{Dependencies, RunTask};
use uwf_pipeline::{Capture, Masks, Retries, Word};
use uwf_process::Signals;
use uwf_runner::{
    Attempt, AttemptEnd, AttemptSpec, OutputText, Surroundings, Watcher, Workspace, attempt,
};

/// How much memory may be resident, in KiB.
const MAX_KIB: u64 = 64 * 1024;

#[test]
fn a_step_takes_little_memory_however_large_its_output_is() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "yes 'a line of some length, as programs print them' | head -c 16M";
    for (capture, mib) in [(Capture::Text, 256), (Capture::Lines, 64)] {
        let script = format!("head -c {mib}M /dev/zero; {lines}");
        let attempt = run(dir.path(), &task(capture, &script));
        let AttemptEnd::Settled(result) = attempt.end else {
            panic!("{:?}", attempt.end);
        };
        assert_eq!(result.exit_code, 0);
        assert_eq!(attempt.report.bytes, (mib + 16) << 20);
        let resident = most_resident();
        assert!(resident < MAX_KIB, "{capture:?}: {resident} KiB");
    }
}

fn run(dir: &Path, task: &RunTask) -> Attempt {
    let workspace = Workspace::open(dir, &[]).unwrap();
    let ours = [("PATH".into(), std::env::var_os("PATH").unwrap())];
    let masks = Masks::of([]);
    let signals = Signals::default();
    let around = Surroundings {
        workspace: &workspace,
        ours: &ours,
        masks: &masks,
        signals: &signals,
        grace: uwf_runner::GRACE,
    };
    let spec = AttemptSpec {
        told: &[],
        stdout_log: dir.join("stdout"),
        max_stdout_log: 1 << 20,
        stderr_log: dir.join("stderr"),
        output_text: OutputText::Exact,
        run_time: None,
        show: &|_, _| {},
    };
    let mut watcher = Watcher {
        started: &mut |_| Ok(()),
        tick: &mut || Ok(()),
    };
    attempt(&around, task, &spec, &mut watcher).unwrap()
}

fn task(capture: Capture, script: &str) -> RunTask {
    RunTask {
        words: ["sh", "-c", script].map(Word::of).to_vec(),
        prompt: None,
        unused_params: Vec::new(),
        input_file: None,
        output_file: None,
        capture,
        env: [].into(),
        secrets: Vec::new(),
        depends_on: Dependencies::default(),
        timeout_ms: None,
        retries: Retries {
            max: 0,
            delay_ms: 0,
        },
    }
}

/// Returns the most memory that this process has had, in KiB.
fn most_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

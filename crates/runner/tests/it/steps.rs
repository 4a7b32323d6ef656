//! Tasks of programs, and what they are done with. A process collects all its children, so that one test at a time does.

use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uwf_pipeline::course::{Dependencies, RunTask};
use uwf_pipeline::{Capture, ErrorKind, InputMode, Masks, Retries, StepResult, Word, WordPart};
use uwf_process::Signals;
use uwf_runner::{
    Attempt, AttemptEnd, AttemptSpec, NotWanted, OutputText, RunError, RunTime, Surroundings,
    Watcher, attempt,
};

use crate::world::World;

static ALONE: Mutex<()> = Mutex::new(());

/// A run with its surroundings.
pub(crate) struct Steps {
    pub(crate) world: World,
    pub(crate) signals: Signals,
    pub(crate) ours: Vec<(OsString, OsString)>,
    pub(crate) secrets: Vec<String>,
    pub(crate) grace: Duration,
    pub(crate) run_time: Option<Duration>,
    pub(crate) max_stdout_log: u64,
    pub(crate) output_text: OutputText,
    _alone: MutexGuard<'static, ()>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            world: World::new(),
            signals: Signals::default(),
            ours: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            secrets: Vec::new(),
            grace: Duration::from_secs(10),
            run_time: None,
            max_stdout_log: 1 << 30,
            output_text: OutputText::Exact,
            _alone: alone,
        }
    }

    /// Makes an attempt that has a result, and returns it with its report.
    #[track_caller]
    pub(crate) fn attempt(&self, task: &RunTask) -> (StepResult, uwf_runner::Report) {
        let attempt = self.try_attempt(task, &mut |_| Ok(())).unwrap();
        match attempt.end {
            AttemptEnd::Settled(result) => (*result, attempt.report),
            AttemptEnd::Interrupted(stop) => panic!("interrupted: {stop:?}"),
        }
    }

    /// Makes an attempt, and returns its result.
    #[track_caller]
    pub(crate) fn result(&self, task: &RunTask) -> StepResult {
        self.attempt(task).0
    }

    /// Makes an attempt that has to fail, and returns its exit code, the kind of its error and its message.
    #[track_caller]
    pub(crate) fn failure(&self, task: &RunTask) -> (i64, ErrorKind, String) {
        let result = self.result(task);
        let error = result.error.unwrap();
        (result.exit_code, error.kind, error.message)
    }

    /// Makes an attempt. `started` is told the number of the process.
    pub(crate) fn try_attempt(
        &self,
        task: &RunTask,
        started: &mut dyn FnMut(u32) -> Result<(), NotWanted>,
    ) -> Result<Attempt, RunError> {
        let masks = Masks::of(self.secrets.iter().map(String::as_bytes));
        let around = Surroundings {
            workspace: &self.world.workspace,
            ours: &self.ours,
            masks: &masks,
            signals: &self.signals,
            grace: self.grace,
        };
        let told = [("ORCHESTRATE_STEP".into(), "Step".into())];
        let spec = AttemptSpec {
            told: &told,
            stdout_log: self.world.log("stdout"),
            max_stdout_log: self.max_stdout_log,
            stderr_log: self.world.log("stderr"),
            output_text: self.output_text,
            run_time: self.time(),
            show: &|_, _| {},
        };
        let mut watcher = Watcher {
            started,
            tick: &mut || Ok(()),
        };
        attempt(&around, task, &spec, &mut watcher)
    }

    /// Returns the time of the run, which has just begun.
    pub(crate) fn time(&self) -> Option<RunTime> {
        self.run_time.map(|whole| RunTime { whole, left: whole })
    }

    /// Reads a log; `None` if there is none.
    pub(crate) fn log(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.world.log(name)).ok()
    }
}

/// The signals that tell a process to stop, by name and number. One that was started with `nohup` ignores the hang-up.
pub(crate) fn stop_signals() -> Vec<(&'static str, i32)> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    let mut signals = vec![("INT", 2), ("TERM", 15), ("HUP", 1)];
    signals.retain(|(name, _)| *name != "HUP" || ignored & 1 == 0);
    signals
}

/// Returns a command of these words.
pub(crate) fn command(words: &[&str]) -> RunTask {
    RunTask {
        words: words.iter().map(|word| Word::of(*word)).collect(),
        prompt: None,
        unused_params: Vec::new(),
        input_file: None,
        output_file: None,
        capture: Capture::Text,
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

/// Returns a command that runs a script.
pub(crate) fn sh(script: &str) -> RunTask {
    command(&["sh", "-c", script])
}

/// Returns the task with an output file.
pub(crate) fn into_file(path: &str, task: RunTask) -> RunTask {
    RunTask {
        output_file: Some(path.to_owned()),
        ..task
    }
}

/// Returns a provider of these words, of which `PROMPT` is the prompt.
pub(crate) fn provider(words: &[&str], mode: InputMode, input_file: Option<&str>) -> RunTask {
    let words = words.iter().map(|word| match *word {
        "PROMPT" => Word(vec![WordPart::Prompt]),
        word => Word::of(word),
    });
    RunTask {
        words: words.collect(),
        prompt: Some(mode),
        input_file: input_file.map(str::to_owned),
        ..command(&[])
    }
}

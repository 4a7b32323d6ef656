//! The mock agent: answers from a script, for tests, demonstrations and dry runs of a workflow.
//!
//! `uwf-mock [--strict] <script.yaml> <thread> <role>`. A relative path is relative to the thread's working
//! directory. A recording of a real run is also a script; then only its answers are replayed.

mod replay;
mod script;

use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use uwf_agent_kit::{Adapter, AdapterError, ModelUsage, Reply, Task, TryAgain};
use uwf_durable::FileError;
use uwf_protocol::agent::env::HEAD;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::CasRef;
use uwf_storage::{Env, RunDir};

use crate::call;
use crate::options::{self, Known};
use script::{Entry, Script};

pub(crate) const USAGE: &str = "uwf-mock [--strict] <script.yaml> <thread> <role>";

pub(crate) const OPTIONS: [Known; 1] = [Known::Flag(
    "--strict",
    "Fails where no recorded answer has the same instruction",
)];

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let (own, paths): (Vec<String>, Vec<String>) =
        own.iter().cloned().partition(|arg| arg.starts_with('-'));
    let own = options::parse(&own, &OPTIONS).map_err(anyhow::Error::msg)?;
    let strict = !own.options.is_empty();
    let [path] = paths.as_slice() else {
        anyhow::bail!("the path of one script is expected");
    };
    let mut mock = Mock::load(&env.cwd().join(path));
    if let Ok(script) = &mut mock.script {
        script.strict |= strict;
    }
    mock.head = env.var(HEAD).and_then(|head| head.parse().ok());
    Ok(uwf_agent_kit::serve(&mut mock, &call, env))
}

/// The agent. A script that cannot be used fails when a step is done, so that the failure is recorded.
struct Mock {
    script: Result<Script, String>,
    /// How many answers were given in this process.
    answers: usize,
    /// The head that the step follows, if the environment names it.
    head: Option<CasRef>,
}

fn read(path: &Path) -> Result<String, String> {
    let content = match uwf_durable::read(path) {
        Ok(Some(content)) => content,
        Ok(None) => return Err("there is no such file".to_owned()),
        Err(error) => return Err(said(&error)),
    };
    String::from_utf8(content).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Returns an error with its cause.
fn said(error: &FileError) -> String {
    match error {
        FileError::Io { source, .. } => source.to_string(),
        FileError::NotRegular { kind, .. } => format!("it is {kind}, not a regular file"),
        FileError::Link { .. } => error.to_string(),
    }
}

impl Mock {
    fn load(path: &Path) -> Self {
        let script = read(path)
            .and_then(|text| Script::parse(&text))
            .map_err(|problem| format!("script `{}`: {problem}", path.display()));
        Self {
            script,
            answers: 0,
            head: None,
        }
    }

    fn script(&self) -> Result<&Script, AdapterError> {
        self.script.as_ref().map_err(AdapterError::not_started)
    }

    fn entry(&self, task: &Task) -> Result<&Entry, AdapterError> {
        self.script()?.entry(task).map_err(AdapterError::failed)
    }

    /// Returns how many attempts at this step have failed.
    fn failures(&self, task: &Task) -> usize {
        let attempts = RunDir::at(task.run_dir.clone()).ledger.attempts();
        let here = attempts
            .iter()
            .filter(|attempt| Some(attempt.head) == self.head && attempt.role == task.role);
        here.count()
    }

    /// Does what the entry says before it gives an answer.
    fn answer_from(
        &self,
        entry: &Entry,
        task: &Task,
        answer: Option<String>,
    ) -> Result<Reply, AdapterError> {
        let session_id = entry
            .has_session()
            .then(|| format!("mock-{}-{}", task.role, task.visit));
        thread::sleep(Duration::from_millis(entry.sleep_ms));
        if !entry.stderr.is_empty() {
            let _ = writeln!(io::stderr(), "{}", entry.stderr.trim_end());
        }
        match (entry.exit_after(|| self.failures(task)), answer) {
            (0, Some(text)) => Ok(Reply {
                text,
                session_id,
                usage: entry.usage.clone(),
                model: entry.model.clone(),
                ..Reply::default()
            }),
            (0, None) => Err(AdapterError::failed(
                "the script has no answer to a correction here",
            )),
            (code, _) => Err(AdapterError {
                exit_code: code.into(),
                session_id,
                usage: entry.usage.clone().map(|usage| {
                    Box::new(ModelUsage {
                        usage,
                        model: entry.model.clone(),
                    })
                }),
                try_again: entry
                    .retry_after_ms
                    .map(|ms| Box::new(TryAgain::After(Duration::from_millis(ms)))),
                ..AdapterError::failed(format!("the script says `exit: {code}`"))
                    .class(entry.class.unwrap_or(FailureClass::Crash))
            }),
        }
    }

    /// Answers from the recording.
    fn replay(&self, script: &Script, task: &Task) -> Result<Reply, AdapterError> {
        let found = replay::pick(&script.recording, task, self.failures(task))
            .map_err(|problem| AdapterError::failed(problem).hint(RECORD_AGAIN))?;
        if let Some(changed) = found.changed {
            let note = format!("the instruction has changed: {changed}");
            if script.strict {
                return Err(AdapterError::failed(note).hint(RECORD_AGAIN));
            }
            let (role, visit) = (&task.role, task.visit);
            let _ = writeln!(
                io::stderr(),
                "note: {note}; visit {visit} of `{role}` is played all the same"
            );
        }
        let recorded = found.recorded;
        match &recorded.answer {
            Some(answer) => Ok(Reply {
                text: answer.clone(),
                usage: recorded.usage.clone(),
                ..Reply::default()
            }),
            None => {
                let code = recorded.exit.unwrap_or(1);
                Err(AdapterError {
                    exit_code: code.into(),
                    ..AdapterError::failed(format!(
                        "this attempt was recorded with exit code {code}"
                    ))
                })
            }
        }
    }
}

/// The hint for a recording that does not fit any more.
const RECORD_AGAIN: &str = "record the workflow again with `uwf agent record`";

impl Adapter for Mock {
    fn label(&self) -> String {
        "uwf-mock".to_owned()
    }

    fn can_resume(&self) -> bool {
        self.script.as_ref().is_ok_and(Script::has_sessions)
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        let script = self.script()?;
        if !script.recording.is_empty() {
            return self.replay(script, task);
        }
        let entry = self.entry(task)?;
        let reply = self.answer_from(entry, task, entry.answer())?;
        self.answers += 1;
        Ok(reply)
    }

    fn resume(&mut self, task: &Task, _: &str, _: &str) -> Result<Reply, AdapterError> {
        let entry = self.entry(task)?;
        let answer = entry.next_answer(self.answers);
        let reply = self.answer_from(entry, task, answer)?;
        self.answers += 1;
        Ok(reply)
    }
}

//! `hermes chat`: one process for each prompt, and hermes' own record of it.

use std::path::Path;
use std::time::Duration;

use uwf_agent_kit::{AdapterError, LiveFile, ModelUsage, Reply, Task};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Turn, Usage};
use uwf_util::mask::Masks;

use super::LABEL;
use super::options::{Chat, Options};
use super::record::Record;
use super::words;
use crate::program::{self, Ended, Launch, Line};
use crate::progress;

/// How long hermes may take to export a session.
const EXPORT_LIMIT: Duration = Duration::from_secs(60);

/// The hint for a prompt that cannot be passed as an argument.
const NO_ARGUMENT: &str = "`hermes chat` takes it as an argument only; give the agent `--mode acp`, which has no such \
    limit";

/// Runs `hermes chat`.
pub(super) struct Asker<'a> {
    pub(super) options: &'a Options,
    pub(super) chat: &'a Chat,
    /// Where hermes keeps its sessions, if that is known.
    pub(super) home: Option<&'a Path>,
}

/// The output of one process.
struct Said {
    ended: Ended,
    stdout: String,
    is_too_long: bool,
}

/// What hermes recorded of one prompt.
#[derive(Default)]
struct Observed {
    answer: Option<String>,
    model: Option<String>,
    turns: Vec<Turn>,
    usage: Usage,
}

impl Observed {
    fn new(after: &Record, before: Option<&Record>, masks: &Masks) -> Self {
        Self {
            answer: after.answer(before),
            model: after.model.clone(),
            turns: after.turns(before, masks),
            usage: after.usage(before),
        }
    }
}

impl Asker<'_> {
    /// Sends a prompt, in this session or in a new one.
    pub(super) fn ask(
        &self,
        task: &Task,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Reply, AdapterError> {
        let prompt = program::argument(prompt).map_err(|error| error.hint(NO_ARGUMENT))?;
        let before = session.and_then(|session| self.record(task, session));
        let said = self.run(task, &self.arguments(session, prompt))?;
        let found = words::session(&said.ended.stderr).or_else(|| words::session(&said.stdout));
        let session_id = found.or(session).map(ToOwned::to_owned);
        // The new turns of a continued session are the difference to its earlier record.
        let can_tell = session.is_none() || before.is_some();
        let after = session_id.as_deref().filter(|_| can_tell);
        let after = after.and_then(|session| self.record(task, session));
        let mut observed = after.map_or_else(Observed::default, |after| {
            Observed::new(&after, before.as_ref(), &task.masks)
        });
        observed.usage.duration_ms = u64::try_from(said.ended.took.as_millis()).ok();
        let mut live = LiveFile::of(task);
        for turn in &observed.turns {
            progress::turn(LABEL, &mut live, turn);
        }
        let model = observed.model.or_else(|| self.options.model.clone());
        if let Some(problem) = self.problem(&said, &task.masks) {
            return Err(AdapterError {
                session_id: session_id.filter(|_| !problem.session_gone),
                turns: observed.turns,
                usage: Some(Box::new(ModelUsage {
                    usage: observed.usage,
                    model,
                })),
                ..problem
            });
        }
        let answer = observed.answer;
        Ok(Reply {
            text: answer.unwrap_or_else(|| words::without_session(&said.stdout)),
            session_id,
            model,
            turns: observed.turns,
            usage: Some(observed.usage),
            ..Reply::default()
        })
    }

    fn arguments(&self, session: Option<&str>, prompt: &str) -> Vec<String> {
        let turns = self.chat.max_turns.to_string();
        let mut args = vec!["chat", "-q", prompt];
        if self.chat.yolo {
            args.push("--yolo");
        }
        args.extend(["--max-turns", &turns, "--quiet"]);
        if let Some(model) = &self.options.model {
            args.extend(["--model", model]);
        }
        if let Some(session) = session {
            // Without this, hermes would change to the folder in which the session was started.
            args.extend(["--resume", session, "--no-restore-cwd"]);
        }
        args.into_iter().map(ToOwned::to_owned).collect()
    }

    fn run(&self, task: &Task, args: &[String]) -> Result<Said, AdapterError> {
        let mut stdout = String::new();
        let mut is_too_long = false;
        let ended = program::stream(&self.launch(task, args), &mut |line, _| match line {
            Line::Whole(line) if (stdout.len() + line.len()) as u64 <= self.options.max_output => {
                stdout.push_str(line);
                stdout.push('\n');
            }
            Line::Whole(_) | Line::TooLong { .. } => is_too_long = true,
        })?;
        Ok(Said {
            ended,
            stdout,
            is_too_long,
        })
    }

    /// Returns why there is no answer, if there is none. Hermes reports some errors on stdout.
    fn problem(&self, said: &Said, masks: &Masks) -> Option<AdapterError> {
        let program = &self.options.program;
        if said.is_too_long {
            let message = program::too_much(program, self.options.max_output);
            return Some(AdapterError::failed(message).class(FailureClass::BadAnswer));
        }
        let how = said.ended.ending.what(program)?;
        let stderr = words::without_session(&said.ended.stderr);
        let complaint = match stderr.trim() {
            "" => words::without_session(&said.stdout),
            _ => stderr,
        };
        // Secrets go before anything is cut.
        let complaint = masks.text(&complaint);
        let failed = words::failed(&how, program::tail(&complaint));
        Some(AdapterError {
            exit_code: said.ended.ending.exit_code(),
            class: match failed.class {
                FailureClass::Crash => said.ended.ending.class([]),
                class => class,
            },
            ..failed
        })
    }

    /// Reads hermes' record of a session: by an export of its database, or from the session file of older versions.
    fn record(&self, task: &Task, session: &str) -> Option<Record> {
        let home = self.home?;
        if home.join("state.db").is_file() {
            self.exported(task, session)
        } else {
            let file = home
                .join("sessions")
                .join(format!("session_{session}.json"));
            let content = uwf_durable::read(&file).ok()??;
            Record::read(&String::from_utf8(content).ok()?)
        }
    }

    fn exported(&self, task: &Task, session: &str) -> Option<Record> {
        let args = ["sessions", "export", "-", "--session-id", session];
        let args = args.map(ToOwned::to_owned);
        let launch = Launch {
            timeout: Some(EXPORT_LIMIT),
            ..self.launch(task, &args)
        };
        let mut record = None;
        let ended = program::stream(&launch, &mut |line, _| {
            if let Line::Whole(line) = line {
                record = record.take().or_else(|| Record::read(line));
            }
        });
        // Best effort: without the record the step has an answer, but no turns.
        ended.ok().and(record)
    }

    fn launch<'a>(&'a self, task: &'a Task, args: &'a [String]) -> Launch<'a> {
        Launch {
            program: &self.options.program,
            args,
            cwd: &task.cwd,
            variables: &[],
            stdin: "",
            install: words::INSTALL,
            timeout: self.options.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            masks: &task.masks,
            on_start: &|_| {},
        }
    }
}

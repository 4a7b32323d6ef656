//! Errors for people: what happened, why, and what to type next. And the exit code for scripts.

use serde_json::{Map, Value, json};
use uwf_cas_fs::StoreError;
use uwf_config::ConfigError;
use uwf_engine::{BusyElsewhere, EngineError, NameError, PlannedTry, store_exit};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, IdError, ThreadId};
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::StorageError;
use uwf_util::ansi::without_sequences;
use uwf_util::causes::causes;

use crate::stderr::Messages;
use crate::{hints, stderr};

/// Why a command failed.
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What happened, in one line.
    pub(crate) what: String,
    /// Why: one line for each cause, the nearest first.
    pub(crate) causes: Vec<String>,
    /// Which attempt failed.
    pub(crate) note: Option<Box<str>>,
    /// What to type next.
    pub(crate) hint: Option<String>,
    /// What it is about.
    pub(crate) about: Option<Box<About>>,
    /// The command that lets a thread go on, if the hint has one.
    pub(crate) next: Option<Box<str>>,
}

/// What a failure is about, for programs.
pub(crate) enum About {
    /// Another process works on this thread. Its end helps.
    Busy(ThreadId),
    /// Another machine works on a thread. Its end helps, too.
    BusyElsewhere(BusyElsewhere),
    /// The time of this attempt comes.
    NextTry(PlannedTry),
    /// This finished step is kept beside its thread.
    Kept(CasRef),
}

impl About {
    fn of(error: &EngineError) -> Option<Self> {
        let next_try = || error.planned_try().cloned().map(Self::NextTry);
        let kept = || error.kept_step().map(Self::Kept);
        let elsewhere = || error.busy_elsewhere().map(Self::BusyElsewhere);
        let busy = error.busy().map(Self::Busy).or_else(elsewhere);
        busy.or_else(next_try).or_else(kept)
    }
}

impl Failure {
    /// Returns the failure of a request that cannot be met.
    pub(crate) fn request(what: impl Into<String>) -> Self {
        Self {
            exit: Exit::Request,
            what: what.into(),
            causes: Vec::new(),
            note: None,
            hint: None,
            about: None,
            next: None,
        }
    }

    /// Returns a failure of the command line.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::request(what)
        }
    }

    /// Adds what to type next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds why it happened.
    #[must_use]
    pub(crate) fn cause(mut self, cause: &impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Writes the failure to stderr: each part with its label, or all as one JSON object.
    pub(crate) fn print(&self) {
        match stderr::messages() {
            Messages::Text => self.print_parts(),
            Messages::Json => stderr::record(self.fields()),
        }
    }

    /// Returns the failure as programs read it.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("error".to_owned(), self.what.as_str().into());
        fields.insert("exitCode".to_owned(), self.exit.code().into());
        if !self.causes.is_empty() {
            fields.insert("causes".to_owned(), self.causes.as_slice().into());
        }
        if let Some(note) = &self.note {
            fields.insert("note".to_owned(), (**note).into());
        }
        if let Some(hint) = &self.hint {
            fields.insert("hint".to_owned(), hints::here(hint).into());
        }
        match self.about.as_deref() {
            Some(About::Kept(step)) => {
                fields.insert("keptStep".to_owned(), step.to_string().into());
            }
            Some(About::Busy(busy)) => {
                fields.insert("busy".to_owned(), busy.to_string().into());
            }
            Some(About::BusyElsewhere(busy)) => {
                fields.insert("busyElsewhere".to_owned(), json!(busy));
            }
            Some(About::NextTry(next)) => {
                if let Ok(Value::Object(next)) = serde_json::to_value(next) {
                    fields.extend(next);
                }
            }
            None => {}
        }
        fields
    }

    fn print_parts(&self) {
        say("error", &self.what);
        for cause in &self.causes {
            say("cause", cause);
        }
        if let Some(attempt) = &self.note {
            note(attempt);
        }
        if let Some(hint) = &self.hint {
            say("hint", hint);
        }
    }

    fn of(error: &dyn std::error::Error, exit: Exit, hint: Option<String>) -> Self {
        Self {
            exit,
            what: error.to_string(),
            causes: causes(error),
            note: None,
            hint,
            about: None,
            next: None,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let mut failure = Self::of(&error, error.exit(), hints::of(&error));
        failure.about = About::of(&error).map(Box::new);
        match &error {
            EngineError::Workflow(problems) => {
                failure.causes = problems.iter().map(with_excerpt).collect();
            }
            EngineError::Agent(attempt) => {
                let stderr = without_sequences(&attempt.stderr_tail);
                if !stderr.trim().is_empty() {
                    let end = last_lines(&stderr, 10);
                    failure.causes.push(format!("stderr: {end}"));
                }
                failure.note = Some(attempt.which().into());
            }
            EngineError::Interrupted { attempt, .. } | EngineError::TakenOver(attempt) => {
                failure.note = Some(attempt.which().into());
            }
            _ => {}
        }
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(&error, store_exit(&error), hints::store::hint(&error))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::of(&error, error.exit(), hints::config::hint(&error))
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::of(&error, error.exit(), hints::storage::hint(&error))
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        let failure = Self::request(error.to_string());
        match error {
            NameError::Id(error) => error.into(),
            NameError::Engine(error) => error.into(),
            NameError::NoThread(unfound) => failure.hint(hints::sharing::or_fetch(
                "`uwf thread list --all` shows every thread",
                &unfound,
            )),
            NameError::NotGiven {
                near: Some(near), ..
            } => failure.hint(format!("did you mean `{near}`?")),
            NameError::NotGiven {
                near: None,
                has_remote,
                ..
            } => failure.hint(hints::sharing::with_remote_list(
                "`uwf thread list --all` shows every thread, with its name",
                has_remote,
            )),
            NameError::NothingStarted => {
                failure.hint("`uwf thread start <workflow> -p <task>` starts one")
            }
            NameError::NothingUsed => failure.hint("`@` stands for the newest thread"),
            NameError::NoNode(_) => failure.hint(
                "`uwf thread steps <thread>` lists the nodes of a thread, `uwf cas list` all",
            ),
            NameError::NoStep { thread, .. } => {
                failure.hint(format!("`uwf thread steps {thread}` lists its steps"))
            }
            NameError::Ambiguous { candidates, .. } => {
                let causes = candidates.iter().map(ToString::to_string).collect();
                Self { causes, ..failure }.hint("type more of it")
            }
        }
    }
}

impl From<IdError> for Failure {
    fn from(error: IdError) -> Self {
        let failure = Self::request(error.to_string());
        match error {
            IdError::Hash(_) => failure
                .hint("`uwf thread steps <thread>` lists those of a thread, `uwf cas list` all"),
            IdError::Thread(_) => failure.hint("`uwf thread list --all` shows every thread"),
            IdError::Role(..) => failure,
        }
    }
}

/// Writes a warning to stderr, about something that does not stop the command.
pub(crate) fn warn(text: &str) {
    say("warning", text);
}

/// Writes a note to stderr: what a command waits for, or what it did although it failed.
pub(crate) fn note(text: &str) {
    say("note", text);
}

/// Writes a message with a label of its own. The commands in it get the `--root` of this call.
pub(crate) fn say(label: &str, text: &str) {
    stderr::message(label, &hints::here(text));
}

/// Returns the message of a problem, with the line of the file that it is about.
fn with_excerpt(problem: &Diagnostic) -> String {
    match &problem.excerpt {
        Some(excerpt) => format!("{problem}\n{excerpt}"),
        None => problem.to_string(),
    }
}

/// Returns the last lines of a text.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

//! The hints of failed attempts that depend on how the agent is configured. They are worded here because the record of the
//! attempt stores them as text, as `retry` explains.

use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use uwf_protocol::agent::{AnswerError, MAX_ARGUMENT};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::CasRef;
use uwf_protocol::run::Phase;
use uwf_util::{shell_words, size};

use crate::run::agent_command::{AgentCommand, nearest_built_in};
use crate::run::attempted::{Cause, Problem};
use crate::run::process::{Program, RunEnding};
use crate::{Runner, Site};

/// The exit code of many programs for wrong options.
const WRONG_OPTIONS: i32 = 2;

/// Returns the commands that set the program and the arguments of an alias.
fn config_commands(alias: &str, program: &str, args: &[String]) -> String {
    let args = serde_json::Value::from(args).to_string();
    let set = |key: &str, value: &str| {
        let key = format!("agents.{alias}.{key}");
        let value = shell_words::quote(value);
        format!("`uwf config set {} {value}`", shell_words::quote(&key))
    };
    format!("{} and {}", set("command", program), set("args", &args))
}

impl AgentCommand {
    /// Returns the problem of a program that could not be started.
    pub(crate) fn not_started(&self, runner: &Runner, cwd: &Path, error: &io::Error) -> Problem {
        let is_missing = matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory
        );
        Problem {
            phase: Phase::Spawn,
            class: if is_missing {
                FailureClass::NotInstalled
            } else {
                FailureClass::Crash
            },
            text: format!(
                "`{}` could not be started in `{}`: {error}",
                self.program,
                cwd.display()
            ),
            exit_code: None,
            hint: Some(self.hint_if_not_started(runner, error)),
            cause: Cause::Agent,
        }
    }

    /// Returns the hint for a program that could not be started.
    fn hint_if_not_started(&self, runner: &Runner, error: &io::Error) -> String {
        match (error.kind(), &self.program) {
            (ErrorKind::InvalidInput, _) => {
                "no variable and no argument can hold a zero byte: take it out of `.env` or `args`"
                    .to_owned()
            }
            (ErrorKind::ArgumentListTooLong, _) => self.hint_if_too_long(runner),
            (ErrorKind::WouldBlock, _) | (_, Program::BuiltIn { .. }) => {
                "the system has no room for another process: `ulimit -u` tells how many may run"
                    .to_owned()
            }
            (_, Program::File(_)) => self.hint_if_missing(runner),
        }
    }

    /// Returns the hint for arguments and an environment that the system does not take.
    fn hint_if_too_long(&self, runner: &Runner) -> String {
        let Site { root, env, .. } = &runner.site;
        let inherited = env
            .variables()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.len()));
        let added = self.env.added(root, env).unwrap_or_default();
        let added = added.into_iter().map(|(name, value)| (name, value.len()));
        let largest = inherited.chain(added).max_by_key(|(_, bytes)| *bytes);
        let largest = largest.map(|(name, bytes)| {
            let size = size::format(bytes as u64);
            format!("; `{name}` is the largest variable, with {size}")
        });
        format!(
            "one variable or argument may have less than {}, and all together have a limit, too{}: make it smaller, or name the variables of `.env` that the agent needs in its `secrets`",
            size::format(MAX_ARGUMENT as u64),
            largest.unwrap_or_default()
        )
    }

    fn hint_if_missing(&self, runner: &Runner) -> String {
        let Some(alias) = &self.alias else {
            return "`--agent` takes an alias of the config, or a program with its arguments"
                .to_owned();
        };
        let whole = shell_words::split(&self.label).unwrap_or_default();
        if let [program, args @ ..] = whole.as_slice()
            && !args.is_empty()
            && matches!(&self.program, Program::File(path) if !path.exists())
        {
            return format!(
                "arguments belong in `args`: {}",
                config_commands(alias, program, args)
            );
        }
        match nearest_built_in(runner, &self.label)
            .filter(|_| !Path::new(&self.label).is_absolute())
        {
            Some(near) => format!(
                "did you mean `{near}`? `uwf config set agents.{alias}.command {near}` sets it"
            ),
            None => {
                format!("install it, or change `agents.{alias}.command` with `uwf config set`")
            }
        }
    }

    /// Returns the problem of an answer that names no step.
    pub(crate) fn unanswered(&self, error: &AnswerError) -> Problem {
        let is_free_text =
            matches!(error, AnswerError::Malformed(_)) && matches!(self.program, Program::File(_));
        Problem {
            class: match error {
                AnswerError::Empty => FailureClass::NoAnswer,
                AnswerError::Malformed(_) => FailureClass::BadAnswer,
            },
            exit_code: Some(0),
            hint: is_free_text.then(|| self.hint_if_free_text()),
            ..Problem::refused(error.to_string())
        }
    }

    /// Returns the problem of a run that ended without a step.
    pub(crate) fn ended(&self, ending: &RunEnding) -> Problem {
        let (class, exit_code) = match ending {
            RunEnding::Exited(status) => (
                FailureClass::of_exit(status.code(), status.signal()),
                status.code(),
            ),
            RunEnding::TimedOut(_) | RunEnding::Idle(_) => (FailureClass::Timeout, None),
            RunEnding::Finished => (FailureClass::NoAnswer, None),
            RunEnding::Unwanted | RunEnding::Interrupted(_) | RunEnding::NotStarted(_) => {
                (FailureClass::Cancelled, None)
            }
        };
        Problem {
            phase: Phase::Agent,
            class,
            text: ending.to_string(),
            exit_code,
            hint: (exit_code == Some(WRONG_OPTIONS)).then(|| self.hint_if_wrong_options()),
            cause: Cause::Agent,
        }
    }

    /// Returns the problem of a step that was finished too late.
    pub(crate) fn answered_late(&self, ending: &RunEnding, step: CasRef) -> Problem {
        Problem {
            text: format!("{ending}; its answer came only after that"),
            hint: Some(format!("`uwf step read {step}` shows the late answer")),
            ..self.ended(ending)
        }
    }

    /// Returns the hint for a program that answers with free text: it needs an adapter that makes a step of the text.
    fn hint_if_free_text(&self) -> String {
        const ADAPTER: &str = "uwf-command";
        let mut args = vec!["--".to_owned(), self.label.clone()];
        args.extend(self.args.iter().cloned());
        let commands = match &self.alias {
            None => {
                let line = [ADAPTER].into_iter().chain(args.iter().map(String::as_str));
                format!("`--agent {}`", shell_words::quote(&shell_words::join(line)))
            }
            Some(alias) => config_commands(alias, ADAPTER, &args),
        };
        format!("a program that answers in words is run by `{ADAPTER}`: {commands}")
    }

    fn hint_if_wrong_options(&self) -> String {
        let place = match &self.alias {
            Some(alias) => format!(
                "correct `agents.{alias}.args`, which `uwf config get agents.{alias}` shows"
            ),
            None => "correct what stands after `--agent`".to_owned(),
        };
        format!("code 2 usually means wrong options of the agent itself: {place}")
    }
}

//! The command agent: any program that reads a prompt and prints an answer.
//!
//! `uwf-command [options] -- <program> <args…> <thread> <role>`. The prompt goes to the program's stdin,
//! unless one of its arguments asks for it by `{prompt}` or `{promptFile}`.

mod options;
mod template;

use regex::Regex;
use uwf_agent_kit::{Adapter, AdapterError, Reply, Task, Unread};
use uwf_protocol::failure::FailureClass;
use uwf_storage::{Env, RunDir};

use crate::program::{self, Launch, Output};
use crate::{bounded, call};
use options::Options;

pub(crate) use options::OPTIONS;
use template::Values;

pub(crate) const USAGE: &str = "uwf-command [--session-regex <regex>] [--resume-args <args>]… \
    [--resume-arg <arg>]… [--obeys-permissions] [--timeout <duration>] [--max-output <size>] -- <program> <args…> <thread> <role>; \
    {prompt}, {promptFile}, {thread}, {role}, {cwd}, {session}, {visit}, {step} and {permissions} are filled in";

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut command = Command {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
    };
    Ok(uwf_agent_kit::serve(&mut command, &call, env))
}

struct Command {
    options: Options,
}

impl Adapter for Command {
    fn label(&self) -> String {
        "uwf-command".to_owned()
    }

    fn session_key(&self) -> String {
        format!("{} {}", self.label(), self.options.program)
    }

    fn can_resume(&self) -> bool {
        self.options.session_regex.is_some() && !self.options.resume_args.is_empty()
    }

    fn earlier(&mut self, task: &Task) -> Option<Reply> {
        let end = task.unread_program(&self.options.args)?;
        let answer = uwf_durable::read(&program::answer_file(&task.run_dir)).ok()??;
        let output = Output {
            stdout: bounded::text(answer),
            stderr: earlier_stderr(task),
            problem: None,
            is_complete: true,
        };
        let is_whole = match end {
            Unread::Ended => true,
            // The exit code was lost with the agent. An output that ends with a line end was most likely not cut off.
            Unread::EndUnseen => output.stdout.ends_with('\n'),
        };
        is_whole.then(|| self.reply(output, None).ok()).flatten()
    }

    fn earlier_session(&self, task: &Task) -> Option<String> {
        task.unread_program(&self.options.args)?;
        let regex = self.options.session_regex.as_ref()?;
        let answer = uwf_durable::read(&program::answer_file(&task.run_dir));
        let answer = bounded::text(answer.ok().flatten().unwrap_or_default());
        find_session(regex, whole_lines(&earlier_stderr(task)))
            .or_else(|| find_session(regex, whole_lines(&answer)))
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        match task.session.as_deref().filter(|_| self.can_resume()) {
            None => self.ask(task, &self.options.args, None, &task.prompt),
            Some(session) => {
                let reply = self.resume(task, session, &task.prompt);
                reply.map_err(|error| AdapterError {
                    session_gone: may_be_gone(&error),
                    ..error
                })
            }
        }
    }

    /// The record of the program names the task by its prompt, so that the answer is found after a crash.
    fn run_again(&mut self, task: &Task, prompt: &str) -> Result<Reply, AdapterError> {
        self.ask(task, &self.options.args, None, prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        self.ask(task, &self.options.resume_args, Some(session), message)
    }
}

impl Command {
    fn ask(
        &self,
        task: &Task,
        templates: &[String],
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Reply, AdapterError> {
        let scratch = RunDir::at(task.run_dir.clone()).scratch;
        let takes_file = template::asks_for(templates, "promptFile");
        if takes_file {
            scratch
                .write_prompt(prompt)
                .map_err(|error| AdapterError::not_started(error.to_string()))?;
        }
        let values = Values {
            task,
            session,
            prompt,
            prompt_file: &scratch.prompt_file(),
        };
        let args = template::fill(templates, &values);
        let takes_argument = template::asks_for(templates, "prompt");
        if takes_argument {
            let hint = "use `{promptFile}`, or let the program read stdin";
            for arg in &args {
                program::argument(arg).map_err(|error| error.hint(hint))?;
            }
        }
        let stdin = if takes_file || takes_argument {
            ""
        } else {
            prompt
        };
        let launch = Launch {
            program: &template::fill_one(&self.options.program, &values),
            args: &args,
            cwd: &task.cwd,
            variables: &[],
            stdin,
            install: "install it, or give its full path after `--` in the agent's `args`",
            timeout: self.options.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            masks: &task.masks,
            on_start: &|process| task.program_started(process),
        };
        task.announce_program(&self.options.args, prompt);
        let output = program::run(&launch, self.options.max_output);
        let is_complete = output.as_ref().is_ok_and(|output| output.is_complete);
        let reply = output.and_then(|output| self.reply(output, session));
        if reply.is_err() {
            task.forget_program();
        } else if is_complete {
            task.program_ended();
        }
        reply
    }

    fn reply(&self, output: Output, session: Option<&str>) -> Result<Reply, AdapterError> {
        let regex = self.options.session_regex.as_ref();
        let found = regex.and_then(|regex| {
            find_session(regex, &output.stderr).or_else(|| find_session(regex, &output.stdout))
        });
        let session_id = found.or(session.map(ToOwned::to_owned));
        match output.problem {
            None => Ok(Reply {
                text: output.stdout,
                session_id,
                ..Reply::default()
            }),
            Some(problem) => Err(AdapterError {
                session_id,
                ..problem
            }),
        }
    }
}

/// Tells whether a program may have failed because its session is gone. Programs have no common words for that, so
/// every failure counts that nothing else explains. After any other one, a new session would not help, and would cost
/// the one that there is.
fn may_be_gone(error: &AdapterError) -> bool {
    match error.class {
        FailureClass::Crash | FailureClass::NoAnswer | FailureClass::BadAnswer => true,
        FailureClass::NotInstalled
        | FailureClass::Auth
        | FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::ContextTooLong
        | FailureClass::Permission
        | FailureClass::Timeout
        | FailureClass::ChecksFailed
        | FailureClass::Cancelled => false,
    }
}

/// Returns what the program of an earlier attempt has printed to stderr; empty if that is not known.
fn earlier_stderr(task: &Task) -> String {
    let file = RunDir::at(task.run_dir.clone())
        .scratch
        .program_stderr_file();
    let printed = uwf_durable::read(&file).ok().flatten();
    bounded::text(printed.unwrap_or_default())
}

/// Returns the lines of a text that may have been cut off, without an unfinished one.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..end])
}

/// Returns the first group of the last match, or the whole match if the expression has no group.
fn find_session(regex: &Regex, text: &str) -> Option<String> {
    let found = regex.captures_iter(text).last()?;
    let session = found.get(1).or(found.get(0))?.as_str().trim();
    (!session.is_empty()).then(|| session.to_owned())
}

//! Adapters of command line tools that print their work as JSON lines: one call of such a tool.
//!
//! A [`Tool`] describes how tools differ: how it is called, how its events are read, and its messages for a session
//! that is gone or a missing login.

mod options;
mod outcome;
mod structured;
mod totals;
mod transcript;

use serde_json::Value;
use uwf_agent_kit::{Adapter, AdapterError, LiveFile, Reply, Task, Unread};
use uwf_protocol::agent::AgentCall;
use uwf_storage::Env;

use crate::call;
use crate::options::Known;
use crate::program::{self, Ended, Launch, Line, Timing};
use crate::progress;

pub(crate) use options::{OURS, Options};
use structured::Request;
pub(crate) use structured::{OPTION as STRUCTURED, Passed, Structured};
pub(crate) use transcript::Transcript;
#[cfg(test)]
pub(crate) use transcript::tests;

/// A kind of tool.
pub(crate) struct Tool {
    /// The label of its steps, such as `uwf-codex`.
    pub(crate) label: &'static str,
    /// Its program, as it is looked for on PATH.
    pub(crate) program: &'static str,
    /// The hint if it is not installed.
    pub(crate) install: &'static str,
    /// The hint if nobody is logged in.
    pub(crate) login: &'static str,
    /// Parts of its messages that nobody is logged in, in lower case.
    pub(crate) logged_out: &'static [&'static str],
    /// Parts of its messages that it does not know a session, in lower case.
    pub(crate) gone: &'static [&'static str],
    /// Its own options that the adapter passes on.
    pub(crate) options: &'static [Known],
    /// Returns its arguments for a new session, or for a session to continue. The prompt is on its stdin.
    pub(crate) args: fn(&Options, Option<&str>) -> Vec<String>,
    /// Returns variables that it gets in addition to those of our own environment.
    pub(crate) variables: fn(&Options) -> Vec<(&'static str, String)>,
    /// Adds an event to the transcript.
    pub(crate) read: fn(&Value, &mut Transcript),
    /// What its usage counts.
    pub(crate) counts: Counts,
    /// How it is asked for a structured answer, if it can give one.
    pub(crate) structured: Option<&'static Structured>,
}

/// What the reported usage of a tool counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// One call of the tool.
    Calls,
    /// The session since its start.
    Sessions,
}

/// Returns no variables: most tools are told everything by arguments.
pub(crate) fn no_variables(_: &Options) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// Reads the arguments of a call and serves it.
pub(crate) fn start(tool: &'static Tool, args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let options = Options::parse(tool, own).map_err(anyhow::Error::msg)?;
    Ok(serve(tool, options, &call, env))
}

/// Serves one call.
pub(crate) fn serve(tool: &'static Tool, options: Options, call: &AgentCall, env: &Env) -> i32 {
    let mut agent = Agent {
        tool,
        options,
        asks_for_front_matter: false,
    };
    uwf_agent_kit::serve(&mut agent, call, env)
}

struct Agent {
    tool: &'static Tool,
    options: Options,
    /// Whether the tool could not be given the schema of the answer, or refused it, earlier in this attempt.
    asks_for_front_matter: bool,
}

impl Adapter for Agent {
    fn label(&self) -> String {
        self.tool.label.to_owned()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        self.ask(task, task.session.as_deref(), &task.prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        self.ask(task, Some(session), message)
    }

    fn earlier(&mut self, task: &Task) -> Option<Reply> {
        let end = task.unread_program(&self.call())?;
        let mut seen = Transcript::new(self.tool.label, LiveFile::of(task));
        program::earlier_lines(&task.run_dir, &mut |line| {
            take(self.tool, line, Timing::InTime, &mut seen);
        });
        seen.end_of_pieces(Vec::new());
        seen.model = seen.model.take().or_else(|| self.options.model());
        seen.settle_usage();
        if seen.error.is_some() {
            return None;
        }
        let said = seen.last_text.take();
        let last = match end {
            Unread::Ended => said.clone(),
            Unread::EndUnseen => None,
        };
        let text = seen.answer.take().or(last)?;
        let text = structured::answer(&self.options, task, text, said.as_deref());
        if self.tool.counts == Counts::Sessions {
            totals::of_an_earlier_call(task, &mut seen);
        }
        Some(Reply {
            text,
            session_id: seen.session_id.take(),
            model: seen.model.take(),
            usage: Some(seen.usage.clone()),
            refused: seen.take_refused(),
            turns: seen.take_turns(),
            ..Reply::default()
        })
    }
}

impl Agent {
    /// Returns the arguments of the tool for a new session.
    fn call(&self) -> Vec<String> {
        (self.tool.args)(&self.options, None)
    }

    /// Asks for a structured answer if the user wants one, and for front matter if that cannot be or is refused.
    fn ask(
        &mut self,
        task: &Task,
        session: Option<&str>,
        message: &str,
    ) -> Result<Reply, AdapterError> {
        let wanted = !self.asks_for_front_matter;
        let request = wanted.then(|| structured::request(self.tool, &self.options, task));
        let (why, spent) = match request.flatten() {
            None => return self.call_tool(task, session, message, None),
            Some(Err(why)) => {
                let role = &task.role;
                let why = format!(
                    "cannot be given the schema of `{role}` ({why}), and is asked for front matter"
                );
                (why, None)
            }
            Some(Ok(request)) => match self.call_tool(task, session, message, Some(&request)) {
                Err(error) if structured::is_refused(self.tool, &error) => {
                    let why = format!(
                        "refused the schema of the answer, and is asked for front matter: {error}"
                    );
                    (why, error.usage)
                }
                reply => return reply,
            },
        };
        progress::line(self.tool.label, &task.masks.text(&why));
        self.asks_for_front_matter = true;
        let reply = self.call_tool(task, session, message, None);
        match spent {
            Some(spent) => structured::with_spent(reply, &spent.usage),
            None => reply,
        }
    }

    fn call_tool(
        &self,
        task: &Task,
        session: Option<&str>,
        message: &str,
        request: Option<&Request>,
    ) -> Result<Reply, AdapterError> {
        let mut seen = Transcript::new(self.tool.label, LiveFile::of(task));
        task.announce_program(&self.call(), message);
        let ended = self.launch(task, session, message, request, &mut seen);
        if ended.is_err() {
            task.forget_program();
        }
        let ended = ended?;
        // Some tools do not say which model they use.
        seen.model = seen.model.take().or_else(|| self.options.model());
        let took_ms = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
        seen.usage.duration_ms.get_or_insert(took_ms);
        seen.settle_usage();
        if self.tool.counts == Counts::Sessions {
            totals::since_the_last_call(task, session, &mut seen);
        }
        let program = &self.options.program;
        let said = seen.last_text.clone();
        let reply = outcome::outcome(self.tool, program, session, &mut seen, &ended);
        let reply = reply.map(|reply| Reply {
            text: structured::answer(&self.options, task, reply.text, said.as_deref()),
            ..reply
        });
        if reply.is_err() {
            task.forget_program();
        } else if ended.is_complete() {
            task.program_ended();
        }
        reply
    }

    /// Runs the tool to its end, and reads what it prints.
    fn launch(
        &self,
        task: &Task,
        session: Option<&str>,
        message: &str,
        request: Option<&Request>,
        seen: &mut Transcript,
    ) -> Result<Ended, AdapterError> {
        let stdin = request.map(|request| format!("{message}{}", request.note));
        let options = Options {
            schema: request.map_or_else(Vec::new, |request| request.args.clone()),
            ..self.options.clone()
        };
        let variables = (self.tool.variables)(&self.options);
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let launch = Launch {
            program: &self.options.program,
            args: &(self.tool.args)(&options, session),
            cwd: &task.cwd,
            variables: &variables,
            stdin: stdin.as_deref().unwrap_or(message),
            install: self.tool.install,
            timeout: self.options.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            masks: &task.masks,
            on_start: &|process| task.program_started(process),
        };
        program::stream(&launch, &mut |line, timing| {
            take(self.tool, line, timing, seen);
        })
    }
}

/// Reads a line. A late answer is ignored, but the session and the usage in it count.
fn take(tool: &Tool, line: Line<'_>, timing: Timing, seen: &mut Transcript) {
    let in_time = seen.answer.take();
    match line {
        Line::Whole(text) if text.trim().is_empty() => {}
        Line::Whole(text) => match serde_json::from_str(text) {
            Ok(event @ Value::Object(_)) => (tool.read)(&event, seen),
            Ok(_) | Err(_) => seen.noise(text),
        },
        Line::TooLong { bytes } => seen.left_out(bytes),
    }
    seen.answer = match timing {
        Timing::InTime => seen.answer.take().or(in_time),
        Timing::Late => in_time,
    };
}

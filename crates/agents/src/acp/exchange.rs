//! One exchange with a program that speaks the protocol: connects the client to the pipes of a process.
//!
//! Each exchange starts a process. The next one continues the session, so that nothing of ours has to stay alive
//! between two prompts.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use uwf_agent_kit::{AdapterError, LiveFile, ModelUsage};
use uwf_protocol::failure::FailureClass;
use uwf_util::size;

use super::client::{Action, Client, Outcome, PromptRequest};
use super::error::AcpError;
use crate::complaint::complaint;
use crate::program::{self, Dialogue, Heard, Launch};
use crate::progress;

/// How long an agent may take to stop after its prompt was cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(10);

/// How long a program may take to end after its stdin was closed.
const EXIT_TIME: Duration = Duration::from_secs(5);

/// How long an agent must send nothing until a session that it has loaded counts as settled. Agents that replay a session
/// after they have loaded it do so at once.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// The limits of an agent, beside the time limit of its program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The longest time without a message.
    pub(crate) idle: Option<Duration>,
    /// How much it may send in all, in bytes.
    pub(crate) max_output: u64,
}

/// Why an exchange brought no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The error, with the turns, the session and the usage that are known.
    error: Box<AdapterError>,
    /// The error of the client; `None` if the program ended or broke a limit.
    cause: Option<AcpError>,
}

impl Failed {
    /// Returns the error with its hint and its class. `login` is the hint for a missing login; `read` finds class and hint in
    /// a message of the agent.
    pub(crate) fn explained(
        self,
        login: &'static str,
        read: impl Fn(&str) -> (FailureClass, Option<&'static str>),
    ) -> AdapterError {
        let Self { error, cause } = self;
        let (read_class, read_hint) = read(&error.message);
        let hint = match &cause {
            Some(AcpError::NotLoggedIn { .. }) => Some(login),
            Some(AcpError::NoSuchMode { .. }) => {
                Some("change `--session-mode` in the agent's `args`")
            }
            _ => read_hint,
        };
        let class = match (&cause, error.class) {
            (Some(AcpError::NotLoggedIn { .. }), _) => FailureClass::Auth,
            (_, FailureClass::Crash) => read_class,
            (_, class) => class,
        };
        AdapterError {
            hint: error.hint.clone().or(hint.map(ToOwned::to_owned)),
            class,
            ..*error
        }
    }

    fn to_start(error: AdapterError) -> Self {
        Self {
            error: Box::new(error),
            cause: None,
        }
    }
}

/// Sends a prompt to the program's agent and waits for the end of its turn. Turns and pieces of the answer go to the
/// live file at once.
///
/// # Errors
/// When the program cannot be started, ends, is too slow, or its agent does not answer.
pub(crate) fn exchange(
    label: &str,
    launch: &Launch<'_>,
    limits: Limits,
    request: PromptRequest,
    live: &mut LiveFile,
) -> Result<Outcome, Failed> {
    let started = Instant::now();
    let mut dialogue = Dialogue::start(launch).map_err(Failed::to_start)?;
    let (mut client, first) = Client::begin(request);
    act(label, first, &dialogue, live);
    let deadline = launch.timeout.map(|limit| Due {
        at: started + limit,
        words: "time limit",
        limit,
    });
    let problem = pass_messages(label, &mut dialogue, &mut client, deadline, limits, live).err();
    if let Some(cancel) = client.cancel() {
        dialogue.say(cancel);
    }
    let awaited = client.awaits();
    let (ending, stderr) = dialogue.end(EXIT_TIME);
    let mut outcome = client.outcome();
    outcome.usage.duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
    match problem {
        None => Ok(outcome),
        // The agent has nothing more to say to us: it was stopped at the question.
        Some(Problem::Closed) if outcome.asked.is_some() => Ok(outcome),
        Some(Problem::Client(error)) => Err(failed(error.to_string(), Some(error), outcome)),
        Some(Problem::Broken(how, class)) => {
            let mut failed = failed(how, None, outcome);
            failed.error.class = class;
            Err(failed)
        }
        Some(Problem::Closed) => {
            let program = launch.program;
            let how = ending.what(program);
            let how = how.unwrap_or_else(|| format!("`{program}` ended"));
            let how = format!("{how} before it answered `{awaited}`");
            let mut failed = failed(with_stderr(&how, &stderr), None, outcome);
            failed.error.exit_code = ending.exit_code();
            failed.error.class = ending.class([program::tail(&stderr)]);
            Err(failed)
        }
    }
}

/// Returns a failure with everything that is known about it.
fn failed(message: String, cause: Option<AcpError>, outcome: Outcome) -> Failed {
    let error = AdapterError {
        session_gone: matches!(cause, Some(AcpError::SessionGone { .. })),
        session_id: outcome.session_id,
        usage: Some(Box::new(ModelUsage {
            usage: outcome.usage,
            model: outcome.model,
        })),
        turns: outcome.turns,
        ..AdapterError::failed(message)
    };
    Failed {
        error: Box::new(error),
        cause,
    }
}

/// Why the exchange has ended without an answer.
enum Problem {
    /// The client reports an error.
    Client(AcpError),
    /// The program has closed its side.
    Closed,
    /// The program broke a limit.
    Broken(String, FailureClass),
}

/// The words of the time after which a session has settled.
const SETTLED: &str = "time to settle";

/// A point in time by which something must have happened.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    words: &'static str,
    limit: Duration,
}

impl Due {
    fn after(limit: Duration, words: &'static str) -> Self {
        Self {
            at: Instant::now() + limit,
            words,
            limit,
        }
    }
}

/// Passes messages until the client has its answer.
fn pass_messages(
    label: &str,
    dialogue: &mut Dialogue,
    client: &mut Client,
    deadline: Option<Due>,
    limits: Limits,
    live: &mut LiveFile,
) -> Result<(), Problem> {
    let mut size = 0;
    let mut to_stop = None;
    while !client.is_done() {
        let silence = limits
            .idle
            .map(|limit| Due::after(limit, "limit of time without a message"));
        let settled = client
            .is_settling()
            .then(|| Due::after(SETTLE_TIME, SETTLED));
        let due = deadline.into_iter().chain(silence).chain(to_stop);
        let due = due.chain(settled);
        let due = due.min_by_key(|due| due.at);
        match (dialogue.hear(due.map(|due| due.at)), due) {
            (Heard::Line(line), _) => {
                size += line.len() as u64;
                if size > limits.max_output {
                    return Err(Problem::Broken(
                        too_much(limits.max_output),
                        FailureClass::BadAnswer,
                    ));
                }
                let actions = client.receive(&line).map_err(Problem::Client)?;
                if let Some(session) = client.session() {
                    live.session(session);
                }
                for action in actions {
                    act(label, action, dialogue, live);
                }
                if client.has_asked() {
                    to_stop.get_or_insert_with(|| Due::after(CANCEL_TIME, "time to stop"));
                }
            }
            (Heard::TooLong { bytes }, _) => {
                let words = format!("the agent sent a message that is too long ({bytes} bytes)");
                return Err(Problem::Broken(words, FailureClass::BadAnswer));
            }
            (Heard::Nothing, Some(due)) if due.words == SETTLED => {
                for action in client.settled() {
                    act(label, action, dialogue, live);
                }
            }
            (Heard::Nothing, Some(_)) if client.has_asked() => return Err(Problem::Closed),
            (Heard::Nothing, Some(Due { words, limit, .. })) => {
                let seconds = limit.as_secs_f64();
                let words = format!("the agent was ended after its {words} of {seconds} s");
                return Err(Problem::Broken(words, FailureClass::Timeout));
            }
            (Heard::Stopped | Heard::Closed, _) | (Heard::Nothing, None) => {
                return Err(Problem::Closed);
            }
        }
    }
    Ok(())
}

fn act(label: &str, action: Action, dialogue: &Dialogue, live: &mut LiveFile) {
    match action {
        Action::Send(line) => dialogue.say(line),
        Action::Turn(turn) => progress::turn(label, live, &turn),
        Action::Delta(text) => live.delta(&text),
        Action::Tell(words) => {
            let _ = writeln!(io::stderr(), "{words}");
        }
    }
}

fn too_much(limit: u64) -> String {
    let limit = size::format(limit);
    format!("the agent said more than {limit}, the limit of `--max-output`")
}

/// Returns a message with the end of the program's stderr.
fn with_stderr(what: &str, stderr: &str) -> String {
    match program::tail(&complaint(stderr)) {
        "" => what.to_owned(),
        said => format!("{what}: {said}"),
    }
}

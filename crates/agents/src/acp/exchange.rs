//! One exchange with a program that speaks the protocol: the client's machine between the pipes of a process.
//!
//! Each exchange has a process of its own. A session goes on in the next one, so nothing of ours has to stay
//! alive between two prompts.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use uwf_agent_kit::{AdapterError, LiveFile};
use uwf_protocol::failure::FailureClass;
use uwf_util::size;

use super::client::{Action, Client, Errand, Outcome};
use super::error::AcpError;
use crate::complaint::complaint;
use crate::program::{self, Dialogue, Heard, Launch};
use crate::progress;

/// How long a program may take to end after its stdin was closed.
const EXIT_TIME: Duration = Duration::from_secs(5);

/// How much an agent may take, beside the time limit of its program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long it may be without a message.
    pub(crate) idle: Option<Duration>,
    /// How much it may say in all, in bytes.
    pub(crate) max_output: u64,
}

/// Why an exchange brought no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What is known of it, with turns, session and usage as far as they came.
    pub(crate) error: Box<AdapterError>,
    /// What the client found wrong; `None` if the program ended, or was too slow.
    pub(crate) cause: Option<AcpError>,
}

impl Failed {
    fn to_start(error: AdapterError) -> Self {
        Self {
            error: Box::new(error),
            cause: None,
        }
    }
}

/// Gives a prompt to the program's agent and waits for the end of its turn. Turns and pieces of the answer go
/// to the live file while they come.
///
/// # Errors
/// When the program cannot be started, ends, is too slow, or its agent does not answer.
pub(crate) fn exchange(
    label: &str,
    launch: &Launch<'_>,
    limits: Limits,
    errand: Errand,
    live: &mut LiveFile,
) -> Result<Outcome, Failed> {
    let began = Instant::now();
    let mut dialogue = Dialogue::start(launch).map_err(Failed::to_start)?;
    let (mut client, first) = Client::begin(errand);
    act(label, first, &dialogue, live);
    let deadline = launch.timeout.map(|limit| Due {
        at: began + limit,
        words: "time limit",
        limit,
    });
    let problem = hold(label, &mut dialogue, &mut client, deadline, limits, live).err();
    if let Some(cancel) = client.cancel() {
        dialogue.say(cancel);
    }
    let awaited = client.awaits();
    let (ending, stderr) = dialogue.end(EXIT_TIME);
    let mut outcome = client.outcome();
    outcome.usage.duration_ms = u64::try_from(began.elapsed().as_millis()).ok();
    match problem {
        None => Ok(outcome),
        Some(Problem::Told(error)) => Err(failed(error.to_string(), Some(error), outcome)),
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
            let mut failed = failed(told(&how, &stderr), None, outcome);
            failed.error.exit_code = ending.exit_code();
            failed.error.class = ending.class([program::tail(&stderr)]);
            Err(failed)
        }
    }
}

/// Puts together what is known of a failure.
fn failed(message: String, cause: Option<AcpError>, outcome: Outcome) -> Failed {
    let error = AdapterError {
        session_gone: matches!(cause, Some(AcpError::SessionGone { .. })),
        session_id: outcome.session_id,
        usage: Some(Box::new(outcome.usage)),
        turns: outcome.turns,
        ..AdapterError::failed(message)
    };
    Failed {
        error: Box::new(error),
        cause,
    }
}

/// Why the talk is over without an answer.
enum Problem {
    /// The client says so.
    Told(AcpError),
    /// The program has closed its side.
    Closed,
    /// The program broke a limit.
    Broken(String, FailureClass),
}

/// A moment by which something must have happened.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    words: &'static str,
    limit: Duration,
}

/// Talks until the client has its answer.
fn hold(
    label: &str,
    dialogue: &mut Dialogue,
    client: &mut Client,
    deadline: Option<Due>,
    limits: Limits,
    live: &mut LiveFile,
) -> Result<(), Problem> {
    let mut size = 0;
    while !client.is_done() {
        let silence = limits.idle.map(|limit| Due {
            at: Instant::now() + limit,
            words: "limit of time without a message",
            limit,
        });
        let due = deadline.into_iter().chain(silence).min_by_key(|due| due.at);
        match (dialogue.hear(due.map(|due| due.at)), due) {
            (Heard::Line(line), _) => {
                size += line.len() as u64;
                if size > limits.max_output {
                    return Err(Problem::Broken(
                        too_much(limits.max_output),
                        FailureClass::BadAnswer,
                    ));
                }
                let actions = client.hear(&line).map_err(Problem::Told)?;
                if let Some(session) = client.session() {
                    live.session(session);
                }
                for action in actions {
                    act(label, action, dialogue, live);
                }
            }
            (Heard::TooLong { bytes }, _) => {
                let words = format!("the agent sent a message that is too long ({bytes} bytes)");
                return Err(Problem::Broken(words, FailureClass::BadAnswer));
            }
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
        Action::Turn(turn) => {
            live.turn(&turn);
            progress::turn(label, &turn);
        }
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

/// Returns what happened, with the end of what the program said about it.
fn told(what: &str, stderr: &str) -> String {
    match program::tail(&complaint(stderr)) {
        "" => what.to_owned(),
        said => format!("{what}: {said}"),
    }
}

//! Repeating a failed attempt: the command, and the hint for each class of failure.
//!
//! A hint is worded here and not in the command line, because the record of the attempt stores it as text. The agent kit,
//! which may run in a program of another version, hands its own hints over as text, too. And `thread show` prints the hint
//! of a record long after the call has ended that knew the agent and its options.

use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::ThreadId;
use uwf_storage::RunDir;

use crate::agent_choice::AgentChoice;
use crate::describe::message_option;
use crate::run::attempted::{Attempted, Verb};

/// The longest message of a person that a proposed command repeats, in bytes.
const MAX_MESSAGE: usize = 200;

impl Verb {
    /// Returns the command that repeats the attempt, with this choice of an agent.
    fn retry(&self, thread: ThreadId, choice: &AgentChoice) -> String {
        let option = choice.options();
        match self {
            Self::Step => format!("uwf thread step {thread}{option}"),
            Self::Resume(message) => {
                format!(
                    "uwf thread resume {thread}{option}{}",
                    prompt_option(message)
                )
            }
            Self::Poke(message) => {
                format!("uwf thread poke {thread}{option}{}", prompt_option(message))
            }
        }
    }
}

/// Returns the option that repeats a message. A long message, or one of several lines, is replaced by dots.
fn prompt_option(message: &Option<String>) -> String {
    match message.as_deref() {
        None => String::new(),
        Some(text) if text.len() <= MAX_MESSAGE && !text.contains(char::is_control) => {
            message_option(text)
        }
        Some(_) => " -p \"…\"".to_owned(),
    }
}

/// Returns the command that asks the agent again, as a part of a hint.
pub(crate) fn ask_again(thread: ThreadId, attempted: &Attempted) -> String {
    let retry = attempted.verb.retry(thread, &attempted.choice());
    format!("`{retry}` asks again")
}

/// Returns the hint for a failure of which only the class is known.
pub(crate) fn hint_for(
    class: FailureClass,
    thread: ThreadId,
    attempted: &Attempted,
    run: &RunDir,
) -> String {
    let choice = attempted.choice();
    let other = AgentChoice {
        agent: None,
        ..choice.clone()
    };
    let other = format!("{} --agent <agent>", attempted.verb.retry(thread, &other));
    let retry = attempted.verb.retry(thread, &choice);
    let retry = format!("`{retry}`");
    let place = match &attempted.alias {
        Some(alias) => format!("`agents.{alias}.args`"),
        None => "the options of the agent".to_owned(),
    };
    let stderr = run.scratch.stderr_file();
    let stderr = stderr.display();
    match class {
        FailureClass::NotInstalled => {
            format!("install the program, or say where it is; then {retry} tries again")
        }
        FailureClass::Auth => {
            format!(
                "log in with the agent's own tool, or correct its key; then {retry} tries again"
            )
        }
        FailureClass::RateLimit => format!(
            "wait until the provider allows more calls, or choose another agent: `{other}`; {retry} tries again"
        ),
        FailureClass::Overloaded => {
            format!("the provider has a problem: wait a little, then {retry} tries again")
        }
        FailureClass::ContextTooLong => format!("{retry} begins a new session with the whole task"),
        FailureClass::Permission => {
            format!(
                "allow the agent what the step needs, by `--permissions` or in {place}; then {retry} tries again"
            )
        }
        FailureClass::Timeout => format!(
            "{retry} tries again; if the work needs more time, raise the limit: `timeout` or `idleTimeout` of the agent in the config, or `--timeout` among its arguments"
        ),
        FailureClass::Crash => format!("{retry} tries again; the agent's stderr is in {stderr}"),
        FailureClass::NoAnswer => format!(
            "{retry} tries again; what the agent printed is in {}",
            run.path().display()
        ),
        FailureClass::BadAnswer => {
            let ask_again = ask_again(thread, attempted);
            format!("{ask_again}; `uwf thread show {thread}` lists what was tried")
        }
        FailureClass::ChecksFailed => format!(
            "{}; an edge `checks-failed` of the role in the workflow lets the thread go on elsewhere",
            ask_again(thread, attempted)
        ),
        FailureClass::Cancelled => format!("{retry} goes on where the thread stands"),
    }
}

//! What to type next after an error: one function for each theme.

use super::{EngineError, agent_option, raise_command};
use crate::remedy::Remedy;
use crate::store_error::store_hint;

impl EngineError {
    /// Returns what to type next, if there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.hint_with_agent(None)
    }

    /// Returns what to type next, if there is something, after a call that chose this agent: the next one keeps it.
    #[must_use]
    pub fn hint_with_agent(&self, agent: Option<&str>) -> Option<String> {
        match self {
            Self::UnknownThread(_)
            | Self::Ended { .. }
            | Self::Suspended { .. }
            | Self::Limit { .. }
            | Self::NoStep(_)
            | Self::NoAttempt { .. }
            | Self::Raise(_)
            | Self::NotSuspended(_)
            | Self::HeadMoved { .. }
            | Self::Blocked { .. }
            | Self::Unrouted { .. }
            | Self::StepNotInThread { .. }
            | Self::EmptyPrompt => self.thread_hint(&agent_option(agent)),
            Self::NoSlot { .. }
            | Self::Busy { .. }
            | Self::Survivors { .. }
            | Self::NoProc
            | Self::Agent(_)
            | Self::Interrupted { .. }
            | Self::NotStarted(_)
            | Self::WaitInterrupted(_)
            | Self::RouteInterrupted(_)
            | Self::NotEvaluated(_)
            | Self::NoDirectory(_)
            | Self::NoLocation { .. } => self.run_hint(),
            Self::NoAgent { .. }
            | Self::UnknownAgent { .. }
            | Self::NoProgram { .. }
            | Self::AgentWords(_)
            | Self::EmptyAgent
            | Self::NoArgument { .. }
            | Self::Config { .. } => self.agent_hint(),
            Self::Workflow(_) | Self::UnknownWorkflow { .. } | Self::NoFile { .. } => {
                self.workflow_hint()
            }
            Self::WrongType { .. }
            | Self::NoThreads(_)
            | Self::NothingInUse(_)
            | Self::SharedStore(_)
            | Self::NoRoot { .. }
            | Self::ForeignState(_)
            | Self::Store(_)
            | Self::Storage(_)
            | Self::Io { .. } => self.store_hint(),
        }
    }

    /// Returns the hint of an error about what a thread is, or where it stands.
    fn thread_hint(&self, option: &str) -> Option<String> {
        let hint = match self {
            Self::UnknownThread(_) => "`uwf thread list --all` shows every thread".to_owned(),
            Self::Ended { thread, .. } => format!(
                "`uwf thread read {thread}` shows it; `uwf thread fork <step>` goes on from one of its steps"
            ),
            Self::Suspended { thread, .. } => {
                format!("answer with `uwf thread resume {thread}{option} -p \"…\"`")
            }
            Self::Limit {
                thread,
                reached,
                command,
            } => {
                let command = raise_command(command, *thread, reached);
                format!("`{command}{option}` goes on")
            }
            Self::NoStep(thread) => format!("`uwf thread step {thread}` does the first"),
            Self::NoAttempt { thread, .. } => {
                format!("`uwf thread steps {thread}` lists the failed attempts with their numbers")
            }
            Self::Raise(_) => {
                "`uwf thread show <thread>` tells which limit is reached; `uwf config get limits` and `uwf workflow show <workflow>` show all".to_owned()
            }
            Self::NotSuspended(thread) => {
                format!("`uwf thread show {thread}` tells its status; `uwf thread step {thread}` goes on")
            }
            Self::HeadMoved { step, .. } => {
                format!("the work is not lost: `uwf thread fork {step}` goes on from it")
            }
            Self::Blocked { thread, source } => Remedy::of(source).hint(*thread),
            Self::Unrouted { report, .. } => {
                format!("`uwf thread step {}` goes on", report.thread)
            }
            Self::EmptyPrompt => "say what is to be done: `-p \"…\"`".to_owned(),
            Self::StepNotInThread { thread, .. } => {
                format!("`uwf thread steps {thread}` lists its steps")
            }
            _ => return None,
        };
        Some(hint)
    }

    /// Returns the hint of an error about a run: who has the thread, and how the agent ended.
    fn run_hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSlot { .. } => "the same command without `--no-wait` waits for one".to_owned(),
            Self::Busy { thread, .. } => {
                format!("try again later, or end it with `uwf thread kill {thread}`")
            }
            Self::Survivors { .. } => {
                "wait until it ends, or end it with `kill <number>`; then run the same command again".to_owned()
            }
            Self::NotEvaluated(_) => "run the same command again, later: the machine lacks processes, memory or time (`ulimit -a`, `free -m`)".to_owned(),
            Self::NoProc => "mount it: `mount -t proc proc /proc`".to_owned(),
            Self::Agent(failure) => failure.hint.clone(),
            Self::Interrupted { attempt, .. } => attempt.hint.clone(),
            Self::NoDirectory(_) => "create it, or start a thread with another `--cwd`".to_owned(),
            Self::NoLocation { .. } => "create it: it comes from the `location` of an edge of the workflow, or from an earlier answer that the edge quotes".to_owned(),
            Self::NotStarted(_) | Self::WaitInterrupted(_) | Self::RouteInterrupted(_) => "run the same command again to continue".to_owned(),
            _ => return None,
        };
        Some(hint)
    }

    /// Returns the hint of an error about the choice of an agent.
    fn agent_hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoAgent { .. } => {
                "`uwf setup --agent <name>` chooses one, `uwf setup` asks for everything; or pass `--agent`"
                    .to_owned()
            }
            Self::UnknownAgent { near: Some(near), .. }
            | Self::NoProgram { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownAgent { alias, near: None } => {
                format!("`uwf config set agents.{alias}.command <program>` defines it")
            }
            Self::NoProgram { near: None, .. } => "`--agent` takes an alias of the config, a path, or a program on PATH with its arguments".to_owned(),
            Self::AgentWords(_) => "its words are split as a shell splits them: `--agent \"uwf-command -- sh -c 'echo it works'\"`".to_owned(),
            Self::EmptyAgent => "`--agent` takes an alias of the config, or a command line".to_owned(),
            Self::NoArgument { .. } => {
                "`uwf config set agents.<alias>.protocol positional` lets the agent read it from the store"
                    .to_owned()
            }
            Self::Config { key, .. } => format!("`uwf config set {key} …` fixes it"),
            _ => return None,
        };
        Some(hint)
    }

    /// Returns the hint of an error about workflows.
    fn workflow_hint(&self) -> Option<String> {
        let hint = match self {
            Self::Workflow(_) => return None,
            Self::UnknownWorkflow { near: Some(near), .. }
            | Self::NoFile { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NoFile { near: None, .. } => return None,
            Self::UnknownWorkflow { near: None, .. } => {
                "`uwf workflow list` shows what can be started; a file needs its path, such as `./demo.yaml`".to_owned()
            }
            _ => return None,
        };
        Some(hint)
    }

    /// Returns the hint of an error about the store and the files under the root.
    fn store_hint(&self) -> Option<String> {
        let hint = match self {
            Self::WrongType { hash, .. } => format!("`uwf cas get {hash}` shows what it is"),
            Self::NoThreads(start) => format!(
                "bring `threads.yaml` and `history.jsonl` back from a copy; without one, `uwf thread fork {start}` makes a thread of it, and `uwf cas gc --lost {start}` gives it up"
            ),
            Self::NothingInUse(_) => "`--root` or UWF_STORAGE_ROOT names the root whose threads and workflows use the store".to_owned(),
            Self::SharedStore(_) => "`--used-by <root>` names the roots that use it; a root that makes threads in it is known from then on".to_owned(),
            Self::NoRoot { list, .. } => format!(
                "a root has a `threads.yaml`, a `history.jsonl` or a `registry.yaml`; one that is gone for good is struck from `{}`",
                list.display()
            ),
            Self::ForeignState(_) => "collect garbage with that program; this one does not know what it uses".to_owned(),
            Self::Store(error) => return store_hint(error),
            Self::Storage(error) => return error.hint(),
            Self::Io { .. } => return None,
            _ => return None,
        };
        Some(hint)
    }
}

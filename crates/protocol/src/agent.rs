//! The contract between engine and agents: how an agent is called, and how it answers.
//!
//! The engine and the agent kit do not depend on each other. Both depend on this module.

use serde_json::Value;
use uwf_util::text::cut;

use crate::ids::{CasRef, IdError, RoleName, ThreadId};
use crate::run::ProcessIdentity;

/// How many characters of an unusable line a message shows.
const LINE_SHOWN: usize = 200;

/// The names of the environment variables that an agent gets.
pub mod env {
    /// The thread.
    pub const THREAD_ID: &str = "UWF_THREAD_ID";
    /// The role to play.
    pub const ROLE: &str = "UWF_ROLE";
    /// The head that the step must link to.
    pub const HEAD: &str = "UWF_HEAD";
    /// The step that is done again, if one is: the new step takes its place, after [`HEAD`].
    pub const REPLACES: &str = "UWF_REPLACES";
    /// The hash of the text node with the moderator's instruction.
    pub const EDGE_PROMPT_REF: &str = "UWF_EDGE_PROMPT_REF";
    /// The instruction itself, when it is below [`super::EDGE_PROMPT_INLINE_LIMIT`].
    pub const EDGE_PROMPT: &str = "UWF_EDGE_PROMPT";
    /// The engine's process, as [`super::engine_mark`] writes it. While the engine lives, it makes the step durable.
    pub const ENGINE: &str = "UWF_ENGINE";
    /// The attempt that the agent is part of: the mark by which all its processes can be found.
    pub const ATTEMPT: &str = "UWF_ATTEMPT";
    /// The supervisors that a program runs under: their process numbers, the outermost first.
    pub const SUPERVISORS: &str = "UWF_SUPERVISORS";
    /// The time that the processes of an agent have to end after they were asked to, in milliseconds.
    pub const GRACE_MS: &str = "UWF_GRACE_MS";
    /// After how much time, or silence, the agent is ended, whichever is shorter, in milliseconds; empty if nothing limits it.
    pub const LIMIT_MS: &str = "UWF_LIMIT_MS";
    /// Not empty if processes that the agent leaves running when it succeeds may go on.
    pub const KEEP_RUNNING: &str = "UWF_KEEP_RUNNING";
    /// The names of the variables whose values must be masked in what is written of the step, with commas between them.
    pub const SECRETS: &str = "UWF_SECRETS";
    /// The folder of the attempt for artefacts. What is in it when the answer is accepted is kept with the step.
    pub const ARTIFACTS: &str = "UWF_ARTIFACTS";
    /// The branch of the thread's worktree; empty if the thread has none.
    pub const BRANCH: &str = "UWF_BRANCH";
    /// The commit at which this branch began.
    pub const BRANCH_BASE: &str = "UWF_BRANCH_BASE";
    /// What the agent may do without asking: a word of [`crate::permissions`]; empty or not set if nothing says so.
    pub const PERMISSIONS: &str = "UWF_PERMISSIONS";
    /// What a person says to the question with which the role suspended the thread; empty or not set if nobody says
    /// anything, or if it is no text for a variable.
    pub const ANSWER: &str = "UWF_ANSWER";
    /// The storage root.
    pub const STORAGE_ROOT: &str = "UWF_STORAGE_ROOT";
    /// The directory of the content-addressed store.
    pub const OCAS_DIR: &str = "OCAS_DIR";

    /// All of them. Only an engine sets these variables: values in `.env` are ignored.
    pub const CONTRACT: [&str; 20] = [
        THREAD_ID,
        ROLE,
        HEAD,
        REPLACES,
        EDGE_PROMPT_REF,
        EDGE_PROMPT,
        ENGINE,
        ATTEMPT,
        SUPERVISORS,
        GRACE_MS,
        LIMIT_MS,
        KEEP_RUNNING,
        SECRETS,
        ARTIFACTS,
        BRANCH,
        BRANCH_BASE,
        PERMISSIONS,
        ANSWER,
        STORAGE_ROOT,
        OCAS_DIR,
    ];
}

/// The built-in agent that runs another agent, which follows `--`; without `uwf-`.
pub const RECORDER: &str = "record";

/// The longest argument that Linux passes to a program, with its final zero byte, in bytes.
pub const MAX_ARGUMENT: usize = 128 * 1024;

/// Below this size an instruction is passed in an environment variable, in bytes.
pub const EDGE_PROMPT_INLINE_LIMIT: usize = 64 * 1024;

/// Returns the text by which the engine names its own process to the agent.
#[must_use]
pub fn engine_mark(engine: &ProcessIdentity) -> String {
    format!("{}.{}.{}", engine.pid, engine.started, engine.boot)
}

/// Returns the process that a mark names.
#[must_use]
pub fn parse_engine_mark(mark: &str) -> Option<ProcessIdentity> {
    let mut parts = mark.splitn(3, '.');
    Some(ProcessIdentity {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
        boot: parts.next()?.to_owned(),
    })
}

/// What an agent is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCall {
    /// The thread to work on.
    pub thread: ThreadId,
    /// The role to play.
    pub role: RoleName,
    /// The instruction, when it came in the arguments.
    pub prompt: Option<String>,
    /// The form of the call, which is also the form of the answer.
    pub form: CallForm,
}

/// The two forms in which an agent is called and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// `<thread> <role>`; the answer is the bare hash.
    Positional,
    /// `--thread <t> --role <r> --prompt <p>`; the answer is a JSON object with `stepHash`.
    Named,
}

/// Says what is wrong with the arguments of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Too few arguments.
    #[error("a thread id and a role are expected: `<thread> <role>` or `--thread <t> --role <r>`")]
    Missing,
    /// An argument is not what it should be.
    #[error(transparent)]
    Id(#[from] IdError),
}

impl AgentCall {
    /// Reads the last arguments of an agent's command line, in either form.
    ///
    /// # Errors
    /// When the thread or the role is missing or malformed.
    pub fn parse(args: &[String]) -> Result<Self, CallError> {
        let named = |flag: &str| {
            let at = args.iter().position(|arg| arg == flag)?;
            args.get(at + 1).cloned()
        };
        if let (Some(thread), Some(role)) = (named("--thread"), named("--role")) {
            return Ok(Self {
                thread: thread.parse()?,
                role: role.parse()?,
                prompt: named("--prompt"),
                form: CallForm::Named,
            });
        }
        let [.., thread, role] = args else {
            return Err(CallError::Missing);
        };
        Ok(Self {
            thread: thread.parse()?,
            role: role.parse()?,
            prompt: None,
            form: CallForm::Positional,
        })
    }
}

/// Says why an agent's last line is not an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Nothing was printed.
    #[error("the agent printed no answer")]
    Empty,
    /// The last line is neither a hash nor JSON with `stepHash`.
    #[error(
        "the agent's last line is neither the hash of a step nor a JSON object with `stepHash`: `{0}`"
    )]
    Malformed(String),
}

/// Returns the step that an agent's output names: its last non-blank line is a hash, or a JSON object whose
/// `stepHash` is one.
///
/// # Errors
/// When there is no such line, or it is neither.
pub fn parse_answer(stdout: &str) -> Result<CasRef, AnswerError> {
    let line = stdout
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .ok_or(AnswerError::Empty)?;
    if let Ok(hash) = line.parse() {
        return Ok(hash);
    }
    serde_json::from_str::<Value>(line)
        .ok()
        .and_then(|answer| answer.get("stepHash")?.as_str()?.parse().ok())
        .ok_or_else(|| AnswerError::Malformed(cut(line, LINE_SHOWN).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Result<AgentCall, CallError> {
        AgentCall::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn both_forms_name_thread_and_role() {
        let thread = "01J7K9Z0000000000000000004";
        let positional = call(&["script.yaml", thread, "writer"]).unwrap();
        assert_eq!(positional.form, CallForm::Positional);
        assert_eq!(positional.role.as_str(), "writer");
        let named = call(&["--thread", thread, "--role", "writer", "--prompt", "go"]).unwrap();
        assert_eq!(named.form, CallForm::Named);
        assert_eq!(named.prompt.as_deref(), Some("go"));
        assert_eq!(call(&[thread]), Err(CallError::Missing));
        assert!(matches!(call(&["x", "writer"]), Err(CallError::Id(_))));
    }

    #[test]
    fn the_engine_is_named_by_more_than_its_number() {
        let engine = ProcessIdentity {
            pid: 7,
            started: 123_456,
            boot: "0c9f-4a.x".to_owned(),
        };
        assert_eq!(parse_engine_mark(&engine_mark(&engine)), Some(engine));
        assert_eq!(parse_engine_mark("7"), None);
        assert_eq!(parse_engine_mark("x.1.y"), None);
    }

    #[test]
    fn the_last_line_is_a_hash_or_json_with_one() {
        let hash: CasRef = "95ST8MZ0QTKP9".parse().unwrap();
        let check = |text: &str| assert_eq!(parse_answer(text), Ok(hash), "{text}");
        check("95ST8MZ0QTKP9");
        check("working…\n95ST8MZ0QTKP9\r\n\n");
        check(r#"{"stepHash":"95ST8MZ0QTKP9","role":"writer"}"#);
        assert_eq!(parse_answer(" \n"), Err(AnswerError::Empty));
        for text in [
            "95st8mz0qtkp9",
            "done",
            "{}",
            r#"{"stepHash":"x"}"#,
            "95ST8MZ0QTKP9\nbye",
        ] {
            assert!(
                matches!(parse_answer(text), Err(AnswerError::Malformed(_))),
                "{text}"
            );
        }
    }
}

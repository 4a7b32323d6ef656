//! The engine's side of the agent contract: the arguments, the environment and the directory of an agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_config::AgentEnv;
use uwf_moderator::Assignment;
use uwf_protocol::agent::{EDGE_PROMPT_INLINE_LIMIT, MAX_ARGUMENT, engine_mark, env};
use uwf_protocol::config::AgentProtocol;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::permissions::Permissions;
use uwf_protocol::run::ProcessIdentity;
use uwf_protocol::schemas;
use uwf_storage::WorktreeRecord;
use uwf_util::size;

use crate::thread::Thread;
use crate::workspace::branch_of;
use crate::{EngineError, Site};

/// The variables that tell an agent how it is supervised, what it may do, and in which worktree it works.
pub(crate) struct SupervisionVariables<'a> {
    pub(crate) engine: &'a ProcessIdentity,
    /// The mark by which all processes of the attempt can be found.
    pub(crate) attempt: &'a str,
    /// The time that the agent has to end after it was asked to.
    pub(crate) grace: Duration,
    /// After how much time, or silence, it is ended, whichever is shorter.
    pub(crate) limit: Option<Duration>,
    /// Whether processes that it leaves running when it succeeds may go on.
    pub(crate) keep_running: bool,
    /// The worktree of the thread, if it has one.
    pub(crate) worktree: Option<&'a WorktreeRecord>,
    /// What it may do without asking, if anything says so.
    pub(crate) permissions: Option<Permissions>,
    /// What a person says to its question, if the thread is resumed.
    pub(crate) answer: Option<&'a str>,
}

impl SupervisionVariables<'_> {
    fn variables(&self) -> Vec<(String, String)> {
        // We may have been called by another agent and inherit its variables. So "no" is written as an empty value.
        let permissions = self.permissions.map_or("", Permissions::as_str);
        let keep_running = if self.keep_running { "1" } else { "" };
        let limit = self.limit.map(|limit| limit.as_millis().to_string());
        let limit = limit.unwrap_or_default();
        let branch = self.worktree.map(branch_of).unwrap_or_default();
        let base = self.worktree.map_or("", |one| &one.base);
        let variables = [
            (env::ENGINE, engine_mark(self.engine)),
            (env::ATTEMPT, self.attempt.to_owned()),
            (env::GRACE_MS, self.grace.as_millis().to_string()),
            (env::LIMIT_MS, limit),
            (env::KEEP_RUNNING, keep_running.to_owned()),
            (env::BRANCH, branch),
            (env::BRANCH_BASE, base.to_owned()),
            (env::PERMISSIONS, permissions.to_owned()),
            (env::ANSWER, inline(self.answer.unwrap_or_default())),
        ];
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        variables.map(owned).to_vec()
    }
}

/// Returns the arguments that name thread and role.
pub(crate) fn call_arguments(
    protocol: AgentProtocol,
    thread: ThreadId,
    assignment: &Assignment,
) -> Result<Vec<String>, EngineError> {
    let (thread, role) = (thread.to_string(), assignment.role.to_string());
    match protocol {
        AgentProtocol::Positional => Ok(vec![thread, role]),
        AgentProtocol::Named => {
            let prompt = argument(assignment)?;
            Ok(["--thread", &thread, "--role", &role, "--prompt", prompt]
                .map(str::to_owned)
                .to_vec())
        }
    }
}

/// Returns the instruction, if the system can pass it as an argument.
fn argument(assignment: &Assignment) -> Result<&str, EngineError> {
    let prompt = assignment.prompt.as_str();
    let problem = if prompt.len() >= MAX_ARGUMENT {
        format!("{} is too long", size::format(prompt.len() as u64))
    } else if prompt.contains('\0') {
        "it has a zero byte".to_owned()
    } else {
        return Ok(prompt);
    };
    Err(EngineError::NoArgument {
        role: assignment.role.clone(),
        problem,
    })
}

/// Returns the variables that an agent gets beside the inherited ones: those of `.env` and of the config, and the contract.
pub(crate) fn environment(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    agent: &AgentEnv,
    supervision: &SupervisionVariables<'_>,
) -> Result<Vec<(String, String)>, EngineError> {
    let mut variables = agent.added(&site.root, &site.env)?;
    let prompt = serde_json::Value::String(assignment.prompt.clone());
    let prompt_ref = site
        .store
        .put_volatile(schemas::TEXT, &prompt, site.env.now_ms())?;
    let artifacts = site.root.run(thread.id).scratch.artifacts_folder();
    let contract = [
        (env::THREAD_ID, thread.id.to_string()),
        (env::ROLE, assignment.role.to_string()),
        (env::HEAD, thread.head.to_string()),
        (env::EDGE_PROMPT_REF, prompt_ref.to_string()),
        (env::EDGE_PROMPT, inline(&assignment.prompt)),
        (env::ARTIFACTS, artifacts.display().to_string()),
        (env::STORAGE_ROOT, site.root.path().display().to_string()),
        (env::OCAS_DIR, site.store.dir().display().to_string()),
    ];
    variables.extend(contract.map(|(name, value)| (name.to_owned(), value)));
    let replaces = match thread.replaces {
        Some(step) => Some(step.to_string()),
        // We may have been called by an agent that replaces a step of another thread, and inherit its variable.
        None => site.env.is_set(env::REPLACES).then(String::new),
    };
    variables.extend(replaces.map(|step| (env::REPLACES.to_owned(), step)));
    variables.extend(supervision.variables());
    Ok(variables)
}

/// Returns a text as the value of a variable; empty if it is too long, or has a zero byte, which no variable can hold.
fn inline(text: &str) -> String {
    let fits = text.len() < EDGE_PROMPT_INLINE_LIMIT && !text.contains('\0');
    if fits { text.to_owned() } else { String::new() }
}

/// Returns the agent's working directory. The folder of the thread is made in a worktree that does not have it.
pub(crate) fn working_directory(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    worktree: Option<&WorktreeRecord>,
) -> Result<PathBuf, EngineError> {
    let directory = directory_of(site, thread, assignment, worktree);
    if directory.is_dir() {
        return Ok(directory);
    }
    let path = directory.display().to_string();
    let own = thread.start.cwd.as_ref();
    if assignment.location.as_ref().or(own) != own {
        return Err(EngineError::NoLocation {
            role: assignment.role.clone(),
            path,
        });
    }
    // No commit has a folder without files.
    let is_made = worktree.map(|record| record.make_folder(&directory));
    match is_made.transpose()? {
        Some(true) => Ok(directory),
        Some(false) | None => Err(EngineError::NoDirectory(path)),
    }
}

/// Returns where an agent works: the edge's location, else the thread's directory, else ours. If the thread has a worktree,
/// folders of the working tree stand for those in the worktree.
pub(crate) fn directory_of(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    worktree: Option<&WorktreeRecord>,
) -> PathBuf {
    let own = thread.start.cwd.as_ref();
    let given = assignment.location.as_ref().or(own);
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        let ours = || site.env.cwd().to_owned();
        return worktree.map_or_else(ours, |record| record.place.clone());
    };
    let base = own.map_or(site.env.cwd(), Path::new);
    let directory = base.join(given);
    match worktree {
        Some(record) => record.inside(&directory),
        None => directory,
    }
}

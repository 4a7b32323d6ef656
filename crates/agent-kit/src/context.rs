//! Reads what an agent has to know about its thread: the head, the role, and the past.
//!
//! The chain is read only as far back as the prompt shows it. The counts come from the engine's chain summary; without
//! a summary that leads to the head, the whole chain is counted.

use std::path::PathBuf;

use uwf_cas_fs::Store;
use uwf_config::step_masks;
use uwf_protocol::agent::{AgentCall, env};
use uwf_protocol::checks;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::permissions::{DecidedPermission, Permissions};
use uwf_protocol::policy::{ContextPolicy, SessionPolicy};
use uwf_protocol::workflow::Role;
use uwf_storage::{Env, Root, RunDir, State};
use uwf_thread::{Head, read_program, read_start, read_step, summarize, text};
use uwf_util::mask::Masks;

use crate::KitError;
use crate::extract::RoleSchema;
use crate::past::{self, Overflow};
use crate::prompt::{self, Budget, History, Inputs};

/// The place of a step in its thread, and what its prompt is made of.
pub struct Context {
    /// The head that the step follows.
    pub head: CasRef,
    /// The step that the new one replaces, in a poke.
    pub replaces: Option<CasRef>,
    /// The thread's start node.
    pub start_hash: CasRef,
    /// Its payload.
    pub start: StartNode,
    /// The head if it is a step; `None` at the start of the thread.
    pub prev: Option<CasRef>,
    /// The role.
    pub role: Role,
    /// Whether the graph has an edge for checks of the role that failed.
    pub has_checks_edge: bool,
    /// The schema of its answer.
    pub schema: RoleSchema,
    /// The position of the step in the thread, from 1.
    pub step: u64,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// The past as the prompt shows it.
    pub history: History,
    /// What a recap has to be about before the prompt can show one: the steps that do not fit.
    pub overflow: Option<Overflow>,
    /// The step to replace as the prompt shows it, in a poke.
    pub earlier: Option<String>,
}

impl Context {
    /// Returns the whole prompt of the visit, with this instruction of the moderator.
    #[must_use]
    pub fn prompt(&self, call: &AgentCall, instruction: &str) -> String {
        prompt::assemble(&Inputs {
            thread: call.thread,
            role_name: &call.role,
            role: &self.role,
            schema: self.schema.schema(),
            step: self.step,
            visit: self.visit,
            task: &self.start.prompt,
            history: &self.history,
            earlier: self.earlier.as_deref(),
            instruction,
        })
    }
}

/// How much of the past a role is shown on a later visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// The steps since its last one. Its session has the rest.
    SinceLastStep,
    /// All that fits, as on its first visit, because its session is lost or a new one is wanted.
    Whole,
}

/// What a prompt shows of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Showing {
    /// Which steps.
    pub past: Past,
    /// How much of them, if neither the role nor its workflow says it.
    pub usual: ContextPolicy,
}

/// Reads the context of a call.
///
/// # Errors
/// When the thread or the role does not exist, or a node cannot be read.
pub fn read(
    call: &AgentCall,
    environment: &Env,
    root: &Root,
    store: &Store,
    run: &RunDir,
    showing: Showing,
) -> Result<Context, KitError> {
    let head = head(call, environment, root)?;
    let start_hash = Head::read(store, head)?.start();
    let start = read_start(store, start_hash)?.node;
    let program = read_program(store, start.workflow)?;
    let task = program.task(&call.role).cloned();
    let role = task.ok_or_else(|| KitError::NoRole {
        role: call.role.clone(),
        workflow: program.name().to_owned(),
        known: program.roles().cloned().collect(),
    })?;
    let summary = summarize(store, run.ledger.chain_summary().as_ref(), head)?;
    let visits = summary.visits_of(&call.role);
    let is_fresh = role.session == Some(SessionPolicy::Fresh);
    let is_known = visits > 0 && showing.past == Past::SinceLastStep && !is_fresh;
    let policy = role.context.or(program.context()).or(showing.usual);
    let chain = past::Chain {
        store,
        summary: &summary,
        known_by: is_known.then_some(&call.role),
    };
    let (history, overflow) = chain.history(&run.recaps.all(), policy)?;
    let replaces = replaces(call, environment)?;
    let step = summary.steps + 1;
    Ok(Context {
        head,
        replaces,
        earlier: replaces
            .map(|replaced| earlier(store, step, replaced, policy))
            .transpose()?,
        start_hash,
        start,
        prev: (head != start_hash).then_some(head),
        has_checks_edge: program
            .as_graph()
            .is_some_and(|workflow| checks::has_edge(workflow, &call.role)),
        schema: RoleSchema::new(role.schema, store.need(role.schema)?.payload)?,
        role,
        step,
        visit: visits + 1,
        history,
        overflow,
    })
}

/// Tells whether the variables of the environment are about the thread of the call. They are not when an agent starts
/// an agent of another thread, which inherits the variables of the first.
#[must_use]
pub fn is_about(environment: &Env, call: &AgentCall) -> bool {
    let thread = environment.var(env::THREAD_ID);
    thread.is_none_or(|thread| thread == call.thread.as_str())
}

/// Returns the moderator's instruction: from the arguments, the environment, or the node that it names.
///
/// # Errors
/// When the node cannot be read.
pub fn instruction(call: &AgentCall, environment: &Env, store: &Store) -> Result<String, KitError> {
    if let Some(prompt) = &call.prompt {
        return Ok(prompt.clone());
    }
    if !is_about(environment, call) {
        return Ok(String::new());
    }
    if let Some(prompt) = environment.var(env::EDGE_PROMPT) {
        return Ok(prompt.to_owned());
    }
    match environment.var(env::EDGE_PROMPT_REF) {
        Some(hash) => {
            let hash = hash.parse()?;
            text(store, hash)?.ok_or(KitError::Unexpected {
                hash,
                expected: "a text",
            })
        }
        None => Ok(String::new()),
    }
}

/// Returns what the agent may do without asking, if the engine says so.
///
/// # Errors
/// When the engine, which may be of a later version, says something that is not known here.
pub fn permissions(environment: &Env, call: &AgentCall) -> Result<Option<Permissions>, KitError> {
    let given = environment.var(env::PERMISSIONS);
    let given = given.filter(|given| !given.is_empty() && is_about(environment, call));
    Ok(given.map(str::parse).transpose()?)
}

/// Returns the call for which the role asked permission when it suspended the thread, and what a person says to it now;
/// `None` if it asked for nothing, or nobody says anything.
///
/// # Errors
/// When the detail of the last step cannot be read.
pub fn decided(
    call: &AgentCall,
    environment: &Env,
    store: &Store,
    context: &Context,
) -> Result<Option<DecidedPermission>, KitError> {
    let answer = environment.var(env::ANSWER);
    let answer = answer.filter(|answer| !answer.is_empty() && is_about(environment, call));
    let Some((answer, prev)) = answer.zip(context.prev) else {
        return Ok(None);
    };
    let step = read_step(store, prev)?.node;
    if step.role != call.role || context.replaces.is_some() {
        return Ok(None);
    }
    let mut detail = store.need(step.detail)?.payload;
    let asked = serde_json::from_value(detail["askedPermission"].take());
    Ok(asked.ok().map(|asked| DecidedPermission {
        asked,
        answer: answer.to_owned(),
    }))
}

/// Returns the masks for the words of the agent that is called: the secrets of all agents of the thread's project. A thread that
/// cannot be read belongs to the project of our own directory.
#[must_use]
pub fn masks(call: &AgentCall, environment: &Env) -> Masks {
    let start = || {
        let root = Root::resolve(None, environment)?;
        let store = Store::open(root.cas_dir(environment));
        let head = head(call, environment, &root)?;
        let start = read_start(&store, Head::read(&store, head)?.start())?;
        Ok::<_, KitError>(start.node.cwd)
    };
    let own = start().ok().flatten().map(PathBuf::from);
    let own = own.filter(|own| own.is_dir());
    step_masks(environment, own.as_deref().unwrap_or(environment.cwd()))
}

fn head(call: &AgentCall, environment: &Env, root: &Root) -> Result<CasRef, KitError> {
    let given = environment.var(env::HEAD);
    if let Some(head) = given.filter(|_| is_about(environment, call)) {
        return Ok(head.parse()?);
    }
    let head = State::new(root).head(call.thread)?;
    head.ok_or(KitError::NoThread {
        thread: call.thread,
    })
}

fn replaces(call: &AgentCall, environment: &Env) -> Result<Option<CasRef>, KitError> {
    let given = environment.var(env::REPLACES);
    let given = given.filter(|given| !given.is_empty() && is_about(environment, call));
    Ok(given.map(str::parse).transpose()?)
}

/// Returns the step to replace as a text, within the budget of the history.
fn earlier(
    store: &Store,
    number: u64,
    hash: CasRef,
    policy: ContextPolicy,
) -> Result<String, KitError> {
    let step = read_step(store, hash)?.node;
    let mut budget = Budget::new(policy.most_chars());
    budget.push(&past::past_step(store, number, &step)?);
    Ok(budget.into_texts().concat())
}

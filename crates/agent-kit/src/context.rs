//! Reads what an agent has to know about its thread: the head, the role, and the past.
//!
//! The chain is read only as far back as the prompt shows it. The counts come from the engine's chain summary; without
//! a summary that leads to the head, the whole chain is counted.

use uwf_cas_fs::Store;
use uwf_protocol::agent::{AgentCall, env};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::checks;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::workflow::Role;
use uwf_storage::{Env, Root, RunDir, State};
use uwf_thread::{
    Head, answer, output, read_program, read_start, read_step, steps, summarize, text,
};

use crate::KitError;
use crate::extract::RoleSchema;
use crate::prompt::{self, BUDGET, Budget, History, Inputs, PastStep};

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
    /// All that fits, as on its first visit, because its session is lost.
    Whole,
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
    past: Past,
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
    let knows_past = visits > 0 && past == Past::SinceLastStep;
    let history = history(store, &summary, &call.role, knows_past)?;
    let replaces = replaces(call, environment)?;
    let step = summary.steps + 1;
    Ok(Context {
        head,
        replaces,
        earlier: replaces
            .map(|replaced| earlier(store, step, replaced))
            .transpose()?,
        start_hash,
        start,
        prev: (head != start_hash).then_some(head),
        has_checks_edge: program
            .as_graph()
            .is_some_and(|workflow| checks::has_edge(workflow, &call.role)),
        schema: RoleSchema::new(role.schema, store.need(role.schema)?.payload)?
            .masking(uwf_config::own_secret_masks(environment)),
        role,
        step,
        visit: visits + 1,
        history,
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

/// Collects the steps to show: all that fit on a first visit, later those since the role's last step.
fn history(
    store: &Store,
    summary: &ChainSummary,
    role: &RoleName,
    knows_past: bool,
) -> Result<History, KitError> {
    let mut budget = Budget::new(BUDGET);
    let mut history = History::default();
    let mut has_room = true;
    let numbers = (1..=summary.steps).rev();
    for (number, step) in numbers.zip(steps(store, summary.head)) {
        let step = step?.node;
        if knows_past && step.role == *role {
            history.own = Some((number, output(store, &step)?));
            break;
        }
        has_room = has_room && budget.push(&past_step(store, number, &step)?);
        if !has_room {
            history.left_out += 1;
        }
        if !has_room && !knows_past {
            history.left_out = number;
            break;
        }
    }
    history.steps = budget.into_texts();
    Ok(history)
}

/// Returns the step to replace as a text, within the budget of the history.
fn earlier(store: &Store, number: u64, hash: CasRef) -> Result<String, KitError> {
    let step = read_step(store, hash)?.node;
    let mut budget = Budget::new(BUDGET);
    budget.push(&past_step(store, number, &step)?);
    Ok(budget.into_texts().concat())
}

fn past_step(store: &Store, number: u64, step: &StepNode) -> Result<PastStep, KitError> {
    Ok(PastStep {
        number,
        role: step.role.clone(),
        agent: step.agent.clone(),
        output: output(store, step)?,
        content: answer(store, &store.need(step.detail)?.payload)?,
    })
}

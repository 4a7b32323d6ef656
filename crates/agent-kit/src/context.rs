//! Reading what an agent has to know about its thread: where it stands, the role, and the past.
//!
//! The chain is read only as far as the prompt tells about it; the counts come from the summary that the
//! engine keeps, unless there is none that leads to the head.

use serde_json::Value;
use uwf_cas_fs::Store;
use uwf_protocol::agent::{AgentCall, env};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::workflow::{Role, Workflow};
use uwf_protocol::workflow_stored;
use uwf_storage::{Env, Root, RunDir, State};

use crate::KitError;
use crate::extract::RoleSchema;
use crate::prompt::{BUDGET, Budget, History, PastStep};

/// Where a role's step stands in its thread.
pub struct Context {
    /// The head that the step follows.
    pub head: CasRef,
    /// The step whose place it takes, if one is done again.
    pub replaces: Option<CasRef>,
    /// The thread's start node.
    pub start_hash: CasRef,
    /// Its payload.
    pub start: StartNode,
    /// The step that the head is, or `None` at the start of the thread.
    pub prev: Option<CasRef>,
    /// The role to play.
    pub role: Role,
    /// What its answer must fit.
    pub schema: RoleSchema,
    /// The position of the step that is to be done, from 1.
    pub step: u64,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// What the role is told about the past.
    pub history: History,
    /// The step that is done again, as the role is told about it.
    pub earlier: Option<String>,
}

/// What a role that was here before is told about the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// What is new since its last step: its session knows the rest.
    SinceLastStep,
    /// All that fits, as on its first visit: its session is lost.
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
    let mut chain = Chain::from(store, head)?;
    let start_hash = chain.start;
    let start = payload::<StartNode>(store, start_hash, "the start of a thread")?;
    let workflow = workflow(store, start.workflow)?;
    let role = workflow
        .roles
        .get(&call.role)
        .cloned()
        .ok_or_else(|| KitError::NoRole {
            role: call.role.clone(),
            workflow: workflow.name.clone(),
            known: workflow.roles.keys().cloned().collect(),
        })?;
    let summary = chain.summary(run.chain_summary().as_ref())?;
    let visits = summary.visits_of(&call.role);
    let knows_past = visits > 0 && past == Past::SinceLastStep;
    let history = history(&mut chain, &call.role, summary.steps, knows_past)?;
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
        schema: RoleSchema::new(role.schema, store.need(role.schema)?.payload)?,
        role,
        step,
        visit: visits + 1,
        history,
    })
}

/// Tells whether what the environment says is about the thread of the call. It is not when an agent starts
/// another one for another thread: that one inherits the variables of the first.
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
        Some(hash) => payload(store, hash.parse()?, "a text"),
        None => Ok(String::new()),
    }
}

fn head(call: &AgentCall, environment: &Env, root: &Root) -> Result<CasRef, KitError> {
    let told = environment.var(env::HEAD);
    if let Some(head) = told.filter(|_| is_about(environment, call)) {
        return Ok(head.parse()?);
    }
    let head = State::new(root).head(call.thread)?;
    head.ok_or(KitError::NoThread {
        thread: call.thread,
    })
}

fn replaces(call: &AgentCall, environment: &Env) -> Result<Option<CasRef>, KitError> {
    let told = environment.var(env::REPLACES);
    let told = told.filter(|told| !told.is_empty() && is_about(environment, call));
    Ok(told.map(str::parse).transpose()?)
}

fn workflow(store: &Store, hash: CasRef) -> Result<Workflow, KitError> {
    let node = store.need(hash)?;
    workflow_stored::from_payload(node.type_hash, &node.payload)
        .map_err(|source| KitError::Workflow { hash, source })
}

fn payload<T: serde::de::DeserializeOwned>(
    store: &Store,
    hash: CasRef,
    expected: &'static str,
) -> Result<T, KitError> {
    let node = store.need(hash)?;
    serde_json::from_value(node.payload).map_err(|_| KitError::Unexpected { hash, expected })
}

/// A thread's steps from its head backwards, read once and only as far as somebody looks.
struct Chain<'a> {
    store: &'a Store,
    head: CasRef,
    start: CasRef,
    /// Newest first.
    read: Vec<(CasRef, StepNode)>,
}

impl<'a> Chain<'a> {
    fn from(store: &'a Store, head: CasRef) -> Result<Self, KitError> {
        let node = store.need(head)?;
        let mut chain = Self {
            store,
            head,
            start: head,
            read: Vec::new(),
        };
        // Start nodes have no `start`; nodes of older versions are told apart in the same way.
        if node.payload.get("start").is_some() {
            let step: StepNode =
                serde_json::from_value(node.payload).map_err(|_| KitError::Unexpected {
                    hash: head,
                    expected: "a step",
                })?;
            chain.start = step.start;
            chain.read.push((head, step));
        }
        Ok(chain)
    }

    /// Returns the step that lies so many steps before the newest.
    fn get(&mut self, back: usize) -> Result<Option<&(CasRef, StepNode)>, KitError> {
        while self.read.len() <= back {
            let Some((
                _,
                StepNode {
                    prev: Some(prev), ..
                },
            )) = self.read.last()
            else {
                return Ok(None);
            };
            let prev = *prev;
            let step = payload(self.store, prev, "a step")?;
            self.read.push((prev, step));
        }
        Ok(self.read.get(back))
    }

    /// Brings a summary up to the head; without one that lies on the chain, all steps are counted.
    fn summary(&mut self, known: Option<&ChainSummary>) -> Result<ChainSummary, KitError> {
        let mut newer = 0;
        let mut summary = ChainSummary::of_start(self.start);
        if let Some(known) = known
            && known.head == self.head
        {
            return Ok(known.clone());
        }
        while let Some((hash, _)) = self.get(newer)? {
            if let Some(known) = known.filter(|known| known.head == *hash) {
                summary = known.clone();
                break;
            }
            newer += 1;
        }
        for (hash, step) in self.read[..newer].iter().rev() {
            summary.push(*hash, &step.role);
        }
        Ok(summary)
    }
}

/// Collects what the role is told: all that fits on a first visit, later what is new since its last step.
fn history(
    chain: &mut Chain<'_>,
    role: &RoleName,
    steps: u64,
    knows_past: bool,
) -> Result<History, KitError> {
    let store = chain.store;
    let mut budget = Budget::new(BUDGET);
    let mut history = History::default();
    let mut is_open = true;
    for (back, number) in (1..=steps).rev().enumerate() {
        let Some((_, step)) = chain.get(back)? else {
            break;
        };
        if knows_past && step.role == *role {
            history.own = Some((number, output(store, step)?));
            break;
        }
        is_open = is_open && budget.push(&past_step(store, number, step)?);
        if !is_open {
            history.left_out += 1;
        }
        if !is_open && !knows_past {
            history.left_out = number;
            break;
        }
    }
    history.steps = budget.into_texts();
    Ok(history)
}

/// Returns the step that is done again, within the budget of the history.
fn earlier(store: &Store, number: u64, hash: CasRef) -> Result<String, KitError> {
    let step = payload(store, hash, "a step")?;
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
        content: content(store, step.detail)?,
    })
}

/// Returns the data of a step.
fn output(store: &Store, step: &StepNode) -> Result<Value, KitError> {
    Ok(store.need(step.output)?.payload)
}

/// Returns the agent's answer. Details of other programs may not have it: there it is the last turn that is not
/// blank.
fn content(store: &Store, detail: CasRef) -> Result<Option<String>, KitError> {
    let detail = store.need(detail)?;
    let reference = |value: &Value| value.as_str()?.parse::<CasRef>().ok();
    let raw = detail.payload.get("raw").and_then(reference);
    let raw = raw.map(|raw| store.need(raw)).transpose()?;
    let raw = raw.and_then(|raw| Some(raw.payload.as_str()?.to_owned()));
    if let Some(raw) = raw.filter(|raw| !raw.trim().is_empty()) {
        return Ok(Some(raw));
    }
    let turns = detail.payload.get("turns").and_then(Value::as_array);
    for turn in turns.into_iter().flatten().rev().filter_map(reference) {
        let text = assistant_text(&store.need(turn)?.payload);
        if text.is_some() {
            return Ok(text);
        }
    }
    Ok(None)
}

fn assistant_text(turn: &Value) -> Option<String> {
    let is_assistant = turn.get("role")? == "assistant";
    let text = turn.get("content")?.as_str()?;
    (is_assistant && !text.trim().is_empty()).then(|| text.to_owned())
}

//! What the next step of a thread would be. Nothing is started for a role, and nothing is written.

use serde::Serialize;
use uwf_config::secret;
use uwf_moderator::{Assignment, Performer, Route};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::permissions::Permissions;
use uwf_thread::summarize;

use crate::children::taken_up;
use crate::limits::{LimitedThread, reached_by};
use crate::pause::refuse_if_paused;
use crate::pipelines::error::PipelineError;
use crate::planned_try::{PlannedTry, of_role};
use crate::project;
use crate::read::activity::Activity;
use crate::read::verdict;
use crate::review_error::ReviewError;
use crate::run::admission::refuse_early;
use crate::run::cycle::StepOptions;
use crate::run::workspace;
use crate::run::{agent_command, contract};
use crate::thread::{self, Thread, ThreadAt};
use crate::{EngineError, Runner};

/// What the next call for a step would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepPlan {
    /// It would start an agent.
    Agent(Box<AgentPlan>),
    /// Child threads would do steps for this role.
    Children(RoleName),
    /// It would do this step of a pipeline.
    Visit(RoleName),
    /// It would commit a finished step of an earlier call.
    Commit(CasRef),
    /// It would end the thread: the head leads to `$END`.
    End,
}

/// The agent that would be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPlan {
    /// The thread. The caller prints it for plans of every kind.
    #[serde(skip)]
    pub thread: ThreadId,
    /// The head that the step would follow.
    pub head: CasRef,
    /// The role that is next.
    pub role: RoleName,
    /// The label of its agent.
    pub agent: String,
    /// What it may do without asking, if anything says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The program with its arguments; secrets are masked.
    pub command: Vec<String>,
    /// Where it would work.
    pub cwd: String,
    /// What the graph tells the role.
    pub instruction: String,
    /// When, if the thread waits until then: a call for a step comes too early now.
    #[serde(flatten)]
    pub next_try: Option<PlannedTry>,
}

/// Returns what the next step of a thread would be.
///
/// # Errors
/// As of [`step`](crate::step), as far as they are known before an agent is started. A call that comes too early is none: the plan
/// says when the step is done.
pub fn plan(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &StepOptions,
) -> Result<StepPlan, EngineError> {
    let (site, at) = (&runner.site, at.into());
    let id = at.id;
    let head = thread::active_head(site, id)?;
    at.refuse_other(head)?;
    let run = site.root.run(id);
    let activity = Activity::at(site, &run, head)?;
    if activity.running.is_some() {
        return Err(thread::busy(id, run.lease.read_record()));
    }
    if let Some(step) = activity.finished_step {
        return Ok(StepPlan::Commit(step));
    }
    refuse_if_paused(site, &run, id)?;
    let thread = Thread::load(&site.store, id, head)?;
    match taken_up::route(site, &thread, Some(&runner.signals))? {
        Err(source) => Err(EngineError::Blocked { thread: id, source }),
        Ok(Route::Suspend { role, message }) => Err(EngineError::Suspended {
            thread: id,
            role,
            message,
        }),
        Ok(Route::Stop { message, .. }) => Err(PipelineError::Stopped {
            thread: id,
            message,
        }
        .into()),
        Ok(Route::End { .. }) => Ok(StepPlan::End),
        Ok(Route::To(assignment)) if assignment.performer == Performer::Engine => {
            Ok(StepPlan::Visit(assignment.role))
        }
        Ok(Route::To(assignment)) if assignment.performer == Performer::Children => {
            Ok(StepPlan::Children(assignment.role))
        }
        Ok(Route::To(assignment)) => {
            let agent = plan_agent(runner, &thread, assignment, options)?;
            Ok(StepPlan::Agent(Box::new(agent)))
        }
    }
}

fn plan_agent(
    runner: &Runner,
    thread: &Thread,
    assignment: Assignment,
    options: &StepOptions,
) -> Result<AgentPlan, EngineError> {
    let site = &runner.site;
    let (config, _) = project::config_for(site, &thread.start)?;
    let ledger = &site.root.run(thread.id).ledger;
    let recorded = ledger.chain_summary();
    let summary = summarize(&site.store, recorded.as_ref(), thread.head)?;
    let limited = LimitedThread::of(ledger, thread);
    let role = &assignment.role;
    let (reached, _) = reached_by(&site.store, &limited, role, &config.limits, &summary)?;
    if !reached.is_empty() {
        return Err(EngineError::Limit {
            thread: thread.id,
            reached,
            command: "resume",
        });
    }
    if let Some(reason) = verdict::held(&site.store, &limited, &config) {
        return Err(ReviewError::Held {
            thread: thread.id,
            reason,
            is_new: false,
        }
        .into());
    }
    let (name, place) = (thread.program.name(), (thread.head, role));
    let planned = || of_role(site, &config, name, place, ledger);
    let next = options.choice.agent.is_none().then(planned).flatten();
    let run = site.root.run(thread.id);
    let early = refuse_early(&run, thread, (role, next.as_ref()), options);
    let next_try = waited_for(early)?;
    let next = next.as_ref().map(|next| next.agent.as_str());
    let agent = agent_command::resolve(runner, &config, (&options.choice, next), name, role)?;
    agent_command::refuse_without_checks(runner, thread, role, &agent)?;
    let worktree = workspace::planned(site, thread, &config)?;
    let cwd = match &worktree {
        // It will be made.
        Some(record) if !record.made => {
            contract::directory_of(site, thread, &assignment, Some(record))
        }
        worktree => contract::working_directory(site, thread, &assignment, worktree.as_ref())?,
    };
    let call = contract::call_arguments(agent.protocol, thread.id, &assignment)?;
    let secrets = site.secrets();
    let program = std::iter::once(agent.program.to_string());
    let command = program
        .chain(secret::masked_arguments(&agent.args))
        .chain(call);
    Ok(AgentPlan {
        thread: thread.id,
        head: thread.head,
        agent: agent.label,
        permissions: agent.permissions,
        command: command.map(|word| secrets.text(&word)).collect(),
        cwd: cwd.display().to_string(),
        role: assignment.role,
        instruction: assignment.prompt,
        next_try,
    })
}

/// Returns the attempt that a call comes too early for, if it does.
fn waited_for(early: Result<(), EngineError>) -> Result<Option<PlannedTry>, EngineError> {
    match early {
        Err(EngineError::Waiting(waiting)) => Ok(Some(waiting.planned)),
        other => other.map(|()| None),
    }
}

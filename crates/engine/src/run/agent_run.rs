//! One run of an agent: it is started as a process, watched to its end, and its answer is checked.

use std::path::Path;
use std::time::Duration;

use uwf_moderator::Assignment;
use uwf_process::process_identity;
use uwf_protocol::agent::{engine_mark, parse_answer};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::{LeaseRecord, Pending, ProcessIdentity};
use uwf_storage::{Outbox, RunDir, WorktreeRecord};
use uwf_util::mask::Masks;

use crate::agent_choice::AgentChoice;
use crate::printed::ANSWER_TAIL;
use crate::run::agent_command::AgentCommand;
use crate::run::answer::{self, Refusal};
use crate::run::attempted::{Attempted, Problem, Verb};
use crate::run::contract::{self, SupervisionVariables};
use crate::run::observer::Watch;
use crate::run::owned::OwnedRun;
use crate::run::process::{self, EndedRun, LaunchSpec, RunEnding};
use crate::run::shared::SharedThread;
use crate::run::waiting::Who;
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, Site};

/// What one run of an agent needs to know.
pub(crate) struct AgentRun<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) assignment: &'a Assignment,
    pub(crate) agent: &'a AgentCommand,
    pub(crate) cwd: &'a Path,
    /// The worktree of the thread, if it has one.
    pub(crate) worktree: Option<&'a WorktreeRecord>,
    /// The time that the agent and its descendants have to end after they were asked to.
    pub(crate) grace: Duration,
    /// What nobody may see of the agent's output.
    pub(crate) masks: &'a Masks,
}

impl AgentRun<'_> {
    /// Returns who waits if the agent cannot be started at once.
    pub(crate) fn who(&self) -> Who<'_> {
        Who {
            thread: self.thread.id,
            role: &self.assignment.role,
            agent: &self.agent.label,
        }
    }

    /// Returns the attempt that starts now.
    pub(crate) fn attempted(
        &self,
        choice: &AgentChoice,
        verb: Verb,
        started_at_ms: i64,
    ) -> Attempted {
        Attempted {
            head: self.thread.head,
            replaces: self.thread.replaces,
            role: self.assignment.role.clone(),
            agent: self.agent.label.clone(),
            alias: self.agent.alias.clone(),
            directory: self.cwd.to_owned(),
            chosen: self.agent.chosen_by(choice),
            verb,
            started_at_ms,
            masks: self.masks.clone(),
        }
    }
}

/// How a run of an agent went.
pub(crate) struct AgentRunResult {
    /// The step, or why there is none.
    pub(crate) outcome: Result<FinishedStep, Problem>,
    /// The processes that could not be ended, for people. While there are any, the lease record stays: it tells which
    /// attempt they belong to.
    pub(crate) survivors: Vec<String>,
}

/// A step that the agent finished and that passed the check.
pub(crate) struct FinishedStep {
    pub(crate) step: StepContext,
    /// The processes that the agent left running, for people.
    pub(crate) left: Vec<String>,
}

/// Runs the agent to its end, and returns the step that it did or why there is none.
///
/// # Errors
/// When no agent was started, or when the engine itself failed. A failure of the agent is part of the result.
pub(crate) fn run_agent(
    runner: &Runner,
    run: &OwnedRun,
    agent_run: &AgentRun<'_>,
    attempted: &Attempted,
) -> Result<AgentRunResult, EngineError> {
    let ended = launch(runner, run, agent_run, attempted);
    clean_up(run, agent_run.agent, ended.as_ref().ok())?;
    let mut ended = match ended {
        Ok(ended) => ended,
        Err(LaunchError::Engine(error)) => return Err(error),
        Err(LaunchError::Spawn(error)) => {
            let problem = agent_run.agent.not_started(runner, agent_run.cwd, &error);
            return Ok(AgentRunResult {
                outcome: Err(problem),
                survivors: Vec::new(),
            });
        }
    };
    let survivors = std::mem::take(&mut ended.survivors);
    if survivors.is_empty() {
        // What cannot be masked is removed, so an error changes nothing about the step.
        let _ = run.scratch.mask(agent_run.masks);
    }
    let outcome = match ended.ending {
        RunEnding::NotStarted(signal) if survivors.is_empty() => {
            return Err(EngineError::NotStarted(signal));
        }
        RunEnding::NotStarted(_) => {
            return Err(EngineError::Survivors {
                thread: agent_run.thread.id,
                processes: survivors,
                failed: None,
            });
        }
        RunEnding::Exited(_)
        | RunEnding::Finished
        | RunEnding::TimedOut(_)
        | RunEnding::Idle(_)
        | RunEnding::Unwanted
        | RunEnding::Interrupted(_) => check_run(runner, run, agent_run, ended)?,
    };
    if outcome.is_ok() && survivors.is_empty() {
        // The pending record names the step.
        run.lease.clear_record()?;
    }
    Ok(AgentRunResult { outcome, survivors })
}

/// Removes the records of a run that is over, unless something still needs them. `ended` is `None` if the agent could not
/// be started. The lease record of an agent that was started stays: what came of the attempt is on record before it goes.
fn clean_up(
    run: &OwnedRun,
    agent: &AgentCommand,
    ended: Option<&EndedRun>,
) -> Result<(), EngineError> {
    let keeps_output = ended.is_some_and(|ended| has_whole_output(run, ended));
    let has_left = ended.is_some_and(|ended| !ended.left.is_empty());
    if agent.keep_running && has_left {
        // Invariant 7 of the lock of a thread in docs/architecture.md.
        run.renew_lock()?;
    }
    let has_started = |ended: &EndedRun| !matches!(ended.ending, RunEnding::NotStarted(_));
    let stays = ended.is_some_and(|ended| has_started(ended) || !ended.survivors.is_empty());
    if !stays {
        run.lease.clear_record()?;
    }
    if !keeps_output {
        run.scratch.clear_launched()?;
    }
    Ok(())
}

/// Returns the step of a run whose agent was started, or why there is none.
fn check_run(
    runner: &Runner,
    run: &OwnedRun,
    agent_run: &AgentRun<'_>,
    ended: EndedRun,
) -> Result<Result<FinishedStep, Problem>, EngineError> {
    let thread = agent_run.thread;
    let hash = match finished_step(run, thread, agent_run.agent, &ended.ending)? {
        Ok(hash) => hash,
        Err(problem) => return Ok(Err(problem)),
    };
    match answer::check(&runner.site.store, thread, &agent_run.assignment.role, hash) {
        Ok(step) => {
            // The output names a step that the agent only printed, and counts no longer than the lease record stays.
            run.outbox
                .record_printed(&printed(&runner.site, thread, hash))?;
            Ok(Ok(FinishedStep {
                step,
                left: ended.left,
            }))
        }
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Unfit(why)) => {
            run.outbox.clear_pending()?;
            Ok(Err(Problem::refused(why)))
        }
    }
}

/// Tells whether the output of the adapter's program is complete, so that the next attempt may use it. It is cut off if
/// the program was ended together with the adapter. The lease record must still be that of this attempt.
fn has_whole_output(run: &RunDir, ended: &EndedRun) -> bool {
    let ended_itself =
        matches!(&ended.ending, RunEnding::Exited(status) if status.code().is_some());
    ended_itself
        || ended.ended_well
        || run.scratch.launched().is_some_and(|launched| {
            let program = launched.program.map(|program| program.pid);
            // An adapter that only read the output of an earlier attempt left it as it found it.
            let mark = run.lease.read_record().and_then(|record| record.attempt);
            let is_of_earlier_attempt = launched.mark.is_some() && launched.mark != mark;
            launched.ended
                || is_of_earlier_attempt
                || program.is_some_and(|pid| ended.succeeded.contains(&pid))
        })
}

/// Returns the step of the run: the pending record names it, or else the agent's last line does. A step that was
/// finished only after a limit of time does not count. One that was finished after we were told to stop counts: it was paid for, and
/// nothing is wrong with it.
fn finished_step(
    run: &OwnedRun,
    thread: &Thread,
    agent: &AgentCommand,
    ending: &RunEnding,
) -> Result<Result<CasRef, Problem>, EngineError> {
    let pending = pending_of(&run.outbox, thread)?;
    Ok(match (pending, ending) {
        (Some(pending), RunEnding::TimedOut(_) | RunEnding::Idle(_)) => {
            run.outbox.clear_pending()?;
            Err(agent.answered_late(ending, pending.step))
        }
        (Some(pending), _) => Ok(pending.step),
        (None, RunEnding::Exited(status)) if status.success() => {
            let printed = run.scratch.stdout_end(ANSWER_TAIL);
            parse_answer(&printed).map_err(|error| agent.unanswered(&error))
        }
        (None, RunEnding::Interrupted(signal)) => Err(Problem::interrupted(*signal)),
        (None, RunEnding::Unwanted) => {
            let why = run.shared.as_ref().map(SharedThread::why_lost);
            Err(Problem::taken_over(&why.unwrap_or_default()))
        }
        (None, ending) => Err(agent.ended(ending)),
    })
}

/// Returns the record of a step that the agent of this call only printed.
fn printed(site: &Site, thread: &Thread, step: CasRef) -> Pending {
    Pending {
        step,
        head: thread.head,
        replaces: thread.replaces,
        at_ms: site.env.now_ms(),
        answer_of: Vec::new(),
        agent: None,
    }
}

/// Starts the agent, writes down that it works on the thread, and waits for its end.
fn launch(
    runner: &Runner,
    run: &OwnedRun,
    agent_run: &AgentRun<'_>,
    attempted: &Attempted,
) -> Result<EndedRun, LaunchError> {
    let AgentRun {
        thread,
        assignment,
        agent,
        cwd,
        grace,
        masks,
        ..
    } = *agent_run;
    let site = &runner.site;
    let own = process_identity(site.env.process_id()).ok_or(EngineError::NoProc)?;
    let attempt = format!("{}/{}", engine_mark(&own), site.env.now_ms());
    let supervision = supervision(agent_run, attempted, &own, &attempt);
    let variables = contract::environment(site, thread, assignment, &agent.env, &supervision)?;
    let args = arguments(agent, thread.id, assignment)?;
    let spec = LaunchSpec {
        program: &agent.program,
        args: &args,
        env: &variables,
        withheld: &agent.env.withheld(),
        cwd,
        stdout: run.scratch.stdout_file(),
        stderr: run.scratch.stderr_file(),
        watched: [run.scratch.answer_file(), run.scratch.events_file()],
        checking: run.scratch.running_check_file(),
        limits: agent.limits,
        is_wanted: &|| !run.shared.as_ref().is_some_and(SharedThread::is_lost),
        grace,
        keep_running: agent.keep_running,
        show_stderr: runner.observer.stderr,
        masks,
        process_masks: &|| site.secrets_in_output().and(masks),
    };
    // The record names this engine before the agent starts, and the agent right after that. So while the thread is locked,
    // the record names the process that works on it.
    let record = lease_record(agent_run, attempted, &own, &attempt);
    run.lease.write_record(&record).map_err(EngineError::from)?;
    let started = |pid| {
        let agent = process_identity(pid);
        let record = LeaseRecord { agent, ..record };
        run.lease.write_record(&record).map_err(EngineError::from)?;
        Ok(check_wanted(runner, thread)?)
    };
    let role = &assignment.role;
    let watch = Watch::new(runner.observer, &run.scratch, role, &agent.label);
    process::run(&spec, &runner.signals, watch, started, || {
        matches!(pending_of(&run.outbox, thread), Ok(Some(_)))
    })
}

/// Returns the record of an attempt whose agent is not started yet.
fn lease_record(
    agent_run: &AgentRun<'_>,
    attempted: &Attempted,
    engine: &ProcessIdentity,
    attempt: &str,
) -> LeaseRecord {
    let AgentRun { thread, agent, .. } = agent_run;
    LeaseRecord {
        engine: engine.clone(),
        agent: None,
        label: agent.label.clone(),
        attempt: Some(attempt.to_owned()),
        head: Some(thread.head),
        replaces: thread.replaces,
        keep_running: agent.keep_running,
        role: agent_run.assignment.role.clone(),
        started_at_ms: attempted.started_at_ms,
        waiting: false,
        words: attempted.verb.message().map(ToOwned::to_owned),
        number: None,
        failed: Vec::new(),
        chosen: Some(attempted.chosen.clone()),
    }
}

/// Returns the variables about this attempt.
fn supervision<'a>(
    agent_run: &AgentRun<'a>,
    attempted: &'a Attempted,
    engine: &'a ProcessIdentity,
    attempt: &'a str,
) -> SupervisionVariables<'a> {
    let limits = agent_run.agent.limits;
    SupervisionVariables {
        engine,
        attempt,
        grace: agent_run.grace,
        limit: [limits.wall, limits.idle].into_iter().flatten().min(),
        keep_running: agent_run.agent.keep_running,
        worktree: agent_run.worktree,
        permissions: agent_run.agent.permissions,
        answer: attempted.verb.answer(),
    }
}

fn arguments(
    agent: &AgentCommand,
    thread: ThreadId,
    assignment: &Assignment,
) -> Result<Vec<String>, EngineError> {
    let call = contract::call_arguments(agent.protocol, thread, assignment)?;
    Ok(agent.args.iter().cloned().chain(call).collect())
}

/// Fails if the thread was ended or changed before the agent was on record: `thread kill` could not have found the agent.
fn check_wanted(runner: &Runner, thread: &Thread) -> Result<(), EngineError> {
    let head = thread::active_head(&runner.site, thread.id)?;
    if head == thread.expected_head() {
        return Ok(());
    }
    Err(thread::busy(thread.id, None))
}

/// Returns the pending record if its step follows the thread's head and replaces the same step.
fn pending_of(outbox: &Outbox, thread: &Thread) -> Result<Option<Pending>, EngineError> {
    let is_here =
        |pending: &Pending| (pending.head, pending.replaces) == (thread.head, thread.replaces);
    Ok(outbox.read_pending()?.filter(is_here))
}

/// Why an agent could not be started.
enum LaunchError {
    /// The system refused.
    Spawn(std::io::Error),
    /// The engine could not prepare the run or put it on record.
    Engine(EngineError),
}

impl From<std::io::Error> for LaunchError {
    fn from(source: std::io::Error) -> Self {
        Self::Spawn(source)
    }
}

impl From<EngineError> for LaunchError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

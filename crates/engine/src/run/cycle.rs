//! One cycle of a thread: lock it, commit a finished step, route, run the agent, commit its step.

use std::fmt;
use std::rc::Rc;
use std::time::Instant;

use uwf_config::Unused;
use uwf_moderator::{Assignment, Performer, Route};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::limits::{Limits, Setting};
use uwf_storage::{Archived, RunDir, State};
use uwf_util::mask::Masks;
use uwf_util::shell_words;

use crate::agent_choice::AgentChoice;
use crate::children::redone::{Redone, done_again, redone};
use crate::children::taken_up;
use crate::pipelines::chain::is_run;
use crate::pipelines::error::PipelineError;
use crate::read::report::{StepOrigin, StepReport};
use crate::run::admission::{self, Admitted};
use crate::run::adopt::{Adoption, adopt};
use crate::run::agent_command::{self, AgentCommand};
use crate::run::agent_run::{AgentRun, AgentRunResult, FinishedStep, run_agent};
use crate::run::attempted::{Attempted, Cause, Problem, Verb};
use crate::run::children::{Approach, ChildrenStep, do_children_step, take_redone};
use crate::run::claim::{self, Company, Sharing};
use crate::run::commit::{Committed, Nodes, commit, completed, report};
use crate::run::contract;
use crate::run::failure;
use crate::run::git_locks;
use crate::run::hooks;
use crate::run::left_secrets;
use crate::run::owned::{OwnedRun, with_thread_to_step};
use crate::run::pipelines;
use crate::run::restore::restore_first;
use crate::run::slots::{self, NoSlot};
use crate::run::supervisor::{self, Asked};
use crate::run::workspace::{self, Workspace};
use crate::thread::{self, Thread, ThreadAt};
use crate::waiting_answer::WaitingAnswer;
use crate::{EngineError, Runner, lost_run, tags};

/// What the caller may choose for a step.
#[derive(Debug, Clone, Default)]
pub struct StepOptions {
    /// Which agent it gets, and what that may do.
    pub choice: AgentChoice,
    /// What to do when no slot is free, or other threads work in the working tree.
    pub no_slot: NoSlot,
    /// Whether the agent may work where another thread does.
    pub sharing: Sharing,
    /// Which session the agent works in.
    pub session: Session,
    /// What to do before the time of the next attempt.
    pub early: Early,
    /// How many branches of a role may be at work at once, if fewer than the workflow allows.
    pub jobs: Option<usize>,
    /// How far the call takes the branches of a role.
    pub pace: Pace,
    /// When the agent is ended, even if its own limits allow more.
    pub until: Option<Instant>,
}

/// How far a call takes the branches of a role.
#[derive(Clone, Default)]
pub enum Pace {
    /// It does one cycle of each branch that can go on.
    #[default]
    OneRound,
    /// Whenever the cycle of a branch has ended, it begins another one, as long as a branch can go on. The function gets a
    /// report of the thread after each cycle.
    ToTheEnd(Rc<dyn Fn(&StepReport)>),
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneRound => "OneRound",
            Self::ToTheEnd(_) => "ToTheEnd",
        })
    }
}

/// Which session the agent works in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Session {
    /// The session that the agent had in the role, if it had one.
    #[default]
    Known,
    /// A new session, which gets the whole task. The role's known sessions are forgotten.
    New,
}

/// What to do if an attempt has failed, and the time of the next one has not come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Early {
    /// The call fails, and starts nothing.
    #[default]
    Refuse,
    /// The attempt is made now.
    TryNow,
}

/// What a person says to a thread before its step is done.
#[derive(Debug, Clone, Default)]
pub struct Intervention {
    /// For a thread that waits: the answer; `None` means "go on". For a step that is done again: what is wrong with it,
    /// or what is wanted instead.
    pub prompt: Option<String>,
    /// What is allowed beyond the thread's limits from now on.
    pub raises: Vec<Setting>,
    /// The numbers of failed attempts whose unknown usage a person accepts.
    pub accepts: Vec<u64>,
    /// For a step that is done again: whether the files that it found are put back first.
    pub restore: bool,
    /// How the step is done.
    pub step: StepOptions,
}

/// Does one cycle of a thread.
///
/// # Errors
/// When the thread is busy, suspended, ended or blocked, when the agent fails, or when the store does. In each
/// case the thread stays as it was.
pub fn step(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &StepOptions,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    hooks::after(runner, at.id, step_untold(runner, at, options))
}

/// Does one cycle of a thread. The hooks are not told.
pub(crate) fn step_untold(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &StepOptions,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    let id = at.id;
    // The signal may have come after the step before this one, for example while a hook ran.
    if let Some(stop) = runner.signals.stop() {
        return Err(EngineError::NotStarted(stop.signal));
    }
    with_thread_to_step(runner, at, |run| {
        let head = thread::active_head(&runner.site, id)?;
        if is_run(&runner.site.store, head)? {
            return pipelines::step(runner, run, id, &options.pace);
        }
        let thread = Thread::load(&runner.site.store, id, head)?;
        let thread = match adopt(runner, run, thread)? {
            Adoption::Committed(report) => return Ok(*report),
            Adoption::Nothing(thread) => *thread,
        };
        match redone(&runner.site, &thread)? {
            Redone::No => {}
            Redone::AtWork(child) => return Err(done_again(&thread, child)),
            Redone::Done => return take_redone(runner, run, thread, options),
        }
        match taken_up::route(&runner.site, &thread, Some(&runner.signals))? {
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
            Ok(route @ Route::End { .. }) => archive(runner, run, thread, route),
            Ok(Route::To(assignment)) => {
                let verb = Verb::Step;
                let admit = || {
                    let how = (&verb, options);
                    admission::admit(&runner.site, run, &thread, &assignment, how)
                };
                let admitted = admit()?;
                let place = (&assignment.role, admitted.next.as_ref());
                admission::refuse_early(run, &thread, place, options)?;
                let admitted = match supervisor::pass(runner, run, &thread, &admitted)? {
                    Asked::No => admitted,
                    Asked::Yes => admit()?,
                };
                let job = Job {
                    assignment: &assignment,
                    admitted,
                    options,
                    verb,
                    restore: None,
                };
                do_step(runner, run, thread, job)
            }
        }
    })
}

/// Archives a thread whose head leads to `$END`, such as a fork of a completed one. No agent runs.
fn archive(
    runner: &Runner,
    run: &RunDir,
    thread: Thread,
    route: Route,
) -> Result<StepReport, EngineError> {
    let record = completed(&thread, runner.site.env.now_ms());
    match State::new(&runner.site.root).archive(&record)? {
        Archived::Done => {
            let committed = Committed {
                thread,
                replaced: None,
                route: Ok(Ok(route)),
            };
            let config = Limits::default();
            report(runner, run, committed, StepOrigin::Nothing, &config).result()
        }
        Archived::NotActive | Archived::HeadIs(_) => Err(thread::busy(thread.id, None)),
    }
}

/// A step that is to be done.
pub(crate) struct Job<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) admitted: Admitted,
    pub(crate) options: &'a StepOptions,
    pub(crate) verb: Verb,
    /// The step whose files are put back first, as it found them.
    pub(crate) restore: Option<CasRef>,
}

/// Does a step and commits it.
pub(crate) fn do_step(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    job: Job<'_>,
) -> Result<StepReport, EngineError> {
    match job.assignment.performer {
        Performer::Agent => do_agent_step(runner, run, thread, job),
        Performer::Engine => Err(PipelineError::IsRun(thread.id).into()),
        Performer::Children => {
            let Job {
                assignment,
                admitted,
                options,
                verb,
                restore: _,
            } = job;
            let step = ChildrenStep {
                assignment,
                admitted,
                approach: Approach::Step(options),
                words: verb.message(),
            };
            do_children_step(runner, run, thread, step)
        }
    }
}

/// Runs the agent for a step, and commits the step.
fn do_agent_step(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    job: Job<'_>,
) -> Result<StepReport, EngineError> {
    let Job {
        assignment,
        admitted,
        options,
        verb,
        restore,
    } = job;
    let role = &assignment.role;
    runner
        .site
        .log(&thread, tags::ROUTED, &format!("role={role}"));
    let agent = choose_agent(runner, &admitted, options, &thread, role);
    let agent = agent.inspect_err(|_| {
        // No attempt follows that would do it. The step is refused all the same.
        let _ = left_secrets::take_out(&runner.site, run, &admitted.config);
    })?;
    let Admitted {
        config, summary, ..
    } = admitted;
    let Workspace { mode, worktree } = workspace::prepare(runner, run, (&thread, role), &config)?;
    let worktree = worktree.as_ref();
    let cwd = contract::working_directory(&runner.site, &thread, assignment, worktree)?;
    let masks = uwf_config::secret_masks(&config, &runner.site.root, &runner.site.env)?;
    let agent_run = AgentRun {
        thread: &thread,
        assignment,
        agent: &agent,
        cwd: &cwd,
        worktree,
        grace: agent_command::grace(&config)?,
        masks: &masks,
    };
    let company = Company::of(mode, options, restore);
    let claim = claim::take(runner, run, &agent_run, company, options)?;
    // The slots stay ours until the step is committed or has failed: dropping them frees them.
    let _slots = slots::take(runner, run, &agent_run, &config, options.no_slot)?;
    git_locks::remove_left(runner, run, &agent_run);
    if let Some(replaced) = restore {
        restore_first(runner, run, &agent_run, replaced)?;
    }
    let attempted = get_ready(runner, run, &agent_run, options, verb)?;
    let result = run_agent(runner, run, &agent_run, &attempted)?;
    // If something of the attempt lives, it keeps the claim.
    if result.survivors.is_empty() {
        claim.release()?;
    }
    let attempt = EndedAttempt {
        attempted: &attempted,
        config: &config,
        summary: &summary,
        may_go_on: agent.keep_running,
        result,
    };
    settle(runner, run, thread, attempt)
}

/// Makes room for an attempt, and lets its processes inherit the lock of the thread. Returns the attempt that starts now.
fn get_ready(
    runner: &Runner,
    run: &OwnedRun,
    agent_run: &AgentRun<'_>,
    options: &StepOptions,
    verb: Verb,
) -> Result<Attempted, EngineError> {
    run.share_lock()?;
    let now_ms = runner.site.env.now_ms();
    let attempted = agent_run.attempted(&options.choice, verb, now_ms);
    let (thread, role) = (agent_run.thread, &agent_run.assignment.role);
    clear_scratch(
        runner,
        run,
        (thread, role),
        options.session,
        agent_run.masks,
    )?;
    if let (Verb::Poke(_), Some(replaced)) = (&attempted.verb, thread.replaces) {
        let message = format!("role={role} replaces={replaced}");
        runner.site.log(thread, tags::POKED, &message);
    }
    let label = &agent_run.agent.label;
    let message = format!("agent={label} role={role}");
    runner.site.log(thread, tags::AGENT_STARTED, &message);
    Ok(attempted)
}

/// An attempt whose agent has ended.
struct EndedAttempt<'a> {
    attempted: &'a Attempted,
    config: &'a Config,
    /// What the chain of the thread is before it.
    summary: &'a ChainSummary,
    /// Whether processes that a successful agent left running may go on.
    may_go_on: bool,
    result: AgentRunResult,
}

/// Commits the step of an attempt, or records that it failed.
fn settle(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    attempt: EndedAttempt<'_>,
) -> Result<StepReport, EngineError> {
    let EndedAttempt {
        attempted,
        config,
        summary,
        may_go_on,
        result: AgentRunResult { outcome, survivors },
    } = attempt;
    let still_busy = |failed| EngineError::Survivors {
        thread: thread.id,
        processes: survivors.clone(),
        failed,
    };
    match (outcome, survivors.is_empty()) {
        (Ok(FinishedStep { step, left }), true) => {
            let left = [run.ended.take(), left].concat();
            let committed = commit(runner, run, thread, summary, step, Nodes::New)?;
            let mut reported = report(runner, run, committed, StepOrigin::Ran, &config.limits);
            reported.report.kept_running = may_go_on && !left.is_empty();
            reported.report.left_running = left;
            reported.result()
        }
        // The finished step stays in the pending record until no process of its attempt lives.
        (Ok(_), false) => Err(still_busy(None)),
        (Err(problem), true) => {
            let failed = fail(runner, run, (&thread, config), attempted, problem);
            lost_run::clear_recorded(run);
            Err(failed)
        }
        (Err(problem), false) => {
            let failed = fail(runner, run, (&thread, config), attempted, problem);
            Err(still_busy(Some(Box::new(failed))))
        }
    }
}

/// Finds the agent of the role, with the time that the call gives it, and notes that the config of the project had no say.
fn choose_agent(
    runner: &Runner,
    admitted: &Admitted,
    options: &StepOptions,
    thread: &Thread,
    role: &RoleName,
) -> Result<AgentCommand, EngineError> {
    if let Some(unused) = &admitted.unused {
        (runner.notice)(&note_unused(unused));
    }
    let next = admitted.next.as_ref().map(|next| next.agent.as_str());
    let choice = (&options.choice, next);
    let name = thread.program.name();
    let mut agent = agent_command::resolve(runner, &admitted.config, choice, name, role)?;
    agent_command::refuse_without_checks(runner, thread, role, &agent)?;
    for secret in &agent.short_secrets {
        let note = format!("the secret `{secret}` is too short to be masked");
        (runner.notice)(&note);
    }
    let left = options
        .until
        .map(|until| until.saturating_duration_since(Instant::now()));
    agent.limits.wall = [agent.limits.wall, left].into_iter().flatten().min();
    Ok(agent)
}

/// Returns the note about the config of a project that is not used.
fn note_unused(unused: &Unused) -> String {
    let folder = unused.folder.display();
    let why = match unused.changed {
        true => "it was changed since you trusted it",
        false => "you have not said that you trust it",
    };
    let quoted = shell_words::quote(&folder.to_string()).into_owned();
    format!(
        "`{folder}/.uwf/config.yaml` is not used, because {why}: `uwf trust {quoted}` shows it and trusts it"
    )
}

/// Puts a failed attempt on record, and returns the error to report.
fn fail(
    runner: &Runner,
    run: &RunDir,
    (thread, config): (&Thread, &Config),
    attempted: &Attempted,
    problem: Problem,
) -> EngineError {
    // Even if the thread was ended meanwhile, the attempt is recorded: it may have cost something.
    let ended = thread::active_head(&runner.site, thread.id).err();
    if problem.cause == Cause::Agent
        && ended.is_none()
        && let Err(error) = failure::check_nodes(&runner.site, run, thread)
    {
        return error;
    }
    let failed = failure::record(&runner.site, run, (thread, config), attempted, problem);
    ended.unwrap_or(failed)
}

/// Makes sure that the result of an attempt can be recorded, and removes what an earlier attempt left.
///
/// This comes before the lease record: from then on, every file there counts as the new attempt's.
fn clear_scratch(
    runner: &Runner,
    run: &RunDir,
    (thread, role): (&Thread, &RoleName),
    session: Session,
    masks: &Masks,
) -> Result<(), EngineError> {
    runner.site.ready_to_record()?;
    run.scratch.clear_failure()?;
    run.scratch.clear_usage()?;
    run.scratch.clear_output()?;
    run.scratch.clear_running_check()?;
    if session == Session::New {
        run.sessions.forget(role, None)?;
        // A person who wants a new session wants no answer of an earlier one.
        if let Some(answer) = WaitingAnswer::at(run, thread.expected_head()) {
            let role = &answer.role;
            (runner.notice)(&format!("an answer of `{role}` waited and is given up"));
        }
        run.scratch.clear_launched()?;
        run.scratch.clear_answered()?;
    }
    run.scratch.make_artifacts_folder()?;
    // An earlier attempt may have been killed before its files were masked.
    Ok(run.scratch.mask(masks)?)
}

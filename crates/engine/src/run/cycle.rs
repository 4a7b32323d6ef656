//! One cycle: lock, adopt what is finished, route, run the agent, check its answer, move the head.

use std::path::Path;
use std::time::Duration;

use uwf_moderator::{Assignment, Performer, Route};
use uwf_process::process_identity;
use uwf_protocol::agent::{engine_mark, parse_answer};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::{Limits, Setting};
use uwf_protocol::run::{LeaseRecord, Pending};
use uwf_storage::{Archived, Outbox, RunDir, Scratch, State};

use crate::read::report::{StepReport, Taken};
use crate::run::admission::{self, Admitted};
use crate::run::adopt::{Adoption, adopt};
use crate::run::agent_command::{self, AgentCommand};
use crate::run::answer::{self, Refusal};
use crate::run::commit::{Committed, Nodes, commit, completed, report};
use crate::run::contract::{self, Supervision};
use crate::run::failure::{self, Attempted, Problem, Verb};
use crate::run::owned::{Owned, with_thread};
use crate::run::process::{self, Launch, Run, RunEnding};
use crate::run::slots::{self, NoSlot};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, tags};

/// What the caller may choose for a step.
#[derive(Debug, Clone, Default)]
pub struct StepOptions {
    /// An alias of the config, or a command line, split as a shell splits it.
    pub agent: Option<String>,
    /// What to do when no slot is free.
    pub no_slot: NoSlot,
    /// Which session the agent works in.
    pub session: Session,
}

/// Which of its own sessions an agent works in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Session {
    /// The one that it had in the role, if it had one.
    #[default]
    Known,
    /// A new one, which gets the whole task; those that were known in the role are forgotten.
    New,
}

/// What a person says to a thread before its step is done.
#[derive(Debug, Clone, Default)]
pub struct Intervention {
    /// To a thread that waits, the answer; none means "go on". To a step that is done again, what is wrong with it,
    /// or what is wanted instead.
    pub prompt: Option<String>,
    /// What is allowed beyond the thread's limits from now on.
    pub raises: Vec<Setting>,
    /// The failed attempts of which a person accepts that nobody knows all that they used up, by their numbers.
    pub accepts: Vec<u64>,
    /// How the step is done.
    pub step: StepOptions,
}

/// Does one cycle of a thread.
///
/// # Errors
/// When the thread is busy, suspended, ended or blocked, when the agent fails, or when the store does. The
/// thread stays as it was then.
pub fn step(
    runner: &Runner,
    id: ThreadId,
    options: &StepOptions,
) -> Result<StepReport, EngineError> {
    with_thread(runner, id, |run| {
        let head = thread::active_head(&runner.site, id)?;
        let thread = Thread::load(&runner.site.store, id, head)?;
        let thread = match adopt(runner, run, thread)? {
            Adoption::Taken(report) => return Ok(*report),
            Adoption::Nothing(thread) => *thread,
        };
        match thread.route(Some(&runner.signals))? {
            Err(source) => Err(EngineError::Blocked { thread: id, source }),
            Ok(Route::Suspend { role, message }) => Err(EngineError::Suspended {
                thread: id,
                role,
                message,
            }),
            Ok(Route::End) => archive(runner, run, thread),
            Ok(Route::To(assignment)) => {
                let admitted = admission::admit(&runner.site, run, &thread, &assignment.role)?;
                let job = Job {
                    assignment: &assignment,
                    admitted,
                    options,
                    verb: Verb::Step,
                };
                play(runner, run, thread, job)
            }
        }
    })
}

/// Archives a thread whose head leads to `$END`, such as a fork of a completed one. No agent runs.
fn archive(runner: &Runner, run: &RunDir, thread: Thread) -> Result<StepReport, EngineError> {
    let record = completed(&thread, runner.site.env.now_ms());
    match State::new(&runner.site.root).archive(&record)? {
        Archived::Done => {
            let committed = Committed {
                thread,
                replaced: None,
                route: Ok(Ok(Route::End)),
            };
            let config = Limits::default();
            report(runner, run, committed, Taken::Nothing, &config).result()
        }
        Archived::NotActive | Archived::HeadIs(_) => Err(EngineError::Busy {
            thread: thread.id,
            lease: None,
            orphaned: false,
        }),
    }
}

/// A step that is to be done.
pub(crate) struct Job<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) admitted: Admitted,
    pub(crate) options: &'a StepOptions,
    pub(crate) verb: Verb,
}

/// One run of an agent: where it works, and at what.
pub(crate) struct AgentRun<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) assignment: &'a Assignment,
    pub(crate) agent: &'a AgentCommand,
    pub(crate) cwd: &'a Path,
    /// How long the agent and what it started have to end after they were asked to.
    pub(crate) grace: Duration,
}

/// Has a step done by whoever is to do it, and commits it.
pub(crate) fn play(
    runner: &Runner,
    run: &Owned,
    thread: Thread,
    job: Job<'_>,
) -> Result<StepReport, EngineError> {
    match job.assignment.performer {
        Performer::Agent => play_by_agent(runner, run, thread, job),
    }
}

/// Runs the agent for a step that is to be done, and commits the step.
fn play_by_agent(
    runner: &Runner,
    run: &Owned,
    thread: Thread,
    job: Job<'_>,
) -> Result<StepReport, EngineError> {
    let Job {
        assignment,
        admitted: Admitted { config, summary },
        options,
        verb,
    } = job;
    let role = &assignment.role;
    runner
        .site
        .log(&thread, tags::ROUTED, &format!("role={role}"));
    let agent = agent_command::resolve(
        runner,
        &config,
        options.agent.as_deref(),
        thread.program.name(),
        role,
    )?;
    let cwd = contract::working_directory(&runner.site, &thread, assignment)?;
    let agent_run = AgentRun {
        thread: &thread,
        assignment,
        agent: &agent,
        cwd: &cwd,
        grace: agent_command::grace(&config)?,
    };
    // Dropping them, after the step was committed or has failed, frees them.
    let _slots = slots::take(runner, run, &agent_run, &config, options.no_slot)?;
    let now_ms = runner.site.env.now_ms();
    let attempted = Attempted::now(&agent_run, options.agent.clone(), verb, now_ms);
    clear_traces(runner, run, role, options.session)?;
    runner.site.log(
        &thread,
        tags::AGENT_STARTED,
        &format!("agent={} role={role}", agent.label),
    );
    let Performed { outcome, survivors } =
        perform(runner, run, &agent_run, attempted.started_at_ms)?;
    let still_busy = |failed| EngineError::Survivors {
        thread: thread.id,
        processes: survivors.clone(),
        failed,
    };
    match (outcome, survivors.is_empty()) {
        (Ok(Done { step, left }), true) => {
            let left = [run.ended.take(), left].concat();
            let committed = commit(runner, run, thread, &summary, step, Nodes::New)?;
            let mut told = report(runner, run, committed, Taken::Ran, &config.limits);
            told.report.kept_running = agent.keep_running && !left.is_empty();
            told.report.left_running = left;
            told.result()
        }
        // The step waits on record until nothing of its attempt lives.
        (Ok(_), false) => Err(still_busy(None)),
        (Err(problem), true) => Err(fail(runner, run, &thread, &attempted, problem)),
        (Err(problem), false) => {
            let failed = fail(runner, run, &thread, &attempted, problem);
            Err(still_busy(Some(Box::new(failed))))
        }
    }
}

/// Puts a failed attempt on record, and returns the error to report.
fn fail(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    attempted: &Attempted,
    problem: Problem,
) -> EngineError {
    // The attempt of an agent that was ended together with its thread may have cost something, too.
    let ended = thread::active_head(&runner.site, thread.id).err();
    if problem.signal.is_none()
        && ended.is_none()
        && let Err(error) = failure::check_nodes(&runner.site, run, thread)
    {
        return error;
    }
    let failed = failure::record(&runner.site, run, thread, attempted, problem);
    ended.unwrap_or(failed)
}

/// Makes room for what an attempt writes, and removes what an earlier one left of itself: before the lease record says
/// that what is there is of the new one.
fn clear_traces(
    runner: &Runner,
    run: &RunDir,
    role: &RoleName,
    session: Session,
) -> Result<(), EngineError> {
    runner.site.root.set_room_aside()?;
    run.scratch.clear_failure()?;
    run.scratch.clear_usage()?;
    run.scratch.clear_output()?;
    if session == Session::New {
        run.sessions.forget(role, None)?;
    }
    Ok(())
}

/// How a run of an agent went.
struct Performed {
    outcome: Result<Done, Problem>,
    /// What could not be ended, for people. As long as there is something, the lease record stays, which tells whose it
    /// is.
    survivors: Vec<String>,
}

/// What an agent did.
struct Done {
    step: StepContext,
    /// What it left running, for people.
    left: Vec<String>,
}

/// Runs the agent to its end and returns the step that it did, or what was wrong with it.
fn perform(
    runner: &Runner,
    run: &Owned,
    agent_run: &AgentRun<'_>,
    started_at_ms: i64,
) -> Result<Performed, EngineError> {
    let AgentRun { thread, agent, .. } = agent_run;
    let mut launched = launch(runner, run, agent_run, started_at_ms);
    let survivors = match &mut launched {
        Ok(ended) => std::mem::take(&mut ended.survivors),
        Err(_) => Vec::new(),
    };
    if agent.keep_running && launched.as_ref().is_ok_and(|run| !run.left.is_empty()) {
        // Invariant 7 of the lock of a thread in docs/architecture.md.
        run.renew_lock()?;
    }
    if survivors.is_empty() {
        run.lease.clear_record()?;
    }
    if !launched
        .as_ref()
        .is_ok_and(|ended| has_whole_output(&run.scratch, ended))
    {
        run.scratch.clear_launched()?;
    }
    let outcome = match launched {
        Ok(Run {
            ending: RunEnding::Interrupted(signal),
            ..
        }) => Err(Problem::interrupted(signal)),
        Ok(Run {
            ending: RunEnding::NotStarted(signal),
            ..
        }) if survivors.is_empty() => return Err(EngineError::NotStarted(signal)),
        Ok(Run {
            ending: RunEnding::NotStarted(_),
            ..
        }) => {
            return Err(EngineError::Survivors {
                thread: thread.id,
                processes: survivors,
                failed: None,
            });
        }
        Ok(ended) => judge(runner, run, agent_run, ended)?,
        Err(LaunchError::Spawn(source)) => Err(agent.not_started(runner, agent_run.cwd, &source)),
        Err(LaunchError::Engine(error)) => return Err(error),
    };
    Ok(Performed { outcome, survivors })
}

/// Returns what came of a run that nobody interrupted.
fn judge(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    ended: Run,
) -> Result<Result<Done, Problem>, EngineError> {
    let thread = agent_run.thread;
    let hash = match finished_step(run, thread, agent_run.agent, &ended.ending)? {
        Ok(hash) => hash,
        Err(problem) => return Ok(Err(problem)),
    };
    match answer::check(&runner.site.store, thread, &agent_run.assignment.role, hash) {
        Ok(step) => Ok(Ok(Done {
            step,
            left: ended.left,
        })),
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Unfit(why)) => {
            run.outbox.clear_pending()?;
            Ok(Err(Problem::refused(why)))
        }
    }
}

/// Tells whether what a program of the agent printed is complete, as far as is known. It is not if the program was ended
/// with its agent.
fn has_whole_output(scratch: &Scratch, ended: &Run) -> bool {
    let ended_itself =
        matches!(&ended.ending, RunEnding::Exited(status) if status.code().is_some());
    ended_itself || ended.spared || scratch.launched().is_some_and(|launched| launched.ended)
}

/// Returns the step that the run produced: what the pending record names, or else what the agent printed. A step that
/// was finished only after a limit of time does not count.
fn finished_step(
    run: &RunDir,
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
            let printed = run.scratch.stdout_end(failure::ANSWER_TAIL);
            parse_answer(&printed).map_err(|error| agent.unanswered(&error))
        }
        (None, ending) => Err(agent.ended(ending)),
    })
}

fn launch(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    started_at_ms: i64,
) -> Result<Run, LaunchError> {
    let AgentRun {
        thread,
        assignment,
        agent,
        cwd,
        grace,
    } = *agent_run;
    let own = process_identity(runner.site.env.process_id()).ok_or(EngineError::NoProc)?;
    let attempt = format!("{}/{}", engine_mark(&own), runner.site.env.now_ms());
    let supervision = Supervision {
        engine: &own,
        attempt: &attempt,
        grace,
        keep_running: agent.keep_running,
    };
    let variables = contract::environment(&runner.site, thread, assignment, &supervision)?;
    let args = arguments(agent, thread.id, assignment)?;
    let launch = Launch {
        program: &agent.program,
        args: &args,
        env: &variables,
        cwd,
        stdout: run.scratch.stdout_file(),
        stderr: run.scratch.stderr_file(),
        watched: [run.scratch.answer_file(), run.scratch.events_file()],
        limits: agent.limits,
        grace,
        keep_running: agent.keep_running,
        output: runner.agent_output,
    };
    // The record names us before the agent exists and the agent once it does: at no time is the thread held
    // without somebody to name.
    let record = LeaseRecord {
        engine: own.clone(),
        agent: None,
        label: agent.label.clone(),
        attempt: Some(attempt.clone()),
        head: Some(thread.head),
        replaces: thread.replaces,
        keep_running: agent.keep_running,
        role: assignment.role.clone(),
        started_at_ms,
        waiting: false,
    };
    run.lease.write_record(&record).map_err(EngineError::from)?;
    let started = |pid| {
        let agent = process_identity(pid);
        let record = LeaseRecord { agent, ..record };
        run.lease.write_record(&record).map_err(EngineError::from)?;
        Ok(check_wanted(runner, thread)?)
    };
    process::run(&launch, &runner.signals, started, || {
        matches!(pending_of(&run.outbox, thread), Ok(Some(_)))
    })
}

fn arguments(
    agent: &AgentCommand,
    thread: ThreadId,
    assignment: &Assignment,
) -> Result<Vec<String>, EngineError> {
    let call = contract::call_arguments(agent.protocol, thread, assignment)?;
    Ok(agent.args.iter().cloned().chain(call).collect())
}

/// Fails if the thread was ended or changed before its agent was on record: then `thread kill` could not end the agent.
fn check_wanted(runner: &Runner, thread: &Thread) -> Result<(), EngineError> {
    let head = thread::active_head(&runner.site, thread.id)?;
    if head == thread.expected_head() {
        return Ok(());
    }
    Err(EngineError::Busy {
        thread: thread.id,
        lease: None,
        orphaned: false,
    })
}

/// Returns the record of the step that was finished at the thread's place, if there is one.
fn pending_of(outbox: &Outbox, thread: &Thread) -> Result<Option<Pending>, EngineError> {
    let is_here =
        |pending: &Pending| (pending.head, pending.replaces) == (thread.head, thread.replaces);
    Ok(outbox.read_pending()?.filter(is_here))
}

/// Why an agent could not be started and watched.
enum LaunchError {
    Spawn(std::io::Error),
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

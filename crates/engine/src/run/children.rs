//! A step that child threads do: each call does one cycle of the children that can go on. When they have done their part, the
//! same call commits the step of the thread.

mod again;
mod choice;
mod going_on;
mod make;
mod outcome;
mod round;
mod side_by_side;

pub(crate) use again::{poke_children, take_redone};
use round::{Round, end};

use uwf_moderator::{Assignment, Joined, Route};
use uwf_protocol::child::Misfit;
use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{Located, RunDir};

use crate::child_error::{ChildError, ChildProblem, failed, failed_in};
use crate::children::Child;
use crate::pipelines::chain::is_run;
use crate::pipelines::error::PipelineError;
use crate::read::branch::Branch;
use crate::read::report::{StepOrigin, StepReport};
use crate::read::standing::Standing;
use crate::read::thread_state::ThreadState;
use crate::run::admission::{Admitted, accept, admit, raise};
use crate::run::attempted::Verb;
use crate::run::commit::{Nodes, commit, report};
use crate::run::cycle::{self, StepOptions};
use crate::run::owned::OwnedRun;
use crate::run::resume;
use crate::thread::Thread;
use crate::{EngineError, Intervention, Runner, limits, tags};

/// What a call does for a child.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Approach<'a> {
    /// A step.
    Step(&'a StepOptions),
    /// It passes the answer of a person on to it.
    Resume(&'a Intervention),
}

/// A step of a thread that children do.
pub(crate) struct ChildrenStep<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) admitted: Admitted,
    pub(crate) approach: Approach<'a>,
    /// What a person said to the thread before its children began.
    pub(crate) words: Option<&'a str>,
}

/// Does one cycle of the children of a step, and commits the step if they are done.
pub(crate) fn do_children_step(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    step: ChildrenStep<'_>,
) -> Result<StepReport, EngineError> {
    let ChildrenStep {
        assignment,
        admitted,
        approach,
        words,
    } = step;
    let role = &assignment.role;
    runner
        .site
        .log(&thread, tags::ROUTED, &format!("role={role}"));
    refuse_depth(&thread, assignment, &admitted.config)?;
    let mut round = Round::new((runner, run), &thread, assignment, &admitted, words)?;
    let mut reports = Vec::new();
    if round.joined() == Joined::Open {
        let brought = round.step(approach)?;
        round.look()?;
        // The last failure of a branch may have decided what becomes of all.
        if let Some(problem) = brought.problem.filter(|_| round.joined() == Joined::Open) {
            return Err(problem);
        }
        reports = brought.reports;
    }
    let joined = round.joined();
    if joined == Joined::Open {
        let state = state_after(runner, &thread, assignment)?;
        return Ok(in_progress(&thread, assignment, state).with_children(reports));
    }
    round.cancel_open()?;
    let step = outcome::put(&round, joined).inspect_err(|error| note_misfit(run, &round, error))?;
    let failed = round.that_failed();
    let committed = commit(runner, run, thread, &admitted.summary, step, Nodes::New)?;
    for child in failed {
        // The step is committed. A child that cannot be ended now is a thread of its own.
        let _ = end(runner, child);
    }
    let mut reported = report(
        runner,
        run,
        committed,
        StepOrigin::Ran,
        &admitted.config.limits,
    );
    reported.report = reported.report.with_children(reports);
    reported.result()
}

/// Passes what a person says to the children of a thread, or goes on after a limit of the thread itself.
pub(crate) fn resume_children(
    runner: &Runner,
    run: &OwnedRun,
    thread: Thread,
    assignment: &Assignment,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let without_raises;
    let (admitted, approach) = match admitted(runner, run, &thread, assignment, &options.step) {
        Err(EngineError::Limit { .. })
            if !(options.raises.is_empty() && options.accepts.is_empty()) =>
        {
            raise(&runner.site, run, &thread, &options.raises)?;
            accept(&runner.site, run, &thread, &options.accepts)?;
            let admitted = admitted(runner, run, &thread, assignment, &options.step)?;
            let approach = match options.prompt {
                // The limits of the children are others.
                Some(_) => {
                    without_raises = Intervention {
                        raises: Vec::new(),
                        accepts: Vec::new(),
                        ..options.clone()
                    };
                    Approach::Resume(&without_raises)
                }
                None => Approach::Step(&options.step),
            };
            (admitted, approach)
        }
        admitted => (admitted?, Approach::Resume(options)),
    };
    let step = ChildrenStep {
        assignment,
        admitted,
        approach,
        words: None,
    };
    do_children_step(runner, run, thread, step)
}

fn admitted(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    assignment: &Assignment,
    options: &StepOptions,
) -> Result<Admitted, EngineError> {
    admit(
        &runner.site,
        run,
        thread,
        assignment,
        (&Verb::Step, options),
    )
}

/// Fails if the children would have too many threads above them.
fn refuse_depth(
    thread: &Thread,
    assignment: &Assignment,
    config: &Config,
) -> Result<(), EngineError> {
    let most = u64::from(config.depth_limit());
    let depth = thread.start.parent.as_ref().map_or(0, |above| above.depth) + 1;
    if depth <= most {
        return Ok(());
    }
    let problem = ChildProblem::TooDeep { depth, most };
    Err(failed(thread.id, &assignment.role, problem))
}

/// Does one cycle of a child that is there.
fn advance(
    runner: &Runner,
    child: &Child,
    approach: Approach<'_>,
) -> Result<StepReport, EngineError> {
    let id = child.thread;
    match (&child.place, approach) {
        (Some(Located::Active(_)), Approach::Step(options)) => {
            cycle::step_untold(runner, id, options)
        }
        (Some(Located::Active(head)), Approach::Resume(said)) => {
            if said.prompt.is_none() || !is_run(&runner.site.store, *head)? {
                return resume::resume_untold(runner, id, said);
            }
            (runner.notice)(&format!(
                "thread `{id}` is a run of a pipeline: it goes on, and does not read the message"
            ));
            let without_message = Intervention {
                prompt: None,
                ..said.clone()
            };
            resume::resume_untold(runner, id, &without_message)
        }
        (Some(Located::Archived(_)) | None, _) => Err(crate::thread::busy(id, None)),
    }
}

/// Returns the error of a thread, one of whose children could not go on.
fn of_child(
    thread: &Thread,
    assignment: &Assignment,
    child: &Child,
    error: EngineError,
) -> EngineError {
    let mut branches = vec![Branch::from(&child.planned).to_string()];
    let problem = problem_of(child.thread, error, &mut branches);
    branches.retain(|branch| !branch.is_empty());
    failed_in(thread.id, &assignment.role, branches.join(" / "), problem)
}

/// Returns what is wrong with a child whose step gave this error, and adds the branch below it that it is about.
pub(crate) fn problem_of(
    child: ThreadId,
    error: EngineError,
    branches: &mut Vec<String>,
) -> ChildProblem {
    match error {
        EngineError::Suspended { message, .. } => ChildProblem::Waits {
            child,
            taken_by: None,
            message,
        },
        EngineError::Limit { reached, .. } => ChildProblem::Limit {
            child,
            taken_by: None,
            reached,
        },
        EngineError::Child(inner) => match inner.problem {
            known @ (ChildProblem::Waits { .. }
            | ChildProblem::Stopped { .. }
            | ChildProblem::Limit { .. }
            | ChildProblem::Interrupted(_)) => {
                branches.push(inner.branch);
                known
            }
            problem => ChildProblem::Failed {
                child,
                source: Box::new(EngineError::Child(Box::new(ChildError {
                    problem,
                    ..*inner
                }))),
            },
        },
        EngineError::Pipeline(inner) => match *inner {
            PipelineError::Stopped { message, .. } => ChildProblem::Stopped {
                child,
                taken_by: None,
                message,
            },
            PipelineError::Interrupted { signal, .. } => ChildProblem::Interrupted(signal),
            other => ChildProblem::Failed {
                child,
                source: Box::new(other.into()),
            },
        },
        source => ChildProblem::Failed {
            child,
            source: Box::new(source),
        },
    }
}

/// Puts on record that what a child returned does not fit the role, so that views can say so.
fn note_misfit(run: &OwnedRun, round: &Round<'_>, error: &EngineError) {
    let EngineError::Child(inner) = error else {
        return;
    };
    let place = round
        .children
        .first()
        .and_then(|child| child.place.as_ref());
    if let (ChildProblem::Misfit { .. }, Some(place)) = (&inner.problem, place) {
        // Without the record the thread looks as if it could go on, and the next step says the same.
        let _ = run.ledger.write_misfit(&Misfit {
            head: round.thread.head,
            child: place.head(),
            problem: error.to_string(),
        });
    }
}

/// Returns where a thread stands after a call whose children are not done.
fn state_after(
    runner: &Runner,
    thread: &Thread,
    assignment: &Assignment,
) -> Result<ThreadState, EngineError> {
    let site = &runner.site;
    let route = Ok(Route::To(assignment.clone()));
    let standing = Standing::on_route(site, thread, route, &limits::config_for_views(site))?;
    Ok(ThreadState {
        current_role: Some(assignment.role.clone()),
        ..standing.state
    })
}

/// Returns the report of a thread whose head did not move, because its children are not done.
fn in_progress(thread: &Thread, assignment: &Assignment, state: ThreadState) -> StepReport {
    StepReport {
        state,
        role: Some(assignment.role.clone()),
        ..StepReport::new(thread, None, StepOrigin::Nothing, &[])
    }
}

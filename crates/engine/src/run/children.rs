//! A step that child threads do: each call does one cycle of the children that can go on. When they have done their part, the
//! same call commits the step of the thread.

mod again;
mod choice;
mod going_on;
mod make;
mod outcome;
mod round;
mod side_by_side;

pub(crate) use again::poke_children;
use going_on::Brought;
use round::{Round, end, state_after, with_children};

use uwf_moderator::{Assignment, Joined};
use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{Located, RunDir};

use crate::child_error::{ChildError, ChildProblem};
use crate::children::Child;
use crate::read::report::{StepOrigin, StepReport};
use crate::read::thread_state::ThreadState;
use crate::run::admission::{Admitted, accept, admit, raise};
use crate::run::attempted::Verb;
use crate::run::commit::{Nodes, commit, report};
use crate::run::cycle::{self, StepOptions};
use crate::run::owned::OwnedRun;
use crate::run::resume;
use crate::thread::Thread;
use crate::{EngineError, Intervention, Runner, tags};

/// How a call gets a child on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Approach<'a> {
    /// It does a step of it.
    Step(&'a StepOptions),
    /// It passes the answer of a person on.
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
    let mut round = Round::new(runner, &thread, assignment, &admitted, words)?;
    let mut brought = Brought::default();
    if round.joined() == Joined::Open {
        let stepped = round.step(approach);
        round.look()?;
        match stepped {
            Ok(done) => brought = done,
            // The last failure of a branch may have decided what becomes of all.
            Err(_) if round.joined() != Joined::Open => {}
            Err(error) => return Err(error),
        }
    }
    let Brought { reports, told } = brought;
    let joined = round.joined();
    if joined == Joined::Open {
        let state = state_after(assignment, &reports, &round.children);
        let report = with_children(in_progress(&thread, assignment, state), reports);
        return Ok(StepReport { told, ..report });
    }
    round.cancel_open()?;
    let step = outcome::put(&round, joined)?;
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
    reported.report = StepReport {
        told,
        ..with_children(reported.report, reports)
    };
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
    Err(failed(
        thread,
        assignment,
        ChildProblem::TooDeep { depth, most },
    ))
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
        (Some(Located::Active(_)), Approach::Resume(said)) => {
            resume::resume_untold(runner, id, said)
        }
        (Some(Located::Archived(_)) | None, _) => Err(crate::thread::busy(id, None)),
    }
}

/// Returns the error of a thread whose child did not get on.
fn of_child(
    thread: &Thread,
    assignment: &Assignment,
    child: ThreadId,
    error: EngineError,
) -> EngineError {
    let problem = match error {
        EngineError::Suspended { message, .. } => ChildProblem::Waits { child, message },
        EngineError::Limit { reached, .. } => ChildProblem::Limit { child, reached },
        EngineError::Child(inner) => match inner.problem {
            known @ (ChildProblem::Waits { .. }
            | ChildProblem::Limit { .. }
            | ChildProblem::Interrupted(_)) => known,
            problem => ChildProblem::Failed {
                child,
                source: Box::new(EngineError::Child(Box::new(ChildError {
                    problem,
                    ..*inner
                }))),
            },
        },
        source => ChildProblem::Failed {
            child,
            source: Box::new(source),
        },
    };
    failed(thread, assignment, problem)
}

/// Returns the error of a thread whose children have this problem.
fn failed(thread: &Thread, assignment: &Assignment, problem: ChildProblem) -> EngineError {
    EngineError::Child(Box::new(ChildError {
        thread: thread.id,
        role: assignment.role.clone(),
        problem,
    }))
}

/// Returns the report of a thread whose head did not move, because its children are not done.
fn in_progress(thread: &Thread, assignment: &Assignment, state: ThreadState) -> StepReport {
    StepReport {
        state,
        role: Some(assignment.role.clone()),
        ..StepReport::new(thread, None, StepOrigin::Nothing, &[])
    }
}

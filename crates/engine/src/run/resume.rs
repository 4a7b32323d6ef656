//! Answering a suspended thread, and taking up an ended one whose workflow provides for it.

use uwf_moderator::{Assignment, Route, RouteError, assign, reenter};
use uwf_protocol::ids::ThreadId;
use uwf_storage::{HistoryRecord, Located, Reactivated, State};

use crate::read::report::StepReport;
use crate::run::admission;
use crate::run::adopt::{Adoption, adopt, end_rest, refuse};
use crate::run::cycle::{Job, do_step};
use crate::run::failure::Verb;
use crate::run::owned::{Owned, with_thread};
use crate::thread::{self, Thread};
use crate::words::Occasion;
use crate::{EngineError, Intervention, Runner, tags};

/// Runs the role that suspended the thread again, with its question and the answer; or lets a thread go on that
/// reached a limit; or enters an ended thread's workflow through the `resume` edge of `$START`.
///
/// # Errors
/// When the thread is neither, or as for a step.
pub fn resume(
    runner: &Runner,
    id: ThreadId,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    with_thread(runner, id, |run| match thread::find(&runner.site, id)? {
        Located::Active(head) => {
            let thread = Thread::load(&runner.site.store, id, head)?;
            admission::raise(&runner.site, run, &thread, &options.raises)?;
            let thread = match adopt(runner, run, thread)? {
                Adoption::Committed(report) => return Ok(*report),
                Adoption::Nothing(thread) => *thread,
            };
            admission::accept(&runner.site, run, &thread, &options.accepts)?;
            let prompt = options.prompt.as_deref();
            let answered = || Verb::Resume(options.prompt.clone());
            let (assignment, verb) = match thread.route(Some(&runner.signals))? {
                // An earlier call took the ended thread up again and was ended itself.
                Ok(Route::End) => {
                    let entrance = entrance(&thread, prompt);
                    (entrance.ok_or(EngineError::NotSuspended(id))?, answered())
                }
                Ok(Route::To(assignment)) => (with_words(assignment, prompt), Verb::Step),
                route => (answer(runner, &thread, route, prompt)?, answered()),
            };
            let admitted = admission::admit(&runner.site, run, &thread, &assignment.role)?;
            match verb {
                // Nobody asks: the call is of use only if it allows something.
                Verb::Step if options.raises.is_empty() && options.accepts.is_empty() => {
                    return Err(EngineError::NotSuspended(id));
                }
                Verb::Step => {}
                Verb::Resume(_) | Verb::Poke(_) => {
                    runner
                        .site
                        .log(&thread, tags::RESUMED, &format!("role={}", assignment.role));
                }
            }
            let job = Job {
                assignment: &assignment,
                admitted,
                options: &options.step,
                verb,
            };
            do_step(runner, run, thread, job)
        }
        Located::Archived(record) => take_up(runner, run, &record, options),
    })
}

/// Returns what the suspended role is told: its instruction, its question, the answer.
fn answer(
    runner: &Runner,
    thread: &Thread,
    route: Result<Route, RouteError>,
    prompt: Option<&str>,
) -> Result<Assignment, EngineError> {
    let route = route.map_err(|source| EngineError::Blocked {
        thread: thread.id,
        source,
    })?;
    let Route::Suspend { role, message } = route else {
        return Err(EngineError::NotSuspended(thread.id));
    };
    if prompt.is_none() {
        (runner.notice)(&format!(
            "`{role}` asked: {message}\nThere is no answer (`-p`), so it is told to go on"
        ));
    }
    let last = thread.last().map(|step| &step.node);
    let asked = last
        .and_then(|step| step.edge_prompt.clone())
        .unwrap_or_default();
    let location = last
        .and_then(|step| step.cwd.clone())
        .filter(|cwd| !cwd.is_empty());
    let question = Occasion::Question {
        asked,
        question: message,
    };
    let prompt = question.instruction(prompt);
    Ok(assign(&thread.program, role, prompt, location))
}

/// Takes an ended thread up again where its workflow has a way back in. If the step fails, the thread has
/// ended as before, and the same call tries again.
fn take_up(
    runner: &Runner,
    run: &Owned,
    record: &HistoryRecord,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let ended = || EngineError::Ended {
        thread: record.thread,
        reason: record.reason,
    };
    let thread = Thread::load(&runner.site.store, record.thread, record.head)?;
    let assignment = entrance(&thread, options.prompt.as_deref()).ok_or_else(ended)?;
    if let Some(earlier) = run.lease.read_record() {
        end_rest(runner, run, &thread, &earlier, false)?;
    }
    admission::accept(&runner.site, run, &thread, &options.accepts)?;
    admission::raise(&runner.site, run, &thread, &options.raises)?;
    let admitted = admission::admit(&runner.site, run, &thread, &assignment.role)?;
    // What a run that was ended with its thread left behind is no answer to this call.
    match run.outbox.read_pending() {
        Ok(Some(pending)) => refuse(runner, run, &thread, &pending)?,
        Ok(None) | Err(_) => run.outbox.clear_pending()?,
    }
    let state = State::new(&runner.site.root);
    match state.reactivate(record.thread, record.head)? {
        Reactivated::Done => {}
        Reactivated::Active(_) | Reactivated::NotArchived | Reactivated::HeadIs(_) => {
            return Err(ended());
        }
    }
    runner
        .site
        .log(&thread, tags::RESUMED, &format!("role={}", assignment.role));
    let job = Job {
        assignment: &assignment,
        admitted,
        options: &options.step,
        verb: Verb::Resume(options.prompt.clone()),
    };
    let done = do_step(runner, run, thread, job);
    if done.is_err() {
        // If the head has moved after all, the thread is active, and stays so.
        let _ = state.archive(record)?;
    }
    done
}

/// Returns the assignment of the way back into an ended thread, if the workflow has one.
fn entrance(thread: &Thread, prompt: Option<&str>) -> Option<Assignment> {
    let Ok(Route::To(assignment)) = reenter(&thread.program) else {
        return None;
    };
    Some(with_words(assignment, prompt))
}

/// Adds what a person says to an instruction.
fn with_words(assignment: Assignment, prompt: Option<&str>) -> Assignment {
    let addition = Occasion::Addition {
        instruction: assignment.prompt,
    };
    Assignment {
        prompt: addition.instruction(prompt),
        ..assignment
    }
}

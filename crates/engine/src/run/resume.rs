//! Resuming a thread: answering a suspended one, and continuing an ended one whose workflow allows it.

use uwf_moderator::{Assignment, Performer, Route, RouteError, assign, reenter};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{HistoryRecord, Located, Reactivated, Reason, State, StorageError};

use crate::children::{has_children, parent_of, taken_up};
use crate::first_instruction::first_instruction;
use crate::person_message::MessageContext;
use crate::pipelines::chain::is_run;
use crate::read::report::StepReport;
use crate::run::admission;
use crate::run::adopt::{Adoption, adopt};
use crate::run::attempted::Verb;
use crate::run::children::resume_children;
use crate::run::cycle::{Job, do_step};
use crate::run::hooks;
use crate::run::leftovers::end_remaining;
use crate::run::owned::{OwnedRun, with_thread_to_step};
use crate::run::pipelines::resume_run;
use crate::run::refused::refuse;
use crate::run::shared::refuse_only_here;
use crate::run::supervisor;
use crate::thread::{self, Thread, ThreadAt};
use crate::workspace::earlier::folder_again;
use crate::{EngineError, Intervention, Runner, tags};

/// Resumes a thread. A role that suspended it runs again, with its question and the answer. A thread that reached a limit
/// goes on. An ended thread enters its workflow again through the `resume` edge of `$START`.
///
/// # Errors
/// When the thread waits for nothing and cannot be entered again, or as for a step.
pub fn resume(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    hooks::after(runner, at.id, resume_untold(runner, at, options))
}

/// Resumes a thread. The hooks are not told.
pub(crate) fn resume_untold(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    let id = at.id;
    with_thread_to_step(runner, at, |run| match thread::find(&runner.site, id)? {
        Located::Active(head) if is_run(&runner.site.store, head)? => {
            resume_run(runner, run, id, options.prompt.as_deref())
        }
        Located::Active(head) => resume_active(runner, run, id, head, options),
        Located::Archived(record) => reactivate(runner, run, &record, options),
    })
}

fn resume_active(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
    head: CasRef,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let thread = Thread::load(&runner.site.store, id, head)?;
    let is_held = supervisor::holds(&runner.site, run, &thread);
    if !is_held
        && has_children(&thread.program)
        && let Ok(Route::To(assignment)) =
            taken_up::route(&runner.site, &thread, Some(&runner.signals))?
        && assignment.performer == Performer::Children
    {
        return resume_children(runner, run, thread, &assignment, options);
    }
    admission::raise(&runner.site, run, &thread, &options.raises)?;
    let thread = match adopt(runner, run, thread)? {
        Adoption::Committed(report) => return Ok(*report),
        Adoption::Nothing(thread) => *thread,
    };
    admission::accept(&runner.site, run, &thread, &options.accepts)?;
    let Call {
        assignment,
        verb,
        is_awaited,
        question,
    } = call(runner, &thread, options)?;
    let admitted = admission::admit(
        &runner.site,
        run,
        &thread,
        &assignment,
        (&verb, &options.step),
    )?;
    // A thread that waits for no answer goes on if its supervisor holds it, a limit is raised, or an attempt is accepted or
    // repeated.
    let is_allowed = is_held || !options.raises.is_empty() || !options.accepts.is_empty();
    if !is_awaited && !is_allowed && !repeats(run, &thread, verb.message()) {
        return Err(EngineError::NotSuspended(id));
    }
    if is_held {
        supervisor::release(runner, run, &thread)?;
    }
    if verb != Verb::Step {
        let message = format!("role={}", assignment.role);
        runner.site.log(&thread, tags::RESUMED, &message);
    }
    if let Some(question) = question.filter(|_| assignment.performer == Performer::Children) {
        let answer = (question, options.prompt.as_deref());
        taken_up::write(&runner.site, &thread, &assignment, answer)?;
    }
    let job = Job {
        assignment: &assignment,
        admitted,
        options: &options.step,
        verb,
        restore: None,
    };
    do_step(runner, run, thread, job)
}

/// What a call is to do with an active thread.
struct Call {
    assignment: Assignment,
    verb: Verb,
    /// Whether the thread waits for a person, or for the step with which it was taken up again.
    is_awaited: bool,
    /// What the role asks, if it does.
    question: Option<String>,
}

/// Returns what the call is to do. What a person says is a part of the instruction, also where no role asked: so the
/// attempt is one to these words.
fn call(runner: &Runner, thread: &Thread, options: &Intervention) -> Result<Call, EngineError> {
    let prompt = options.prompt.as_deref();
    let resume = || Verb::Resume(options.prompt.clone());
    let mut question = None;
    let (assignment, verb, is_awaited) = match thread.route(Some(&runner.signals))? {
        // An earlier call reactivated the ended thread and was ended before its step was.
        Ok(Route::End { .. }) => {
            let entrance = entrance(thread, prompt);
            let entrance = entrance.ok_or(EngineError::NotSuspended(thread.id))?;
            (entrance, resume(), true)
        }
        Ok(Route::To(assignment)) => {
            let verb = prompt.map_or(Verb::Step, |_| resume());
            (with_message(assignment, prompt), verb, false)
        }
        route => {
            if let Ok(Route::Suspend { message, .. }) = &route {
                question = Some(message.clone());
            }
            (answer(runner, thread, route, prompt)?, resume(), true)
        }
    };
    Ok(Call {
        assignment,
        verb,
        is_awaited,
        question,
    })
}

/// Tells whether the last attempt at this place had the same words of a person.
fn repeats(run: &OwnedRun, thread: &Thread, words: Option<&str>) -> bool {
    let attempts = run.ledger.attempts();
    let last = attempts.last().filter(|last| last.words.is_some());
    last.is_some_and(|last| {
        (last.head, last.replaces, last.words.as_deref()) == (thread.head, None, words)
    })
}

/// Returns the assignment of the suspended role: its instruction, its question and the answer.
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
            "`{role}` asked: {message}\nNo answer was given (`-p`), so the role is told to continue"
        ));
    }
    let last = thread.last().map(|step| &step.node);
    let store = &runner.site.store;
    let instruction = last.map_or_else(String::new, |step| first_instruction(store, step));
    let location = last
        .and_then(|step| step.cwd.clone())
        .filter(|cwd| !cwd.is_empty())
        .map(|cwd| folder_again(&runner.site, thread, cwd));
    let prompt = match Performer::of_role(&thread.program, &role) {
        // Children get the answer with their tasks. Their instruction may be a template, which the words of a person are not.
        Performer::Children => instruction,
        Performer::Agent | Performer::Engine => MessageContext::Question {
            instruction,
            question: message,
        }
        .compose(prompt),
    };
    Ok(assign(&thread.program, role, prompt, location))
}

/// Reactivates an ended thread and does the step to which the `resume` edge of its workflow leads. If the step fails, the
/// thread is archived again, and the same call can be repeated.
fn reactivate(
    runner: &Runner,
    run: &OwnedRun,
    record: &HistoryRecord,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let ended = || EngineError::Ended {
        thread: record.thread,
        reason: record.reason,
    };
    let thread = Thread::load(&runner.site.store, record.thread, record.head)?;
    let is_child = parent_of(thread.id, &thread.start).is_some();
    if is_child && record.reason == Reason::Cancelled {
        // The thread that it worked for has another one, or will have.
        return Err(ended());
    }
    let assignment = entrance(&thread, options.prompt.as_deref()).ok_or_else(ended)?;
    // It has ended for all machines.
    refuse_only_here(runner, record.thread, "thread resume")?;
    if let Some(earlier) = run.lease.read_record() {
        end_remaining(runner, run, &thread, &earlier, false)?;
    }
    admission::accept(&runner.site, run, &thread, &options.accepts)?;
    admission::raise(&runner.site, run, &thread, &options.raises)?;
    let verb = Verb::Resume(options.prompt.clone());
    let admitted = admission::admit(
        &runner.site,
        run,
        &thread,
        &assignment,
        (&verb, &options.step),
    )?;
    // A pending record from before the thread ended is not the result of this call.
    match run.outbox.read_pending() {
        Ok(Some(pending)) => drop(refuse(runner, run, &thread, &pending)?),
        // A torn record names no step that could be kept.
        Ok(None) | Err(StorageError::TornRecord { .. }) => run.outbox.clear_pending()?,
        Err(error) => return Err(error.into()),
    }
    // A pause from before the thread ended is over: this call is what a person wants now.
    run.pause.clear()?;
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
        verb,
        restore: None,
    };
    let done = do_step(runner, run, thread, job);
    if done.is_err() {
        // If the head has moved after all, this changes nothing: the thread stays active.
        let _ = state.archive(record)?;
    }
    done
}

/// Returns the assignment of the `resume` edge, if the workflow has one.
fn entrance(thread: &Thread, prompt: Option<&str>) -> Option<Assignment> {
    let Ok(Route::To(assignment)) = reenter(&thread.program) else {
        return None;
    };
    Some(with_message(assignment, prompt))
}

/// Adds the message of a person to an instruction. Children get it with the tasks that are made for them.
fn with_message(assignment: Assignment, prompt: Option<&str>) -> Assignment {
    if assignment.performer == Performer::Children {
        return assignment;
    }
    let addition = MessageContext::Addition {
        instruction: assignment.prompt,
    };
    Assignment {
        prompt: addition.compose(prompt),
        ..assignment
    }
}

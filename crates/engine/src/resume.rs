//! Answering a suspended thread, and taking up an ended one whose workflow provides for it.

use uwf_moderator::{Assignment, Entry, Route, enter};
use uwf_protocol::ids::ThreadId;
use uwf_storage::{HistoryRecord, Located, Reactivated, State};

use crate::cycle::{play, with_thread_locked};
use crate::thread::{self, Thread};
use crate::view::report::StepReport;
use crate::{Engine, EngineError, StepOptions, tags};

/// What a person says to a thread that waits.
#[derive(Debug, Clone, Default)]
pub struct ResumeOptions {
    /// The answer; none means "go on".
    pub prompt: Option<String>,
    /// How the step is done.
    pub step: StepOptions,
}

/// Runs the role that suspended the thread again, with its question and the answer; or enters an ended
/// thread's workflow through the `resume` edge of `$START`.
///
/// # Errors
/// When the thread is neither, or as for a step.
pub fn resume(
    engine: &Engine,
    id: ThreadId,
    options: &ResumeOptions,
) -> Result<StepReport, EngineError> {
    with_thread_locked(engine, id, |run| {
        let (thread, assignment) = match thread::find(engine, id)? {
            Located::Active(head) => {
                let thread = Thread::load(&engine.store, id, head)?;
                let assignment = answer(&thread, options.prompt.as_deref())?;
                (thread, assignment)
            }
            Located::Archived(record) => reenter(engine, &record, options.prompt.as_deref())?,
        };
        engine.log(&thread, tags::RESUMED, &format!("role={}", assignment.role));
        play(engine, run, thread, &assignment, &options.step)
    })
}

/// Returns what the suspended role is told: its instruction, its question, the answer.
fn answer(thread: &Thread, prompt: Option<&str>) -> Result<Assignment, EngineError> {
    let route = thread.route().map_err(|source| EngineError::Blocked {
        thread: thread.id,
        source,
    })?;
    let Route::Suspend { role, message } = route else {
        return Err(EngineError::NotSuspended(thread.id));
    };
    let last = thread.last().map(|step| &step.node);
    let asked = last
        .and_then(|step| step.edge_prompt.clone())
        .unwrap_or_default();
    let location = last
        .and_then(|step| step.cwd.clone())
        .filter(|cwd| !cwd.is_empty());
    let mut parts = Vec::new();
    if !asked.trim().is_empty() {
        parts.push(asked);
    }
    parts.push(format!("You suspended the thread and asked:\n\n{message}"));
    parts.push(
        match prompt.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => format!("The answer:\n\n{text}"),
            None => "There is no answer in words: go on.".to_owned(),
        },
    );
    Ok(Assignment {
        role,
        prompt: parts.join("\n\n"),
        location,
    })
}

/// Makes an ended thread active again where its workflow has a way back in.
fn reenter(
    engine: &Engine,
    record: &HistoryRecord,
    prompt: Option<&str>,
) -> Result<(Thread, Assignment), EngineError> {
    let ended = || EngineError::Ended {
        thread: record.thread,
        reason: record.reason,
    };
    let thread = Thread::load(&engine.store, record.thread, record.head)?;
    let route = enter(
        &thread.workflow,
        &thread.start,
        &thread.steps,
        Entry::Resume,
    );
    let Ok(Route::To(mut assignment)) = route else {
        return Err(ended());
    };
    if let Some(text) = prompt.map(str::trim).filter(|text| !text.is_empty()) {
        assignment.prompt = format!("{}\n\n{text}", assignment.prompt);
    }
    match State::new(&engine.root).reactivate(record.thread, record.head)? {
        Reactivated::Done => Ok((thread, assignment)),
        Reactivated::Active(_) | Reactivated::NotArchived | Reactivated::HeadIs(_) => Err(ended()),
    }
}

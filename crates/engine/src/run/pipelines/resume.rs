//! The commands that work on a run: it is made and done, or it goes on.

use std::time::Duration;

use uwf_pipeline::course::Spot;
use uwf_pipeline::nodes::LostAttempt;
use uwf_pipeline::state::RunStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Located, Reason, RunRoot};

use super::ended::EndedRun;
use super::make::{MadeRun, NewRun, make_run, renew_schemas};
use super::open::{is_completed, move_aside, need_picture};
use super::session::{Entry, Far, work};
use super::step::tell_hooks;
use super::wish::{Decided, LostPicture, ResumeWish};
use super::{RunEnd, RunEvent, RunReport, RunSettings};
use crate::pipelines::resume_error::ResumeError;
use crate::read::report::StepReport;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::run::owned::with_thread_to_step;
use crate::thread::find;
use crate::{EngineError, Runner};

/// Makes a run and does its steps. `made` is told of the run before its first step.
///
/// # Errors
/// When the run cannot be made, or this process cannot go on with it. Then it can be resumed.
pub fn run_pipeline(
    runner: &Runner,
    new: &NewRun,
    settings: &RunSettings,
    made: &mut dyn FnMut(&MadeRun),
) -> Result<RunReport, EngineError> {
    let run = make_run(&runner.site, new)?;
    made(&run);
    let entry = Entry {
        name: "run",
        resume: None,
        far: Far::ToTheEnd,
        settings,
    };
    let report = with_thread_to_step(runner, run.thread, |owned| {
        work(runner, owned, run.thread, &entry)
    })?;
    tell_hooks(runner, &report);
    Ok(report)
}

/// Goes on with a run that was interrupted or has failed. Nothing is done for one that is completed.
///
/// # Errors
/// When another process works on it, a person paused or ended it, the wish does not suit it, or this process cannot go on with it.
pub fn resume_pipeline(
    runner: &Runner,
    thread: ThreadId,
    wish: &ResumeWish,
    settings: &RunSettings,
) -> Result<RunReport, EngineError> {
    if let Some(head) = completed_at(runner, thread)? {
        return completed(runner, (thread, head), wish, settings);
    }
    let entry = Entry {
        name: "resume",
        resume: Some(wish),
        far: Far::ToTheEnd,
        settings,
    };
    let worked = with_thread_to_step(runner, thread, |owned| {
        renew_schemas(&runner.site)?;
        work(runner, owned, thread, &entry)
    });
    match worked {
        // Another process has just completed it.
        Err(EngineError::Ended {
            reason: Reason::Completed,
            ..
        }) => match completed_at(runner, thread)? {
            Some(head) => completed(runner, (thread, head), wish, settings),
            None => worked,
        },
        Ok(report) => {
            tell_hooks(runner, &report);
            Ok(report)
        }
        Err(_) => worked,
    }
}

/// Returns the head of a run that is completed.
fn completed_at(runner: &Runner, thread: ThreadId) -> Result<Option<CasRef>, EngineError> {
    Ok(match find(&runner.site, thread)? {
        Located::Archived(record) if record.reason == Reason::Completed => Some(record.head),
        Located::Archived(_) | Located::Active(_) => None,
    })
}

/// Leaves a completed run as it is. Its picture is made again if the process that completed it could not write it.
///
/// # Errors
/// When the run is to go back to a step.
fn completed(
    runner: &Runner,
    (thread, head): (ThreadId, CasRef),
    wish: &ResumeWish,
    settings: &RunSettings,
) -> Result<RunReport, EngineError> {
    if let Some(step) = &wish.from {
        let step = step.clone();
        return Err(ResumeError::Completed { step }.into());
    }
    let run = EndedRun::open(runner, thread, head)?;
    let (workflow, run_id, root) = (run.workflow(), run.run_id.clone(), run.root.clone());
    if root.path().is_dir() {
        let notes = care_for_completed(run, head, wish)?;
        for note in &notes {
            (settings.tell)(&RunEvent::Note(note));
        }
    }
    let state = ThreadState::plain(ThreadStatus::Completed);
    let step = StepReport::of_nothing((thread, workflow), head, state);
    Ok(RunReport::new(
        thread,
        &run_id,
        &root,
        RunEnd::NothingToDo,
        (Duration::ZERO, step),
    ))
}

/// Leaves the folder of a completed run as a process would that was not killed at the end. Returns what people should know.
fn care_for_completed(
    run: EndedRun<'_>,
    head: CasRef,
    wish: &ResumeWish,
) -> Result<Vec<String>, EngineError> {
    let root = run.root.clone();
    let lost = need_picture((&root, run.thread), wish.picture)?;
    let is_lost = lost.is_some() || !is_completed(&root, head);
    let is_due = is_lost || wish.picture == LostPicture::MadeAgain || !root.drafts()?.is_empty();
    let lock = match is_due {
        true => run.lock()?,
        false => None,
    };
    let Some(_lock) = lock else {
        return Ok(Vec::new());
    };
    let mut notes = move_aside(&root, wish.picture)?;
    if is_lost {
        run.show(RunStatus::Completed, None)?;
    }
    notes.extend(lost.map(|problem| made_again(&root, problem)));
    Ok(notes)
}

/// Says that a lost picture is made again.
pub(super) fn made_again(root: &RunRoot, problem: &str) -> String {
    let file = root.state_file();
    format!("`{}` {problem}: it was made again", file.display())
}

/// Says how a run goes on, where that is not plain.
pub(super) fn notes_of(decided: &Decided<'_>, lost: Option<&LostAttempt>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(LostAttempt { key, attempt }) = lost {
        notes.push(format!("attempt {attempt} of step `{key}` was lost"));
    }
    if decided.accepted.is_some() {
        notes.push("the run goes on under the workflow file as it is now".to_owned());
    }
    if !decided.kept_context.is_empty() {
        let keys = decided.kept_context.join("`, `");
        notes.push(format!(
            "the run keeps the context that it was made with, although the file has changed `{keys}` of it"
        ));
    }
    for Spot { key, step } in &decided.kept_items {
        notes.push(format!(
            "loop `{key}` keeps the items that it began with, although the file has changed them: `--from {step}` begins it anew"
        ));
    }
    for Spot { key, step } in &decided.kept_results {
        notes.push(format!(
            "the finished items of loop `{key}` stay as they are, although the file does its steps differently now: `--from {step}` begins it anew"
        ));
    }
    for Spot { key, step } in &decided.passed_over {
        let of_loop = match key == step {
            true => "",
            false => ", and begins the loop anew: its finished items are done again",
        };
        notes.push(format!(
            "step `{key}` is new and comes before the place where the run goes on, so it is not done: `--from {step}` goes back to it{of_loop}"
        ));
    }
    for Spot { key, step } in &decided.moved_ahead {
        notes.push(format!(
            "step `{key}` comes before the place where the run goes on now, so it is not done: `--from {step}` goes back to it"
        ));
    }
    if let Some(changed) = &decided.changed {
        notes.push(format!(
            "step `{}` is completed, and the file does it differently now",
            changed.key
        ));
    }
    if let Some(step) = &decided.from {
        notes.push(format!("the run goes on at step `{step}`"));
    }
    let again = match &decided.changed {
        Some(changed) if decided.is_sent_back() => &changed.again,
        Some(_) | None => &decided.moved_behind,
    };
    if !again.is_empty() {
        notes.push(format!(
            "what comes after it is done again: `{}`",
            again.join("`, `")
        ));
    }
    notes
}

//! A thread as a document for people and agents.

use std::collections::HashSet;

use crate::read::copies::Past;
use serde::Serialize;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::{Reached, Used};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::program::Program;
use uwf_thread::{Stored, read_program};

use crate::read::activity::{AttemptView, RunningView};
use crate::read::document::newest_that_fit;
use crate::read::history::History;
use crate::read::outline::used_by;
use crate::read::show::{ThreadView, show};
use crate::read::story::{StepStory, StoryReader};
use crate::read::summary::SummaryView;
use crate::read::thread_document::{Block, Frame, start_section};
use crate::read::thread_end::{failures_section, state_section, summary_section};
use crate::read::thread_state::{HeldBy, ThreadStatus};
use crate::{EngineError, Site};

/// Which part of a thread to read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// How long the document may be, in characters. The newest step is always shown.
    pub quota: usize,
    /// Read only the steps before this one; all steps if absent.
    pub before: Option<CasRef>,
    /// Show the task even with `before`.
    pub start: bool,
}

/// A thread for readers: as data, and as the document that people and agents read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStory {
    /// The thread.
    pub thread: ThreadId,
    /// The workflow that it is pinned to.
    pub workflow: CasRef,
    /// The name of the workflow.
    pub workflow_name: String,
    /// What the user asked.
    pub task: String,
    /// When the thread began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Its status; `None` if the view of the thread cannot be made.
    pub status: Option<ThreadStatus>,
    /// How many earlier steps are left out.
    pub hidden: usize,
    /// The newest steps that fit, oldest first.
    pub steps: Vec<StepStory>,
    /// The attempts that failed after the last step.
    pub attempts: Vec<AttemptView>,
    /// What a completed thread results in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why that could not be filled in, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_problem: Option<String>,
    /// What a model says has happened in it, if a person or the config wanted that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryView>,
    /// The role that is next, or at work.
    pub current_role: Option<RoleName>,
    /// The step that is being done right now.
    pub running: Option<RunningView>,
    /// Who asks, if the thread is suspended.
    pub suspended_role: Option<RoleName>,
    /// What is asked, if the thread is suspended.
    pub suspend_message: Option<String>,
    /// The limit that keeps it from going on, if one is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
    /// What suspends it, if no role asks. Then the message is about that.
    #[serde(skip)]
    pub held_by: Option<HeldBy>,
    /// Why it is blocked, if it is.
    pub blocked_reason: Option<String>,
    /// What its steps and its failed attempts used up; `None` if a step cannot be read.
    pub used: Option<Used>,
    /// The Markdown document; ends with one line end.
    #[serde(skip)]
    pub document: String,
}

/// Returns a thread, active or ended, with the newest steps that fit as Markdown, oldest first.
///
/// # Errors
/// When the thread is unknown, `before` is not one of its steps, or its chain cannot be read. A damaged answer is no error:
/// it is named in its step.
pub fn read_thread(
    site: &Site,
    id: ThreadId,
    options: &ReadOptions,
) -> Result<ThreadStory, EngineError> {
    let history = History::read(site, id)?;
    let steps = match options.before {
        Some(before) => {
            steps_before(&history.steps, before).ok_or(EngineError::StepNotInThread {
                step: before,
                thread: id,
            })?
        }
        None => &history.steps,
    };
    let program = read_program(&site.store, history.start.workflow)?;
    // The status is not essential here: an error in finding it belongs to `thread show` and `thread step`.
    let shown = show(site, id).ok();
    let run = site.root.run(id);
    let past = Past::read(site, id, history.head)?;
    let attempts = run.ledger.attempts().into_iter().map(AttemptView::from);
    let attempts: Vec<AttemptView> = attempts.map(|attempt| past.place(attempt)).collect();
    let last = attempts
        .iter()
        .filter(|attempt| attempt.at() == history.head);
    let last: Vec<AttemptView> = last.cloned().collect();
    let reader = StoryReader {
        site,
        thread: id,
        program: &program,
        start: history.start_hash,
        head: history.head,
        replaced: &past.replaced,
        attempts: &attempts,
    };
    let frame = frame(id, &history, &program, options, &last, shown.as_ref());
    let (stories, document) = newest(&frame, &reader, steps, history.head, options.quota)?;
    let state = shown.as_ref().map(|view| &view.state);
    Ok(ThreadStory {
        thread: id,
        workflow: history.start.workflow,
        workflow_name: program.name().to_owned(),
        started_at_ms: history.started_ms,
        status: state.map(|state| state.status),
        hidden: steps.len() - stories.len(),
        steps: stories,
        attempts: last,
        current_role: state.and_then(|state| state.current_role.clone()),
        suspended_role: state.and_then(|state| state.suspended_role.clone()),
        suspend_message: state.and_then(|state| state.suspend_message.clone()),
        limit: state.and_then(|state| state.limit.clone()),
        held_by: state.and_then(|state| state.held_by),
        summary: shown.as_ref().and_then(|view| view.summary.clone()),
        running: shown.as_ref().and_then(|view| view.running.clone()),
        result: shown.as_ref().and_then(|view| view.outline.result.clone()),
        result_problem: shown
            .as_ref()
            .and_then(|view| view.outline.result_problem.clone()),
        blocked_reason: shown.and_then(|view| view.blocked_reason),
        used: used_by(site, &run.ledger, history.head).ok(),
        document,
        task: history.start.prompt,
    })
}

/// Returns the newest steps that fit into the quota, oldest first, and the document with them.
fn newest(
    frame: &Frame,
    reader: &StoryReader<'_>,
    steps: &[Stored<StepNode>],
    head: CasRef,
    quota: usize,
) -> Result<(Vec<StepStory>, String), EngineError> {
    let mut roles_shown = HashSet::new();
    let mut stories = Vec::new();
    let mut blocks = Vec::new();
    let mut lost = None;
    let fitting = newest_that_fit(
        steps.len(),
        frame.room(quota),
        |hidden| frame.notice_cost(hidden, head),
        |nth| {
            let index = steps.len() - 1 - nth;
            match reader.read(index + 1, &steps[index]) {
                Ok(story) => {
                    let block = Block::of(&story);
                    let cost = block.cost(&mut roles_shown);
                    stories.push(story);
                    blocks.push(block);
                    cost
                }
                Err(error) => {
                    lost.get_or_insert(error);
                    0
                }
            }
        },
    );
    if let Some(error) = lost {
        return Err(error.into());
    }
    stories.truncate(fitting);
    stories.reverse();
    blocks.truncate(fitting);
    blocks.reverse();
    let document = frame.render(&blocks, steps.len() - fitting);
    Ok((stories, document))
}

fn steps_before(steps: &[Stored<StepNode>], before: CasRef) -> Option<&[Stored<StepNode>]> {
    let end = steps.iter().position(|step| step.hash == before)?;
    Some(&steps[..end])
}

fn frame(
    id: ThreadId,
    history: &History,
    program: &Program,
    options: &ReadOptions,
    failed: &[AttemptView],
    shown: Option<&ThreadView>,
) -> Frame {
    let begins = options.before.is_none() || options.start;
    let start = || {
        let prompt = &history.start.prompt;
        start_section(id, program.name(), history.start.workflow, prompt)
    };
    let ends = match options.before {
        Some(_) => Vec::new(),
        None => {
            let summary = shown.and_then(summary_section);
            let state = shown.map(state_section);
            let ends = summary.into_iter().chain(failures_section(failed));
            ends.chain(state).collect()
        }
    };
    Frame {
        thread: id,
        start: begins.then(start),
        ends,
    }
}

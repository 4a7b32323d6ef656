//! A thread as a document for people and agents.

use std::collections::HashSet;

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::workflow::Workflow;

use crate::view::activity::attempts_at;
use crate::view::document::{newest_that_fit, one_line, tagged};
use crate::view::history::{History, TimedStep};
use crate::view::notes::Notes;
use crate::view::show::show;
use crate::view::thread_document::{
    Block, Frame, Heading, failures_section, start_section, stop_section,
};
use crate::view::turns;
use crate::{Engine, EngineError, thread};

/// What part of a thread is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// How long the document may be, in characters. The newest step is shown whatever it takes.
    pub quota: usize,
    /// Only the steps before this one; without it, all.
    pub before: Option<CasRef>,
    /// Shows the task also with `before`.
    pub start: bool,
}

/// Returns a thread, active or ended, as Markdown: the task, then the newest steps that fit, oldest first.
/// Ends with one line end.
///
/// # Errors
/// When the thread is unknown, `before` is not one of its steps, or its chain cannot be read. Trouble with
/// what a single step answered is told in its place.
pub fn read_thread(
    engine: &Engine,
    id: ThreadId,
    options: &ReadOptions,
) -> Result<String, EngineError> {
    let history = History::read(engine, id)?;
    let steps = match options.before {
        Some(before) => {
            steps_before(&history.steps, before).ok_or(EngineError::StepNotInThread {
                step: before,
                thread: id,
            })?
        }
        None => &history.steps,
    };
    let workflow = thread::load_workflow(&engine.store, history.start.workflow)?;
    let frame = frame(engine, id, &history, &workflow, options);
    let mut told = HashSet::new();
    let mut blocks = Vec::new();
    let mut lost = None;
    let fitting = newest_that_fit(
        steps.len(),
        frame.room(options.quota),
        |hidden| frame.notice_cost(hidden, history.head),
        |nth| {
            let index = steps.len() - 1 - nth;
            match block(&engine.store, &workflow, index + 1, &steps[index]) {
                Ok(block) => {
                    let cost = block.cost(&mut told);
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
    blocks.truncate(fitting);
    blocks.reverse();
    Ok(frame.render(&blocks, steps.len() - fitting))
}

fn steps_before(steps: &[TimedStep], before: CasRef) -> Option<&[TimedStep]> {
    let end = steps.iter().position(|step| step.hash == before)?;
    Some(&steps[..end])
}

fn frame(
    engine: &Engine,
    id: ThreadId,
    history: &History,
    workflow: &Workflow,
    options: &ReadOptions,
) -> Frame {
    let begins = options.before.is_none() || options.start;
    let start = || {
        let prompt = &history.start.prompt;
        start_section(id, &workflow.name, history.start.workflow, prompt)
    };
    let ends = match options.before {
        Some(_) => Vec::new(),
        None => {
            let failures = failures_section(&attempts_at(&engine.root.run(id), history.head));
            // What cannot be said here is said by the step.
            let shown = show(engine, id).ok();
            let stop =
                shown.and_then(|view| stop_section(&view.standing, view.blocked_reason.as_deref()));
            failures.into_iter().chain(stop).collect()
        }
    };
    Frame {
        thread: id,
        start: begins.then(start),
        ends,
    }
}

fn block(
    store: &Store,
    workflow: &Workflow,
    number: usize,
    step: &TimedStep,
) -> Result<Block, StoreError> {
    let TimedStep {
        hash,
        node,
        timestamp_ms,
    } = step;
    let goal = workflow
        .roles
        .get(&node.role)
        .map(|role| role.goal.as_str());
    let answer = Answer::read(store, node.detail, node.output)?;
    let heading = Heading {
        number,
        step: *hash,
        role: &node.role,
        agent: &node.agent,
        stored_ms: *timestamp_ms,
        duration_ms: node.duration_ms(),
        notes: &answer.notes,
    };
    Ok(Block {
        step: *hash,
        role: node.role.clone(),
        heading: heading.render(),
        prompt: goal
            .filter(|goal| !goal.trim().is_empty())
            .map(|goal| tagged("prompt", goal)),
        body: answer.body,
    })
}

/// What is shown of an answer.
struct Answer {
    notes: Notes,
    body: String,
}

impl Answer {
    /// Reads what the agent said; where nothing is kept of that, the data that it answered with. A damaged node is
    /// told in its place.
    fn read(store: &Store, detail: CasRef, output: CasRef) -> Result<Self, StoreError> {
        let (notes_of_kit, said, trouble) = match said(store, detail) {
            Ok((notes, said)) => (notes, said, None),
            Err(error @ StoreError::Lost { .. }) => return Err(error),
            Err(error) => (Notes::default(), None, Some(error)),
        };
        let shown = match said {
            Some(said) => Ok(tagged("output", &said)),
            None => data(store, output).map(|data| tagged("output", &data)),
        };
        let notes = trouble.into_iter().map(|error| note(&error));
        let shown = match shown {
            Err(error @ StoreError::Lost { .. }) => return Err(error),
            shown => shown.unwrap_or_else(|error| note(&error)),
        };
        let parts: Vec<String> = notes.chain([shown]).collect();
        Ok(Self {
            notes: notes_of_kit,
            body: parts.join("\n\n"),
        })
    }
}

fn said(store: &Store, detail: CasRef) -> Result<(Notes, Option<String>), StoreError> {
    let node = store.need(detail)?;
    let notes = Notes::of(node.type_hash, &node.payload);
    Ok((notes, turns::answer(store, &node.payload)?))
}

fn data(store: &Store, output: CasRef) -> Result<String, StoreError> {
    let payload = store.need(output)?.payload;
    Ok(format!("```json\n{}\n```", pretty(&payload)))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value is JSON")
}

fn note(error: &StoreError) -> String {
    format!("*({})*", one_line(&error.to_string()))
}

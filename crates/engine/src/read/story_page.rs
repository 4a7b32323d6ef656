//! The stories of some steps of a thread, for a page: as many as it has room for, and no more is read.

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_thread::{read_program, read_start, steps, summarize};

use crate::read::activity::AttemptView;
use crate::read::copies::Past;
use crate::read::story::{StepStory, StoryReader};
use crate::{EngineError, Site, thread};

/// Which steps a page has.
#[derive(Debug, Clone, Copy)]
pub struct StepsPage {
    /// Only steps before this one; the newest ones if absent.
    pub before: Option<CasRef>,
    /// How many of them at most.
    pub take: usize,
}

/// The stories of some steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoryPage {
    /// The thread.
    pub thread: ThreadId,
    /// What the user asked.
    pub task: String,
    /// How many earlier steps there are.
    pub hidden: u64,
    /// The steps, oldest first.
    pub steps: Vec<StepStory>,
    /// How many later steps there are.
    pub later: u64,
}

/// Returns the stories of the newest steps of a thread, or of those before another step.
///
/// # Errors
/// When the thread is unknown, `before` is not one of its steps, or its chain cannot be read. A damaged answer is no error: it
/// is named in its step.
pub fn story_page(site: &Site, id: ThreadId, page: StepsPage) -> Result<StoryPage, EngineError> {
    let store = &site.store;
    let head = thread::find(site, id)?.head();
    let ledger = site.root.run(id).ledger;
    let all = summarize(store, ledger.chain_summary().as_ref(), head)?.steps;
    let mut chain = steps(store, head);
    let mut later = 0;
    if let Some(before) = page.before {
        let unknown = || EngineError::StepNotInThread {
            step: before,
            thread: id,
        };
        loop {
            later += 1;
            if chain.next().ok_or_else(unknown)??.hash == before {
                break;
            }
        }
    }
    let found = chain.take(page.take).collect::<Result<Vec<_>, _>>()?;
    let start = found.first().map(|step| step.node.start);
    let start = match start {
        Some(start) => start,
        None => uwf_thread::Head::read(store, head)?.start(),
    };
    let start_node = read_start(store, start)?.node;
    let program = read_program(store, start_node.workflow)?;
    let past = Past::read(site, id, head)?;
    let attempts = ledger.attempts().into_iter().map(AttemptView::from);
    let attempts: Vec<AttemptView> = attempts.map(|attempt| past.place(attempt)).collect();
    let reader = StoryReader {
        site,
        thread: id,
        program: &program,
        start,
        head,
        replaced: &past.replaced,
        attempts: &attempts,
    };
    let newest = all.saturating_sub(later);
    let mut stories = Vec::with_capacity(found.len());
    for (number, step) in (1..=newest).rev().zip(&found) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        stories.push(reader.read(number, step)?);
    }
    stories.reverse();
    Ok(StoryPage {
        thread: id,
        task: start_node.prompt,
        hidden: newest.saturating_sub(stories.len() as u64),
        steps: stories,
        later,
    })
}

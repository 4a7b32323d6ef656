//! The forks of a thread. Each has a record of where it came from; the thread has none of them.

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::State;

use crate::read::item_reader::{Candidate, Reader};
use crate::read::thread_item::ThreadItem;
use crate::{EngineError, Site, thread};

/// How many forks are read.
const MOST: usize = 50;

/// A thread that was forked from another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkItem {
    /// The thread.
    #[serde(flatten)]
    pub item: ThreadItem,
    /// The step, or the start, at which it began.
    pub forked_at: CasRef,
}

/// The forks of a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Forks {
    /// The newest of them, newest first.
    pub forks: Vec<ForkItem>,
    /// How many are left out.
    pub hidden: usize,
}

/// Returns the forks of a thread that were not removed.
///
/// # Errors
/// When the thread is unknown, or the files of the state cannot be read.
pub fn forks(site: &Site, id: ThreadId) -> Result<Forks, EngineError> {
    thread::find(site, id)?;
    let state = State::new(&site.root);
    let mut found = Forks::default();
    let mut reader = Reader::new(site);
    let namings = state.namings().unwrap_or_default();
    // A fork is younger than what it was forked from.
    for fork in site.root.runs_after(id)?.into_iter().rev() {
        let origin = site.root.run(fork).origin.read();
        let Some(origin) = origin.filter(|origin| origin.thread == Some(id)) else {
            continue;
        };
        let Some(place) = state.find(fork)? else {
            continue;
        };
        if found.forks.len() == MOST {
            found.hidden += 1;
            continue;
        }
        let mut item = reader.item(Candidate { id: fork, place });
        let naming = namings.of(fork);
        (item.name, item.labels) = (naming.name, naming.labels);
        found.forks.push(ForkItem {
            item,
            forked_at: origin.step,
        });
    }
    Ok(found)
}

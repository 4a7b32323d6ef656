//! What threads used up that are being removed. The sum is all that stays of their runs.

use std::collections::{HashMap, HashSet};

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_storage::State;
use uwf_thread::{Head, read_start};

use crate::read::cost_sums::{CostKey, CostOptions, Sums};
use crate::read::list::every_thread;
use crate::{EngineError, Site};

/// Returns what each of these threads used up, if it can be read. Steps that a thread which stays has, too, do not count:
/// they count for that thread from now on.
pub(crate) fn used_by_leaving(
    site: &Site,
    leaving: &[(ThreadId, CasRef)],
) -> Result<HashMap<ThreadId, Used>, EngineError> {
    let options = CostOptions {
        by: CostKey::Thread,
        since_ms: None,
        threads: Vec::new(),
        labels: Vec::new(),
    };
    let mut sums = Sums::new(&options);
    let ids: HashSet<ThreadId> = leaving.iter().map(|(id, _)| *id).collect();
    let tasks: HashSet<Task> = leaving
        .iter()
        .filter_map(|(_, head)| Task::of(site, *head))
        .collect();
    for (id, head) in every_thread(site)?.0 {
        let stays = !ids.contains(&id);
        if stays && Task::of(site, head).is_some_and(|task| tasks.contains(&task)) {
            sums.see_chain(site, head);
        }
    }
    let mut used = HashMap::new();
    for (id, head) in leaving {
        if let Ok(account) = sums.read(site, *id, *head) {
            used.insert(*id, account.used());
            sums.add(&account);
        }
    }
    Ok(used)
}

/// What threads that share steps have in common, whatever their workflow is: only their chains are compared.
#[derive(PartialEq, Eq, Hash)]
struct Task {
    prompt: String,
    cwd: Option<String>,
}

impl Task {
    fn of(site: &Site, head: CasRef) -> Option<Self> {
        let start = Head::read(&site.store, head).ok()?.start();
        let start = read_start(&site.store, start).ok()?.node;
        Some(Self {
            prompt: start.prompt,
            cwd: start.cwd,
        })
    }
}

/// The runs of threads that were removed and are not here again.
#[derive(Default)]
pub(crate) struct OfRemoved {
    pub(crate) used: Used,
    /// How many threads do not tell what they used up.
    pub(crate) unknown: u64,
}

impl OfRemoved {
    /// Reads the records of threads that were removed at this time or later, in milliseconds since 1970. All runs of a thread
    /// ended before it was removed.
    pub(crate) fn read(site: &Site, since_ms: Option<i64>) -> Result<Self, EngineError> {
        let state = State::new(&site.root);
        let active: HashSet<ThreadId> = state.heads()?.into_iter().map(|(id, _)| id).collect();
        let mut seen = HashSet::new();
        let mut sum = Self::default();
        // A thread that came back and was removed again has all its runs in its newest record.
        for one in state.history()?.removed.iter().rev() {
            let is_earlier = since_ms.is_some_and(|since| one.removed_at < since);
            if active.contains(&one.removed) || !seen.insert(one.removed) || is_earlier {
                continue;
            }
            match &one.used {
                Some(used) => sum.used.add_all(used),
                None => sum.unknown += 1,
            }
        }
        Ok(sum)
    }
}

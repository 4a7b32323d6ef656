//! What threads used up that are being removed. The sum is all that stays of their runs.

use std::collections::{HashMap, HashSet};

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_storage::{RemovedThread, State};
use uwf_thread::{Head, read_start};

use crate::read::cost_sums::{CostKey, CostOptions, Sums};
use crate::read::list::every_thread;
use crate::{EngineError, Site};

/// What one thread used up, and the digests of its steps in that.
pub(crate) struct Spent {
    pub(crate) used: Used,
    pub(crate) steps: Vec<CasRef>,
}

/// Returns what each of these threads used up, if it can be read. Steps that a thread which stays has, too, do not count:
/// they count for that thread from now on. Nor do steps that a thread had which was removed earlier.
pub(crate) fn spent_by_leaving(
    site: &Site,
    leaving: &[(ThreadId, CasRef)],
) -> Result<HashMap<ThreadId, Spent>, EngineError> {
    let options = CostOptions {
        by: CostKey::Thread,
        since_ms: None,
        threads: Vec::new(),
        labels: Vec::new(),
    };
    let ids: HashSet<ThreadId> = leaving.iter().map(|(id, _)| *id).collect();
    let removed = OfRemoved::read(site, |one| !ids.contains(&one.removed))?;
    let mut sums = Sums::new(&options, removed);
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
    let mut all = HashMap::new();
    for (id, head) in leaving {
        if let Ok(account) = sums.read(site, *id, *head) {
            all.insert(*id, account.spent());
            sums.add(&account);
        }
    }
    Ok(all)
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
    /// The digests of the steps in that.
    pub(crate) steps: HashSet<CasRef>,
    /// How many threads do not tell what they used up.
    pub(crate) unknown: u64,
}

impl OfRemoved {
    /// Reads the records of threads that count.
    pub(crate) fn read(
        site: &Site,
        counts: impl Fn(&RemovedThread) -> bool,
    ) -> Result<Self, EngineError> {
        let state = State::new(&site.root);
        let active: HashSet<ThreadId> = state.heads()?.into_iter().map(|(id, _)| id).collect();
        let mut seen = HashSet::new();
        let mut sum = Self::default();
        // A thread that came back and was removed again has all its runs in its newest record.
        for one in state.history()?.removed.iter().rev() {
            if active.contains(&one.removed) || !seen.insert(one.removed) || !counts(one) {
                continue;
            }
            sum.steps.extend(&one.steps);
            match &one.used {
                Some(used) => sum.used.add_all(used),
                None => sum.unknown += 1,
            }
        }
        Ok(sum)
    }
}

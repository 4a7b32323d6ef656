//! What threads used up that are being removed. The sum is all that stays of their runs.

use std::collections::{HashMap, HashSet};

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_storage::{RemovedThread, ReturnedThread, State};
use uwf_thread::{Head, read_start};

use crate::read::cost_sums::{Account, CostKey, CostOptions, Sums};
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
    let options = by_thread();
    let ids: HashSet<ThreadId> = leaving.iter().map(|(id, _)| *id).collect();
    let removed = OfRemoved::read(site, |id, _| !ids.contains(&id))?;
    let returned = State::new(&site.root).history()?.returned;
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
            let mut spent = account.spent();
            if let Some(returned) = returned.iter().find(|one| one.returned == *id) {
                spent.add_missing(returned, &account);
            }
            all.insert(*id, spent);
            sums.add(&account);
        }
    }
    Ok(all)
}

/// Returns what a removed thread used up beyond the steps of this chain, and the digests of the steps in that; `None` if that
/// is not known.
pub(crate) fn beyond_chain(site: &Site, removed: &RemovedThread, head: CasRef) -> Option<Spent> {
    let options = by_thread();
    let sums = Sums::new(&options, OfRemoved::default());
    let account = sums.read(site, removed.removed, head).ok()?;
    let mut steps = removed.steps.clone();
    steps.retain(|step| !account.has(*step));
    Some(Spent {
        used: removed
            .used
            .as_ref()?
            .beyond(&account.used_for(&removed.steps)),
        steps,
    })
}

fn by_thread() -> CostOptions {
    CostOptions {
        by: CostKey::Thread,
        since_ms: None,
        threads: Vec::new(),
        labels: Vec::new(),
    }
}

impl Spent {
    /// Adds what was missing of a thread when it came back, unless it has come back, too.
    fn add_missing(&mut self, returned: &ReturnedThread, account: &Account) {
        let again = account.used_for(&returned.steps);
        self.used.add_all(&returned.missing.beyond(&again));
        let missing = returned.steps.iter().filter(|step| !account.has(**step));
        self.steps.extend(missing);
    }
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

/// The runs of threads that were removed, as far as they did not come back with their threads.
#[derive(Default)]
pub(crate) struct OfRemoved {
    pub(crate) used: Used,
    /// The digests of the steps in that.
    pub(crate) steps: HashSet<CasRef>,
    /// How many threads do not tell what they used up.
    pub(crate) unknown: u64,
}

impl OfRemoved {
    /// Reads the records of threads that count, by their ids and the times of their removals.
    pub(crate) fn read(
        site: &Site,
        counts: impl Fn(ThreadId, i64) -> bool,
    ) -> Result<Self, EngineError> {
        let state = State::new(&site.root);
        let active: HashSet<ThreadId> = state.heads()?.into_iter().map(|(id, _)| id).collect();
        let history = state.history()?;
        let ended: HashSet<ThreadId> = history.records.iter().map(|one| one.thread).collect();
        let mut seen = HashSet::new();
        let mut sum = Self::default();
        // A thread that came back and was removed again has all its runs in its newest record.
        for one in history.removed.iter().rev() {
            let is_last = seen.insert(one.removed);
            if is_last && !active.contains(&one.removed) && counts(one.removed, one.removed_at) {
                sum.add(one.used.as_ref(), &one.steps);
            }
        }
        for one in &history.returned {
            let is_here = active.contains(&one.returned) || ended.contains(&one.returned);
            if is_here && counts(one.returned, one.removed_at) {
                sum.add(Some(&one.missing), &one.steps);
            }
        }
        Ok(sum)
    }

    fn add(&mut self, used: Option<&Used>, steps: &[CasRef]) {
        self.steps.extend(steps);
        match used {
            Some(used) => self.used.add_all(used),
            None => self.unknown += 1,
        }
    }
}

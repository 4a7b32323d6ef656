//! The threads at one glance: how many there are of each status, those that wait for a person, and a page of all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Located, Namings, State, StorageError, Threads};

use crate::read::item_reader::{Brief, Candidate, Reader};
use crate::read::list::{among, namings, tell_more, unreadable};
use crate::read::selection::{ListFilter, Selector};
use crate::read::show::ended_status;
use crate::read::thread_item::ThreadItem;
use crate::read::thread_state::ThreadStatus;
use crate::{EngineError, Site};

/// How many threads that wait for a person are shown before the others.
const URGENT: usize = 20;
/// How many threads of this process read at once, at most.
const READERS: usize = 4;
/// How many active threads one of them reads, at least: fewer are not worth another one.
const SHARE: usize = 200;

/// Which page of the threads is wanted.
#[derive(Debug, Clone, Copy)]
pub struct BoardPage {
    /// Only threads that follow this one in the list.
    pub after: Option<ThreadId>,
    /// How many of them at most.
    pub take: usize,
}

/// The threads at one glance.
#[derive(Debug, Serialize)]
pub struct Board {
    /// A page of the threads, newest first.
    pub threads: Vec<ThreadItem>,
    /// The last thread of the page, if others follow it.
    pub next: Option<ThreadId>,
    /// How many threads the filter lets through, on all pages.
    pub total: usize,
    /// How many threads there are of each status, whatever the filter says about it.
    pub counts: Vec<StatusCount>,
    /// The newest of those that wait for a person, whatever the filter says about the status.
    pub urgent: Vec<ThreadItem>,
    /// How many threads wait for a person, with those that `urgent` leaves out.
    pub waiting: usize,
    /// The problems that may hide a thread or its status, one line each.
    pub warnings: Vec<String>,
    /// The damage of the state's files because of which `thread list` ends with an error. `warnings` leaves it out.
    #[serde(skip)]
    pub problem: Option<EngineError>,
}

/// How many threads have a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StatusCount {
    /// The status.
    pub status: ThreadStatus,
    /// How many threads have it.
    pub count: usize,
}

/// Returns the threads that a filter lets through, at one glance. Each active thread is read in brief, and the whole of a thread only
/// if it is shown.
///
/// # Errors
/// When the files of the state cannot be read, or the names of threads if the filter is about them.
pub fn board(site: &Site, filter: &ListFilter, page: BoardPage) -> Result<Board, EngineError> {
    let every_status = ListFilter {
        all: true,
        statuses: None,
        ..filter.clone()
    };
    let (threads, problem) = State::new(&site.root).threads_checked()?;
    let mut warnings = damage(&threads, problem.as_ref());
    let found = among(threads.places, &every_status, site.env.now_ms());
    let namings = namings(site, &every_status, &mut warnings)?;
    let mut selector = Selector::new(site, &every_status, &namings);
    let found = found.into_iter();
    let found: Vec<Candidate> = found
        .filter(|one| selector.selects(one.id, &one.place))
        .collect();
    warnings.extend(selector.warnings);
    let briefs = briefs(site, &found);
    let status = |one: &Candidate| match &one.place {
        Located::Archived(record) => ended_status(record.reason),
        Located::Active(_) => briefs
            .get(&one.id)
            .map_or(ThreadStatus::Corrupt, |brief| brief.status),
    };
    let counts = counts(found.iter().map(status));
    let urgent = found.iter().filter(|one| needs_person(status(one)));
    let waiting = urgent.clone().count();
    let urgent: Vec<&Candidate> = urgent.take(URGENT).collect();
    let is_wanted = |one: &&Candidate| {
        let wanted = filter.statuses.as_ref();
        wanted.is_none_or(|wanted| wanted.contains(&status(one)))
    };
    let wanted: Vec<&Candidate> = found.iter().filter(is_wanted).collect();
    let begin = begin(&wanted, page.after, site.env.now_ms());
    let rest = &wanted[begin..];
    let page = &rest[..rest.len().min(page.take)];
    let has_more = page.len() < rest.len();
    let shown = read(site, &namings, urgent.iter().chain(page).copied());
    let items = |of: &[&Candidate]| -> Vec<ThreadItem> {
        let items = of.iter().filter_map(|one| shown.get(&one.id));
        items.cloned().collect()
    };
    let errors = found.iter().filter_map(|one| {
        let in_brief = briefs.get(&one.id).and_then(|brief| brief.error.as_ref());
        let reason = in_brief.or_else(|| shown.get(&one.id)?.error.as_ref())?;
        Some(unreadable(one.id, reason))
    });
    warnings.extend(errors);
    Ok(Board {
        threads: items(page),
        next: page.last().map(|last| last.id).filter(|_| has_more),
        total: wanted.len(),
        urgent: items(&urgent),
        counts,
        waiting,
        warnings,
        problem: problem.map(EngineError::from),
    })
}

/// Returns the lines of the history that cannot be read, without the one that is the problem.
fn damage(threads: &Threads, problem: Option<&StorageError>) -> Vec<String> {
    let told = match problem {
        Some(StorageError::Damaged(line)) => Some(line),
        Some(_) | None => None,
    };
    let lines = threads.damaged.iter();
    let rest = lines.filter(|line| Some(*line) != told);
    rest.map(ToString::to_string).collect()
}

/// Reads all active threads in brief. Most of the time goes into many small files, so several threads of this process read them.
fn briefs(site: &Site, found: &[Candidate]) -> HashMap<ThreadId, Brief> {
    let active = found.iter().filter_map(|one| match &one.place {
        Located::Active(head) => Some((one.id, *head)),
        Located::Archived(_) => None,
    });
    let active: Vec<(ThreadId, CasRef)> = active.collect();
    let readers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = active.len().div_ceil(readers.min(READERS)).max(SHARE);
    std::thread::scope(|scope| {
        let shares = active.chunks(share);
        let readers: Vec<_> = shares
            .map(|part| scope.spawn(|| Reader::new(site).briefs(part)))
            .collect();
        let read = readers.into_iter().flat_map(|reader| match reader.join() {
            Ok(briefs) => briefs,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        read.collect()
    })
}

/// Reads threads as lines of a list, each once: one of them may be shown at two places.
fn read<'f>(
    site: &Site,
    namings: &Namings,
    shown: impl Iterator<Item = &'f Candidate>,
) -> BTreeMap<ThreadId, ThreadItem> {
    let shown: BTreeMap<ThreadId, &Candidate> = shown.map(|one| (one.id, one)).collect();
    let mut items = Reader::new(site).items(shown.into_values().cloned());
    tell_more(site, namings, &mut items);
    items.into_iter().map(|item| (item.thread, item)).collect()
}

/// Tells whether a thread with this status does not go on before a person does something.
fn needs_person(status: ThreadStatus) -> bool {
    match status {
        ThreadStatus::Suspended
        | ThreadStatus::Blocked
        | ThreadStatus::Failed
        | ThreadStatus::Corrupt => true,
        ThreadStatus::Idle
        | ThreadStatus::Running
        | ThreadStatus::Waiting
        | ThreadStatus::Paused
        | ThreadStatus::Completed
        | ThreadStatus::Cancelled => false,
    }
}

/// Counts the threads of each status that any has.
fn counts(statuses: impl Iterator<Item = ThreadStatus>) -> Vec<StatusCount> {
    let mut counts = ThreadStatus::ALL.map(|status| StatusCount { status, count: 0 });
    for status in statuses {
        for one in &mut counts {
            one.count += usize::from(one.status == status);
        }
    }
    counts.into_iter().filter(|one| one.count > 0).collect()
}

/// Returns the place of the first thread after another. That one need not be in the list.
fn begin(sorted: &[&Candidate], after: Option<ThreadId>, now_ms: i64) -> usize {
    let place = |id: ThreadId| (Reverse(id.time_ms(now_ms)), id);
    after.map_or(0, |after| {
        sorted.partition_point(|one| place(one.id) <= place(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn candidate(time_ms: u64, random: u128) -> Candidate {
        Candidate {
            id: ThreadId::new(time_ms, random),
            place: Located::Active("0123456789ABC".parse().unwrap()),
        }
    }

    #[test]
    fn a_page_begins_after_a_thread_also_if_that_is_gone() {
        let found = [
            candidate(9, 0),
            candidate(5, 1),
            candidate(5, 2),
            candidate(1, 0),
        ];
        let sorted: Vec<&Candidate> = found.iter().collect();
        let after = |one: &Candidate| begin(&sorted, Some(one.id), NOW);
        assert_eq!(begin(&sorted, None, NOW), 0);
        assert_eq!(after(&found[0]), 1);
        assert_eq!(after(&found[1]), 2);
        assert_eq!(after(&found[3]), 4);
        assert_eq!(after(&candidate(7, 0)), 1);
    }

    #[test]
    fn only_statuses_that_there_are_are_counted() {
        let statuses = [ThreadStatus::Idle, ThreadStatus::Failed, ThreadStatus::Idle];
        let counted = counts(statuses.into_iter());
        let counted: Vec<_> = counted
            .iter()
            .map(|one| (one.status.as_str(), one.count))
            .collect();
        assert_eq!(counted, [("idle", 2), ("failed", 1)]);
    }
}

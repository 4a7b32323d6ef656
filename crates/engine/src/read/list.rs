//! The list of threads, one line each. There may be very many: threads that the filter leaves out are not read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Located, Namings, State};

use crate::children::children_by_parent;
use crate::read::item_reader::{Candidate, Reader};
use crate::read::selection::{Children, ListFilter, Selector};
use crate::read::summary::SummaryView;
use crate::read::thread_item::ThreadItem;
use crate::read::thread_state::ThreadStatus;
use crate::{EngineError, Site};

/// The threads that a filter lets through.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadList {
    /// The threads, newest first.
    pub threads: Vec<ThreadItem>,
    /// The problems that may hide a thread or its status, one line each.
    pub warnings: Vec<String>,
}

/// Lists threads. A thread that cannot be read is listed as corrupt.
///
/// # Errors
/// When the files of the state cannot be read, or the names of threads if the filter has a name or labels.
pub fn list(site: &Site, filter: &ListFilter) -> Result<ThreadList, EngineError> {
    let (candidates, mut warnings) = candidates(site, filter)?;
    let namings = namings(site, filter, &mut warnings)?;
    let mut selector = Selector::new(site, filter, &namings);
    let selected = candidates.into_iter();
    let selected = selected.filter(|one| selector.selects(one.id, &one.place));
    let mut reader = Reader::new(site);
    let mut threads: Vec<ThreadItem> = match &filter.statuses {
        None => reader.items(page(selected, filter).into_iter()),
        Some(statuses) => {
            let mut items = reader.items_with(statuses, selected, filter);
            reader.evaluate_rest(&mut items);
            items.retain(|item| statuses.contains(&item.status));
            page(items.into_iter(), filter)
        }
    };
    if filter.children == Children::Below {
        threads = with_children_below(&mut reader, threads)?;
    }
    tell_more(site, &namings, &mut threads);
    warnings.extend(selector.warnings);
    warnings.extend(threads.iter().filter_map(corruption));
    Ok(ThreadList { threads, warnings })
}

/// Adds what is known of threads beside their chains: their names, labels and summaries.
pub(super) fn tell_more(site: &Site, namings: &Namings, threads: &mut [ThreadItem]) {
    for item in threads {
        let ledger = site.root.run(item.thread).ledger;
        item.summary = SummaryView::read(&site.store, &ledger).map(|summary| summary.text);
        let naming = namings.of(item.thread);
        (item.name, item.labels) = (naming.name, naming.labels);
    }
}

/// Puts the children of each thread after it, and theirs after them. Ended children are listed, too.
fn with_children_below(
    reader: &mut Reader<'_>,
    threads: Vec<ThreadItem>,
) -> Result<Vec<ThreadItem>, EngineError> {
    let mut below = children_by_parent(reader.site)?;
    let mut items = Vec::new();
    // The next one is the last.
    let mut rest: Vec<ThreadItem> = threads.into_iter().rev().collect();
    while let Some(item) = rest.pop() {
        let children = below.remove(&item.thread).unwrap_or_default().into_iter();
        let children = children.rev().map(|child| {
            reader.item(Candidate {
                id: child.thread,
                place: child.place,
            })
        });
        rest.extend(children);
        items.push(item);
    }
    reader.evaluate_rest(&mut items);
    Ok(items)
}

/// Reads what the threads are called. If that cannot be read, threads can be listed all the same, unless they are selected
/// by it.
pub(super) fn namings(
    site: &Site,
    filter: &ListFilter,
    warnings: &mut Vec<String>,
) -> Result<Namings, EngineError> {
    match State::new(&site.root).namings() {
        Err(error) if filter.name.is_none() && filter.labels.is_empty() => {
            warnings.push(format!("the names of threads cannot be read: {error}"));
            Ok(Namings::default())
        }
        read => Ok(read?),
    }
}

fn corruption(item: &ThreadItem) -> Option<String> {
    let reason = item.error.as_ref()?;
    Some(unreadable(item.thread, reason))
}

/// Returns the warning about a thread that cannot be read.
pub(super) fn unreadable(thread: ThreadId, reason: &str) -> String {
    format!("thread `{thread}` cannot be read: {reason}")
}

/// Returns the threads that can pass the filter, newest first, and warnings about damaged lines of the state.
fn candidates(
    site: &Site,
    filter: &ListFilter,
) -> Result<(Vec<Candidate>, Vec<String>), EngineError> {
    let state = State::new(&site.root);
    let (places, damaged) = match wants_ended(filter) {
        true => {
            let all = state.threads()?;
            (all.places, all.damaged)
        }
        // The history may be long, and says nothing that is needed.
        false => {
            let heads = state.heads()?.into_iter();
            let active = heads.map(|(id, head)| (id, Located::Active(head)));
            (active.collect(), Vec::new())
        }
    };
    let warnings = damaged.iter().map(ToString::to_string).collect();
    Ok((among(places, filter, site.env.now_ms()), warnings))
}

/// Returns those of some threads that can pass the filter, newest first.
pub(super) fn among(
    mut places: BTreeMap<ThreadId, Located>,
    filter: &ListFilter,
    now_ms: i64,
) -> Vec<Candidate> {
    if !wants(filter, |status| !status.is_ended()) {
        places.retain(|_, place| place.end().is_some());
    }
    let found = places.into_iter();
    let found = found.map(|(id, place)| Candidate { id, place }).collect();
    newest_first(found, filter, now_ms)
}

/// Threads with their heads, oldest first, and warnings about others.
pub(crate) type Heads = (Vec<(ThreadId, CasRef)>, Vec<String>);

/// Returns every thread.
pub(crate) fn every_thread(site: &Site) -> Result<Heads, EngineError> {
    let filter = ListFilter {
        all: true,
        children: Children::Listed,
        ..ListFilter::default()
    };
    let (found, warnings) = candidates(site, &filter)?;
    let oldest_first = found.iter().rev().map(|one| (one.id, one.place.head()));
    Ok((oldest_first.collect(), warnings))
}

fn wants(filter: &ListFilter, which: impl Fn(&ThreadStatus) -> bool) -> bool {
    filter
        .statuses
        .as_ref()
        .is_none_or(|statuses| statuses.iter().any(which))
}

fn wants_ended(filter: &ListFilter) -> bool {
    match &filter.statuses {
        Some(statuses) => statuses.iter().any(|status| status.is_ended()),
        None => filter.all,
    }
}

/// Returns the candidates within the bounds of time, newest first; candidates of the same time are ordered by id.
fn newest_first(found: Vec<Candidate>, filter: &ListFilter, now_ms: i64) -> Vec<Candidate> {
    let timed = found.into_iter().map(|one| (one.id.time_ms(now_ms), one));
    let mut timed: Vec<_> = timed.filter(|(time, _)| is_within(*time, filter)).collect();
    timed.sort_by_key(|(time, one)| (Reverse(*time), one.id));
    timed.into_iter().map(|(_, one)| one).collect()
}

/// Tells whether a time is strictly between the bounds. An unknown time is outside of every bound.
fn is_within(time_ms: Option<i64>, filter: &ListFilter) -> bool {
    let after = filter
        .after_ms
        .is_none_or(|bound| time_ms.is_some_and(|time| time > bound));
    let before = filter
        .before_ms
        .is_none_or(|bound| time_ms.is_some_and(|time| time < bound));
    after && before
}

fn page<T>(all: impl Iterator<Item = T>, filter: &ListFilter) -> Vec<T> {
    all.skip(filter.skip)
        .take(filter.take.unwrap_or(usize::MAX))
        .collect()
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

    fn times(candidates: &[Candidate]) -> Vec<i64> {
        candidates
            .iter()
            .map(|one| one.id.time_ms(NOW).unwrap())
            .collect()
    }

    #[test]
    fn the_newest_come_first_and_ties_go_by_id() {
        let found = vec![candidate(5, 2), candidate(9, 0), candidate(5, 1)];
        let sorted = newest_first(found, &ListFilter::default(), NOW);
        assert_eq!(times(&sorted), [9, 5, 5]);
        assert!(sorted[1].id < sorted[2].id);
    }

    #[test]
    fn the_bounds_of_time_are_exclusive() {
        let filter = ListFilter {
            after_ms: Some(5),
            before_ms: Some(8),
            ..ListFilter::default()
        };
        let found = [4, 5, 6, 7, 8].map(|time| candidate(time, 0)).into();
        assert_eq!(times(&newest_first(found, &filter, NOW)), [7, 6]);
        assert!(!is_within(None, &filter));
        assert!(is_within(None, &ListFilter::default()));
    }

    #[test]
    fn a_page_is_a_part_of_the_list() {
        let filter = ListFilter {
            skip: 1,
            take: Some(2),
            ..ListFilter::default()
        };
        assert_eq!(page(0..9, &filter), [1, 2]);
        assert_eq!(page(0..3, &ListFilter::default()), [0, 1, 2]);
    }

    #[test]
    fn ended_threads_are_wanted_with_all_or_when_their_status_is_named() {
        let of = |all, statuses: Option<Vec<ThreadStatus>>| {
            wants_ended(&ListFilter {
                all,
                statuses,
                ..ListFilter::default()
            })
        };
        assert!(!of(false, None));
        assert!(of(true, None));
        assert!(of(
            false,
            Some(vec![ThreadStatus::Idle, ThreadStatus::Cancelled])
        ));
        assert!(!of(true, Some(vec![ThreadStatus::Idle])));
    }
}

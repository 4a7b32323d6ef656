//! The list of threads, one line each. There may be very many: threads that the filter leaves out are not read.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use serde::Serialize;
use uwf_moderator::{HistoryNeed, Route, RouteError, end_result, history_need};
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_storage::{HistoryRecord, Located, Namings, Reason, State};
use uwf_thread::{Head, read_program, read_start, steps_with_outputs, summarize, with_output};

use crate::children::{children_by_parent, has_children, parent_of, taken_up};
use crate::conditions::Conditions;
use crate::limits::{self, LimitedThread};
use crate::pipelines::route::recorded_route_of;
use crate::read::activity;
use crate::read::detail_summary::DetailSummary;
use crate::read::outline::{self, Active, Outline};
use crate::read::selection::{Children, ListFilter, Selector};
use crate::read::show::ended_status;
use crate::read::standing::{Standing, assigned_to_children};
use crate::read::summary::SummaryView;
use crate::read::thread_item::ThreadItem;
use crate::read::thread_state::ThreadStatus;
use crate::thread::Thread;
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
        None => {
            let page = page(selected, filter).into_iter();
            let mut items: Vec<ThreadItem> = page.map(|candidate| reader.item(candidate)).collect();
            reader.evaluate_rest(&mut items);
            items
        }
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
    for item in &mut threads {
        let ledger = site.root.run(item.thread).ledger;
        item.summary = SummaryView::read(&site.store, &ledger).map(|summary| summary.text);
        let naming = namings.of(item.thread);
        (item.name, item.labels) = (naming.name, naming.labels);
    }
    warnings.extend(selector.warnings);
    warnings.extend(threads.iter().filter_map(corruption));
    Ok(ThreadList { threads, warnings })
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
fn namings(
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
    Some(format!("thread `{}` cannot be read: {reason}", item.thread))
}

/// A thread that was not read yet.
struct Candidate {
    id: ThreadId,
    place: Located,
}

/// Returns the threads that can pass the filter, newest first, and warnings about damaged lines of the state.
fn candidates(
    site: &Site,
    filter: &ListFilter,
) -> Result<(Vec<Candidate>, Vec<String>), EngineError> {
    let state = State::new(&site.root);
    let (mut places, damaged) = match wants_ended(filter) {
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
    if !wants(filter, |status| !status.is_ended()) {
        places.retain(|_, place| place.end().is_some());
    }
    let found = places.into_iter();
    let found = found.map(|(id, place)| Candidate { id, place }).collect();
    let warnings = damaged.iter().map(ToString::to_string).collect();
    Ok((newest_first(found, filter, site.env.now_ms()), warnings))
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

/// Reads threads. Each workflow is read once.
struct Reader<'a> {
    site: &'a Site,
    programs: HashMap<CasRef, Rc<Program>>,
    config: Config,
    conditions: Conditions<'a>,
}

impl<'a> Reader<'a> {
    fn new(site: &'a Site) -> Self {
        Self {
            site,
            programs: HashMap::new(),
            config: limits::config_for_views(site),
            conditions: Conditions::of_a_list(),
        }
    }

    fn item(&mut self, candidate: Candidate) -> ThreadItem {
        match candidate.place {
            Located::Archived(record) => self.ended(&record),
            Located::Active(head) => self.active(candidate.id, head),
        }
    }

    /// Reads an ended thread: its last step and its task, and what is on record about the other steps. There may be very many
    /// ended threads, so their chains are not read. What cannot be read is left out: the thread has ended nevertheless.
    fn ended(&mut self, record: &HistoryRecord) -> ThreadItem {
        let store = &self.site.store;
        let ledger = self.site.root.run(record.thread).ledger;
        let program = self.program(record.workflow).ok();
        let (start, last) = match Head::read(store, record.head) {
            Ok(Head::Start(start)) => (Some(start), None),
            Ok(Head::Step(step)) => (read_start(store, step.node.start).ok(), Some(step)),
            Err(_) => (None, None),
        };
        let start = start.map(|start| start.node);
        let failed = activity::failed_resume(&ledger, record);
        let mut outline = Outline {
            usage: outline::on_record(&ledger, record.head),
            resumable: program
                .as_ref()
                .is_some_and(|program| outline::can_be_resumed(program)),
            ..Outline::of_ended(self.site, record, start.as_ref())
                .with_failed_resume(failed.as_ref())
        };
        if let (Some(program), Some(last), Reason::Completed) = (&program, last, record.reason)
            && let Ok(last) = with_output(store, last)
            && let Some(result) = end_result(program, &last)
        {
            outline = outline.with_result(result).in_lines();
        }
        let summary = ledger.chain_summary();
        let summary = summary.filter(|summary| summary.head == record.head);
        ThreadItem {
            parent: start.and_then(|start| parent_of(record.thread, &start).cloned()),
            workflow: Some(record.workflow),
            workflow_name: program.map(|program| program.name().to_owned()),
            steps: summary.map(|summary| summary.steps),
            failure_reason: failed.map(|attempt| attempt.error),
            outline,
            ..ThreadItem::new(record.thread, record.head, ended_status(record.reason))
        }
    }

    /// Reads candidates until enough of them have one of these statuses. The result also has the candidates in between whose
    /// status is not known yet.
    fn items_with(
        &mut self,
        statuses: &[ThreadStatus],
        candidates: impl Iterator<Item = Candidate>,
        filter: &ListFilter,
    ) -> Vec<ThreadItem> {
        let enough = filter.take.map(|take| filter.skip.saturating_add(take));
        let mut items = Vec::new();
        let mut certain = 0;
        for candidate in candidates {
            if enough.is_some_and(|enough| certain >= enough) {
                break;
            }
            let item = self.item(candidate);
            if item.not_evaluated {
                items.push(item);
            } else if statuses.contains(&item.status) {
                certain += 1;
                items.push(item);
            }
        }
        items
    }

    /// Evaluates the conditions that took too long at first, with all the time that is left.
    fn evaluate_rest(&mut self, items: &mut [ThreadItem]) {
        self.conditions.ask_again();
        for item in items.iter_mut().filter(|item| item.not_evaluated) {
            *item = self.active(item.thread, item.head);
        }
    }

    fn active(&mut self, id: ThreadId, head: CasRef) -> ThreadItem {
        let mut workflow = None;
        self.read_active(id, head, &mut workflow)
            .unwrap_or_else(|error| ThreadItem {
                workflow,
                error: Some(error.to_string()),
                ..ThreadItem::new(id, head, ThreadStatus::Corrupt)
            })
    }

    /// Reads an active thread. Sets `workflow_hash` as soon as the workflow is known, even if an error follows.
    fn read_active(
        &mut self,
        id: ThreadId,
        head: CasRef,
        workflow_hash: &mut Option<CasRef>,
    ) -> Result<ThreadItem, EngineError> {
        let store = &self.site.store;
        let (start, last) = match Head::read(store, head)? {
            Head::Start(start) => (start.node, None),
            Head::Step(step) => (read_start(store, step.node.start)?.node, Some(step)),
        };
        *workflow_hash = Some(start.workflow);
        let program = self.program(start.workflow)?;
        let steps = match (
            history_need(&program, last.as_ref().map(|step| &step.node.role)),
            last,
        ) {
            (HistoryNeed::All, _) => steps_with_outputs(store, head)?,
            (HistoryNeed::LastStep, Some(step)) => vec![with_output(store, step)?],
            (HistoryNeed::LastStep, None) => Vec::new(),
        };
        let run = self.site.root.run(id);
        let route = match &*program {
            Program::Graph(workflow) => {
                let route = self.conditions.route(workflow, &start, &steps)?;
                taken_up::answered(self.site, (id, head), &program, route)?
            }
            Program::Pipeline(_) => recorded_route_of(self.site, id, head)?,
        };
        let Standing {
            activity,
            route,
            state,
        } = self.standing((id, head), (&start, &program), route)?;
        let pause = run.pause.read()?;
        let outline = Active {
            site: self.site,
            id,
            head,
            start: &start,
            last: steps.last(),
            ledger: &run.ledger,
            activity: &activity,
        };
        let outline = outline.outline()?;
        let item = ThreadItem::of_active(id, head, (state, pause), activity, &route);
        let waiting = item.waiting_answer;
        let detail = steps.last().map(|last| last.node.detail);
        // A thread whose detail is lost can go on.
        let detail = detail.and_then(|detail| DetailSummary::read(store, detail).ok());
        Ok(ThreadItem {
            refused_calls: detail.unwrap_or_default().refused_calls,
            waiting_answer: waiting.map(|it| it.in_view(self.site, &start, program.name())),
            workflow: Some(start.workflow),
            parent: parent_of(id, &start).cloned(),
            workflow_name: Some(program.name().to_owned()),
            steps: Some(summarize(store, run.ledger.chain_summary().as_ref(), head)?.steps),
            outline,
            ..item
        })
    }

    /// Finds out where an active thread with this route stands. Its chain is read only if children do its next step.
    fn standing(
        &self,
        (id, head): (ThreadId, CasRef),
        (start, program): (&StartNode, &Program),
        route: Result<Route, RouteError>,
    ) -> Result<Standing, EngineError> {
        let store = &self.site.store;
        let run = self.site.root.run(id);
        match assigned_to_children(&route) {
            Some(_) => {
                let thread = Thread::load(store, id, head)?;
                Standing::on_route(self.site, &thread, route, &self.config)
            }
            None => {
                let limited = LimitedThread {
                    ledger: &run.ledger,
                    workflow: program.limits(),
                    head,
                    replaces: None,
                    by_children: Used::default(),
                    has_children: has_children(program),
                    has_supervisor: program.supervisor().is_some(),
                };
                let own =
                    Standing::without_children(self.site, &run, &limited, route, &self.config)?;
                Ok(own.with_next_try(self.site, (id, head), start, program))
            }
        }
    }

    fn program(&mut self, hash: CasRef) -> Result<Rc<Program>, EngineError> {
        if let Some(program) = self.programs.get(&hash) {
            return Ok(Rc::clone(program));
        }
        let program = Rc::new(read_program(&self.site.store, hash)?);
        self.programs.insert(hash, Rc::clone(&program));
        Ok(program)
    }
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

//! The child threads of a thread: which ones its next step needs, and where they are.
//!
//! The id of a child is a hash of its [`Parent`] record. So every call finds the same child, also after earlier calls were
//! killed, and no call makes a second one.

pub(crate) mod answer;
pub(crate) mod moved;
pub(crate) mod of_step;
pub(crate) mod redone;
pub(crate) mod taken_up;
pub(crate) mod used;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use uwf_cas_fs::hash_of;
use uwf_moderator::condition::ValueQuestion;
use uwf_moderator::{Assignment, PlannedChild, Route, plan};
use uwf_process::Signals;
use uwf_protocol::chain::StepContext;
use uwf_protocol::child::{ChildrenDetail, EndedChild, Parent};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_protocol::work::{BranchesOf, List, Work};
use uwf_storage::{HistoryRecord, Located, Reason, State};
use uwf_thread::{Head, read_start, steps_with_outputs};

use crate::child_error::{ChildProblem, failed};
use crate::conditions::Conditions;
use crate::pipelines::chain::is_run;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// How many removed children of one key are skipped.
const MOST_TRIES: u64 = 10_000;

/// A child thread that the next step of a thread needs.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) planned: PlannedChild,
    pub(crate) parent: Parent,
    pub(crate) thread: ThreadId,
    /// Where it is; `None` if it was not made yet.
    pub(crate) place: Option<Located>,
    /// How many steps it did, if an earlier step of the role has counted them: the role is done again, and this branch is not.
    pub(crate) kept_steps: Option<u64>,
    /// The earlier children of the same key. A person killed them.
    pub(crate) killed: Vec<HistoryRecord>,
}

impl Child {
    /// Returns the problem of a call that would leave it behind.
    fn at_work(&self) -> ChildProblem {
        ChildProblem::AtWork {
            child: self.thread,
            ended: self.is_ended(),
        }
    }

    /// Tells whether it has reached its end.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.place, Some(Located::Archived(_)))
    }
}

/// Returns the child threads that a thread needs for its next step, in the order of the branches.
pub(crate) fn children_of(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    signals: Option<&Signals>,
) -> Result<Vec<Child>, EngineError> {
    let planned = planned(site, thread, assignment, signals)?;
    let earlier = moved::heads_before(site, thread.id, thread.head)?;
    locate(site, (thread, &earlier), assignment, planned)
}

/// Finds the child threads that are planned for the next step of a thread, which had these heads before by migrations.
pub(crate) fn locate(
    site: &Site,
    (thread, heads_before): (&Thread, &[CasRef]),
    assignment: &Assignment,
    planned: Vec<PlannedChild>,
) -> Result<Vec<Child>, EngineError> {
    let state = State::new(&site.root);
    // At the remote a child stays that was removed here, so it counts for a shared thread.
    let is_shared = site.root.shared(thread.id).read()?.is_some();
    let known = Known::of(&state, planned.len(), is_shared)?;
    let mut kept = taken_up::kept(site, thread, assignment)?;
    let child = |planned: PlannedChild| {
        let kept = kept.remove(&planned.key);
        let parent = first_of_key(thread, &assignment.role, planned.key.clone());
        if let Some((record, steps)) = kept {
            return Ok(Child {
                planned,
                parent,
                thread: record.thread,
                place: Some(Located::Archived(record)),
                kept_steps: Some(steps),
                killed: Vec::new(),
            });
        }
        let mut found = newest_of(&known, planned, parent)?;
        for head in heads_before.iter().rev() {
            let parent = Parent {
                head: *head,
                attempt: 0,
                ..found.parent.clone()
            };
            let mut earlier = newest_of(&known, found.planned.clone(), parent)?;
            earlier.killed.append(&mut found.killed);
            match found.place.is_none() && moved::has_same_task(site, thread, &earlier)? {
                true => found = earlier,
                false => found.killed = earlier.killed,
            }
        }
        Ok(found)
    };
    planned.into_iter().map(child).collect()
}

/// Returns the record of the first child that works for a role after the head of a thread, for the branch with this key.
pub(crate) fn first_of_key(thread: &Thread, role: &RoleName, key: String) -> Parent {
    Parent {
        thread: thread.id,
        head: thread.head,
        role: role.clone(),
        key,
        depth: thread.start.parent.as_ref().map_or(0, |above| above.depth) + 1,
        attempt: 0,
    }
}

/// Returns the newest child that works for a parent record: the one that no person has killed or removed.
fn newest_of(
    known: &Known<'_>,
    planned: PlannedChild,
    mut parent: Parent,
) -> Result<Child, EngineError> {
    let mut killed = Vec::new();
    loop {
        let id = id_of(&parent);
        let place = known.find(id)?;
        match place {
            Some(Located::Archived(record)) if record.reason == Reason::Cancelled => {
                killed.push(record);
            }
            None if parent.attempt < MOST_TRIES && known.is_removed(id)? => {}
            place => {
                return Ok(Child {
                    planned,
                    parent,
                    thread: id,
                    place,
                    kept_steps: None,
                    killed,
                });
            }
        }
        parent.attempt += 1;
    }
}

/// Where threads are, as the caller needs it: for one, the files are read when it is asked for; for many, once.
enum Known<'s> {
    One {
        state: &'s State<'s>,
        skips_removed: bool,
    },
    Many {
        places: BTreeMap<ThreadId, Located>,
        removed: HashSet<ThreadId>,
    },
}

impl<'s> Known<'s> {
    fn of(state: &'s State<'s>, count: usize, is_shared: bool) -> Result<Self, EngineError> {
        if count <= 1 {
            return Ok(Self::One {
                state,
                skips_removed: !is_shared,
            });
        }
        let removed = match is_shared {
            true => HashSet::new(),
            false => {
                let removed = state.history()?.removed.into_iter();
                removed.map(|one| one.removed).collect()
            }
        };
        Ok(Self::Many {
            removed,
            places: state.threads()?.places,
        })
    }

    fn find(&self, id: ThreadId) -> Result<Option<Located>, EngineError> {
        match self {
            Self::One { state, .. } => Ok(state.find(id)?),
            Self::Many { places, .. } => Ok(places.get(&id).cloned()),
        }
    }

    fn is_removed(&self, id: ThreadId) -> Result<bool, EngineError> {
        match self {
            Self::One {
                state,
                skips_removed,
            } => Ok(*skips_removed && state.removed(id)?.is_some()),
            Self::Many { removed, .. } => Ok(removed.contains(&id)),
        }
    }
}

/// Returns which child threads a step needs.
pub(crate) fn planned(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    signals: Option<&Signals>,
) -> Result<Vec<PlannedChild>, EngineError> {
    planned_under(site, thread, &thread.program, assignment, signals)
}

/// Returns which child threads a step of a thread would need under this program.
pub(crate) fn planned_under(
    site: &Site,
    thread: &Thread,
    program: &Program,
    assignment: &Assignment,
    signals: Option<&Signals>,
) -> Result<Vec<PlannedChild>, EngineError> {
    let blocked =
        |problem: String| failed(thread.id, &assignment.role, ChildProblem::Unknown(problem));
    let Some(role) = program.task(&assignment.role) else {
        return Err(blocked("the workflow has no such role".to_owned()));
    };
    let again = taken_up::again(site, thread, assignment)?;
    let items_again = again.as_ref().and_then(|again| again.items.clone());
    let items = match (list_of(&role.work), items_again) {
        (None, _) => serde_json::Value::Null,
        (Some(_), Some(items)) => items,
        (Some(List::Items(items)), None) => items.clone().into(),
        (Some(List::Expression(expression)), None) => {
            let steps = steps_with_outputs(&site.store, thread.head)?;
            let question = ValueQuestion::new(expression, &thread.start, &steps);
            let value = Conditions::of_one_thread(signals).value(question)?;
            value.map_err(|problem| blocked(format!("`each`: {problem}")))?
        }
    };
    let answer = match &again {
        Some(again) => again.answer.as_ref(),
        None => thread.last().map(|step| &step.output),
    };
    plan(&role.work, assignment, answer, items, &thread.start.prompt)
        .map_err(|problem| blocked(problem.to_string()))
}

fn list_of(work: &Work) -> Option<&List> {
    match work {
        Work::Branches(branches) => match &branches.of {
            BranchesOf::Each { list, .. } => Some(list),
            BranchesOf::Named(_) => None,
        },
        Work::Agent | Work::Workflow(_) => None,
    }
}

/// Returns the id of the child that works for this parent.
fn id_of(parent: &Parent) -> ThreadId {
    let payload = serde_json::to_value(parent).expect("a parent is plain data");
    let hash = hash_of(Some(schemas::START_NODE_OF_CHILD), &payload);
    parent
        .thread
        .of_child(hash.expect("a parent is not nested deeply"))
}

/// Returns the ids that the children of one key can have, in the order in which they are made.
pub(crate) fn ids_of(parent: Parent) -> impl Iterator<Item = ThreadId> {
    (0..MOST_TRIES).map(move |attempt| {
        id_of(&Parent {
            attempt,
            ..parent.clone()
        })
    })
}

/// Returns the children that a recorded step names; none if other agents did it.
pub(crate) fn recorded(site: &Site, step: &StepContext) -> Result<Vec<EndedChild>, EngineError> {
    named_by(site, step.node.detail)
}

/// Returns the children that the detail of a step names; none if other agents did the step.
pub(crate) fn named_by(site: &Site, detail: CasRef) -> Result<Vec<EndedChild>, EngineError> {
    let detail = site.store.need(detail)?;
    let detail = ChildrenDetail::deserialize(&detail.payload);
    Ok(detail.map(|detail| detail.children).unwrap_or_default())
}

/// Returns the parent of a thread with this start, if the thread is a child. A fork of a child begins at the same start, but
/// nobody waits for what it does: only the thread with the id of the record is the child.
pub(crate) fn parent_of(thread: ThreadId, start: &StartNode) -> Option<&Parent> {
    let parent = start.parent.as_ref();
    parent.filter(|parent| thread.may_be_child() && id_of(parent) == thread)
}

/// Returns the parent of a thread with this head, if the thread is a child.
pub(crate) fn parent_at(
    site: &Site,
    thread: ThreadId,
    head: CasRef,
) -> Result<Option<Parent>, EngineError> {
    let start = Head::read(&site.store, head)?.start();
    let start = read_start(&site.store, start)?.node;
    Ok(parent_of(thread, &start).cloned())
}

/// Tells whether a thread works for another one. One that cannot be read does not.
pub(crate) fn is_child(site: &Site, id: ThreadId) -> bool {
    let start_of = |head| {
        Some(
            read_start(&site.store, Head::read(&site.store, head).ok()?.start())
                .ok()?
                .node,
        )
    };
    id.may_be_child()
        && State::new(&site.root)
            .find(id)
            .ok()
            .flatten()
            .and_then(|place| start_of(place.head()))
            .is_some_and(|start| parent_of(id, &start).is_some())
}

/// Tells whether the next step of an active thread needs what an ended child did.
pub(crate) fn is_needed(site: &Site, child: ThreadId, head: CasRef) -> Result<bool, EngineError> {
    if !child.may_be_child() {
        return Ok(false);
    }
    let Some(parent) = parent_at(site, child, head)? else {
        return Ok(false);
    };
    // A step that follows the head that the child worked for has what it did.
    let state = State::new(&site.root);
    let Some(head) = state.head(parent.thread)? else {
        return Ok(false);
    };
    if is_run(&site.store, head)? {
        return Ok(of_step::head_for_child(&site.store, head)? == parent.head);
    }
    if taken_up::may_be_kept(site, head, child)? {
        return Ok(true);
    }
    Ok(head == parent.head
        || moved::heads_before(site, parent.thread, head)?.contains(&parent.head))
}

/// Fails if children work for the next step of a thread: the caller would leave them behind.
pub(crate) fn refuse_to_leave(site: &Site, thread: &Thread) -> Result<(), EngineError> {
    match moved::at_work(site, thread)? {
        None => Ok(()),
        Some((assignment, children)) => {
            Err(failed(thread.id, &assignment.role, children[0].at_work()))
        }
    }
}

/// Adds the children of threads, and theirs, to a list of threads: those of all their steps that still exist.
pub(crate) fn with_descendants(
    site: &Site,
    threads: &[ThreadId],
) -> Result<Vec<ThreadId>, EngineError> {
    let mut below = children_by_parent(site)?;
    let mut found = threads.to_vec();
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = below.remove(&parent).unwrap_or_default().into_iter();
        let mut children: Vec<ThreadId> = children.map(|child| child.thread).collect();
        children.retain(|child| !found.contains(child));
        children.sort();
        found.extend(children);
        next += 1;
    }
    Ok(found)
}

/// A child thread that exists.
pub(crate) struct KnownChild {
    pub(crate) thread: ThreadId,
    pub(crate) place: Located,
    pub(crate) parent: Parent,
}

/// Returns every child thread by its parent, in the order in which they were made; those of one round are ordered by their
/// branches. A thread whose start cannot be read is no child.
pub(crate) fn children_by_parent(
    site: &Site,
) -> Result<HashMap<ThreadId, Vec<KnownChild>>, EngineError> {
    let mut found = Vec::new();
    for (thread, place) in State::new(&site.root).threads()?.places {
        if thread.may_be_child()
            && let Ok(head) = Head::read(&site.store, place.head())
            && let Ok(start) = read_start(&site.store, head.start())
            && let Some(parent) = parent_of(thread, &start.node).cloned()
        {
            let index: Option<u64> = parent.key.parse().ok();
            let order = (
                start.timestamp_ms,
                index,
                parent.key.clone(),
                parent.attempt,
            );
            let child = KnownChild {
                thread,
                place,
                parent,
            };
            found.push((order, child));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let mut below: HashMap<ThreadId, Vec<KnownChild>> = HashMap::new();
    for (_, child) in found {
        below.entry(child.parent.thread).or_default().push(child);
    }
    Ok(below)
}

/// How often a branch may fail at one place. Then it has failed for good.
const TRIES: usize = 3;

/// Tells whether a branch has failed for good. A workflow that plays a role alone is tried as often as a person likes.
pub(crate) fn has_failed(site: &Site, work: Option<&Work>, child: &Child) -> bool {
    let (Some(Work::Branches(_)), Some(Located::Active(head))) = (work, &child.place) else {
        return false;
    };
    failures(site, child.thread, *head) >= TRIES
}

/// Returns how often an active thread has failed at its head: its agents, or those of the thread that plays its next role. An agent
/// that was told to stop, or that was ended together with its engine, has not failed: a machine that restarts says nothing of it.
fn failures(site: &Site, id: ThreadId, head: CasRef) -> usize {
    let attempts = site.root.run(id).ledger.attempts().into_iter();
    let failed = attempts.filter(|attempt| {
        let was_stopped = attempt.end_unseen || attempt.class == Some(FailureClass::Cancelled);
        attempt.at() == head && !was_stopped
    });
    failed.count() + failures_below(site, id, head).unwrap_or_default()
}

/// Returns how often the thread has failed that plays the next role of a thread, if one does.
fn failures_below(site: &Site, id: ThreadId, head: CasRef) -> Option<usize> {
    let thread = Thread::load(&site.store, id, head).ok()?;
    if !has_children(&thread.program) {
        return None;
    }
    let Ok(Route::To(assignment)) = taken_up::route(site, &thread, None).ok()? else {
        return None;
    };
    // A role with branches counts the failures of its branches itself.
    let Work::Workflow(_) = thread.program.task(&assignment.role)?.work else {
        return None;
    };
    let child = children_of(site, &thread, &assignment, None).ok()?.pop()?;
    match child.place {
        Some(Located::Active(head)) => Some(failures(site, child.thread, head)),
        Some(Located::Archived(_)) | None => None,
    }
}

/// Tells whether a program has roles that child threads play. Most have none, and need not be looked at further.
pub(crate) fn has_children(program: &Program) -> bool {
    let Some(workflow) = program.as_graph() else {
        return false;
    };
    let mut works = workflow.roles.values().map(|role| &role.work);
    works.any(|work| *work != Work::Agent)
}

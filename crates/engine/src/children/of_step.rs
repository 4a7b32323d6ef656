//! The child thread of a step of a pipeline, and how a run finds it again.
//!
//! The head in its record is the step of the run before it. A resume in between changes nothing, unless it names the step where
//! the run goes on: then the steps from there on are done anew, by other children.

use uwf_cas_fs::Store;
use uwf_moderator::Route;
use uwf_pipeline::nodes::{RESUME_KEY, ResumeNode, VisitNode};
use uwf_protocol::child::Parent;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_storage::{Located, State};
use uwf_thread::{Head, read_start, steps};

use super::{MOST_TRIES, children_by_parent, id_of, ids_of, parent_of};
use crate::pipelines::chain::payload;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// The child thread of a step.
pub(crate) struct StepChild {
    pub(crate) parent: Parent,
    pub(crate) thread: ThreadId,
    /// Where it is; `None` if it was not made yet.
    pub(crate) place: Option<Located>,
    /// Whether it does what the step says now. One that ended with another task is passed over.
    pub(crate) has_task: bool,
}

/// Returns the record of the first child of a step of a run that has this head. `depth` is how many threads are above the run.
pub(crate) fn for_step(
    store: &Store,
    (run, depth): (ThreadId, u64),
    head: CasRef,
    role: RoleName,
) -> Result<Parent, EngineError> {
    Ok(Parent {
        thread: run,
        head: head_for_child(store, head)?,
        role,
        key: String::new(),
        depth: depth + 1,
        attempt: 0,
    })
}

/// Finds the child of a step whose task is this prompt. `parent` is the record of the first one.
pub(crate) fn find(
    site: &Site,
    mut parent: Parent,
    prompt: &str,
) -> Result<StepChild, EngineError> {
    let state = State::new(&site.root);
    // A child that was removed here is still at the remote.
    let is_shared = site.root.shared(parent.thread).read()?.is_some();
    loop {
        let thread = id_of(&parent);
        let place = state.find(thread)?;
        let has_task = match &place {
            Some(place) => prompt_of(&site.store, place.head())? == prompt,
            None => true,
        };
        let is_passed = match &place {
            Some(Located::Archived(_)) => !has_task,
            Some(Located::Active(_)) => false,
            None => !is_shared && parent.attempt < MOST_TRIES && state.removed(thread)?.is_some(),
        };
        if !is_passed {
            return Ok(StepChild {
                parent,
                thread,
                place,
                has_task,
            });
        }
        parent.attempt += 1;
    }
}

/// Returns the ids that the children of the next step of a run can have, the first one first; none if no step can be done.
pub(crate) fn ids_for_next(
    site: &Site,
    run: &Thread,
) -> Result<impl Iterator<Item = ThreadId> + use<>, EngineError> {
    let parent = match run.route(None)? {
        Ok(Route::To(next)) => {
            let depth = parent_of(run.id, &run.start).map_or(0, |above| above.depth);
            let run_at = (run.id, depth);
            Some(for_step(&site.store, run_at, run.head, next.role)?)
        }
        Ok(_) | Err(_) => None,
    };
    Ok(parent.into_iter().flat_map(ids_of))
}

/// Returns an active child of the next step that other machines would not find. They try the ids in order, and stop at the first that
/// is not there.
pub(crate) fn hidden(site: &Site, run: &Thread) -> Result<Option<ThreadId>, EngineError> {
    let state = State::new(&site.root);
    let head = head_for_child(&site.store, run.head)?;
    for (child, parent) in active(site, run.id)? {
        for attempt in 0..parent.attempt {
            let earlier = id_of(&Parent {
                attempt,
                ..parent.clone()
            });
            if parent.head == head && state.find(earlier)?.is_none() {
                return Ok(Some(child));
            }
        }
    }
    Ok(None)
}

/// Returns the children that a step of a run names.
pub(crate) fn named_by(site: &Site, detail: CasRef) -> Result<Vec<ThreadId>, EngineError> {
    let detail: VisitNode = payload(&site.store, detail)?;
    let children = detail.played.into_iter().flat_map(|played| played.children);
    Ok(children
        .filter_map(|child| child.thread.parse().ok())
        .collect())
}

fn prompt_of(store: &Store, head: CasRef) -> Result<String, EngineError> {
    let start = Head::read(store, head)?.start();
    Ok(read_start(store, start)?.node.prompt)
}

/// Returns the head that the child of the next step of a run works for.
pub(crate) fn head_for_child(store: &Store, head: CasRef) -> Result<CasRef, EngineError> {
    let start = Head::read(store, head)?.start();
    if head == start {
        return Ok(start);
    }
    for step in steps(store, head) {
        let step = step?;
        let is_passed = step.node.role.as_str() == RESUME_KEY
            && payload::<ResumeNode>(store, step.node.output)?
                .from
                .is_none();
        if !is_passed {
            return Ok(step.hash);
        }
    }
    Ok(start)
}

/// Returns the active child that does this step of a run which has this head, and the head of the child.
pub(crate) fn active_for(
    site: &Site,
    (run, head): (ThreadId, CasRef),
    step: &RoleName,
) -> Result<Option<(ThreadId, CasRef)>, EngineError> {
    let start = read_start(&site.store, Head::read(&site.store, head)?.start())?.node;
    let depth = parent_of(run, &start).map_or(0, |above| above.depth);
    let mut parent = for_step(&site.store, (run, depth), head, step.clone())?;
    let state = State::new(&site.root);
    let is_shared = site.root.shared(run).read()?.is_some();
    loop {
        let child = id_of(&parent);
        match state.find(child)? {
            Some(Located::Active(head)) => return Ok(Some((child, head))),
            Some(Located::Archived(_)) => {}
            None if !is_shared
                && parent.attempt < MOST_TRIES
                && state.removed(child)?.is_some() => {}
            None => return Ok(None),
        }
        parent.attempt += 1;
    }
}

/// Returns the children of a run that have not ended.
pub(crate) fn active(site: &Site, run: ThreadId) -> Result<Vec<(ThreadId, Parent)>, EngineError> {
    let children = children_by_parent(site)?.remove(&run).unwrap_or_default();
    let active = children
        .into_iter()
        .filter(|child| matches!(child.place, Located::Active(_)));
    Ok(active.map(|child| (child.thread, child.parent)).collect())
}

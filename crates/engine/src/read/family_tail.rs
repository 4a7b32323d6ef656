//! The tail of a thread with those of the child threads that work for it, at every depth.
//!
//! The active threads tell which children there are: their list is short, and is read each time. A child that begins and ends
//! between two looks is found in the step that its work became.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use uwf_protocol::child::Parent;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::program::Program;
use uwf_storage::State;
use uwf_thread::{Head, read_program, read_start};

use crate::children::moved::heads_before;
use crate::children::of_step::head_for_child;
use crate::children::{KnownChild, children_by_parent, has_children, parent_of};
use crate::pipelines::chain::is_run;
use crate::read::outline::first_line;
use crate::read::tail::Tail;
use crate::read::tail_event::{TailEvent, TailTask};
use crate::{EngineError, Site};

/// How long a change of a child may go unnoticed: only the files of the thread on top are watched.
const LOOK_AT_CHILDREN: Duration = Duration::from_millis(200);

/// A child thread that is followed with the thread on top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TailChild {
    /// The child.
    pub thread: ThreadId,
    /// The way to it from the thread on top: the key of each branch, or the role if it has no branches. `0/review`.
    pub branch: String,
}

/// Something that happened in a thread or in a child of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyEvent {
    /// The child; `None` for the thread on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<TailChild>,
    /// What happened.
    #[serde(flatten)]
    pub event: TailEvent,
}

/// A reader that follows a thread and its children.
pub struct FamilyTail<'a> {
    site: &'a Site,
    top: Tail<'a>,
    children: Vec<Followed<'a>>,
    /// The active threads that are no children of it.
    strangers: HashSet<ThreadId>,
}

struct Followed<'a> {
    child: TailChild,
    tail: Tail<'a>,
    has_ended: bool,
}

impl<'a> FamilyTail<'a> {
    /// Begins to follow a thread. Returns the newest turns of the thread and of each child that works for its next step, at
    /// most so many of each.
    ///
    /// # Errors
    /// When the thread is unknown, or a step cannot be read.
    pub fn begin(
        site: &'a Site,
        thread: ThreadId,
        turns: usize,
    ) -> Result<(Self, Vec<FamilyEvent>), EngineError> {
        let (top, events) = Tail::begin(site, thread, turns)?;
        let mut events = in_family(None, events);
        let mut family = Self {
            site,
            top,
            children: Vec::new(),
            strangers: HashSet::new(),
        };
        if family.may_have_children()? {
            let mut below = children_by_parent(site)?;
            let head = family.top.head();
            events.extend(family.of_children_at(&mut below, (thread, head), "", turns)?);
        }
        Ok((family, events))
    }

    /// Returns the newest turns of the children that work for the step after a head, each followed by its own children.
    fn of_children_at(
        &mut self,
        below: &mut HashMap<ThreadId, Vec<KnownChild>>,
        (parent, head): (ThreadId, CasRef),
        way: &str,
        turns: usize,
    ) -> Result<Vec<FamilyEvent>, EngineError> {
        let mut events = Vec::new();
        let children = below.remove(&parent).unwrap_or_default();
        let heads = match children.is_empty() {
            true => Vec::new(),
            false => self.heads_of_work(parent, head)?,
        };
        for known in children {
            // Work for an earlier step is part of that step.
            if !heads.contains(&known.parent.head) {
                continue;
            }
            let child = TailChild {
                thread: known.thread,
                branch: way_to(way, &known.parent.key, &known.parent.role),
            };
            events.extend(self.follow(&child, turns)?);
            let at = (known.thread, known.place.head());
            events.extend(self.of_children_at(below, at, &child.branch, turns)?);
        }
        Ok(events)
    }

    /// Returns the heads that the children of the next step of a thread may work for.
    fn heads_of_work(&self, parent: ThreadId, head: CasRef) -> Result<Vec<CasRef>, EngineError> {
        let store = &self.site.store;
        if is_run(store, head)? {
            return Ok(vec![head_for_child(store, head)?]);
        }
        let mut heads = heads_before(self.site, parent, head)?;
        heads.push(head);
        Ok(heads)
    }

    /// Returns what happened since the last call. The last event is [`TailEvent::Stopped`] of the thread on top if nothing
    /// follows.
    ///
    /// # Errors
    /// When a new step cannot be read.
    pub fn next_events(&mut self) -> Result<Vec<FamilyEvent>, EngineError> {
        // The work of children comes before the step that it becomes, and is read after it: then nothing of it is missing.
        let of_top = self.top.next_events()?;
        let mut events = self.of_children()?;
        events.extend(self.of_unseen_children("", &of_top)?);
        let is_over = matches!(of_top.last(), Some(TailEvent::Stopped(_)));
        let has_news = !events.is_empty();
        events.extend(in_family(None, of_top));
        if !is_over {
            let new = self.of_new_children()?;
            if has_news || !new.is_empty() {
                self.top.judge_again();
            }
            events.extend(new);
        }
        Ok(events)
    }

    /// Tells whether an agent is at work, for the thread or for a child.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let mut children = self.children.iter();
        self.top.is_running() || children.any(|one| one.tail.is_running())
    }

    /// Waits until something may have happened, or the time is over.
    pub fn wait(&mut self, at_most: Duration) {
        let has_children = self.children.iter().any(|one| !one.has_ended);
        self.top.wait(match has_children {
            true => at_most.min(LOOK_AT_CHILDREN),
            false => at_most,
        });
    }

    /// Returns what happened in the children that are followed. One that cannot be read any more, because a person removed it,
    /// has ended.
    fn of_children(&mut self) -> Result<Vec<FamilyEvent>, EngineError> {
        let mut found = Vec::new();
        for one in self.children.iter_mut().filter(|one| !one.has_ended) {
            match one.tail.next_events() {
                Ok(events) => {
                    one.has_ended = has_ended(&events);
                    found.push((one.child.clone(), events));
                }
                Err(_) => one.has_ended = true,
            }
        }
        let mut events = Vec::new();
        for (child, new) in found {
            events.extend(self.of_unseen_children(&child.branch, &new)?);
            events.extend(in_family(Some(&child), new));
        }
        Ok(events)
    }

    /// Returns what happened in the children of new steps that were never seen active.
    fn of_unseen_children(
        &mut self,
        way: &str,
        events: &[TailEvent],
    ) -> Result<Vec<FamilyEvent>, EngineError> {
        let mut found = Vec::new();
        for event in events {
            let TailEvent::Step(step) = event else {
                continue;
            };
            for ended in &step.children {
                if self.is_followed(ended.thread) {
                    continue;
                }
                let child = TailChild {
                    thread: ended.thread,
                    branch: way_to(way, &ended.key, &step.role),
                };
                found.extend(self.follow(&child, usize::MAX)?);
            }
        }
        Ok(found)
    }

    /// Returns what happened in the children that are new among the active threads.
    fn of_new_children(&mut self) -> Result<Vec<FamilyEvent>, EngineError> {
        let mut new: Vec<(ThreadId, Parent)> = Vec::new();
        for (id, head) in State::new(&self.site.root).heads()? {
            if !id.may_be_child() || self.strangers.contains(&id) {
                continue;
            }
            match self.children.iter_mut().find(|one| one.child.thread == id) {
                // A child that had ended may do its last step again.
                Some(known) => known.has_ended = false,
                None => match self.parent_of(id, head) {
                    Some(parent) => new.push((id, parent)),
                    None => _ = self.strangers.insert(id),
                },
            }
        }
        let mut events = Vec::new();
        while let Some(at) = new.iter().position(|(_, parent)| self.has(parent.thread)) {
            let (thread, parent) = new.remove(at);
            let way = self.children.iter();
            let way = way.clone().find(|one| one.child.thread == parent.thread);
            let way = way.map_or("", |one| &one.child.branch);
            let branch = way_to(way, &parent.key, &parent.role);
            events.extend(self.follow(&TailChild { thread, branch }, usize::MAX)?);
        }
        self.strangers.extend(new.into_iter().map(|(id, _)| id));
        Ok(events)
    }

    /// Begins to follow a child. Returns its task and its newest turns.
    fn follow(&mut self, child: &TailChild, turns: usize) -> Result<Vec<FamilyEvent>, EngineError> {
        let (tail, events) = Tail::begin(self.site, child.thread, turns)?;
        let start = read_start(
            &self.site.store,
            Head::read(&self.site.store, tail.head())?.start(),
        )?;
        let task = first_line(&start.node.prompt).unwrap_or_default();
        let mut found = in_family(Some(child), vec![TailEvent::Task(TailTask { task })]);
        self.children.push(Followed {
            child: child.clone(),
            tail,
            has_ended: false,
        });
        found.extend(self.of_unseen_children(&child.branch, &events)?);
        found.extend(in_family(Some(child), events));
        Ok(found)
    }

    /// Tells whether other threads play roles of the workflow on top, or do steps of the pipeline. If not, the history is not read: it
    /// may be long.
    fn may_have_children(&self) -> Result<bool, EngineError> {
        let store = &self.site.store;
        let start = read_start(store, Head::read(store, self.top.head())?.start())?;
        let program = read_program(store, start.node.workflow)?;
        Ok(match &program {
            Program::Graph(_) => has_children(&program),
            Program::Pipeline(pipeline) => pipeline.starts_workflows(),
        })
    }

    fn parent_of(&self, thread: ThreadId, head: CasRef) -> Option<Parent> {
        let start = Head::read(&self.site.store, head).ok()?.start();
        let start = read_start(&self.site.store, start).ok()?.node;
        parent_of(thread, &start).cloned()
    }

    fn has(&self, thread: ThreadId) -> bool {
        self.top.thread() == thread || self.is_followed(thread)
    }

    fn is_followed(&self, thread: ThreadId) -> bool {
        let mut children = self.children.iter();
        children.any(|one| one.child.thread == thread)
    }
}

fn in_family(child: Option<&TailChild>, events: Vec<TailEvent>) -> Vec<FamilyEvent> {
    let events = events.into_iter().map(|event| FamilyEvent {
        child: child.cloned(),
        event,
    });
    events.collect()
}

/// Tells whether a thread has ended with these events.
fn has_ended(events: &[TailEvent]) -> bool {
    match events.last() {
        Some(TailEvent::Stopped(stopped)) => stopped.state.status.is_ended(),
        Some(_) | None => false,
    }
}

/// Returns the way to a child of a thread that this way leads to.
fn way_to(way: &str, key: &str, role: &RoleName) -> String {
    let last = match key {
        "" => role.as_str(),
        key => key,
    };
    match way {
        "" => last.to_owned(),
        way => format!("{way}/{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_child_has_the_branch_or_the_role_of_each_level() {
        let role = "review".parse().unwrap();
        assert_eq!(way_to("", "0", &role), "0");
        assert_eq!(way_to("0", "", &role), "0/review");
    }
}

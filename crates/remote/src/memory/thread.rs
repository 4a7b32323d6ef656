//! A thread of a remote in memory.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::run::ThreadRecord;

use crate::lease::Owner;
use crate::push::{NewThread, Push};
use crate::threads::{Listed, Query};

#[derive(Debug)]
pub(super) struct Thread {
    workflow: CasRef,
    pub(super) head: CasRef,
    pub(super) status: HeadStatus,
    pub(super) label: Option<Label>,
    pub(super) record: ThreadRecord,
    /// The number of the last lease.
    pub(super) fence: u64,
    /// Its place in the line of ready threads.
    pub(super) turn: u64,
    /// Who has the lease, and when its time is over.
    holder: Option<(Owner, Duration)>,
    /// The moves of the head, oldest first: from where, and to where.
    moves: Vec<(CasRef, CasRef)>,
}

impl Thread {
    pub(super) fn new(new: &NewThread, turn: u64) -> Self {
        Self {
            workflow: new.workflow,
            head: new.head,
            status: new.status,
            label: new.label.clone(),
            record: new.record.clone(),
            fence: 0,
            turn,
            holder: None,
            moves: Vec::new(),
        }
    }

    /// Returns who has the lease, if its time is not over, and how long it still lasts.
    pub(super) fn busy(&self, now: Duration) -> Option<(Owner, Duration)> {
        let (owner, until) = self.holder.as_ref()?;
        let left = until.checked_sub(now).filter(|left| !left.is_zero())?;
        Some((owner.clone(), left))
    }

    /// Tells whether the owner has the lease, even if its time is over.
    pub(super) fn is_held_by(&self, owner: &Owner) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|(holder, _)| holder == owner)
    }

    pub(super) fn hold(&mut self, owner: &Owner, until: Duration) {
        self.holder = Some((owner.clone(), until));
    }

    /// Gives the lease back, and puts the thread at the end of the line.
    pub(super) fn give_back(&mut self, turn: u64) {
        self.holder = None;
        self.turn = turn;
    }

    pub(super) fn move_head(&mut self, push: &Push<'_>) {
        self.moves.push((push.from, push.to));
        self.head = push.to;
        self.status = push.status;
    }

    /// Tells whether the head has moved in this way and is no longer where it was before.
    pub(super) fn has_moved(&self, from: CasRef, to: CasRef) -> bool {
        self.head != from && self.moves.contains(&(from, to))
    }

    /// Tells whether the thread has or had a head.
    pub(super) fn had(&self, head: CasRef) -> bool {
        let mut moves = self.moves.iter();
        self.head == head || moves.any(|(from, to)| head == *from || head == *to)
    }

    pub(super) fn is_in(&self, query: &Query) -> bool {
        (query.statuses.is_empty() || query.statuses.contains(&self.status))
            && (query.label.is_none() || query.label == self.label)
    }

    pub(super) fn listed(&self, thread: ThreadId, now: Duration) -> Listed {
        Listed {
            thread,
            workflow: self.workflow,
            head: self.head,
            status: self.status,
            label: self.label.clone(),
            busy: self.busy(now),
        }
    }
}

//! Puts a thread at the remote, or its new steps.

use std::time::Duration;

use serde::Serialize;
use uwf_moderator::head_status;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;
use uwf_remote::{
    Acquired, Advanced, Found, NewThread, Push, Put, Remote, RemoteError, Want, Which,
};
use uwf_storage::{Located, RunDir, SharedRecord};

use crate::children::parent_of;
use crate::needs::push::nodes_of_push;
use crate::run::owned::with_thread;
use crate::sharing::error::SharingError;
use crate::sharing::{check_remote, has_on_its_way, new_record, nodes, owner};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, Site};

/// How long the lease lasts with which new steps are pushed. The nodes are there before.
const LEASE: Duration = Duration::from_secs(60);

/// What became of a thread that was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PushOutcome {
    /// It is shared from now on.
    Shared,
    /// The remote has its new steps.
    Forwarded,
    /// The remote has had all its steps.
    Unchanged,
    /// Other machines have gone on with it: the remote has more steps.
    Behind,
}

/// A thread that was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// The thread.
    pub thread: ThreadId,
    /// Its head here.
    pub head: CasRef,
    /// What became of it.
    pub outcome: PushOutcome,
    /// How many nodes were sent.
    pub nodes: usize,
}

/// Shares a thread, or sends its new steps to the remote. A worker that takes the next thread needs the label, if there is one.
///
/// # Errors
/// When the thread is busy here or elsewhere, when it has gone on at the remote in another way, or when it cannot be shared.
pub fn push(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
    label: Option<&Label>,
) -> Result<Pushed, EngineError> {
    with_thread(runner, id, |run| {
        let located = thread::find(&runner.site, id)?;
        let head = located.head();
        let thread = Thread::load(&runner.site.store, id, head)?;
        check_sharable(&thread)?;
        let status = status_of(&thread, &located)?;
        let store = remote.hello().map_err(SharingError::from)?.store;
        let known = runner.site.root.shared(id).read()?;
        if let Some(record) = &known {
            check_remote(id, record, &store)?;
        }
        let found = remote.find(id, head).map_err(SharingError::from)?;
        let job = Job {
            site: &runner.site,
            run,
            thread: &thread,
            status,
            store,
            known,
        };
        let (outcome, nodes) = match found {
            None => job.share(remote, label)?,
            Some(found) => job.forward(remote, &found)?,
        };
        Ok(Pushed {
            thread: id,
            head,
            outcome,
            nodes,
        })
    })
}

fn check_sharable(thread: &Thread) -> Result<(), EngineError> {
    let id = thread.id;
    if let Some(parent) = parent_of(id, &thread.start) {
        let parent = parent.thread;
        return Err(SharingError::IsChild { thread: id, parent }.into());
    }
    let Program::Graph(workflow) = &thread.program else {
        return Err(SharingError::IsRun(id).into());
    };
    let mut roles = workflow.roles.iter();
    match roles.find(|(_, role)| role.work != Work::Agent) {
        Some((role, _)) => {
            let role = role.clone();
            Err(SharingError::HasChildren { thread: id, role }.into())
        }
        None => Ok(()),
    }
}

/// Returns whether a step can be done at the head. A thread that a person has ended here has ended for all.
fn status_of(thread: &Thread, located: &Located) -> Result<HeadStatus, EngineError> {
    if located.end().is_some() {
        return Ok(HeadStatus::Ended);
    }
    Ok(head_status(&thread.route(None)?))
}

/// A push that is under way.
struct Job<'a> {
    site: &'a Site,
    run: &'a RunDir,
    thread: &'a Thread,
    status: HeadStatus,
    /// The id of the remote.
    store: String,
    /// The record that the thread is shared, if there was one before.
    known: Option<SharedRecord>,
}

impl Job<'_> {
    /// Returns the record that the thread is shared, and makes one if there is none. It is durable before the thread is at the
    /// remote: a call that dies in between leaves a record of a thread that is not there yet, and the next push shares it.
    fn record(&self) -> Result<SharedRecord, EngineError> {
        if let Some(record) = &self.known {
            return Ok(record.clone());
        }
        let new = new_record(self.site, self.store.clone())?;
        Ok(self.site.root.shared(self.thread.id).create(&new)?)
    }

    /// Puts a new thread at the remote, whose nodes are there. If it is refused, the thread is as if it had never been pushed.
    fn put(&self, remote: &mut dyn Remote, new: &NewThread) -> Result<Put, EngineError> {
        self.record()?;
        let answer = remote.put(&[], Some(new));
        let is_refused = matches!(answer, Err(RemoteError::Denied(_)) | Ok(Put::Clash(_)));
        // An earlier try may have put it, whose answer was lost.
        if is_refused
            && self.known.is_none()
            && matches!(remote.find(new.thread, new.head), Ok(None))
        {
            self.site.root.shared(new.thread).remove()?;
        }
        Ok(answer.map_err(SharingError::from)?)
    }

    /// Puts a new thread at the remote: the nodes first, then the thread.
    fn share(
        &self,
        remote: &mut dyn Remote,
        label: Option<&Label>,
    ) -> Result<(PushOutcome, usize), EngineError> {
        let head = self.thread.head;
        let new = NewThread {
            thread: self.thread.id,
            workflow: self.thread.start.workflow,
            head,
            status: self.status,
            label: label.cloned(),
            record: self.run.ledger.export(),
        };
        let mut needed = nodes_of_push(&self.site.store, head, None)?;
        needed.extend(nodes::of_record(self.site, &new.record)?);
        let mut sent = 0;
        for _ in 0..nodes::TIMES {
            sent += nodes::send(self.site, remote, &needed)?;
            match self.put(remote, &new)? {
                Put::Done => return Ok((PushOutcome::Shared, sent)),
                Put::Already => return Ok((PushOutcome::Unchanged, sent)),
                Put::HeadIs(there) => return Err(self.diverged(there)),
                Put::Lacking(_) => {}
                Put::Clash(nodes) => return Err(SharingError::Clash(nodes).into()),
            }
        }
        Err(SharingError::forgets().into())
    }

    /// Sends what is new, if the remote has an earlier head. In any case it sends what the record here names: a step sends only
    /// the record.
    fn forward(
        &self,
        remote: &mut dyn Remote,
        found: &Found,
    ) -> Result<(PushOutcome, usize), EngineError> {
        let record = self.record()?;
        let (here, there) = (self.thread.head, found.listed.head);
        let named = nodes::of_record(self.site, &self.run.ledger.export())?;
        if here == there && found.listed.status == self.status {
            let sent = nodes::send(self.site, remote, &named)?;
            return Ok((PushOutcome::Unchanged, sent));
        }
        // A thread that has ended there does not go on from the same head here.
        let is_behind = match here == there {
            true => found.listed.status == HeadStatus::Ended,
            false => found.had,
        };
        if is_behind {
            let sent = nodes::send(self.site, remote, &named)?;
            return Ok((PushOutcome::Behind, sent));
        }
        // What the remote has may be a step that was never here.
        let is_ahead = self.site.store.has(there)? && has_on_its_way(self.site, here, there)?;
        if !is_ahead {
            return Err(self.diverged(there));
        }
        let mut needed = nodes_of_push(&self.site.store, here, Some(there))?;
        needed.extend(named);
        let sent = nodes::send(self.site, remote, &needed)?;
        self.move_head(remote, there, &record)?;
        Ok((PushOutcome::Forwarded, sent))
    }

    fn move_head(
        &self,
        remote: &mut dyn Remote,
        from: CasRef,
        record: &SharedRecord,
    ) -> Result<(), EngineError> {
        let thread = self.thread.id;
        let owner = owner(record);
        let want = Want {
            owner: &owner,
            lasts: LEASE,
            have: &[],
            at_most: 0,
        };
        let acquired = remote.acquire(Which::Thread(thread), &want);
        let lease = match acquired.map_err(SharingError::from)? {
            Acquired::Leased(leased) => leased.lease,
            Acquired::Busy { owner, left } => {
                let owner = Box::new(owner);
                return Err(SharingError::Busy {
                    thread,
                    owner,
                    left,
                }
                .into());
            }
            // It has ended there, and went on here.
            Acquired::Ended => return Err(self.diverged(from)),
            Acquired::Unknown | Acquired::Nothing => {
                return Err(SharingError::Unknown(thread).into());
            }
        };
        let push = Push {
            nodes: &[],
            from,
            to: self.thread.head,
            status: self.status,
            record: &self.run.ledger.export(),
        };
        match remote.advance(&lease, &push).map_err(SharingError::from)? {
            Advanced::Moved | Advanced::Already => Ok(()),
            Advanced::HeadIs(there) => Err(self.diverged(there)),
            Advanced::Clash(nodes) => Err(SharingError::Clash(nodes).into()),
            Advanced::LeaseLost | Advanced::Lacking(_) => {
                let problem = "the lease ended before the head was moved; push again".to_owned();
                Err(SharingError::Remote(RemoteError::Away(problem)).into())
            }
        }
    }

    fn diverged(&self, there: CasRef) -> EngineError {
        SharingError::Diverged {
            thread: self.thread.id,
            here: self.thread.head,
            there,
        }
        .into()
    }
}

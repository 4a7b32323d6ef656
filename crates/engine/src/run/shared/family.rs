//! The children of a shared thread, and a shared thread that is a child.
//!
//! "A shared thread" in `docs/architecture.md` argues why no child is made twice. Comments here name the points about children.

use std::collections::HashSet;

use uwf_moderator::head_status;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{After, NewThread, Put, Remote, RemoteError, Renewed};
use uwf_storage::{Archived, HistoryRecord, Reason, RunDir, State};

use super::{AtRemote, NewHead, SharedThread};
use crate::children::of_step::head_for_child;
use crate::children::parent_of;
use crate::needs::push::nodes_of_push;
use crate::pipelines::chain::is_run;
use crate::sharing::error::SharingError;
use crate::sharing::family::{bring_for_step, fetch_child, give_label_of, there};
use crate::sharing::fetch::There;
use crate::sharing::{is_unused, new_record, nodes};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, Site};

/// Adds new children of a thread with this head, whose starts are durable here: at the remote first, if the thread is shared. Returns
/// whether the thread still is active and has this head.
///
/// # Errors
/// When this call has lost the lease of the thread, because another machine may be making the same children.
pub(crate) fn add_children(
    site: &Site,
    shared: Option<&SharedThread>,
    parent: (ThreadId, CasRef),
    children: &[(ThreadId, CasRef)],
) -> Result<bool, EngineError> {
    match shared {
        Some(shared) => {
            shared.share_children(site, children)?;
            shared.insert_children(site, parent.1, children)
        }
        None => Ok(State::new(&site.root).insert_children(parent, children)?),
    }
}

impl SharedThread {
    /// Brings what other machines have done for the next step (point 5). If the thread is a child that its parent does not need any
    /// more, this ends the thread and fails (point 7): the machine that should have ended it has died, or found it at work here.
    pub(crate) fn bring_family(
        &self,
        runner: &Runner,
        run: &RunDir,
        id: ThreadId,
    ) -> Result<(), EngineError> {
        let site = &runner.site;
        let Some(head) = State::new(&site.root).head(id)? else {
            return Ok(());
        };
        let thread = Thread::load(&site.store, id, head)?;
        // A finished step that waits is paid for, so it is shared first.
        let is_unneeded =
            is_unused(run)? && is_left_behind(site, self.connection.get().remote(), &thread)?;
        if is_unneeded {
            self.end(site, run, &thread)?;
            (runner.notice)(&format!(
                "thread `{id}` was ended, because the thread that it worked for does not need it any more"
            ));
            return Err(EngineError::Ended {
                thread: id,
                reason: Reason::Cancelled,
            });
        }
        // A run asks for its child when the step of the child comes.
        if thread.is_run() {
            return Ok(());
        }
        let mut in_use = self.connection.get();
        let remote = in_use.remote();
        let mut at_work = self.at_work.borrow_mut();
        bring_for_step(
            site,
            remote,
            &thread,
            &runner.signals,
            &mut |child, busy| at_work.extend([(child, busy)]),
        )?;
        Ok(())
    }

    /// Returns the error of a child on which another machine works, if one does.
    pub(crate) fn busy_child(&self, child: ThreadId) -> Option<EngineError> {
        let (owner, left) = self.at_work.borrow().get(&child).cloned()?;
        Some(SharingError::busy(child, owner, left).into())
    }

    /// Brings a child, if it is at the remote, and tells whether it is. It is brought even if another machine works on it. A step
    /// of the child tells that.
    pub(crate) fn bring_child(&self, site: &Site, child: ThreadId) -> Result<bool, EngineError> {
        let mut in_use = self.connection.get();
        let remote = in_use.remote();
        let Some(found) = there(remote, child, None)? else {
            return Ok(false);
        };
        let here = State::new(&site.root).find(child)?;
        give_label_of(remote, self.lease.thread, &[There { found, here }])?;
        fetch_child(site, remote, child)?;
        Ok(true)
    }

    /// Puts new children at the remote, which are not here yet (points 1 and 3). The nodes of their starts are durable here. They
    /// get the label of this thread, so the same workers may take them.
    ///
    /// # Errors
    /// When this call has lost the lease of this thread, because another machine may be making the same children.
    fn share_children(
        &self,
        site: &Site,
        children: &[(ThreadId, CasRef)],
    ) -> Result<(), EngineError> {
        let parent = self.lease.thread;
        let mut in_use = self.connection.get();
        let remote = in_use.remote();
        let (mut needed, mut seen) = (Vec::new(), HashSet::new());
        for (_, start) in children {
            needed.extend(nodes_of_push(&site.store, *start, None)?);
        }
        needed.retain(|node| seen.insert(*node));
        let mut label = there(remote, parent, None)?.and_then(|found| found.listed.label);
        nodes::send(site, remote, &needed)?;
        if remote.renew(&self.lease).map_err(SharingError::from)? == Renewed::Lost {
            return Err(SharingError::TakenOver(parent).into());
        }
        for (child, start) in children {
            let thread = Thread::load(&site.store, *child, *start)?;
            let new = NewThread {
                thread: *child,
                workflow: thread.start.workflow,
                head: *start,
                status: head_status(&thread.route(None)?),
                label: label.clone(),
                record: ThreadRecord::default(),
            };
            match remote.put(&[], Some(&new)).map_err(SharingError::from)? {
                Put::Done | Put::Already => {}
                Put::HeadIs(_) | Put::Lacking(_) => {
                    return Err(again("the remote was changed meanwhile"));
                }
                Put::Clash(nodes) => return Err(SharingError::Clash(nodes).into()),
            }
        }
        // A push may have changed the label of the parent, and looked for its children before they were there.
        for _ in 0..nodes::TIMES {
            let now = there(remote, parent, None)?.and_then(|found| found.listed.label);
            if now == label {
                break;
            }
            for (child, _) in children {
                remote
                    .set_label(*child, now.as_ref())
                    .map_err(SharingError::from)?;
            }
            label = now;
        }
        Ok(())
    }

    /// Adds the children that [were put at the remote](Self::share_children) to the state, as [`State::insert_children`]. Their records are
    /// here before them (point 2 about the steps), and nobody removes these in between.
    fn insert_children(
        &self,
        site: &Site,
        head: CasRef,
        children: &[(ThreadId, CasRef)],
    ) -> Result<bool, EngineError> {
        let parent = self.lease.thread;
        let folder = site.root.shared_folder();
        let _lock = folder.lock()?;
        let known = site.root.shared(parent).read()?;
        let known = known.ok_or(SharingError::Unknown(parent))?;
        for (child, _) in children {
            let record = new_record(site, known.remote.clone())?;
            site.root.shared(*child).create(&record)?;
        }
        Ok(State::new(&site.root).insert_children((parent, head), children)?)
    }

    /// Ends the thread for all machines. The caller has its lock, and no finished step of it waits.
    fn end(&self, site: &Site, run: &RunDir, thread: &Thread) -> Result<(), EngineError> {
        let end = NewHead {
            from: thread.head,
            to: thread.head,
            status: HeadStatus::Ended,
            lease: After::GiveBack,
        };
        match self.advance(site, run, &end)? {
            AtRemote::Moved => {}
            AtRemote::Elsewhere { .. } => return Err(again("the thread was changed meanwhile")),
            AtRemote::LeaseLost => return Err(SharingError::TakenOver(thread.id).into()),
        }
        let record = HistoryRecord {
            thread: thread.id,
            workflow: thread.start.workflow,
            head: thread.head,
            completed_at: site.env.now_ms(),
            reason: Reason::Cancelled,
        };
        match State::new(&site.root).archive(&record)? {
            Archived::Done | Archived::NotActive => Ok(()),
            Archived::HeadIs(_) => Err(thread::busy(thread.id, None)),
        }
    }
}

/// Returns the error of a call that can be repeated.
fn again(problem: &str) -> EngineError {
    SharingError::Remote(RemoteError::Contended(problem.to_owned())).into()
}

/// Tells whether a thread is a child whose parent does not need it any more. The parent has ended at the remote, or it has had the
/// head that the child works for and has another one now.
fn is_left_behind(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
) -> Result<bool, EngineError> {
    let Some(parent) = parent_of(thread.id, &thread.start) else {
        return Ok(false);
    };
    let Some(found) = there(remote, parent.thread, Some(parent.head))? else {
        return Ok(false);
    };
    let head = found.listed.head;
    if found.listed.status == HeadStatus::Ended {
        return Ok(true);
    }
    if !found.had || head == parent.head {
        return Ok(false);
    }
    let have = match site.store.has(parent.head)? {
        true => nodes::had_with(site, parent.head)?,
        false => Vec::new(),
    };
    nodes::bring(site, remote, &[head], &have)?;
    // A run that was resumed has another head, and still waits for the same child.
    Ok(!is_run(&site.store, head)? || head_for_child(&site.store, head)? != parent.head)
}

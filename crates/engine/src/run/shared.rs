//! The lease of a shared thread, for as long as this call works on it.
//!
//! "A shared thread" in `docs/architecture.md` argues why no step is lost or done twice. Comments here name its points.

mod connection;
pub(crate) mod ended;
pub(crate) mod family;
mod leave;
mod renewer;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use uwf_protocol::config::RemoteConfig;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{
    Acquired, Advanced, After, Lease, Leased, Listed, Owner, Push, Remote, Want, Which,
};
use uwf_storage::{Advance, Located, NextMark, RunDir, SharedRecord, State};
use uwf_thread::used_up_to;
use uwf_util::time;

use crate::needs::push::nodes_of_push;
use crate::run::shared::connection::SharedConnection;
use crate::run::shared::ended::{end_as_there, settle_ended};
use crate::run::shared::renewer::Renewer;
use crate::sharing::error::SharingError;
use crate::sharing::family::there;
use crate::sharing::fetch::replaced_by;
use crate::sharing::records::{record_of, set_record};
use crate::sharing::{
    check_remote, has_on_its_way, is_unused, merge_record, nodes, owner, was_head_here,
};
use crate::{EngineError, Runner, Site, thread};

/// How many nodes may come with a lease. A root that lacks more brings them by other calls.
const WITH_LEASE: usize = 5_000;
/// How often a step reads the mark again after another call of this machine has taken the thread.
const LOOKS: u32 = 5;
/// How long it waits between two reads.
const UNTIL_MARKED: Duration = Duration::from_millis(100);

/// A shared thread whose lease this call has.
pub(crate) struct SharedThread {
    lease: Lease,
    /// What the remote knew about the attempts of the thread when the lease was taken.
    known: ThreadRecord,
    /// Whether a step can be done at the head, as the remote was told last.
    status: Cell<HeadStatus>,
    connection: SharedConnection,
    renewer: Renewer,
    /// The children of the next step on which other machines work, as far as this call knows.
    at_work: RefCell<HashMap<ThreadId, (Owner, Duration)>>,
    /// Whether the remote has refused a step, because the lease was lost.
    is_refused: Cell<bool>,
    /// The record that was sent with the step that gave the lease back.
    sent: RefCell<Option<ThreadRecord>>,
    /// Whether the remote got a step of this call.
    has_shared_step: Cell<bool>,
}

/// A step that the remote is to get.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewHead {
    /// The head that the thread has there.
    pub(crate) from: CasRef,
    /// The step.
    pub(crate) to: CasRef,
    /// Whether a step can be done at the new head.
    pub(crate) status: HeadStatus,
    /// What becomes of the lease.
    pub(crate) lease: After,
}

/// What became of a step at the remote.
pub(crate) enum AtRemote {
    /// It is or was the head there.
    Moved,
    /// The remote has refused the step: other machines have gone on, or the thread has ended there.
    Elsewhere {
        /// The head there.
        head: CasRef,
        /// Whether the thread has ended there.
        has_ended: bool,
    },
    /// The lease was lost, and nobody has gone on yet. The step may still follow the head.
    LeaseLost,
}

/// Says where a thread is that has this head at the remote.
pub(crate) fn at_remote(head: CasRef) -> String {
    format!("at `{head}` at the remote")
}

impl SharedThread {
    /// Takes the lease of a thread, and gives the thread the head of the remote (points 1 to 3). Returns `None` if the thread is
    /// not shared, or has ended here. The caller has the lock of the thread.
    ///
    /// # Errors
    /// When another machine works on the thread; when the thread has ended at the remote, has diverged, or is ahead of the remote;
    /// when the remote does not answer.
    pub(crate) fn enter(
        runner: &Runner,
        run: &RunDir,
        id: ThreadId,
    ) -> Result<Option<Self>, EngineError> {
        let site = &runner.site;
        let Some(record) = record_of(site, id, runner.remotes)? else {
            return Ok(None);
        };
        let Located::Active(here) = thread::find(site, id)? else {
            // It has ended for all machines. What it has left here may not be settled yet.
            if !is_unused(run)? {
                settle_ended(runner, run, id)?;
            }
            return Ok(None);
        };
        let remote = (runner.remotes)(site).map_err(|error| match error {
            EngineError::Sharing(problem) => problem.about(id).into(),
            other => other,
        })?;
        let connection = SharedConnection::new(remote);
        let to_renew = (runner.remotes)(site)?;
        let mut in_use = connection.get();
        let remote = in_use.remote();
        let have = nodes::had_with(site, here)?;
        let leased = take_lease(runner, run, remote, (id, &record), &have);
        let leased = leased.map_err(|error| match error {
            EngineError::Sharing(problem) if has_waiting_step(run) => {
                problem.while_step_waits(id).into()
            }
            other => other,
        })?;
        let (lease, known, status) = (leased.lease.clone(), leased.record.clone(), leased.status);
        // The lease is renewed from now on, because bringing the steps of other machines may take longer than it lasts.
        let renewer = Renewer::start((to_renew, connection.clone()), lease.clone(), runner.notice);
        let caught_up = catch_up(site, run, remote, (id, here), leased, &have);
        if let Err(error) = caught_up {
            renewer.stop();
            if !has_waiting_step(run) {
                // If this fails, the lease ends by its time.
                let _ = remote.release(&lease, &run.ledger.export());
            }
            return Err(error);
        }
        drop(in_use);
        Ok(Some(Self {
            lease,
            known,
            status: Cell::new(status),
            connection,
            renewer,
            at_work: RefCell::default(),
            is_refused: Cell::new(false),
            sent: RefCell::new(None),
            has_shared_step: Cell::new(false),
        }))
    }

    /// Merges what the remote knew about the attempts with what is known here. The caller has settled a step that waited when the
    /// lease was taken, which kept this from being done then.
    pub(crate) fn merge_record(&self, run: &RunDir) -> Result<(), EngineError> {
        Ok(merge_record(run, &self.known)?)
    }

    /// Tells whether the lease is known to be lost: another machine has taken the thread over, or a person has ended the lease.
    /// What the agent does from then on would not be in the thread.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_refused.get() || self.renewer.is_lost()
    }

    /// Gives a durable step to the remote (point 4), with the record of the thread. The lease is given back, unless the step keeps
    /// it.
    ///
    /// # Errors
    /// When the remote does not answer. The step is on record here, and the next call sends it (point 5).
    pub(crate) fn advance(
        &self,
        site: &Site,
        run: &RunDir,
        step: &NewHead,
    ) -> Result<AtRemote, EngineError> {
        self.send(site, run, step).map_err(|error| match error {
            EngineError::Sharing(problem) if step.from != step.to => {
                problem.while_step_waits(self.lease.thread).into()
            }
            other => other,
        })
    }

    fn send(&self, site: &Site, run: &RunDir, step: &NewHead) -> Result<AtRemote, EngineError> {
        let needed = nodes_of_push(&site.store, step.to, Some(step.from))?;
        let mut record = run.ledger.export_at(step.to);
        if step.lease == After::GiveBack
            && let Ok(usage) = used_up_to(&site.store, record.chain.as_ref(), step.to)
        {
            // The record has the sums up to the step, as this machine has when the step has joined. So nothing is left to tell then.
            record.chain = Some(usage);
        }
        let mut in_use = self.connection.get();
        let remote = in_use.remote();
        let mut nodes = match nodes::in_one_request(site, &needed)? {
            Some(nodes) => nodes,
            None => {
                nodes::send(site, remote, &needed)?;
                Vec::new()
            }
        };
        if step.lease == After::GiveBack {
            self.renewer.stop();
        }
        for _ in 0..nodes::TIMES {
            let push = Push {
                nodes: &nodes,
                from: step.from,
                to: step.to,
                status: step.status,
                record: &record,
                lease: step.lease,
            };
            let advanced = remote.advance(&self.lease, &push);
            match advanced.map_err(SharingError::from)? {
                Advanced::Moved | Advanced::Already => {
                    self.status.set(step.status);
                    if step.from != step.to {
                        self.has_shared_step.set(true);
                    }
                    if step.lease == After::GiveBack {
                        self.sent.replace(Some(record));
                    }
                    return Ok(AtRemote::Moved);
                }
                Advanced::HeadIs(head) => {
                    return Ok(AtRemote::Elsewhere {
                        head,
                        has_ended: false,
                    });
                }
                Advanced::LeaseLost => {
                    let found = there(remote, self.lease.thread, None)?;
                    let after = found.map_or(AtRemote::LeaseLost, |found| {
                        without_lease(&found.listed, &push)
                    });
                    self.is_refused.set(!matches!(after, AtRemote::Moved));
                    return Ok(after);
                }
                Advanced::Clash(nodes) => return Err(SharingError::Clash(nodes).into()),
                // The remote has collected nodes that no head needed, and the step needs them again.
                Advanced::Lacking(lacking) => nodes.extend(linked(site, &lacking)?),
            }
        }
        Err(SharingError::forgets().into())
    }
}

/// Returns what became of a push that found the lease lost. If it moved no head, a remote cannot know it again, because the head is
/// where it was. So if the answer to it was lost, only the status of the thread tells that it was done.
pub(super) fn without_lease(there: &Listed, push: &Push<'_>) -> AtRemote {
    let has_ended = there.status == HeadStatus::Ended;
    let is_at_head = there.head == push.to || has_ended;
    if push.from == push.to && is_at_head && there.status == push.status {
        return AtRemote::Moved;
    }
    match has_ended || there.head != push.from {
        true => AtRemote::Elsewhere {
            head: there.head,
            has_ended,
        },
        false => AtRemote::LeaseLost,
    }
}

/// Tells whether a finished step waits here that the remote does not have. Then the lease is kept (point 5). Otherwise another
/// machine would go on, and the next call could not share the step. A pending record that cannot be read counts as one of such a
/// step.
fn has_waiting_step(run: &RunDir) -> bool {
    !matches!(run.outbox.read_pending(), Ok(None))
}

/// Tells whether a step is or was the head of a thread at the remote. The chain there counts it, or the step that has taken its place.
///
/// # Errors
/// When the thread is shared and the remote does not answer.
pub(crate) fn is_or_was_head_there(
    runner: &Runner,
    thread: ThreadId,
    step: CasRef,
) -> Result<bool, EngineError> {
    let site = &runner.site;
    if record_of(site, thread, runner.remotes)?.is_none() {
        return Ok(false);
    }
    let found = there((runner.remotes)(site)?.as_mut(), thread, Some(step))?;
    Ok(found.is_some_and(|found| found.had || found.listed.head == step))
}

/// Fails if a thread is shared, because the command would change it only here.
pub(crate) fn refuse_only_here(
    runner: &Runner,
    thread: ThreadId,
    command: &'static str,
) -> Result<(), EngineError> {
    match record_of(&runner.site, thread, runner.remotes)? {
        Some(_) => Err(SharingError::OnlyHere { thread, command }.into()),
        None => Ok(()),
    }
}

/// Returns how long a lease lasts.
pub(crate) fn lease_time(site: &Site) -> Result<Duration, EngineError> {
    let config = uwf_config::load(&site.root)?.unwrap_or_default().remote;
    let text = config.lease.as_deref().unwrap_or(RemoteConfig::LEASE);
    let range = RemoteConfig::LEAST_LEASE_MS..=RemoteConfig::LONGEST_LEASE_MS;
    let parsed = time::duration_within(text, range);
    parsed
        .map(Duration::from_millis)
        .map_err(|problem| EngineError::Config {
            key: "remote.lease".to_owned(),
            problem,
        })
}

/// Takes the lease of a thread. The caller has its lock. Another call of this machine may have taken the thread as the next one, and
/// not yet have written down under which mark. So if a call of this machine has the lease, the mark is read again after a moment. If the
/// call that has the lease has died, this one takes the lease over by its mark.
fn take_lease(
    runner: &Runner,
    run: &RunDir,
    remote: &mut dyn Remote,
    (thread, record): (ThreadId, &SharedRecord),
    have: &[CasRef],
) -> Result<Leased, EngineError> {
    let mut record = record.clone();
    let root = &runner.site.root;
    let lasts = lease_time(&runner.site)?;
    let mut looks = 0;
    loop {
        let own = owner(&record);
        let want = Want {
            owner: &own,
            lasts,
            have,
            at_most: WITH_LEASE,
        };
        let acquired = remote.acquire(Which::Thread(thread), &want);
        match acquired.map_err(SharingError::from)? {
            Acquired::Leased(leased) => match check_remote(thread, &record, &leased.store) {
                Ok(()) => return Ok(*leased),
                Err(other) => {
                    // If this fails, the lease ends by its time.
                    let _ = remote.release(&leased.lease, &leased.record);
                    return Err(other);
                }
            },
            Acquired::Busy { owner, .. } if owner.machine == own.machine && looks < LOOKS => {
                looks += 1;
                if let Some(left) = NextMark::take_left(root, |mark| mark == owner.mark)? {
                    record.mark = owner.mark;
                    set_record(&runner.site, thread, &record)?;
                    left.remove()?;
                    continue;
                }
                std::thread::sleep(UNTIL_MARKED);
                let again = root.shared(thread).read()?;
                record = again.unwrap_or(record);
            }
            Acquired::Busy { owner, left } => {
                return Err(SharingError::busy(thread, owner, left).into());
            }
            Acquired::Ended => return Err(end_as_there(runner, run, remote, thread)),
            Acquired::Unknown | Acquired::Nothing => {
                // The config may name another remote than the one that shares the thread.
                let hello = remote.hello().map_err(SharingError::from)?;
                check_remote(thread, &record, &hello.store)?;
                return Err(SharingError::Unknown(thread).into());
            }
        }
    }
}

/// Gives the thread here the head and the record of the remote (point 3).
fn catch_up(
    site: &Site,
    run: &RunDir,
    remote: &mut dyn Remote,
    (thread, here): (ThreadId, CasRef),
    leased: Leased,
    have: &[CasRef],
) -> Result<(), EngineError> {
    let there = leased.head;
    match leased.complete {
        true => nodes::take(site, leased.nodes)?,
        false => {
            nodes::bring(site, remote, &[there], have)?;
        }
    }
    merge_record(run, &leased.record)?;
    if here == there {
        return Ok(());
    }
    let state = State::new(&site.root);
    if !has_on_its_way(site, there, here)? {
        if was_head_here(site, (thread, here), there)? {
            return Err(SharingError::Ahead {
                thread,
                here,
                there,
            }
            .into());
        }
        let found = remote.find(thread, here).map_err(SharingError::from)?;
        if !found.is_some_and(|found| found.had) {
            return Err(SharingError::Diverged {
                thread,
                here,
                there,
            }
            .into());
        }
        if let Some(replaced) = replaced_by(site, thread, here, there)? {
            state.record_replaced(&replaced)?;
        }
    }
    match state.advance(thread, here, there)? {
        Advance::Moved => Ok(()),
        Advance::NotActive | Advance::HeadIs(_) => Err(thread::busy(thread, None)),
    }
}

fn linked(site: &Site, hashes: &[CasRef]) -> Result<Vec<LinkedNode>, EngineError> {
    let nodes = hashes.iter().map(|hash| site.store.linked(*hash));
    Ok(nodes.collect::<Result<_, _>>()?)
}

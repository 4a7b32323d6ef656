//! The lease with which a push moves the head of a thread, or ends the thread for all machines.

use std::time::Duration;

use uwf_protocol::ids::CasRef;
use uwf_remote::{
    Acquired, Advanced, After, Found, Lease, Leased, Push, Remote, Standing, Want, Which,
};
use uwf_storage::SharedRecord;

use super::{Job, contended};
use crate::EngineError;
use crate::run::shared::{AtRemote, without_lease};
use crate::sharing::error::{SharingError, machine_of};
use crate::sharing::family::there;
use crate::sharing::{nodes, owner, tell_without_lease};

/// How long the lease of a push lasts. The nodes are sent before it is taken.
const LEASE: Duration = Duration::from_secs(60);

impl Job<'_> {
    /// Ends the thread at the remote, at the head that it has there.
    pub(super) fn end_there(
        &self,
        remote: &mut dyn Remote,
        record: &SharedRecord,
    ) -> Result<(), EngineError> {
        match self.lease(remote, record)? {
            Some(leased) => self.advance(remote, &leased.lease, (leased.head, leased.head)),
            // Another machine has ended it meanwhile.
            None => Ok(()),
        }
    }

    /// Moves the head of the thread at the remote.
    pub(super) fn move_head(
        &self,
        remote: &mut dyn Remote,
        (from, to): (CasRef, CasRef),
        record: &SharedRecord,
    ) -> Result<(), EngineError> {
        match self.lease(remote, record)? {
            Some(leased) => self.advance(remote, &leased.lease, (from, to)),
            None => match there(remote, self.thread.id, Some(to))? {
                // Another machine has moved it there, and further perhaps.
                Some(found) if found.had || found.listed.head == to => Ok(()),
                // It has ended there, and has gone on here.
                Some(_) => Err(self.diverged(from)),
                None => Err(SharingError::Unknown(self.thread.id).into()),
            },
        }
    }

    /// Tells the remote what is known here of the attempts, if that is new there. A step tells it under its lease. But the lease may
    /// be lost, and an ended thread has none: then only this call tells it. A lease that a call of this root could not give back is
    /// given back.
    pub(super) fn tell(
        &self,
        remote: &mut dyn Remote,
        found: &Found,
        record: &SharedRecord,
    ) -> Result<(), EngineError> {
        let known = self.run.ledger.export_at(self.thread.head);
        let has_lease = matches!(&found.listed.busy, Some((by, _)) if *by == owner(record));
        // The caller has the lock of the thread, so nobody here works under the lease.
        if has_lease
            && self.run.outbox.read_pending()?.is_none()
            && let Some(leased) = self.lease(remote, record)?
        {
            let released = remote.release(&leased.lease, &known);
            return Ok(released.map(drop).map_err(SharingError::from)?);
        }
        if found.record.merged(&known) == found.record {
            return Ok(());
        }
        tell_without_lease(remote, self.thread.id, record, &known)
    }

    /// Takes the lease of the thread; `None` if the thread has ended. If a person has ended the thread here, the lease of another
    /// machine is ended first. If that machine still finishes a step, it keeps the step beside the thread.
    fn lease(
        &self,
        remote: &mut dyn Remote,
        record: &SharedRecord,
    ) -> Result<Option<Leased>, EngineError> {
        let thread = self.thread.id;
        let own = owner(record);
        let want = Want {
            owner: &own,
            lasts: LEASE,
            have: &[],
            at_most: 0,
        };
        for _ in 0..nodes::TIMES {
            let acquired = remote.acquire(Which::Thread(thread), &want);
            match acquired.map_err(SharingError::from)? {
                Acquired::Leased(leased) => return Ok(Some(*leased)),
                Acquired::Ended => return Ok(None),
                Acquired::Busy { .. } if self.is_cancelled => self.end_lease(remote)?,
                Acquired::Busy { owner, left } => {
                    return Err(SharingError::busy(thread, owner, left).into());
                }
                Acquired::Unknown | Acquired::Nothing => {
                    return Err(SharingError::Unknown(thread).into());
                }
            }
        }
        Err(contended("other machines take the thread again and again"))
    }

    /// Ends the lease that another machine has, and says so.
    fn end_lease(&self, remote: &mut dyn Remote) -> Result<(), EngineError> {
        let thread = self.thread.id;
        let standing = remote.standing(thread).map_err(SharingError::from)?;
        if let Standing::Leased(lease) = standing {
            remote.end_lease(&lease).map_err(SharingError::from)?;
            (self.notice)(&format!(
                "{} was at work on thread `{thread}`: its lease is ended; that machine ends its agent when it next asks the remote, and keeps a step that is finished by then beside the thread",
                machine_of(&lease.owner)
            ));
        }
        Ok(())
    }

    /// Tells whether a push was done that found the lease lost.
    fn was_done(&self, remote: &mut dyn Remote, push: &Push<'_>) -> Result<bool, EngineError> {
        let found = there(remote, self.thread.id, None)?;
        let after = found.map(|found| without_lease(&found.listed, push));
        Ok(matches!(after, Some(AtRemote::Moved)))
    }

    /// Moves the head under a lease, which is given back.
    fn advance(
        &self,
        remote: &mut dyn Remote,
        lease: &Lease,
        (from, to): (CasRef, CasRef),
    ) -> Result<(), EngineError> {
        let push = Push {
            nodes: &[],
            from,
            to,
            status: self.status,
            record: &self.run.ledger.export_at(to),
            lease: After::GiveBack,
        };
        let refused = match remote.advance(lease, &push).map_err(SharingError::from)? {
            Advanced::Moved | Advanced::Already => return Ok(()),
            Advanced::LeaseLost if self.was_done(remote, &push)? => return Ok(()),
            // The next push compares the thread with that head.
            Advanced::HeadIs(_) => contended("another machine has moved the head meanwhile"),
            Advanced::Clash(nodes) => SharingError::Clash(nodes).into(),
            Advanced::LeaseLost => contended("the lease ended before the head was moved"),
            Advanced::Lacking(_) => contended("the remote has removed nodes that the push needs"),
        };
        // If this fails, the lease ends by its time.
        let _ = remote.release(lease, push.record);
        Err(refused)
    }
}

//! What a call tells the remote when its work on a shared thread is over.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{After, Listed, Released};
use uwf_storage::RunDir;

use crate::limits::status_for_others;
use crate::run::shared::ended::follow_end;
use crate::run::shared::{NewHead, SharedThread, has_waiting_step};
use crate::sharing::error::{SharingError, machine_of};
use crate::sharing::family::there;
use crate::thread::{Thread, active_head};
use crate::{EngineError, Runner, Site, tags};

impl SharedThread {
    /// Gives the lease back, if no step has done so, and tells the remote what was used up. The lease is kept for a step that
    /// [waits](has_waiting_step). If the lease was lost because the thread has ended at the remote, the thread ends here, too, and
    /// [`EngineError::Ended`] is returned. The work is over, so any other error is logged and told: the lease ends by its time.
    pub(crate) fn leave(self, runner: &Runner, run: &RunDir) -> Option<EngineError> {
        self.renewer.stop();
        let (site, id) = (&runner.site, self.lease.thread);
        let record = run.ledger.export();
        let is_sent = self.sent.borrow().as_ref() == Some(&record);
        if !has_waiting_step(run)
            && !is_sent
            && let Err(error) = self.give_back(site, run, &record)
        {
            self.log(site, &error);
            self.tell_not_left(runner, &error);
            return None;
        }
        if !self.is_lost() {
            return None;
        }
        let followed = follow_end(runner, run, self.connection.get().remote(), id);
        followed.unwrap_or_else(|error| {
            self.log(site, &error);
            (runner.notice)(&format!(
                "it is not known whether thread `{id}` has ended on another machine: {error}; `uwf fetch {id}` brings what is done there"
            ));
            None
        })
    }

    /// Returns why this call has lost the lease, as far as the remote tells it.
    pub(crate) fn why_lost(&self) -> String {
        let found = there(self.connection.get().remote(), self.lease.thread, None);
        let listed = found.ok().flatten().map(|found| found.listed);
        match listed {
            Some(listed) if listed.status == HeadStatus::Ended => {
                "the thread has ended on another machine".to_owned()
            }
            Some(Listed {
                busy: Some((owner, _)),
                ..
            }) => format!("{} has taken it over", machine_of(&owner)),
            Some(_) | None => {
                "another machine has taken it over, or a person has ended the lease".to_owned()
            }
        }
    }

    fn log(&self, site: &Site, error: &EngineError) {
        let message = site.loggable(error);
        let thread = Some(self.lease.thread);
        site.log_line(tags::LEASE_NOT_RELEASED, &message, thread, None);
    }

    /// Tells whether the remote got a step of this call.
    pub(crate) fn has_shared_step(&self) -> bool {
        self.has_shared_step.get()
    }

    fn tell_not_left(&self, runner: &Runner, error: &EngineError) {
        let id = self.lease.thread;
        let waits = match self.is_lost() {
            true => "",
            false => ", and may not go on with it before its lease ends",
        };
        (runner.notice)(&format!(
            "other machines do not know yet what thread `{id}` used up{waits}: {error}; `uwf push {id}` tells them"
        ));
    }

    /// Gives the lease back, with the record of the thread, and with the status if that is another one than the remote knows.
    fn give_back(
        &self,
        site: &Site,
        run: &RunDir,
        record: &ThreadRecord,
    ) -> Result<(), EngineError> {
        if let Some((head, status)) = self.new_status(site, run) {
            let told = NewHead {
                from: head,
                to: head,
                status,
                lease: After::GiveBack,
            };
            return self.advance(site, run, &told).map(drop);
        }
        let mut in_use = self.connection.get();
        let released = in_use.remote().release(&self.lease, record);
        if released.map_err(SharingError::from)? == Released::Lost {
            self.is_refused.set(true);
        }
        Ok(())
    }

    /// Returns the head and its status, if the status has changed without a step: a failed attempt may have reached a limit, and a person
    /// may have raised one. What cannot be told is `None`, as for a run of a pipeline, whose process tells its status itself.
    fn new_status(&self, site: &Site, run: &RunDir) -> Option<(CasRef, HeadStatus)> {
        if self.is_lost() {
            return None;
        }
        let id = self.lease.thread;
        let head = active_head(site, id).ok()?;
        let thread = Thread::load(&site.store, id, head).ok()?;
        if thread.is_run() {
            return None;
        }
        let route = thread.route(None).ok()?;
        let status = status_for_others(&site.store, &run.ledger, &thread, &route).ok()?;
        (status != self.status.get()).then_some((head, status))
    }
}

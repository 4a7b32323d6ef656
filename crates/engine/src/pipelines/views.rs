//! What people see of runs: plain data without secrets, read from their chains. Nothing here changes a run.

pub(crate) mod entry;
pub(crate) mod follow;
pub(crate) mod logs;
pub(crate) mod report;
pub(crate) mod status;
pub(crate) mod summary;

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_pipeline::Route;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::LeaseRecord;
use uwf_storage::{Located, Reason};
use uwf_thread::Head;

use crate::thread::find;
use crate::{EngineError, Site};

/// How a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunPhase {
    /// A process works on it.
    Running,
    /// It stopped between two steps, or in one, and can be resumed.
    Interrupted,
    /// A step stopped it. It can be resumed, too.
    Failed,
    /// It has reached its end.
    Completed,
    /// A person ended it.
    Cancelled,
}

impl RunPhase {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A run as it was found.
pub(crate) struct Found {
    pub(crate) thread: ThreadId,
    /// The newest step that is there, or the start.
    pub(crate) newest: CasRef,
    /// How the thread ended, and when, if it has ended.
    ended: Option<(Reason, i64)>,
    is_held: bool,
    /// What the process that works on the run does, if one does.
    pub(crate) lease: Option<LeaseRecord>,
}

/// Finds a run.
///
/// # Errors
/// When the thread is unknown.
pub(crate) fn found(site: &Site, thread: ThreadId) -> Result<Found, EngineError> {
    let run = site.root.run(thread);
    // The lock comes first: a run that ends in between is seen as ended.
    let is_held = run.lease.is_held()?;
    let lease = run.lease.read_record().filter(|_| is_held);
    let place = find(site, thread)?;
    let head = place.head();
    let pending = run.outbox.read_pending().ok().flatten();
    let pending = pending.filter(|pending| pending.head == head);
    // Quick steps are in the chain before the head moves. After a power cut they may be lost.
    let newest = pending.map(|pending| pending.step);
    let newest = newest.filter(|step| Head::read(&site.store, *step).is_ok());
    Ok(match place {
        Located::Active(_) => Found {
            thread,
            newest: newest.unwrap_or(head),
            ended: None,
            is_held,
            lease,
        },
        Located::Archived(record) => Found {
            thread,
            newest: head,
            ended: Some((record.reason, record.completed_at)),
            is_held: false,
            lease: None,
        },
    })
}

impl Found {
    /// Returns how the run is; `None` if only its course can tell.
    fn phase_at_once(&self) -> Option<RunPhase> {
        match self.ended {
            Some((Reason::Completed, _)) => Some(RunPhase::Completed),
            Some((Reason::Cancelled, _)) => Some(RunPhase::Cancelled),
            None if self.is_held => Some(RunPhase::Running),
            None => None,
        }
    }

    /// Returns how the run is. `next` is what comes next in it.
    fn phase(&self, next: &Route) -> RunPhase {
        self.phase_at_once().unwrap_or(match next {
            Route::Suspend(_) => RunPhase::Failed,
            _ => RunPhase::Interrupted,
        })
    }

    /// Tells whether a process works on the run.
    pub(crate) fn is_running(&self) -> bool {
        self.phase_at_once() == Some(RunPhase::Running)
    }

    /// Returns when something happened last, if anything has.
    fn changed_ms(&self, store: &Store) -> Result<Option<i64>, EngineError> {
        if let Some((_, ended_ms)) = self.ended {
            return Ok(Some(ended_ms));
        }
        let newest = Head::read(store, self.newest)?.into_step();
        Ok(newest.and_then(|step| step.node.completed_at_ms))
    }
}

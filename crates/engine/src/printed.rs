//! Finished steps that wait beside their threads, also those of agents that speak the contract themselves, write no pending record, and
//! only print the hash of their step.

use uwf_protocol::agent::parse_answer;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::{LeaseRecord, Pending};
use uwf_storage::{RunDir, State};
use uwf_thread::read_step;

use crate::{EngineError, Site, lost_run};

/// How much of an agent's output is searched for its answer, in bytes: the last line may be a long one.
pub(crate) const ANSWER_TAIL: u64 = 32 * 1024 * 1024;

/// Returns the step that the agent's last line names. The step is checked like any other.
///
/// The line counts only if it is from this attempt and was not judged yet. A lease record without a head means that no
/// agent was started: then the output is from an earlier attempt. An attempt that is recorded as failed was judged.
pub(crate) fn printed_step(site: &Site, run: &RunDir, earlier: &LeaseRecord) -> Option<Pending> {
    let stdout = run.scratch.stdout_end(ANSWER_TAIL);
    let step = parse_answer(&stdout).ok()?;
    let node = read_step(&site.store, step).ok()?.node;
    let head = node.prev.unwrap_or(node.start);
    let counts = earlier.head == Some(head) && !lost_run::is_recorded(&run.ledger, earlier);
    counts.then_some(Pending {
        step,
        head,
        replaces: earlier.replaces,
        at_ms: site.env.now_ms(),
        answer_of: Vec::new(),
        agent: None,
    })
}

/// Returns the finished step that waits beside a thread with this head: the one on record, or the one that an agent printed whose engine
/// died. It may follow an earlier head. Nobody works on the thread, or the caller has its lock.
///
/// # Errors
/// When the pending record cannot be read.
pub(crate) fn waiting(
    site: &Site,
    run: &RunDir,
    head: CasRef,
) -> Result<Option<Pending>, EngineError> {
    if let Some(pending) = run.outbox.read_pending()? {
        return Ok(Some(pending));
    }
    let earlier = run.lease.read_record();
    let printed = earlier.and_then(|earlier| printed_step(site, run, &earlier));
    // It may have joined the thread already.
    Ok(printed.filter(|printed| printed.step != head))
}

/// Returns the finished step that waits beside an active thread, if there is one.
///
/// # Errors
/// When the records of the thread cannot be read.
pub(crate) fn of_active(site: &Site, id: ThreadId) -> Result<Option<Pending>, EngineError> {
    let run = site.root.run(id);
    let Some(head) = State::new(&site.root).head(id)? else {
        return Ok(None);
    };
    if let Some(pending) = run.outbox.read_pending()? {
        return Ok(Some(pending));
    }
    if run.lease.read_record().is_none() || run.lease.is_held()? {
        return Ok(None);
    }
    waiting(site, &run, head)
}

/// Does what [`waiting`] does, and puts a step on record that an agent printed whose engine died. From then on every command finds it
/// there. The caller has the lock of the thread.
///
/// # Errors
/// When the record cannot be read or written.
pub(crate) fn take_up(
    site: &Site,
    run: &RunDir,
    head: CasRef,
) -> Result<Option<Pending>, EngineError> {
    let waiting = waiting(site, run, head)?;
    if let Some(waiting) = &waiting {
        run.outbox.record_printed(waiting)?;
    }
    Ok(waiting)
}

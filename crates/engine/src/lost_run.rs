//! Runs of which nobody saw the end: the agent died together with its engine. They were paid for.

use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::{Attempt, LeaseRecord};
use uwf_storage::{Ledger, RunDir, StorageError};

use crate::astray::{Astray, Why};
use crate::pipelines::chain::is_run;
use crate::thread::Thread;
use crate::{EngineError, Site, printed};

/// Records the lost run of a thread, if there is one and the thread can be read. The caller has the lock of the thread.
pub(crate) fn record_at(
    site: &Site,
    run: &RunDir,
    id: ThreadId,
    head: CasRef,
) -> Result<(), EngineError> {
    match Thread::load(&site.store, id, head) {
        Ok(thread) => Ok(record_lost_run(site, run, &thread)?),
        // A thread with damaged nodes can be ended and removed all the same.
        Err(_) => Ok(()),
    }
}

/// Records what no step of a thread counts that is about to be removed: a finished step that waits, or a lost run. The caller has the
/// lock of the thread.
pub(crate) fn record_unfinished(
    site: &Site,
    run: &RunDir,
    id: ThreadId,
    head: CasRef,
) -> Result<(), EngineError> {
    if let Ok(Some(pending)) = printed::waiting(site, run, head)
        && !is_run(&site.store, head).unwrap_or(true)
    {
        return Astray::of(&pending).count(site, run, Why::ThreadEnded);
    }
    record_at(site, run, id, head)
}

/// Tells whether the attempt of a lease record is recorded as failed: its engine got that far, but could not end all of its
/// processes.
pub(crate) fn is_recorded(ledger: &Ledger, record: &LeaseRecord) -> bool {
    let attempts = ledger.attempts();
    attempts
        .iter()
        .any(|attempt| record.is_recorded_as(attempt))
}

/// Blanks the lease record of a failed attempt that is on record. If the attempt could not be recorded, the next call does that by the
/// lease record, as it does if this call dies before.
pub(crate) fn clear_recorded(run: &RunDir) {
    let record = run.lease.read_record();
    if record.is_some_and(|record| is_recorded(&run.ledger, &record)) {
        let _ = run.lease.clear_record();
    }
}

/// Records the attempt of an agent that died together with its engine, if there is one that is neither finished nor
/// recorded. The caller has the thread's lock, so the engine of the lease record is dead.
pub(crate) fn record_lost_run(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
) -> Result<(), StorageError> {
    // An engine that died right after it had started the agent left no process in the record. Then what the agent wrote is the only
    // sign that it worked.
    let has_written = || run.scratch.usage().is_some() || run.scratch.has_output();
    let has_worked =
        |record: &LeaseRecord| record.agent.is_some() || (record.head.is_some() && has_written());
    let Some(record) = run.lease.read_record().filter(has_worked) else {
        return Ok(());
    };
    if run.outbox.read_pending()?.is_some() {
        return Ok(());
    }
    if thread.is_run() {
        // The lost attempt of a run of a pipeline used up nothing that counts. Its chain names it when the run goes on.
        return Ok(());
    }
    if is_recorded(&run.ledger, &record) {
        return run.lease.clear_record();
    }
    // The run may have been at another place of the thread than the current call, such as a redone step.
    let here = match record.head {
        Some(head) => (head, record.replaces),
        None => (thread.head, thread.replaces),
    };
    let started = run.sessions.last_started();
    let started = started
        .filter(|started| started.role == record.role && (started.head, started.replaces) == here);
    let ended = run.scratch.last_output_ms().unwrap_or_default();
    run.ledger.append_attempt(&Attempt {
        replaces: here.1,
        agent: record.label,
        class: Some(FailureClass::Crash),
        error: "the agent was ended together with its engine".to_owned(),
        session_id: started.map(|started| started.session_id),
        usage: run.scratch.usage(),
        end_unseen: true,
        words: record.words,
        chosen: record.chosen,
        started_at_ms: record.started_at_ms,
        ended_at_ms: ended
            // The clock may have been set back since the attempt started.
            .min(site.env.now_ms())
            .max(record.started_at_ms),
        ..Attempt::of(here.0, record.role)
    })?;
    run.lease.clear_record()
}

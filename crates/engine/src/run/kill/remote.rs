//! The remote of a thread that is killed: what other machines did comes here first, and its end is told there.

use std::cell::RefCell;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Remote, RemoteError};
use uwf_storage::{SharedRecord, State};

use crate::run::push::push_alone;
use crate::run::shared::ended::take_end;
use crate::sharing::error::SharingError;
use crate::sharing::family::there;
use crate::sharing::family_fetch::FamilyFetch;
use crate::sharing::fetch::fetch;
use crate::sharing::no_lease;
use crate::sharing::records::{record_of, unasked};
use crate::{EngineError, Outcome, Runner};

/// The error of the first thread of a family that could not reach the remote. Later ones do not try again.
pub(super) type Away = RefCell<Option<RemoteError>>;

/// Returns the remote of a thread, and brings what other machines did for it. If the remote cannot be asked, the thread is ended only
/// here, and the caller is told.
pub(super) fn remote_with_family(runner: &Runner, id: ThreadId, away: &Away) -> RemoteOf {
    let mut remote = remote_of(runner, id, away);
    if let Ok(Some(asked)) = &mut remote
        && let Err(error) = bring_family(runner, asked.as_mut(), id)
        && unreachable(&error).is_some()
    {
        remote = Err(error);
    }
    if let Err(error) = &remote
        && let Some(problem) = unreachable(error)
    {
        away.replace(Some(problem));
    }
    remote
}

/// The remote of a thread; none if the thread is not shared. A thread of which that is unknown is treated as shared.
pub(super) type RemoteOf = Result<Option<Box<dyn Remote + Send>>, EngineError>;

fn remote_of(runner: &Runner, id: ThreadId, away: &Away) -> RemoteOf {
    if let Some(problem) = &*away.borrow() {
        let is_known = unasked(&runner.site)?.is_none();
        return match is_known && runner.site.root.shared(id).read()?.is_none() {
            true => Ok(None),
            false => Err(SharingError::from(problem.clone()).into()),
        };
    }
    match record_of(&runner.site, id, runner.remotes)? {
        Some(_) => (runner.remotes)(&runner.site).map(Some),
        None => Ok(None),
    }
}

/// Returns why the remote cannot be reached, if that is the error.
fn unreachable(error: &EngineError) -> Option<RemoteError> {
    let EngineError::Sharing(problem) = error else {
        return None;
    };
    let problem = problem.of_remote()?;
    matches!(problem, RemoteError::Away(_)).then(|| problem.clone())
}

/// Fails if an active thread is at the remote, and that does not let this user end it: the thread would end only here, and could never be
/// ended for the others. It has not ended here yet. A remote that cannot be asked, or does not let the user in, refuses nothing; and an
/// agent that works here is always ended.
pub(super) fn check_may_end(
    runner: &Runner,
    remote: &mut RemoteOf,
    id: ThreadId,
) -> Result<(), EngineError> {
    let (Ok(Some(remote)), root) = (remote, &runner.site.root) else {
        return Ok(());
    };
    let Some(record) = root.shared(id).read()? else {
        return Ok(());
    };
    if State::new(root).head(id)?.is_none() || root.run(id).lease.is_held()? {
        return Ok(());
    }
    match ask_to_end(remote.as_mut(), id, &record) {
        Err(error @ RemoteError::Denied(..)) => {
            Err(SharingError::EndDenied { thread: id, error }.into())
        }
        // The kill itself tells other errors.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Asks a remote to end a lease of a thread that nobody has. Nothing is asked of a remote that does not share the thread, or does not have
/// it.
fn ask_to_end(
    remote: &mut dyn Remote,
    id: ThreadId,
    record: &SharedRecord,
) -> Result<(), RemoteError> {
    let is_its = remote.hello()?.store == record.remote;
    if is_its && remote.find(id, CasRef::from_u64(0))?.is_some() {
        remote.end_lease(&no_lease(id, record))?;
    }
    Ok(())
}

/// Ends a shared thread at the remote, too, and brings the steps that are only there. If that fails, the person is told what ends it
/// there later.
pub(super) fn end_for_all(runner: &Runner, remote: RemoteOf, id: ThreadId) {
    let told = remote.and_then(|remote| match remote {
        Some(mut remote) => {
            push_alone(runner, remote.as_mut(), id)?;
            // If this fails, the next fetch brings them.
            let _ = fetch(&runner.site, remote.as_mut(), id);
            Ok(())
        }
        None => Ok(()),
    });
    if let Err(error) = told {
        (runner.notice)(&format!(
            "thread `{id}` has ended here, and the other machines do not know it yet: {error}; `uwf push {id}` tells them"
        ));
    }
}

/// Tells whether other machines go on with a thread that was cancelled here.
pub(super) fn lives_on(remote: &mut RemoteOf, id: ThreadId) -> Result<bool, EngineError> {
    let Ok(Some(remote)) = remote else {
        return Ok(false);
    };
    let found = there(remote.as_mut(), id, None)?;
    Ok(found.is_some_and(|found| found.listed.status != HeadStatus::Ended))
}

/// Brings what other machines did for a shared thread: the newest step is ended, and children that were made elsewhere are, too. If the
/// thread has ended elsewhere, it ends here in the same way, and is not cancelled.
fn bring_family(runner: &Runner, remote: &mut dyn Remote, id: ThreadId) -> Result<(), EngineError> {
    let mut family = FamilyFetch::default();
    family.fetch(&runner.site, remote, id)?;
    let mut fetched = family.fetched.iter();
    match fetched.any(|one| one.thread == id && one.outcome == Outcome::AnswerWaits) {
        true => take_end(runner, remote, id),
        false => Ok(()),
    }
}

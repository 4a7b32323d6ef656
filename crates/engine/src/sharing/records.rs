//! The records of which threads are shared, in a root that may lack some.
//!
//! A root that was restored from a backup may lack records, and would do steps of shared threads without a lease. So may a root into which
//! threads were imported. A root that has a remote asks it once for all threads that are here. A file beside the records says that this
//! was done ([`SharedFolder`](uwf_storage::SharedFolder)). From then on a thread without a record is not shared. The records of a copy
//! of a root have the marks of that root, and get new ones. See "A shared thread" in `docs/architecture.md`, point 2.

use std::collections::BTreeSet;

use uwf_protocol::ids::ThreadId;
use uwf_remote::Remote;
use uwf_storage::{NextMark, SharedFolder, SharedRecord, State};

use super::error::SharingError;
use super::fetch::ask;
use super::{Remotes, new_record};
use crate::{EngineError, Site};

/// Makes sure that the threads here that the remote has are on record as shared. The remote is asked if that was not done before. Of
/// several calls at once, one asks, and the others wait.
///
/// # Errors
/// When the remote does not answer, or the records cannot be written.
pub fn ensure_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    let folder = site.root.shared_folder();
    if folder.is_complete() {
        return Ok(());
    }
    let _lock = folder.lock()?;
    match folder.is_complete() {
        true => Ok(()),
        false => restore(site, &folder, remote),
    }
}

/// Asks the remote which of the threads here it has, also if another remote was asked before, and writes a record for each that has
/// none. A call that dies in between is repeated by the next one.
///
/// # Errors
/// As [`ensure_records`].
pub fn restore_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    restore(site, &folder, remote)
}

/// Does the work of [`restore_records`]. The caller has the lock of the folder.
fn restore(site: &Site, folder: &SharedFolder, remote: &mut dyn Remote) -> Result<(), EngineError> {
    if folder.is_copy() {
        renew_marks(site)?;
    }
    let places = State::new(&site.root).threads()?.places;
    let mut only_here: BTreeSet<ThreadId> = places.keys().copied().collect();
    let asked = places.into_iter().map(|(id, place)| (id, Some(place)));
    let found = ask(remote, asked.collect())?;
    if !found.is_empty() {
        let store = remote.hello().map_err(SharingError::from)?.store;
        for there in found {
            let thread = there.found.listed.thread;
            let record = new_record(site, store.clone())?;
            site.root.shared(thread).create(&record)?;
            only_here.remove(&thread);
        }
    }
    for thread in only_here {
        let file = site.root.shared(thread);
        // A person ended it while it was not known whether it is shared.
        if file.owes_end()? && file.read()?.is_none() {
            file.settle_end()?;
        }
    }
    Ok(folder.set_complete()?)
}

/// Gives each record a new mark, whichever remote shares its thread: these marks are those of the root that was copied, which may be at
/// work. A record that cannot be read has no mark that could be used.
fn renew_marks(site: &Site) -> Result<(), EngineError> {
    while let Some(mark) = NextMark::take_left(&site.root, |_| true)? {
        mark.remove()?;
    }
    for thread in site.root.shared_folder().threads()? {
        let file = site.root.shared(thread);
        if let Ok(Some(record)) = file.read() {
            file.replace(&new_record(site, record.remote)?)?;
        }
    }
    Ok(())
}

/// Returns the record that a thread is shared; `None` if it is not. If records may be missing, the remote of the config is asked first.
///
/// # Errors
/// When the remote is to be asked, and the config cannot be read or the remote does not answer.
pub(crate) fn record_of(
    site: &Site,
    thread: ThreadId,
    remotes: Remotes,
) -> Result<Option<SharedRecord>, EngineError> {
    let file = site.root.shared(thread);
    if site.root.shared_folder().is_complete() {
        return Ok(file.read()?);
    }
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    if config.remote.url.is_none() {
        return Ok(file.read()?);
    }
    let restored = remotes(site).and_then(|mut remote| ensure_records(site, remote.as_mut()));
    match restored {
        Ok(()) => Ok(file.read()?),
        Err(EngineError::Sharing(problem)) => Err(problem.while_unasked(thread).into()),
        Err(error) => Err(error),
    }
}

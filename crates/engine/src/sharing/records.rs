//! The records of which threads are shared, in a root that may have lost them.
//!
//! A root that was restored from a backup may lack records, and would do steps of shared threads without a lease. So a root that has a
//! remote asks it once for its active threads. A file says that this was done ([`Root::knows_shared`](uwf_storage::Root::knows_shared)).
//! From then on a thread without a record is not shared.

use uwf_remote::Remote;
use uwf_storage::State;

use super::error::SharingError;
use super::fetch::ask;
use super::new_record;
use crate::{EngineError, Site};

/// Makes sure that the active threads here have the records that they are shared. The remote is asked if that was not done before.
///
/// # Errors
/// When the remote does not answer, or the records cannot be written.
pub fn ensure_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    match site.root.knows_shared() {
        true => Ok(()),
        false => restore_records(site, remote),
    }
}

/// Asks the remote which of the active threads here it has, and makes their records that they are shared. A call that dies in between is
/// repeated by the next one.
///
/// # Errors
/// As [`ensure_records`].
pub fn restore_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    let places = State::new(&site.root).threads()?.places.into_iter();
    let active = places.filter(|(_, place)| place.end().is_none());
    let found = ask(
        remote,
        active.map(|(id, place)| (id, Some(place))).collect(),
    )?;
    if !found.is_empty() {
        let store = remote.hello().map_err(SharingError::from)?.store;
        for there in found {
            let record = new_record(site, store.clone())?;
            site.root
                .shared(there.found.listed.thread)
                .create(&record)?;
        }
    }
    Ok(site.root.set_knows_shared()?)
}

//! The records of which threads are shared, in a root that may lack some.
//!
//! A root that was restored from a backup may lack records, and would do steps of shared threads without a lease. So may a root into which
//! threads were imported. Such a root asks its remote for all threads that are here, and a file beside the records then says that none is
//! missing ([`SharedFolder`]). From then on a thread without a record is not shared. The records of a copy of a root have the marks of that
//! root, and get new ones. See "A shared thread" in `docs/architecture.md`, point 2.

use uwf_protocol::ids::ThreadId;
use uwf_remote::Remote;
use uwf_storage::{NextMark, Search, SharedFolder, SharedRecord, State};

use super::error::SharingError;
use super::fetch::ask_each;
use super::{Remotes, new_record};
use crate::{EngineError, Site};

/// Makes sure that the threads here that the remote of the config has are on record as shared. The remote is asked if records may be
/// missing.
///
/// # Errors
/// When the remote does not answer, or the records cannot be written.
pub fn ensure_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    match unasked(site)? {
        Some(place) => restore_records(site, remote, &place),
        None => Ok(()),
    }
}

/// Asks a remote, which is at this [place](uwf_protocol::config::RemoteConfig::place), which of the threads here it has, and writes a
/// record for each that has none. If threads are imported meanwhile, or the call dies, the next call asks again.
///
/// # Errors
/// As [`ensure_records`].
pub fn restore_records(
    site: &Site,
    remote: &mut dyn Remote,
    place: &str,
) -> Result<(), EngineError> {
    let folder = site.root.shared_folder();
    let search = begin(site, &folder)?;
    add_records(site, remote, place, search.is_first)?;
    Ok(folder.lock()?.settle(&search, place)?)
}

/// Gives the records marks of this root, if they may be those of another one, and begins to look for records that are missing.
fn begin(site: &Site, folder: &SharedFolder) -> Result<Search, EngineError> {
    let locked = folder.lock()?;
    if locked.may_be_copy()? {
        renew_marks(site)?;
    }
    Ok(locked.begin()?)
}

/// Writes a record for each thread here that the remote at this place has. If a person has ended one of the others while this remote could
/// not be asked, nobody has to be told of that.
///
/// The records may name a remote that was not asked, because it is lost, or is not the one of the config. In the first search after a
/// doubt, each active thread without a record is presumed to be shared by that one.
fn add_records(
    site: &Site,
    remote: &mut dyn Remote,
    place: &str,
    is_first: bool,
) -> Result<(), EngineError> {
    let mut only_here = State::new(&site.root).threads()?.places;
    if only_here.is_empty() {
        return Ok(());
    }
    let asked = only_here
        .iter()
        .map(|(id, place)| (*id, Some(place.clone())));
    let found = ask_each(remote, asked.collect())?;
    let store = remote.hello().map_err(SharingError::from)?.store;
    // A thread that is damaged there is shared all the same.
    for (thread, _) in found {
        let (file, record) = (site.root.shared(thread), new_record(site, store.clone())?);
        match file.read() {
            Ok(Some(known)) if known.presumed => file.replace(&record)?,
            _ => drop(file.create(&record)?),
        }
        only_here.remove(&thread);
    }
    let not_asked = match is_first {
        true => other_store(site, &store)?,
        false => None,
    };
    for (thread, place_here) in only_here {
        let file = site.root.shared(thread);
        match (file.read(), &not_asked) {
            // This remote was presumed to share it, and does not know it.
            (Ok(Some(known)), _) if known.presumed && known.remote == store => file.remove()?,
            (Ok(None), Some(other)) if place_here.end().is_none() => {
                let record = SharedRecord {
                    presumed: true,
                    ..new_record(site, other.clone())?
                };
                file.create(&record)?;
            }
            _ => {}
        }
        file.settle_end_at(place)?;
    }
    Ok(())
}

/// Returns the id of another remote than the one with this id, if one shares threads here for certain.
fn other_store(site: &Site, store: &str) -> Result<Option<String>, EngineError> {
    let threads = site.root.shared_folder().threads()?.into_iter();
    let mut records = threads.filter_map(|thread| site.root.shared(thread).read().ok().flatten());
    let other = records.find(|record| !record.presumed && record.remote != store);
    Ok(other.map(|record| record.remote))
}

/// Adds a thread that the remote may share. Until it is asked, records count as missing.
///
/// # Errors
/// When that cannot be recorded, and those of `add`.
pub(crate) fn add_perhaps_shared<T>(
    site: &Site,
    add: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let folder = site.root.shared_folder();
    let locked = folder.lock()?;
    locked.doubt()?;
    add()
}

/// Gives each record a new mark, whichever remote shares its thread. The old marks belong to the root that was copied, whose calls may
/// still work under them. A record that cannot be read is left: no call can use its mark.
fn renew_marks(site: &Site) -> Result<(), EngineError> {
    NextMark::remove_all(&site.root)?;
    for thread in site.root.shared_folder().threads()? {
        let file = site.root.shared(thread);
        if let Ok(Some(record)) = file.read() {
            file.replace(&SharedRecord {
                presumed: record.presumed,
                ..new_record(site, record.remote)?
            })?;
        }
    }
    Ok(())
}

/// Returns the record that a thread is shared; `None` if it is not. If records may be missing, the remote of the config is asked first.
///
/// # Errors
/// When the config cannot be read, or the remote is to be asked and does not answer.
pub(crate) fn record_of(
    site: &Site,
    thread: ThreadId,
    remotes: Remotes,
) -> Result<Option<SharedRecord>, EngineError> {
    let file = site.root.shared(thread);
    let Some(place) = unasked(site)? else {
        return Ok(file.read()?);
    };
    let ensured =
        remotes(site).and_then(|mut remote| restore_records(site, remote.as_mut(), &place));
    match ensured {
        Ok(()) => Ok(file.read()?),
        Err(EngineError::Sharing(problem)) => Err(problem.while_unasked(thread).into()),
        Err(error) => Err(error),
    }
}

/// Returns the place of the remote of the config, if it is still to be asked which threads here it shares. A config that cannot be read is
/// no reason to doubt the records.
///
/// # Errors
/// When the config cannot be read, and records may be missing.
pub fn unasked(site: &Site) -> Result<Option<String>, EngineError> {
    let folder = site.root.shared_folder();
    let config = match uwf_config::load(&site.root) {
        Ok(config) => config.unwrap_or_default(),
        Err(_) if !folder.has_doubt()? => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let place = config.remote.place();
    match place {
        Some(place) if !folder.is_complete(&place)? => Ok(Some(place)),
        _ => Ok(None),
    }
}

//! The records of which threads are shared, in a root that may lack some.
//!
//! A root that was restored from a backup may lack records, and would do steps of shared threads without a lease. So may a root into which
//! threads were imported. Such a root asks its remote for all threads that are here, and a file beside the records then says that none is
//! missing ([`SharedFolder`]). From then on a thread without a record is not shared. The records of a copy of a root have the marks of that
//! root, and get new ones. See "A shared thread" in `docs/architecture.md`, point 2.

use std::collections::{BTreeMap, BTreeSet};

use uwf_protocol::ids::ThreadId;
use uwf_remote::Remote;
use uwf_storage::{Located, NextMark, Search, SharedFolder, SharedRecord, State};

use super::error::SharingError;
use super::fetch::ask_each;
use super::{Remotes, check_remote, is_shared, new_mark, new_record, threads_of_remotes};
use crate::{EngineError, Site};

/// Makes sure that the threads here that the remote of the config has are on record as shared. The remote is asked if records may be
/// missing.
///
/// # Errors
/// When the remote does not answer, or the records cannot be written.
pub fn ensure_records(site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
    match unasked(site)? {
        Some(place) => restore_records(site, remote, &place, None),
        None => Ok(()),
    }
}

/// Asks a remote, which is at this [place](uwf_protocol::config::RemoteConfig::place), which of the threads here it has, and writes a
/// record for each that has none. If threads are imported meanwhile, or the call dies, the next call asks again. `lost` is the id of a
/// remote that a person says is lost, and that may have shared threads here.
///
/// # Errors
/// As [`ensure_records`].
pub fn restore_records(
    site: &Site,
    remote: &mut dyn Remote,
    place: &str,
    lost: Option<&str>,
) -> Result<(), EngineError> {
    let folder = site.root.shared_folder();
    let search = begin(site, &folder)?;
    let others = match search.is_first {
        true => known_remotes(site, lost)?,
        false => Vec::new(),
    };
    let answer = ask_for_all(site, remote)?;
    let locked = folder.lock()?;
    let answer = answer.of_those_here(site)?;
    add_records(site, &answer, place, &others)?;
    Ok(locked.settle(&search, place)?)
}

/// Gives the records marks of this root, if they may be those of another one, and begins to look for records that are missing.
fn begin(site: &Site, folder: &SharedFolder) -> Result<Search, EngineError> {
    let locked = folder.lock()?;
    if locked.may_be_copy()? {
        renew_marks(site)?;
    }
    Ok(locked.begin()?)
}

/// What a remote has said of the threads that are here.
struct Answer {
    /// The id of the remote.
    store: String,
    /// The threads that it has.
    found: Vec<ThreadId>,
    /// The other threads, and where they are here.
    only_here: BTreeMap<ThreadId, Located>,
}

impl Answer {
    /// Leaves out the threads that were removed here since the remote was asked.
    fn of_those_here(mut self, site: &Site) -> Result<Self, EngineError> {
        let here = State::new(&site.root).threads()?.places;
        self.found.retain(|thread| here.contains_key(thread));
        self.only_here.retain(|thread, _| here.contains_key(thread));
        Ok(self)
    }
}

/// Asks a remote which of the threads here it has.
fn ask_for_all(site: &Site, remote: &mut dyn Remote) -> Result<Answer, EngineError> {
    let mut only_here = State::new(&site.root).threads()?.places;
    let asked = only_here
        .iter()
        .map(|(id, place)| (*id, Some(place.clone())));
    // A thread that is damaged there is shared all the same.
    let found = ask_each(remote, asked.collect())?;
    let found: Vec<ThreadId> = found.into_iter().map(|(thread, _)| thread).collect();
    only_here.retain(|thread, _| !found.contains(thread));
    Ok(Answer {
        store: remote.hello().map_err(SharingError::from)?.store,
        found,
        only_here,
    })
}

/// Writes a record for each thread here that the remote at this place has. If a person has ended one of the others while this remote could
/// not be asked, nobody has to be told of that. The caller has the lock of the folder.
///
/// The remotes with the ids in `others` may not have been asked since records may have been missing, because they are lost, or are not the
/// one of the config. Each active thread without a record is presumed to be shared by one of them.
fn add_records(
    site: &Site,
    answer: &Answer,
    place: &str,
    others: &[String],
) -> Result<(), EngineError> {
    for thread in &answer.found {
        let file = site.root.shared(*thread);
        let record = new_record(site, answer.store.clone())?;
        match file.read() {
            Ok(Some(known)) if known.is_presumed() => file.replace(&record)?,
            _ => drop(file.create(&record)?),
        }
    }
    let mut unknown = others.to_vec();
    unknown.retain(|other| *other != answer.store);
    for (thread, place_here) in &answer.only_here {
        let file = site.root.shared(*thread);
        match file.read() {
            Ok(Some(known)) => match known.after_answer(&answer.store, others) {
                Some(left) if left == known => {}
                Some(left) => file.replace(&left)?,
                None => file.remove()?,
            },
            Ok(None) if place_here.end().is_none() => {
                let record = SharedRecord::presumed(unknown.clone(), None, new_mark(site)?);
                // A push may make a record meanwhile, which stays.
                record.map(|record| file.create(&record)).transpose()?;
            }
            // It has ended here, or its calls say what is wrong with its record.
            Ok(None) | Err(_) => {}
        }
        file.settle_end_at(place)?;
    }
    Ok(())
}

/// Returns the ids of the remotes that share threads here, or may, and of `lost`, sorted.
fn known_remotes(site: &Site, lost: Option<&str>) -> Result<Vec<String>, EngineError> {
    let mut ids: BTreeSet<String> = threads_of_remotes(site)?.into_keys().collect();
    ids.extend(lost.map(str::to_owned));
    Ok(ids.into_iter().collect())
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

/// Removes the record that a thread is shared which is not here. Tells whether there was one, also one that cannot be read. A thread that a
/// fetch has brought meanwhile keeps its record.
pub(crate) fn remove_left_record(site: &Site, thread: ThreadId) -> Result<bool, EngineError> {
    if !is_shared(site, thread) {
        return Ok(false);
    }
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    if State::new(&site.root).find(thread)?.is_some() {
        return Ok(false);
    }
    site.root.shared(thread).remove()?;
    Ok(true)
}

/// Gives each record a new mark, whichever remote shares its thread. The old marks belong to the root that was copied, whose calls may
/// still work under them. A record that cannot be read is left: no call can use its mark.
fn renew_marks(site: &Site) -> Result<(), EngineError> {
    NextMark::remove_all(&site.root)?;
    for thread in site.root.shared_folder().threads()? {
        let file = site.root.shared(thread);
        if let Ok(Some(record)) = file.read() {
            let mark = new_mark(site)?;
            file.replace(&record.with_mark(mark))?;
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
        remotes(site).and_then(|mut remote| restore_records(site, remote.as_mut(), &place, None));
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

/// Tells whether threads are here, and no remote was asked about them since records may have been missing.
///
/// # Errors
/// When the state or the folder of the records cannot be read.
pub fn are_unasked(site: &Site) -> Result<bool, EngineError> {
    let nobody = site.root.shared_folder().is_unasked()?;
    Ok(nobody && !State::new(&site.root).threads()?.places.is_empty())
}

/// What became of the threads of a lost remote, when another one took its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Those that the lost remote had shared.
    pub shared: Vec<ThreadId>,
    /// Those that it may have shared, and no other remote.
    pub presumed: Vec<ThreadId>,
}

/// Lets a remote share the threads of one that is lost. Both are named by their ids. Nothing is sent. A thread that a third remote may
/// share, too, is still to be looked for there, and is not among those that are returned.
///
/// # Errors
/// When a record cannot be written.
pub fn replace_remote(site: &Site, lost: &str, store: &str) -> Result<Replaced, EngineError> {
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    let mut replaced = Replaced::default();
    for thread in folder.threads()? {
        let file = site.root.shared(thread);
        let Ok(Some(record)) = file.read() else {
            continue;
        };
        let Some(after) = record.after_loss(lost, store) else {
            continue;
        };
        file.replace(&after)?;
        match (after.is_presumed(), record.is_presumed()) {
            (true, _) => {}
            (false, true) => replaced.presumed.push(thread),
            (false, false) => replaced.shared.push(thread),
        }
    }
    Ok(replaced)
}

/// Replaces the record of a thread. The remote that the new record names has the thread.
///
/// # Errors
/// When another remote shares it for certain.
pub(crate) fn set_record(
    site: &Site,
    thread: ThreadId,
    record: &SharedRecord,
) -> Result<(), EngineError> {
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    let file = site.root.shared(thread);
    if let Some(known) = file.read()?
        && !known.is_presumed()
    {
        check_remote(thread, &known, &record.remote)?;
    }
    Ok(file.replace(record)?)
}

/// Lets the remote with this id share a thread that it has, if another one was only presumed to share it.
///
/// # Errors
/// When another remote shares it for certain.
pub(crate) fn claim(site: &Site, thread: ThreadId, store: &str) -> Result<(), EngineError> {
    let file = site.root.shared(thread);
    // Most threads have a certain record, and need no lock.
    let mut lock = None;
    let folder = site.root.shared_folder();
    loop {
        match (file.read()?, &lock) {
            (Some(record), None) if record.is_presumed() => lock = Some(folder.lock()?),
            (Some(record), Some(_)) if record.is_presumed() => {
                return Ok(file.replace(&new_record(site, store.to_owned())?)?);
            }
            (Some(record), _) => return check_remote(thread, &record, store),
            (None, _) => return Ok(()),
        }
    }
}

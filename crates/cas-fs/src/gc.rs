//! Collects garbage: removes the nodes that nothing refers to and that nobody has put for a while.
//!
//! The caller supplies the roots: the references from outside the store. We ask for them twice. The first time we hold no
//! lock, and do most of the marking. The second time we hold the exclusive lock, under which no new reference to an old
//! node can appear.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::PathBuf;

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;
use crate::mark::Marker;
use crate::store::Store;
use crate::{bootstrap, disk, hold, index, order};

/// The references to nodes from outside the store, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// Nodes that must be in the store with all that they refer to, each with what needs it: "the head of thread …".
    pub needed: Vec<(CasRef, String)>,
    /// Nodes that are kept if they are in the store.
    pub useful: Vec<CasRef>,
    /// Nodes that were put at this time or later are kept with all that they refer to, in milliseconds since 1970.
    pub young_from_ms: i64,
}

/// Whether garbage is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// It is only listed. Nothing is locked, nothing is written.
    Look,
    /// It is removed.
    Remove,
}

/// The result of collecting garbage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// How many nodes there were.
    pub nodes: usize,
    /// How many of them are in use.
    pub used: usize,
    /// How many are not in use, but are young, or a young node refers to them.
    pub young: usize,
    /// What was removed, or would be.
    pub garbage: Vec<Garbage>,
    /// The temporary files that were removed, or would be.
    pub temporary: Vec<PathBuf>,
}

/// A node that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbage {
    /// The node.
    pub hash: CasRef,
    /// How much space its file takes, in bytes.
    pub bytes: u64,
    /// When it was written or put again the last time, in milliseconds since 1970.
    pub used_ms: i64,
}

/// Collects the garbage of a store.
pub(crate) fn collect<E: From<StoreError>>(
    store: &Store,
    lost: &[CasRef],
    mode: Collect,
    mut roots: impl FnMut() -> Result<Roots, E>,
) -> Result<Collected, E> {
    let lost: HashSet<CasRef> = lost.iter().copied().collect();
    let mut marker = Marker::new(store, &lost);
    // Most of the work happens here, before any writer has to wait for the lock.
    let mut young_from_ms = mark(&mut marker, roots()?)?;
    let _hold = match mode {
        Collect::Look => None,
        Collect::Remove => Some(hold::own(store.dir())?),
    };
    if mode == Collect::Remove {
        young_from_ms = young_from_ms.min(mark(&mut marker, roots()?)?);
    }
    let found = sort_out(store, &mut marker, young_from_ms)?;
    if mode == Collect::Remove {
        remove(store, &mut marker, &found)?;
    }
    Ok(found)
}

/// Marks everything that these roots lead to, and returns the time from which on nodes are young.
fn mark(marker: &mut Marker<'_>, roots: Roots) -> Result<i64, StoreError> {
    for (root, used_by) in &roots.needed {
        marker.need(*root, used_by)?;
    }
    marker.check()?;
    for root in roots.useful {
        marker.keep(root)?;
    }
    Ok(roots.young_from_ms)
}

/// Sorts all nodes into used, young and garbage. A young node keeps everything that it refers to.
fn sort_out(
    store: &Store,
    marker: &mut Marker<'_>,
    young_from_ms: i64,
) -> Result<Collected, StoreError> {
    let all = store.all()?;
    bootstrap::hashes()
        .into_iter()
        .try_for_each(|hash| marker.keep(hash))?;
    let mut used = HashSet::new();
    let mut old = Vec::new();
    for hash in all.iter().copied() {
        if marker.has(hash) {
            used.insert(hash);
        } else if let Some(garbage) = look_at(store, hash)? {
            old.push(garbage);
        }
    }
    for one in old.iter().filter(|one| one.used_ms >= young_from_ms) {
        marker.keep(one.hash)?;
    }
    old.retain(|one| !marker.has(one.hash));
    let temporary = left_behind(store, young_from_ms)?;
    Ok(Collected {
        nodes: all.len(),
        used: used.len(),
        young: all.len() - used.len() - old.len(),
        garbage: old,
        temporary,
    })
}

/// Returns when a node was put the last time.
pub(crate) fn used_ms(store: &Store, hash: CasRef) -> Result<Option<i64>, StoreError> {
    Ok(look_at(store, hash)?.map(|found| found.used_ms))
}

/// Returns the temporary files that were last written before a time, in milliseconds since 1970.
pub(crate) fn left_behind(store: &Store, before_ms: i64) -> Result<Vec<PathBuf>, StoreError> {
    let mut left = disk::left_behind(store.dir(), before_ms)?;
    left.extend(index::left_behind(store.dir(), before_ms)?);
    Ok(left)
}

/// Returns the size and the time of a node's files; `None` if it has none any more.
pub(crate) fn look_at(store: &Store, hash: CasRef) -> Result<Option<Garbage>, StoreError> {
    let files = disk::files_of(store.dir(), hash)?;
    let used = |found: &Metadata| found.modified().map_or(i64::MAX, hold::ms_since_epoch);
    let used_ms = files.iter().map(|(_, found)| used(found)).max();
    Ok(used_ms.map(|used_ms| Garbage {
        hash,
        bytes: files.iter().map(|(_, found)| found.len()).sum(),
        used_ms,
    }))
}

/// Removes garbage. If this is interrupted, no remaining node refers to a removed one.
fn remove(store: &Store, marker: &mut Marker<'_>, found: &Collected) -> Result<(), StoreError> {
    for hash in referrers_first(store, marker, &found.garbage)? {
        for (path, _) in disk::files_of(store.dir(), hash)? {
            uwf_durable::remove(&path)?;
        }
    }
    found
        .temporary
        .iter()
        .try_for_each(|path| uwf_durable::remove(path))?;
    if !found.garbage.is_empty() {
        // The index is a cache. A reader that finds a removed node in it repairs it.
        let _ = index::rebuild(store.dir());
    }
    Ok(())
}

/// Returns the hashes in an order in which every node comes before the nodes that it refers to.
fn referrers_first(
    store: &Store,
    marker: &mut Marker<'_>,
    garbage: &[Garbage],
) -> Result<Vec<CasRef>, StoreError> {
    let garbage: HashSet<CasRef> = garbage.iter().map(|one| one.hash).collect();
    let mut roots: Vec<CasRef> = garbage.iter().copied().collect();
    roots.sort_unstable();
    let mut done = order::children_first(roots, |hash| {
        if !garbage.contains(&hash) {
            return Ok(None);
        }
        Ok(Some(match store.find(hash) {
            Ok(Some(node)) => marker.links(hash, &node)?.all().collect(),
            Ok(None) | Err(StoreError::Damaged { .. }) => Vec::new(),
            Err(error) => return Err(error),
        }))
    })?;
    done.reverse();
    Ok(done)
}

//! Garbage collection: finding everything that refers to nodes, and refusing to collect if that cannot be known.
//!
//! The roots are the heads of active and ended threads, the replaced steps, and the registered workflows: these nodes must
//! exist. Nodes that records of runs name are kept, too, but may be missing: anybody may delete those records.

use std::path::PathBuf;

use uwf_cas_fs::{BrokenNode, Collect, Collected, Roots, Verified};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_storage::references::{self, AtWork};
use uwf_storage::{Root, State, shared_roots};

use crate::needs::Needs;
use crate::{EngineError, Site, tags};

/// What is garbage, and what happens to it.
#[derive(Debug, Clone)]
pub struct GcOptions {
    /// The grace time: a node that was used within it is kept. In milliseconds; at least [`LEAST_GRACE_MS`].
    pub older_than_ms: u64,
    /// Whether garbage is removed or only listed.
    pub mode: Collect,
    /// Nodes that the user gives up as lost.
    pub lost: Vec<CasRef>,
    /// Other storage roots that use the store.
    pub used_by: Vec<PathBuf>,
}

/// The shortest grace time, in milliseconds. It must be long enough for a program to put a node and then refer to it.
pub const LEAST_GRACE_MS: u64 = 60 * 60 * 1000;
/// The default grace time, in milliseconds.
pub const USUAL_GRACE_MS: u64 = 14 * 24 * LEAST_GRACE_MS;

/// Removes the nodes that nothing refers to and that were not used within the grace time, and temporary files of that age.
///
/// # Errors
/// When the roots that use the store cannot be known, when one of their files cannot be read, or when a node in use is
/// broken. Then nothing is removed.
pub fn gc(site: &Site, options: &GcOptions) -> Result<Collected, EngineError> {
    let mut roots = roots_of(site, options)?;
    let grace_ms = options.older_than_ms.max(LEAST_GRACE_MS);
    let behind_ms = match options.mode {
        Collect::Look => 0,
        Collect::Remove => (site.env.now_ms() - site.store.clock_ms()?).max(0),
    };
    let mut young_from_ms = i64::MAX;
    let look = || -> Result<Roots, EngineError> {
        let mut found = Roots {
            young_from_ms: i64::MAX,
            ..Roots::default()
        };
        // We look again, because another root may have started to use the store meanwhile.
        roots = roots_of(site, options)?;
        for root in &roots {
            add(root, site.env.now_ms(), grace_ms, &mut found)?;
        }
        found.young_from_ms = found.young_from_ms.saturating_sub(behind_ms);
        if let Some(start) = lost_start(site, &roots, options, found.young_from_ms)? {
            return Err(EngineError::NoThreads(start));
        }
        young_from_ms = young_from_ms.min(found.young_from_ms);
        if found.needed.is_empty() && !has_removed_threads(&site.root)? {
            return Err(EngineError::NothingInUse(site.root.path().to_owned()));
        }
        Ok(found)
    };
    let mut collected = site.store.collect(&options.lost, options.mode, look)?;
    for root in &roots {
        let left = references::left_behind(root, young_from_ms)?;
        if options.mode == Collect::Remove {
            references::remove_all(root, &left)?;
        }
        collected.temporary.extend(left);
    }
    if options.mode == Collect::Remove {
        let message = format!("removed={}", collected.garbage.len());
        site.log_line(tags::COLLECTED, &message, None, None);
    }
    Ok(collected)
}

/// Returns the roots that use the store.
///
/// # Errors
/// When that cannot be known.
fn roots_of(site: &Site, options: &GcOptions) -> Result<Vec<Root>, EngineError> {
    let store = site.store.dir();
    let listed = shared_roots::registered(store)?;
    let is_known = shared_roots::is_own(store, &site.root) || listed.contains(&site.root);
    if !is_known && options.used_by.is_empty() {
        return Err(EngineError::SharedStore(store.to_owned()));
    }
    let named = options.used_by.iter();
    let named = named.map(|path| Root::at(site.env.cwd().join(path).components().collect()));
    let mut roots = vec![site.root.clone()];
    for root in listed
        .into_iter()
        .chain(named)
        .chain(shared_roots::containing(store))
    {
        if !root.has_state() {
            return Err(EngineError::NoRoot {
                root: root.path().to_owned(),
                list: shared_roots::list_file(store),
            });
        }
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let taken_over = roots.iter().flat_map(Root::files_taken_over);
    let variables = std::iter::once(store.join("variables.db"));
    match variables.chain(taken_over).find(|file| file.exists()) {
        Some(file) => Err(EngineError::ForeignState(file)),
        None => Ok(roots),
    }
}

/// Returns a start node older than the grace time if no thread at all is on record: then the files of the state are lost.
fn lost_start(
    site: &Site,
    roots: &[Root],
    options: &GcOptions,
    young_from_ms: i64,
) -> Result<Option<CasRef>, EngineError> {
    for root in roots {
        if has_threads(root)? || has_removed_threads(root)? {
            return Ok(None);
        }
    }
    for start in site.store.of_type(schemas::START_NODE)? {
        let used_ms = site.store.used_ms(start)?;
        if used_ms.is_some_and(|used| used < young_from_ms) && !options.lost.contains(&start) {
            return Ok(Some(start));
        }
    }
    Ok(None)
}

fn has_threads(root: &Root) -> Result<bool, EngineError> {
    Ok(!State::new(root).threads()?.places.is_empty())
}

/// Tells whether a person removed threads: then it is no loss that the store has their nodes and no thread needs them.
fn has_removed_threads(root: &Root) -> Result<bool, EngineError> {
    Ok(!State::new(root).history()?.removed.is_empty())
}

/// Adds the references of one storage root.
///
/// The order matters, because engines go on meanwhile:
/// 1. Running attempts come first. An attempt that starts later writes only young nodes.
/// 2. Records of runs come before heads, because a finished step moves from a record to a head.
/// 3. Heads come before the history, because a thread that ends is in the history before its head goes.
fn add(root: &Root, now_ms: i64, grace_ms: u64, found: &mut Roots) -> Result<(), EngineError> {
    let at_work = AtWork::look(root)?;
    found.useful.extend(references::named_by_runs(root)?);
    add_needed(root, found)?;
    State::new(root).check()?;
    found.young_from_ms = found
        .young_from_ms
        .min(young_from(&at_work, now_ms, grace_ms));
    Ok(())
}

/// Adds the nodes that the files of the state refer to.
fn add_needed(root: &Root, found: &mut Roots) -> Result<(), EngineError> {
    let Needs { needed, useful } = Needs::of(root)?;
    let needed = needed.into_iter();
    found
        .needed
        .extend(needed.map(|(hash, need)| (hash, need.to_string())));
    found.useful.extend(useful);
    Ok(())
}

/// The result of verifying a store.
#[derive(Debug)]
pub struct VerifiedStore {
    /// Every stored node, with the result of its check.
    pub nodes: Vec<Verified>,
    /// The nodes that this root needs and that cannot be read, with their users.
    pub broken: Vec<BrokenNode>,
}

/// Checks every node of the store, and that no node is missing that a thread or a workflow of the root needs.
///
/// # Errors
/// When a file of the state or of the store cannot be read.
pub fn verify(site: &Site) -> Result<VerifiedStore, EngineError> {
    // The hold keeps the garbage collector out: nodes that it removes meanwhile would look as if they were missing.
    let _hold = site.store.hold_to_read().ok();
    let nodes = site.store.verify(&site.store.all()?)?;
    let broken = broken(site)?;
    Ok(VerifiedStore { nodes, broken })
}

/// Returns the nodes that threads and workflows of the root need and that cannot be read.
///
/// # Errors
/// See [`verify`].
pub fn broken(site: &Site) -> Result<Vec<BrokenNode>, EngineError> {
    let _hold = site.store.hold_to_read().ok();
    let mut roots = Roots::default();
    add_needed(&site.root, &mut roots)?;
    Ok(site.store.broken(&roots.needed)?)
}

/// Returns the time from which on nodes are young: the grace time before the start of the oldest running step. Nodes of a
/// running step are not in its thread yet.
fn young_from(at_work: &AtWork, now_ms: i64, grace_ms: u64) -> i64 {
    let since_ms = at_work.since_ms.map_or(now_ms, |since| since.min(now_ms));
    let ago = |from_ms: i64, grace_ms: u64| {
        from_ms.saturating_sub(i64::try_from(grace_ms).unwrap_or(i64::MAX))
    };
    let young_from_ms = ago(since_ms, grace_ms);
    if at_work.unknown {
        // The start of a running step is unknown, so we assume the usual grace.
        return young_from_ms.min(ago(now_ms, USUAL_GRACE_MS));
    }
    young_from_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_young_from_the_grace_time_before_the_oldest_running_step() {
        let check = |since_ms: Option<i64>, unknown: bool, expected: i64| {
            let at_work = AtWork { since_ms, unknown };
            assert_eq!(young_from(&at_work, 10_000_000_000, 5000), expected);
        };
        check(None, false, 9_999_995_000);
        check(Some(9_000_000_000), false, 8_999_995_000);
        check(Some(11_000_000_000), false, 9_999_995_000);
        check(None, true, 8_790_400_000);
        check(Some(1000), true, -4000);
    }
}

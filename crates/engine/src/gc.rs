//! Collecting garbage: who refers to nodes, and whether that can be known at all.
//!
//! Needed are the heads of active and ended threads, the steps that were done again, and the workflows that have a
//! name. What the records of runs name is kept as far as it is there: all of them can be deleted.

use std::path::PathBuf;

use uwf_cas_fs::{BrokenNode, Collect, Collected, Roots, Verified};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_storage::references::{self, AtWork};
use uwf_storage::{Root, State, users};

use crate::{EngineError, Site, tags};

/// What garbage is.
#[derive(Debug, Clone)]
pub struct GcOptions {
    /// How long nothing may have used a node, in milliseconds; at least [`LEAST_GRACE_MS`].
    pub older_than_ms: u64,
    /// Whether it is removed.
    pub mode: Collect,
    /// Nodes that are known to be lost.
    pub lost: Vec<CasRef>,
    /// Other storage roots that use the store, too.
    pub used_by: Vec<PathBuf>,
}

/// The shortest time that a node can be protected by, in milliseconds. In this time a program that has put a node
/// makes somebody refer to it.
pub const LEAST_GRACE_MS: u64 = 60 * 60 * 1000;
/// The time that protects a node if nothing else is said, in milliseconds.
pub const USUAL_GRACE_MS: u64 = 14 * 24 * LEAST_GRACE_MS;

/// Removes the nodes that nothing refers to and nobody has used for a while, and temporary files of that age.
///
/// # Errors
/// With nothing removed: when it cannot be known who uses the store, when a file that says so cannot be read, or when
/// a node that is in use is broken.
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
        // Asked again, since another root may have begun to use the store meanwhile.
        roots = roots_of(site, options)?;
        for root in &roots {
            add(root, site.env.now_ms(), grace_ms, &mut found)?;
        }
        found.young_from_ms = found.young_from_ms.saturating_sub(behind_ms);
        if let Some(start) = lost_start(site, &roots, options, found.young_from_ms)? {
            return Err(EngineError::NoThreads(start));
        }
        young_from_ms = young_from_ms.min(found.young_from_ms);
        if found.needed.is_empty() {
            return Err(EngineError::NothingInUse(site.root.path().to_owned()));
        }
        Ok(found)
    };
    let mut collected = site.store.collect(&options.lost, options.mode, look)?;
    for root in &roots {
        let left = references::left_behind(root, young_from_ms)?;
        if options.mode == Collect::Remove {
            references::remove_all(&left)?;
        }
        collected.temporary.extend(left);
    }
    if options.mode == Collect::Remove {
        let message = format!("removed={}", collected.garbage.len());
        site.log_line(tags::COLLECTED, &message, None, None);
    }
    Ok(collected)
}

/// Returns the roots that use the store, if that can be known.
fn roots_of(site: &Site, options: &GcOptions) -> Result<Vec<Root>, EngineError> {
    let store = site.store.dir();
    let listed = users::enlisted(store)?;
    let is_known = users::is_own(store, &site.root) || listed.contains(&site.root);
    if !is_known && options.used_by.is_empty() {
        return Err(EngineError::SharedStore(store.to_owned()));
    }
    let named = options.used_by.iter();
    let named = named.map(|path| Root::at(site.env.cwd().join(path).components().collect()));
    let mut roots = vec![site.root.clone()];
    for root in listed.into_iter().chain(named).chain(users::owners(store)) {
        if !root.has_state() {
            return Err(EngineError::NoRoot {
                root: root.path().to_owned(),
                list: users::list_of(store),
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

/// Returns the start of a thread that is older than all that is young, where no thread at all is on record: whatever
/// made it has lost the files of the state.
fn lost_start(
    site: &Site,
    roots: &[Root],
    options: &GcOptions,
    young_from_ms: i64,
) -> Result<Option<CasRef>, EngineError> {
    for root in roots {
        let state = State::new(root);
        if !state.heads()?.is_empty() || !state.history()?.records.is_empty() {
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

/// Adds what one root says.
///
/// The order matters, for what changes meanwhile: who is at work is looked at first, so that whatever was not there
/// yet is young; records before heads, since a step goes from there into its thread; heads before the history, since
/// a thread that ends is there before it goes.
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

/// Adds what the files of the state need.
fn add_needed(root: &Root, found: &mut Roots) -> Result<(), EngineError> {
    let state = State::new(root);
    for (thread, head) in state.heads()? {
        let used_by = format!("the head of thread `{thread}`");
        found.needed.push((head, used_by));
    }
    let history = state.history()?;
    for record in history.records {
        let used_by = format!("the head of the ended thread `{}`", record.thread);
        found.needed.push((record.head, used_by));
        let used_by = format!("the workflow of the ended thread `{}`", record.thread);
        found.needed.push((record.workflow, used_by));
    }
    for step in history.replaced {
        let used_by = format!("a replaced step of thread `{}`", step.in_thread);
        found.needed.push((step.replaced, used_by));
        found.useful.push(step.by);
    }
    for (name, hash) in state.workflows()? {
        found.needed.push((hash, format!("the workflow `{name}`")));
    }
    Ok(())
}

/// What came of verifying a store.
#[derive(Debug)]
pub struct VerifiedStore {
    /// Every node that is stored, with what came of checking it.
    pub nodes: Vec<Verified>,
    /// What this root needs and cannot be read, with who needs it.
    pub broken: Vec<BrokenNode>,
}

/// Checks every node of the store, and that everything is there that the threads and workflows of the root need.
///
/// # Errors
/// When a file of the state or of the store cannot be read.
pub fn verify(site: &Site) -> Result<VerifiedStore, EngineError> {
    // What is collected meanwhile would look as if it were missing.
    let _hold = site.store.hold_to_read().ok();
    let nodes = site.store.verify(&site.store.all()?)?;
    let broken = broken(site)?;
    Ok(VerifiedStore { nodes, broken })
}

/// Returns what the threads and workflows of the root need and cannot be read.
///
/// # Errors
/// See [`verify`].
pub fn broken(site: &Site) -> Result<Vec<BrokenNode>, EngineError> {
    let _hold = site.store.hold_to_read().ok();
    let mut roots = Roots::default();
    add_needed(&site.root, &mut roots)?;
    Ok(site.store.broken(&roots.needed)?)
}

/// Returns from when on nodes are young: so long ago, counted from when the oldest step began that is at work. What
/// it put or will put is not in its thread yet.
fn young_from(at_work: &AtWork, now_ms: i64, grace_ms: u64) -> i64 {
    let since_ms = at_work.since_ms.map_or(now_ms, |since| since.min(now_ms));
    let ago = |from_ms: i64, grace_ms: u64| {
        from_ms.saturating_sub(i64::try_from(grace_ms).unwrap_or(i64::MAX))
    };
    let young_from_ms = ago(since_ms, grace_ms);
    match at_work.unknown {
        // Nobody knows for how long it has been at work.
        true => young_from_ms.min(ago(now_ms, USUAL_GRACE_MS)),
        false => young_from_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_young_since_the_oldest_step_at_work_began_and_the_time_of_grace_before() {
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

//! Repairing a store: files that do not hold their node are moved out of the way, nodes are brought back from elsewhere,
//! and what stays damaged is named with the threads and workflows that need it. Nothing is deleted.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;
use uwf_cas_fs::{DamagedFile, Unreadable};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::raw_node::RawNode;
use uwf_storage::{State, references};

use crate::bundle::{NodeSource, Source};
use crate::gc::USUAL_GRACE_MS;
use crate::needs::{Need, Needs};
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// Whether something is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairMode {
    /// The repair is only described.
    Look,
    /// The store is repaired.
    Repair,
}

/// How a store is repaired.
#[derive(Debug)]
pub struct RepairOptions {
    /// Whether something is changed.
    pub mode: RepairMode,
    /// Where missing nodes are fetched from.
    pub from: Option<NodeSource>,
}

/// What was wrong with a store, and what was done about it.
#[derive(Debug, Clone)]
pub struct Repair {
    /// How many nodes the store has.
    pub nodes: usize,
    /// The files that do not hold their node.
    pub damaged: Vec<DamagedFile>,
    /// The nodes that were brought back, or would be.
    pub restored: Vec<CasRef>,
    /// The nodes that stay missing although something needs them.
    pub lost: Vec<LostNode>,
    /// What needs them.
    pub suffering: Vec<Suffering>,
    /// Temporary files that killed programs left behind.
    pub temporary: Vec<PathBuf>,
}

/// A node that is needed and cannot be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LostNode {
    /// The node.
    pub hash: CasRef,
    /// What is wrong with it.
    pub problem: String,
}

/// A thread or a workflow that needs lost nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Suffering {
    /// A thread that is active.
    Thread {
        /// The thread.
        thread: ThreadId,
        /// Whether its next step can be done: only older steps are lost, or what they recorded.
        goes_on: bool,
        /// The lost nodes that it needs.
        nodes: Vec<CasRef>,
    },
    /// A thread that has ended.
    EndedThread {
        /// The thread.
        ended_thread: ThreadId,
        /// The lost nodes that it needs.
        nodes: Vec<CasRef>,
    },
    /// A workflow that has a name.
    Workflow {
        /// Its name.
        workflow: String,
        /// The lost nodes that it needs.
        nodes: Vec<CasRef>,
    },
}

impl Repair {
    /// Tells whether nothing is left to be done.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.lost.is_empty() && self.damaged.iter().all(|one| one.movable)
    }
}

/// Repairs the store of a root.
///
/// # Errors
/// When a file of the state cannot be read, or the store cannot be written. The same call goes on with what is left.
pub fn repair(site: &Site, options: RepairOptions) -> Result<Repair, EngineError> {
    let mut source = options.from.map(Source::open).transpose()?;
    let mode = options.mode;
    let mut damaged = site.store.damaged_files()?;
    if mode == RepairMode::Repair {
        damaged = site.store.set_aside(damaged)?;
    }
    let needs = Needs::of(&site.root)?.needed;
    let roots: Vec<CasRef> = needs.iter().map(|(hash, _)| *hash).collect();
    let missing = unreadable(site, &roots)?;
    let movable = damaged.iter().filter(|one| one.movable);
    let wanted = missing.iter().map(|one| one.hash);
    let wanted: Vec<CasRef> = movable.map(|one| one.hash).chain(wanted).collect();
    let mut restored = own_schemas(site, &wanted, mode)?;
    if let Some(source) = &mut source {
        let mut wanted = wanted;
        wanted.retain(|hash| !restored.contains(hash));
        restored.extend(restore(site, source, wanted, mode)?);
    }
    restored.sort_unstable();
    let mut lost = match mode {
        RepairMode::Look => missing,
        RepairMode::Repair => unreadable(site, &roots)?,
    };
    lost.retain(|one| !restored.contains(&one.hash));
    if mode == RepairMode::Repair && !(damaged.is_empty() && restored.is_empty()) {
        let message = format!("moved={} restored={}", damaged.len(), restored.len());
        site.log_line(tags::REPAIRED, &message, None, None);
    }
    if mode == RepairMode::Repair && site.store.dir().is_dir() {
        // The index is a cache. Its readers repair it, too, as soon as every file can be read.
        let _ = site.store.reindex();
    }
    Ok(Repair {
        nodes: site.store.all()?.len(),
        damaged,
        restored,
        suffering: suffering(site, &needs, &lost)?,
        lost: lost.into_iter().map(LostNode::from).collect(),
        temporary: left_behind(site)?,
    })
}

impl From<Unreadable> for LostNode {
    fn from(node: Unreadable) -> Self {
        Self {
            hash: node.hash,
            problem: node.problem,
        }
    }
}

fn unreadable(site: &Site, roots: &[CasRef]) -> Result<Vec<Unreadable>, EngineError> {
    // Nodes that the collector removes meanwhile would look as if they were missing.
    let _hold = site.store.hold_to_read().ok();
    Ok(site.store.unreadable(roots)?)
}

/// Brings back the schemas that every store has: the program knows them.
fn own_schemas(
    site: &Site,
    wanted: &[CasRef],
    mode: RepairMode,
) -> Result<Vec<CasRef>, EngineError> {
    let mut own = site.store.own_schemas();
    own.retain(|hash| wanted.contains(hash));
    if mode == RepairMode::Repair && !own.is_empty() {
        site.store.create(site.env.now_ms())?;
    }
    Ok(own)
}

/// Brings nodes back, and whatever they need in their turn.
fn restore(
    site: &Site,
    source: &mut Source,
    mut wanted: Vec<CasRef>,
    mode: RepairMode,
) -> Result<Vec<CasRef>, EngineError> {
    let mut tried = HashSet::new();
    let mut restored = Vec::new();
    while !wanted.is_empty() {
        let mut found = Vec::new();
        for hash in wanted.drain(..).filter(|hash| tried.insert(*hash)) {
            if let Some(node) = source.fetch(hash)? {
                found.push(node.hash);
                put_back(site, node, mode)?;
            }
        }
        if mode == RepairMode::Repair {
            let next = unreadable(site, &found)?;
            wanted = next.into_iter().map(|one| one.hash).collect();
        }
        restored.extend(found);
    }
    Ok(restored)
}

fn put_back(site: &Site, node: RawNode, mode: RepairMode) -> Result<(), EngineError> {
    if mode == RepairMode::Look {
        return Ok(());
    }
    let now_ms = site.env.now_ms();
    Ok(site.store.import(&[node], now_ms)?)
}

/// Returns what needs the lost nodes, each thread and each workflow once.
fn suffering(
    site: &Site,
    needs: &[(CasRef, Need)],
    lost: &[Unreadable],
) -> Result<Vec<Suffering>, EngineError> {
    let heads: BTreeMap<ThreadId, CasRef> = State::new(&site.root).heads()?.into_iter().collect();
    let mut threads: BTreeMap<ThreadId, Vec<CasRef>> = BTreeMap::new();
    let mut workflows: BTreeMap<&str, Vec<CasRef>> = BTreeMap::new();
    for node in lost {
        for (_, need) in node.roots.iter().filter_map(|root| needs.get(*root)) {
            let nodes = match need {
                Need::Head(thread)
                | Need::EndedHead(thread)
                | Need::EndedWorkflow(thread)
                | Need::Replaced(thread) => threads.entry(*thread).or_default(),
                Need::Workflow(name) => workflows.entry(name).or_default(),
            };
            if nodes.last() != Some(&node.hash) {
                nodes.push(node.hash);
            }
        }
    }
    let thread = |(thread, nodes)| match heads.get(&thread) {
        Some(head) => Suffering::Thread {
            thread,
            nodes,
            goes_on: Thread::load(&site.store, thread, *head).is_ok(),
        },
        None => Suffering::EndedThread {
            ended_thread: thread,
            nodes,
        },
    };
    let workflow = |(name, nodes): (&str, _)| Suffering::Workflow {
        workflow: name.to_owned(),
        nodes,
    };
    let threads = threads.into_iter().map(thread);
    Ok(threads.chain(workflows.into_iter().map(workflow)).collect())
}

/// Returns the temporary files that are so old that no program writes them any more: those that [`gc`](fn@crate::gc) removes with its
/// default grace time while nothing runs.
///
/// # Errors
/// When a folder cannot be read.
pub fn left_behind(site: &Site) -> Result<Vec<PathBuf>, EngineError> {
    let grace_ms = i64::try_from(USUAL_GRACE_MS).unwrap_or(i64::MAX);
    let before_ms = site.env.now_ms().saturating_sub(grace_ms);
    let mut left = site.store.left_behind(before_ms)?;
    left.extend(references::left_behind(&site.root, before_ms)?);
    Ok(left)
}

//! Writes threads and all that they need into a bundle.

use std::collections::BTreeSet;
use std::io::Write;

use serde::Serialize;
use uwf_cas_fs::{Store, file_of_raw};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::raw_node::RawNode;
use uwf_protocol::run::ThreadRecord;
use uwf_protocol::schemas;
use uwf_storage::{Namings, State, Threads};
use uwf_thread::{Head, read_start};

use super::error::BundleError;
use super::manifest::{self, Manifest, Status, Travelling};
use super::members::{self, Writer};
use crate::children::with_descendants;
use crate::unfound::Unfound;
use crate::{EngineError, Site, thread};

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// The threads, sorted by id.
    pub threads: Vec<ThreadId>,
    /// How many nodes they need.
    pub nodes: usize,
    /// How large the bundle is.
    pub bytes: u64,
}

/// Returns all threads of the root, active or ended.
///
/// # Errors
/// When the files of the state cannot be read, or have lost threads.
pub fn all_threads(site: &Site) -> Result<Vec<ThreadId>, EngineError> {
    let state = State::new(&site.root);
    state.check()?;
    Ok(state.threads()?.places.into_keys().collect())
}

/// Writes threads, as far as they are committed, with all nodes that they need.
///
/// # Errors
/// When a thread is unknown, a node that it needs cannot be read, or the bundle cannot be written. An incomplete bundle may
/// have been written then.
pub fn export_threads(
    site: &Site,
    threads: &[ThreadId],
    out: &mut dyn Write,
) -> Result<Exported, EngineError> {
    // The collector waits meanwhile: it may remove a step that is replaced or forgotten while we are at work.
    let _hold = site.store.hold_to_read()?;
    let travelling = travelling(site, threads)?;
    let needed: Vec<CasRef> = travelling.iter().flat_map(Travelling::needed).collect();
    let unreadable = site.store.unreadable(&needed)?;
    if !unreadable.is_empty() {
        return Err(BundleError::Unreadable(unreadable).into());
    }
    let each = |one: &Travelling| [one.needed(), one.useful()].concat();
    let roots: Vec<CasRef> = travelling.iter().flat_map(each).collect();
    let nodes = site.store.closure(&roots)?;
    let threads = travelling.iter().map(|one| one.thread).collect();
    let manifest = Manifest::new(nodes.len() as u64, travelling);
    Ok(Exported {
        threads,
        nodes: nodes.len(),
        bytes: write(&site.store, &manifest, &nodes, out)?,
    })
}

fn write(
    store: &Store,
    manifest: &Manifest,
    nodes: &[CasRef],
    out: &mut dyn Write,
) -> Result<u64, EngineError> {
    let mut bundle = Writer::new(out);
    let content = serde_json::to_vec_pretty(manifest).expect("a manifest is plain data");
    if bundle.add(manifest::NAME, &content)?.is_none() {
        let problem = "its manifest is too large; export fewer threads at once".to_owned();
        return Err(BundleError::Refused(problem).into());
    }
    for &hash in nodes {
        let node = store.raw(hash)?;
        // Views tell by it when a step was done. Of all others it tells only when this store got the node.
        let is_of_chain =
            node.type_hash == schemas::STEP_NODE || schemas::START_NODES.contains(&node.type_hash);
        let timestamp_ms = if is_of_chain { node.timestamp_ms } else { 0 };
        let node = RawNode {
            timestamp_ms,
            ..node
        };
        let content = file_of_raw(&node);
        if bundle.add(&members::node_name(hash), &content)?.is_none() {
            let bytes = content.len();
            return Err(BundleError::TooLarge { hash, bytes }.into());
        }
    }
    Ok(bundle.finish()?)
}

/// Returns what the manifest says about the threads, sorted by id.
fn travelling(site: &Site, threads: &[ThreadId]) -> Result<Vec<Travelling>, EngineError> {
    let state = State::new(&site.root);
    let (recorded, namings) = (state.threads()?, state.namings()?);
    let threads = with_descendants(site, threads)?;
    let threads: BTreeSet<ThreadId> = threads.into_iter().collect();
    let one = |thread| one_travelling(site, &recorded, &namings, thread);
    threads.into_iter().map(one).collect()
}

fn one_travelling(
    site: &Site,
    recorded: &Threads,
    namings: &Namings,
    id: ThreadId,
) -> Result<Travelling, EngineError> {
    let Some(place) = recorded.places.get(&id) else {
        // It says why the thread is not there.
        thread::find(site, id)?;
        return Err(EngineError::UnknownThread(Unfound::new(site, id)));
    };
    let (head, end) = (place.head(), place.end());
    let start = read_start(&site.store, Head::read(&site.store, head)?.start())?;
    let replaced = recorded.replaced.iter().filter(|step| step.in_thread == id);
    Ok(Travelling {
        thread: id,
        workflow: start.node.workflow,
        head,
        naming: namings.of(id),
        status: end.map_or(Status::Active, |record| record.reason.into()),
        completed_at: end.map(|record| record.completed_at),
        replaced: replaced.cloned().collect(),
        record: ThreadRecord {
            // A cache, which may be there or not.
            chain: None,
            ..site.root.run(id).ledger.export_at(head)
        },
        is_trusted: false,
    })
}

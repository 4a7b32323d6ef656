//! Sends nodes to a remote, and brings nodes from there.

use std::collections::{HashMap, HashSet};

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Closure, Given, Part, Put, Remote, RemoteError};

use super::error::SharingError;
use crate::bundle::Intake;
use crate::{EngineError, Site};

/// How many nodes, and about how many bytes, are sent or asked for at once.
const BATCH: (usize, usize) = (500, 8 << 20);
/// How many hashes are asked about at once.
const ASKED: usize = 5_000;
/// How often nodes are sent, if the remote condemns or removes them meanwhile as garbage.
pub(crate) const TIMES: u32 = 5;

/// Sends those of the nodes that the remote does not have. In `nodes`, each comes after the nodes that it needs. Returns how many
/// were sent.
pub(crate) fn send(
    site: &Site,
    remote: &mut dyn Remote,
    nodes: &[CasRef],
) -> Result<usize, EngineError> {
    let mut sent = 0;
    for _ in 0..TIMES {
        let mut missing = Vec::new();
        for asked in nodes.chunks(ASKED) {
            missing.extend(remote.missing(asked).map_err(SharingError::from)?);
        }
        if missing.is_empty() {
            return Ok(sent);
        }
        sent += send_missing(site, remote, &missing)?;
    }
    Err(SharingError::forgets().into())
}

fn send_missing(
    site: &Site,
    remote: &mut dyn Remote,
    nodes: &[CasRef],
) -> Result<usize, EngineError> {
    let (mut batch, mut bytes, mut sent) = (Vec::new(), 0, 0);
    for (at, hash) in nodes.iter().enumerate() {
        let node = site.store.linked(*hash)?;
        bytes += node.node.payload.len();
        batch.push(node);
        if batch.len() < BATCH.0 && bytes < BATCH.1 && at + 1 < nodes.len() {
            continue;
        }
        match remote.put(&batch, None).map_err(SharingError::from)? {
            Put::Done | Put::Already | Put::HeadIs(_) => sent += batch.len(),
            // The remote has removed a node meanwhile. The caller asks again which nodes are missing.
            Put::Lacking(_) => return Ok(sent),
            Put::Clash(nodes) => return Err(SharingError::Clash(nodes).into()),
        }
        batch.clear();
        bytes = 0;
    }
    Ok(sent)
}

/// Returns the nodes that a record names, such as the texts of failed attempts, with what they need. Named nodes that are not here
/// are left out.
pub(crate) fn of_record(site: &Site, record: &ThreadRecord) -> Result<Vec<CasRef>, EngineError> {
    let mut here = Vec::new();
    for node in record.nodes() {
        if site.store.has(node)? {
            here.push(node);
        }
    }
    Ok(site.store.needed(&here)?)
}

/// Checks the hashes of nodes that came from the remote, and stores them durably.
pub(crate) fn take(site: &Site, nodes: Vec<LinkedNode>) -> Result<(), EngineError> {
    let mut intake = Intake::new(site);
    for node in nodes {
        intake.add(node.node)?;
    }
    intake.finish()
}

/// Returns nodes, if their bytes fit into one request; otherwise `None`, and the caller [sends](send) them before.
pub(crate) fn in_one_request(
    site: &Site,
    hashes: &[CasRef],
) -> Result<Option<Vec<LinkedNode>>, EngineError> {
    let (mut nodes, mut bytes) = (Vec::new(), 0);
    for hash in hashes {
        let node = site.store.linked(*hash)?;
        bytes += node.node.payload.len();
        if bytes > BATCH.1 {
            return Ok(None);
        }
        nodes.push(node);
    }
    Ok(Some(nodes))
}

/// Brings the nodes that records name, such as the texts of failed attempts, with what they need. Named nodes that are not at the
/// remote are left out. Returns what [`bring_each`] returns.
pub(crate) fn bring_of_records<'a>(
    site: &Site,
    remote: &mut dyn Remote,
    records: impl Iterator<Item = &'a ThreadRecord>,
    have: &[CasRef],
) -> Result<HashMap<CasRef, usize>, EngineError> {
    let mut wanted = Vec::new();
    for node in records.flat_map(ThreadRecord::nodes) {
        if !site.store.has(node)? {
            wanted.push(node);
        }
    }
    let mut there = Vec::new();
    for asked in wanted.chunks(ASKED) {
        let missing = remote.missing(asked).map_err(SharingError::from)?;
        let missing: HashSet<CasRef> = missing.into_iter().collect();
        there.extend(asked.iter().filter(|node| !missing.contains(node)));
    }
    bring_each(site, remote, &there, have)
}

/// Brings these nodes with all that they need, without the nodes `have` that are here with all that these need. Returns how many
/// came.
pub(crate) fn bring(
    site: &Site,
    remote: &mut dyn Remote,
    from: &[CasRef],
    have: &[CasRef],
) -> Result<usize, EngineError> {
    Ok(bring_each(site, remote, from, have)?.values().sum())
}

/// Brings nodes as [`bring`] does. Returns how many nodes came for each of them: the node itself, and what was not needed by those
/// before it.
pub(crate) fn bring_each(
    site: &Site,
    remote: &mut dyn Remote,
    from: &[CasRef],
    have: &[CasRef],
) -> Result<HashMap<CasRef, usize>, EngineError> {
    let known: HashSet<&CasRef> = have.iter().collect();
    let mut wanted = HashSet::new();
    let is_new = |node: &&CasRef| !known.contains(node) && wanted.insert(**node);
    let from: Vec<CasRef> = from.iter().filter(is_new).copied().collect();
    let (mut came, mut needed) = (HashMap::new(), 0);
    if from.is_empty() {
        return Ok(came);
    }
    let mut got = 0;
    let at_most = BATCH.0.try_into().expect("a batch has nodes");
    loop {
        let part = Part { skip: got, at_most };
        let given = remote.closure(&from, have, part);
        match given.map_err(SharingError::from)? {
            Given::Lacking(nodes) => {
                let problem = format!("the node {} is needed and is missing there", nodes[0]);
                return Err(SharingError::Remote(RemoteError::Broken(problem)).into());
            }
            Given::Nodes(Closure { nodes, complete }) => {
                got += nodes.len();
                for node in &nodes {
                    needed += 1;
                    // Each node comes after the nodes that it needs.
                    if wanted.contains(&node.node.hash) {
                        came.insert(node.node.hash, std::mem::take(&mut needed));
                    }
                }
                take(site, nodes)?;
                if complete {
                    return Ok(came);
                }
            }
        }
    }
}

/// Returns nodes that are here with all that they need, if this head is: the head, its references and its type. The remote need not
/// send these.
pub(crate) fn had_with(site: &Site, head: CasRef) -> Result<Vec<CasRef>, EngineError> {
    let mut had = vec![head];
    had.extend(site.store.refs(head)?);
    had.push(site.store.need(head)?.type_hash);
    Ok(had)
}

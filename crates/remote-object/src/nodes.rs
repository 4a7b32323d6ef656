//! Stores nodes, and tells which of them are missing.
//!
//! A node is stored after the nodes that it needs (point 2 of "Threads in an object storage" in `docs/architecture.md`).

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{RemoteError, Together, Unfit, needed_first};

use crate::bucket::Bucket;
use crate::change::TIMES;
use crate::{Object, names, stored_node};

/// Stores nodes. A node that is there stays as it is. `head` must be among the nodes, or be there. If the nodes do not fit, some of
/// them may have been stored. Nothing needs these.
pub(crate) fn add(
    remote: &mut Object,
    nodes: &[LinkedNode],
    head: Option<CasRef>,
) -> Result<Result<(), Unfit>, RemoteError> {
    let Together {
        nodes: each,
        needed,
    } = match Together::of(nodes, head) {
        Ok(together) => together,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let needed: Vec<CasRef> = needed.into_iter().collect();
    let lacking = missing(&remote.bucket, &mut remote.present, &needed)?;
    if !lacking.is_empty() {
        return Ok(Err(Unfit::Lacking(lacking)));
    }
    for level in levels(&each) {
        let clash = make(&remote.bucket, &level)?;
        if !clash.is_empty() {
            return Ok(Err(Unfit::Clash(clash)));
        }
        remote
            .present
            .extend(level.iter().map(|node| node.node.hash));
    }
    Ok(Ok(()))
}

/// Returns the nodes in groups. A node needs no node of its own group or of a later one.
fn levels<'a>(each: &BTreeMap<CasRef, &'a LinkedNode>) -> Vec<Vec<&'a LinkedNode>> {
    let all: Vec<CasRef> = each.keys().copied().collect();
    let ordered = needed_first(&all, &[], |hash| Some(each.get(&hash)?.needs().collect()));
    let (mut depths, mut levels) = (HashMap::new(), Vec::<Vec<&LinkedNode>>::new());
    for hash in ordered {
        let Some(node) = each.get(&hash) else {
            continue;
        };
        let below = node.needs().filter_map(|needed| depths.get(&needed));
        let depth = below.max().map_or(0, |deepest: &usize| deepest + 1);
        depths.insert(hash, depth);
        if levels.len() <= depth {
            levels.resize_with(depth + 1, Vec::new);
        }
        levels[depth].push(node);
    }
    levels
}

/// Stores nodes whose needs are there. Returns the hashes under which different nodes are there.
fn make(bucket: &Bucket, nodes: &[&LinkedNode]) -> Result<Vec<CasRef>, RemoteError> {
    let mut left = nodes.to_vec();
    let mut clash = Vec::new();
    for turn in 0..TIMES {
        if left.is_empty() {
            clash.sort_unstable();
            return Ok(clash);
        }
        if turn > 0 {
            Bucket::pause(turn.min(3));
        }
        let objects = left.iter().map(|node| {
            let content = stored_node::content(node)?;
            Ok((names::node(node.node.hash), content))
        });
        let new = bucket.make_each(objects.collect::<Result<_, RemoteError>>()?)?;
        let known = left.into_iter().zip(new).filter(|(_, is_new)| !is_new);
        let known: Vec<&LinkedNode> = known.map(|(node, _)| node).collect();
        let names: Vec<String> = known
            .iter()
            .map(|node| names::node(node.node.hash))
            .collect();
        let found = bucket.get_each(&names)?;
        // A store may refuse to make an object while another request makes it, and that request may fail.
        left = Vec::new();
        for (node, found) in known.into_iter().zip(found) {
            let hash = node.node.hash;
            match found.map(|found| stored_node::node(hash, &found.content)) {
                None => left.push(node),
                Some(Ok(stored)) if stored.node.is_same(&node.node) => {}
                Some(_) => clash.push(hash),
            }
        }
    }
    Err(RemoteError::Contended(
        "the store refuses to make objects that are not there".into(),
    ))
}

/// Returns the asked nodes that are not there, in the order of the question. A node that was there once stays: nothing removes
/// nodes. `present` has nodes that are known to be there.
pub(crate) fn missing(
    bucket: &Bucket,
    present: &mut HashSet<CasRef>,
    asked: &[CasRef],
) -> Result<Vec<CasRef>, RemoteError> {
    let unknown = asked.iter().filter(|hash| !present.contains(hash));
    let unknown: Vec<CasRef> = unknown.copied().collect();
    let names: Vec<String> = unknown.iter().map(|hash| names::node(*hash)).collect();
    let has = bucket.has_each(&names)?;
    let there = unknown.into_iter().zip(has).filter(|(_, has)| *has);
    present.extend(there.map(|(hash, _)| hash));
    let missing = asked.iter().filter(|hash| !present.contains(hash));
    Ok(missing.copied().collect())
}

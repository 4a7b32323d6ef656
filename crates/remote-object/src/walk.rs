//! Finds the nodes that can be reached from others. The store knows no references, so a walk reads all nodes on its way.
//!
//! Each step of a chain names only the step before, so a walk would read the steps one by one. The history of a thread names all
//! its heads. So the steps of the threads that were looked at last are read together, and then what they need.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{Closure, Given, Part, RemoteError, needed_first};

use crate::bucket::Bucket;
use crate::thread::Thread;
use crate::{Object, change, names, stored_node};

/// How many nodes are read together.
const PAGE: usize = 256;
/// How many bytes of payloads a walk keeps. Other payloads are read again when they are asked for.
const KEPT: usize = 64 << 20;

/// A closure that was asked for, and the order of all nodes in it.
#[derive(Debug)]
pub(crate) struct Walk {
    from: Vec<CasRef>,
    have: Vec<CasRef>,
    order: Vec<CasRef>,
    nodes: Nodes,
}

/// The heads of the threads that were looked at last, those of each thread oldest first.
#[derive(Debug, Default)]
pub(crate) struct Trail(Vec<CasRef>);

/// Nodes that were read.
#[derive(Debug, Default)]
struct Nodes {
    needs: HashMap<CasRef, Vec<CasRef>>,
    kept: HashMap<CasRef, LinkedNode>,
    bytes: usize,
}

impl Trail {
    /// Returns the heads of a thread after the newest one that the caller has, or all after the first one if it has none.
    pub(crate) fn of(
        bucket: &Bucket,
        id: ThreadId,
        thread: &Thread,
        have: &[CasRef],
    ) -> Result<Self, RemoteError> {
        if have.contains(&thread.head) {
            return Ok(Self::default());
        }
        let mut moves = thread.moves.clone();
        let mut parts = thread.parts;
        loop {
            let known = moves.iter().rposition(|(_, to)| have.contains(to));
            if let Some(known) = known {
                moves.drain(..=known);
                break;
            }
            if parts == 0 {
                break;
            }
            parts -= 1;
            moves.splice(0..0, change::part(bucket, id, parts)?);
        }
        Ok(Self(moves.into_iter().map(|(_, to)| to).collect()))
    }

    /// Adds the heads of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Returns a part of what can be reached. A walk is remembered until its last part, so that the next part needs no walk.
pub(crate) fn closure(
    remote: &mut Object,
    from: &[CasRef],
    have: &[CasRef],
    part: Part,
) -> Result<Given, RemoteError> {
    let known = remote.walk.take();
    let known = known.filter(|walk| (&*walk.from, &*walk.have) == (from, have));
    let walk = match known {
        Some(walk) => walk,
        None => match Walk::new(&remote.bucket, from, have, &remote.trail)? {
            Ok(walk) => walk,
            Err(lacking) => return Ok(Given::Lacking(lacking)),
        },
    };
    remote.present.extend(&walk.order);
    let closure = walk.part(&remote.bucket, part.skip, part.at_most.get())?;
    remote.walk = (!closure.complete).then_some(walk);
    Ok(Given::Nodes(closure))
}

/// Returns the first nodes that are needed for a head.
pub(crate) fn first(
    remote: &mut Object,
    head: CasRef,
    have: &[CasRef],
    at_most: usize,
) -> Result<Closure, RemoteError> {
    let Some(at_most) = NonZeroUsize::new(at_most) else {
        return Ok(Closure {
            nodes: Vec::new(),
            complete: have.contains(&head),
        });
    };
    let part = Part { skip: 0, at_most };
    match closure(remote, &[head], have, part)? {
        Given::Nodes(closure) => Ok(closure),
        Given::Lacking(lacking) => Err(lost(&lacking)),
    }
}

impl Walk {
    fn new(
        bucket: &Bucket,
        from: &[CasRef],
        have: &[CasRef],
        trail: &Trail,
    ) -> Result<Result<Self, Vec<CasRef>>, RemoteError> {
        let mut nodes = Nodes::default();
        let on_the_way = trail.0.iter().any(|head| from.contains(head));
        if on_the_way {
            nodes.read(bucket, &trail.0)?;
        }
        let have_set: HashSet<CasRef> = have.iter().copied().collect();
        let mut seen = have_set.clone();
        let mut open = from.to_vec();
        while !open.is_empty() {
            let mut unread = Vec::new();
            while let Some(hash) = open.pop() {
                if !seen.insert(hash) {
                    continue;
                }
                match nodes.needs.get(&hash) {
                    Some(needs) => open.extend(needs),
                    None => unread.push(hash),
                }
            }
            nodes.read(bucket, &unread)?;
            // A node that the caller asked about is lacking. One that another node needs is lost.
            let is_lost =
                |hash: &&CasRef| !nodes.needs.contains_key(*hash) && !from.contains(*hash);
            let lost_nodes: Vec<CasRef> = unread.iter().filter(is_lost).copied().collect();
            if !lost_nodes.is_empty() {
                return Err(lost(&lost_nodes));
            }
            let needs = unread.iter().filter_map(|hash| nodes.needs.get(hash));
            open.extend(needs.flatten());
        }
        let is_lacking =
            |hash: &&CasRef| !have_set.contains(hash) && !nodes.needs.contains_key(*hash);
        let lacking: Vec<CasRef> = from.iter().filter(is_lacking).copied().collect();
        if !lacking.is_empty() {
            return Ok(Err(lacking));
        }
        let order = needed_first(from, have, |hash| nodes.needs.get(&hash).cloned());
        Ok(Ok(Self {
            from: from.to_vec(),
            have: have.to_vec(),
            order,
            nodes,
        }))
    }

    fn part(&self, bucket: &Bucket, skip: usize, at_most: usize) -> Result<Closure, RemoteError> {
        let end = self.order.len().min(skip.saturating_add(at_most));
        let wanted = self.order.get(skip..end).unwrap_or_default();
        let dropped = wanted
            .iter()
            .filter(|hash| !self.nodes.kept.contains_key(hash));
        let dropped: Vec<CasRef> = dropped.copied().collect();
        let mut again: HashMap<CasRef, LinkedNode> = read(bucket, &dropped)?
            .into_iter()
            .map(|node| (node.node.hash, node))
            .collect();
        let node = |hash: &CasRef| {
            let kept = self.nodes.kept.get(hash).cloned();
            kept.or_else(|| again.remove(hash))
                .ok_or_else(|| lost(&[*hash]))
        };
        Ok(Closure {
            nodes: wanted.iter().map(node).collect::<Result<_, _>>()?,
            complete: end == self.order.len(),
        })
    }
}

impl Nodes {
    /// Reads nodes, page by page. Some may not be there.
    fn read(&mut self, bucket: &Bucket, hashes: &[CasRef]) -> Result<(), RemoteError> {
        for page in hashes.chunks(PAGE) {
            for node in read(bucket, page)? {
                let hash = node.node.hash;
                self.needs.insert(hash, node.needs().collect());
                self.bytes += node.node.payload.len();
                if self.bytes <= KEPT {
                    self.kept.insert(hash, node);
                }
            }
        }
        Ok(())
    }
}

/// Returns the nodes that are there.
fn read(bucket: &Bucket, hashes: &[CasRef]) -> Result<Vec<LinkedNode>, RemoteError> {
    let names: Vec<String> = hashes.iter().map(|hash| names::node(*hash)).collect();
    let found = hashes.iter().zip(bucket.get_each(&names)?);
    let found = found.filter_map(|(hash, found)| Some((*hash, found?)));
    found
        .map(|(hash, found)| stored_node::node(hash, &found.content))
        .collect()
}

fn lost(hashes: &[CasRef]) -> RemoteError {
    let texts: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    RemoteError::Broken(format!("nodes are missing there: {}", texts.join(", ")))
}

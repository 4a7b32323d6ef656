//! Marks the nodes that are in use: everything that is reachable from the roots.
//!
//! A mistake here loses data, so there are two sources of references: the places where a schema says that there is one,
//! and every string that is the hash of a node in the store, in case a schema does not say so.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::META;

use crate::error::{BrokenNode, StoreError};
use crate::node::Node;
use crate::store::Store;
use crate::{graph, order};

/// The nodes that were marked so far.
pub(crate) struct Marker<'a> {
    store: &'a Store,
    /// The nodes that may be missing or damaged. Nodes that only they refer to are given up.
    lost: &'a HashSet<CasRef>,
    /// The nodes that must be in the store, with all that they refer to.
    needed: HashSet<CasRef>,
    /// The other nodes that are kept if they are in the store.
    kept: HashSet<CasRef>,
    /// The schemas that were read; `None` for one that cannot be read.
    schemas: HashMap<CasRef, Option<Value>>,
    broken: Vec<BrokenNode>,
}

/// What a node refers to.
pub(crate) struct Links {
    /// The schema that types it.
    pub(crate) schema: Option<CasRef>,
    /// The references according to its schema.
    pub(crate) refs: Vec<CasRef>,
    /// Other strings in it that are the hash of a node in the store.
    pub(crate) mentions: Vec<CasRef>,
}

impl<'a> Marker<'a> {
    pub(crate) fn new(store: &'a Store, lost: &'a HashSet<CasRef>) -> Self {
        Self {
            store,
            lost,
            needed: HashSet::new(),
            kept: HashSet::new(),
            schemas: HashMap::new(),
            broken: Vec::new(),
        }
    }

    /// Tells whether a node is in use.
    pub(crate) fn has(&self, hash: CasRef) -> bool {
        self.needed.contains(&hash) || self.kept.contains(&hash)
    }

    /// Fails if a needed node cannot be read.
    pub(crate) fn check(&mut self) -> Result<(), StoreError> {
        let nodes = std::mem::take(&mut self.broken);
        if nodes.is_empty() {
            return Ok(());
        }
        Err(StoreError::Broken { nodes })
    }

    /// Marks everything that is reachable from a needed node. Nodes that cannot be read are collected in `broken`.
    pub(crate) fn need(&mut self, root: CasRef, used_by: &str) -> Result<(), StoreError> {
        let mut queue = vec![(root, None)];
        while let Some((hash, referrer)) = queue.pop() {
            if !self.needed.insert(hash) {
                continue;
            }
            let problem = match self.store.find(hash) {
                Ok(Some(node)) => {
                    let links = self.links(hash, &node)?;
                    queue.extend(links.needed().map(|found| (found, Some(hash))));
                    links
                        .mentions
                        .into_iter()
                        .try_for_each(|found| self.keep(found))?;
                    continue;
                }
                Ok(None) => "is not in the store".to_owned(),
                Err(StoreError::Damaged { reason, .. }) => format!("is damaged ({reason})"),
                Err(error) => return Err(error),
            };
            if self.lost.contains(&hash) {
                continue;
            }
            self.broken.push(BrokenNode {
                hash,
                problem,
                used_by: match referrer {
                    None => used_by.to_owned(),
                    Some(referrer) => format!("referred to by `{referrer}`"),
                },
                needed_by: used_by.to_owned(),
            });
        }
        Ok(())
    }

    /// Marks everything that is reachable from a node that is kept if it is there. A node that cannot be read is skipped.
    pub(crate) fn keep(&mut self, root: CasRef) -> Result<(), StoreError> {
        let mut queue = vec![root];
        while let Some(hash) = queue.pop() {
            if self.needed.contains(&hash) || !self.kept.insert(hash) {
                continue;
            }
            match self.store.find(hash) {
                Ok(Some(node)) => queue.extend(self.links(hash, &node)?.all()),
                Ok(None) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns what a node refers to.
    pub(crate) fn links(&mut self, hash: CasRef, node: &Node) -> Result<Links, StoreError> {
        let mut links = Links {
            schema: (node.type_hash != hash).then_some(node.type_hash),
            refs: Vec::new(),
            mentions: Vec::new(),
        };
        // A schema refers to nothing.
        if node.type_hash == META || node.type_hash == hash {
            return Ok(links);
        }
        if let Some(schema) = self.schema(node.type_hash)? {
            links.refs = graph::refs_in(schema, &node.payload);
        }
        let mut mentions = Vec::new();
        collect_hashes(&node.payload, &mut mentions);
        for found in mentions {
            if !links.refs.contains(&found) && self.store.has(found)? {
                links.mentions.push(found);
            }
        }
        Ok(links)
    }

    fn schema(&mut self, hash: CasRef) -> Result<Option<&Value>, StoreError> {
        if !self.schemas.contains_key(&hash) {
            let schema = match self.store.find(hash) {
                Ok(found) => found.map(|node| node.payload),
                Err(StoreError::Damaged { .. }) => None,
                Err(error) => return Err(error),
            };
            self.schemas.insert(hash, schema);
        }
        Ok(self.schemas.get(&hash).and_then(Option::as_ref))
    }
}

/// Returns the nodes that these roots need and that cannot be read.
pub(crate) fn broken(
    store: &Store,
    roots: &[(CasRef, String)],
) -> Result<Vec<BrokenNode>, StoreError> {
    let lost = HashSet::new();
    let mut marker = Marker::new(store, &lost);
    for (root, used_by) in roots {
        marker.need(*root, used_by)?;
    }
    Ok(marker.broken)
}

/// Returns everything that can be reached from these roots, each node after the nodes that it refers to. Nodes that cannot
/// be read are left out.
pub(crate) fn closure(store: &Store, roots: &[CasRef]) -> Result<Vec<CasRef>, StoreError> {
    let lost = HashSet::new();
    let mut marker = Marker::new(store, &lost);
    order::children_first(roots.iter().copied(), |hash| match store.find(hash) {
        Ok(Some(node)) => Ok(Some(marker.links(hash, &node)?.all().collect())),
        Ok(None) | Err(StoreError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    })
}

/// Returns what these roots need, without mentions, each node after the nodes that it needs. Nodes that cannot be read are
/// left out.
pub(crate) fn needed(store: &Store, roots: &[CasRef]) -> Result<Vec<CasRef>, StoreError> {
    let lost = HashSet::new();
    let mut marker = Marker::new(store, &lost);
    order::children_first(roots.iter().copied(), |hash| match store.find(hash) {
        Ok(Some(node)) => Ok(Some(marker.links(hash, &node)?.needed().collect())),
        Ok(None) | Err(StoreError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    })
}

/// Returns what these roots need and is not known, without mentions, each node after the nodes that it needs. What lies behind
/// known nodes is not looked for.
pub(crate) fn needed_beyond(
    store: &Store,
    roots: &[CasRef],
    known: &HashSet<CasRef>,
) -> Result<Vec<CasRef>, StoreError> {
    let lost = HashSet::new();
    let mut marker = Marker::new(store, &lost);
    order::children_first(roots.iter().copied(), |hash| {
        if known.contains(&hash) {
            return Ok(None);
        }
        let node = store.need(hash)?;
        Ok(Some(marker.links(hash, &node)?.needed().collect()))
    })
}

impl Links {
    /// Returns the links without which the node cannot be understood.
    pub(crate) fn needed(&self) -> impl Iterator<Item = CasRef> {
        self.schema.into_iter().chain(self.refs.iter().copied())
    }

    /// Returns all links.
    pub(crate) fn all(self) -> impl Iterator<Item = CasRef> {
        let Self {
            schema,
            refs,
            mentions,
        } = self;
        schema.into_iter().chain(refs).chain(mentions)
    }
}

/// Collects the strings that have the form of a hash.
fn collect_hashes(value: &Value, found: &mut Vec<CasRef>) {
    match value {
        Value::String(text) => found.extend(text.parse::<CasRef>().ok()),
        Value::Array(items) => items.iter().for_each(|item| collect_hashes(item, found)),
        Value::Object(members) => {
            for (key, member) in members {
                found.extend(key.parse::<CasRef>().ok());
                collect_hashes(member, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

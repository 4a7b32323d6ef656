//! Writes nodes, several at once, so that they share one wait for the disk.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::Value;
use uwf_durable::{Draft, FileError, Placed};
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::RawNode;

use crate::error::StoreError;
use crate::node::Checked;
use crate::{Store, cbor, disk, hold, index, node, raw};

/// Nodes to be stored together.
///
/// Nothing is written before [`commit`](Batch::commit), and a batch that is dropped leaves no trace. Nodes
/// appear in the order of [`put`](Batch::put): put children before parents, and a reader that sees a parent finds
/// its children.
#[derive(Debug)]
#[must_use = "nothing is written before `commit`"]
pub struct Batch<'a> {
    store: &'a Store,
    entries: Vec<Entry>,
    positions: HashMap<CasRef, usize>,
}

/// One node of a batch.
#[derive(Debug)]
struct Entry {
    node: Encoded,
    action: NodeAction,
}

/// A node as it will be in its file.
#[derive(Debug)]
struct Encoded {
    hash: CasRef,
    type_hash: CasRef,
    payload: Vec<u8>,
    timestamp_ms: i64,
    /// When it is put. A node that is in the store already becomes young at this time.
    now_ms: i64,
}

/// What to do with a node.
#[derive(Debug)]
enum NodeAction {
    /// The node is new.
    Create,
    /// A damaged file has the node's name.
    Replace,
    /// The node is in this file already, but it may not be durable.
    Keep(PathBuf),
}

/// Whether nodes survive a power cut after the call has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// They do.
    Durable,
    /// They are on their way to the disk. A later [`Store::sync`] makes them durable.
    Started,
    /// They need not.
    Volatile,
}

/// A file of the wave that is being written.
enum Written {
    New(Draft),
    /// The node is in this file already, which must become durable.
    Existing(PathBuf),
    /// The node is in the store already, and needs no sync.
    Unchanged,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            store,
            entries: Vec::new(),
            positions: HashMap::new(),
        }
    }

    /// Adds a node and returns its hash. A node that is in the store already keeps its first timestamp.
    ///
    /// # Errors
    /// [`StoreError::Encode`] if the payload is nested too deep, [`StoreError::Collision`] if another node has
    /// the hash, [`StoreError::File`] if a file with the node's name cannot be read.
    pub fn put(
        &mut self,
        type_hash: CasRef,
        payload: &Value,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        self.put_dated(type_hash, payload, now_ms, now_ms)
    }

    /// Adds a node whose content is older than its node: what it records happened at `timestamp_ms`. It is put now.
    ///
    /// # Errors
    /// See [`put`](Self::put).
    pub fn put_dated(
        &mut self,
        type_hash: CasRef,
        payload: &Value,
        timestamp_ms: i64,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        let payload = cbor::encode(payload)?;
        self.stage(Encoded {
            hash: node::hash_encoded(Some(type_hash), &payload),
            type_hash,
            payload,
            timestamp_ms,
            now_ms,
        })
    }

    /// Adds a node that types itself.
    pub(crate) fn put_self_typed(
        &mut self,
        payload: &Value,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        let payload = cbor::encode(payload)?;
        let hash = node::hash_encoded(None, &payload);
        self.stage(Encoded {
            hash,
            type_hash: hash,
            payload,
            timestamp_ms: now_ms,
            now_ms,
        })
    }

    /// Adds a node of another store, after it was compared with its hash. Its references are not compared with its payload. A
    /// node that is in the store already keeps its first timestamp: with another one it is the same node.
    ///
    /// # Errors
    /// [`StoreError::NotTheNode`], and those of [`put`](Self::put).
    pub fn put_raw(&mut self, raw: &RawNode, now_ms: i64) -> Result<CasRef, StoreError> {
        raw::check(raw)?;
        self.stage(Encoded {
            hash: raw.hash,
            type_hash: raw.type_hash,
            payload: raw.payload.clone(),
            timestamp_ms: raw.timestamp_ms,
            now_ms,
        })
    }

    fn stage(&mut self, node: Encoded) -> Result<CasRef, StoreError> {
        let Encoded {
            hash,
            type_hash,
            payload,
            ..
        } = &node;
        let hash = *hash;
        if let Some(position) = self.positions.get(&hash) {
            let staged = &self.entries[*position];
            if (&staged.node.type_hash, &staged.node.payload) == (type_hash, payload) {
                return Ok(hash);
            }
            let path = disk::node_path(self.store.dir(), hash);
            return Err(StoreError::Collision { hash, path });
        }
        let action = action_for(self.store, &node)?;
        self.positions.insert(hash, self.entries.len());
        self.entries.push(Entry { node, action });
        Ok(hash)
    }

    /// Stores the nodes. After this call they survive a power cut.
    ///
    /// # Errors
    /// [`StoreError::File`] if the disk refuses, [`StoreError::Collision`] if another process stored another
    /// node under one of the hashes since [`put`](Self::put). Some of the nodes may be stored then.
    pub fn commit(self) -> Result<(), StoreError> {
        self.write(Durability::Durable)
    }

    /// Stores the nodes so that they survive the end of this process, but not yet a power cut. They are on their way to the
    /// disk, so that a later [`Store::sync`], which makes them durable, is quick.
    ///
    /// # Errors
    /// See [`commit`](Batch::commit).
    pub fn commit_volatile(self) -> Result<(), StoreError> {
        self.write(Durability::Started)
    }

    pub(crate) fn write(self, durability: Durability) -> Result<(), StoreError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let mut created = Vec::new();
        for wave in self.entries.chunks(disk::OPEN_FILES) {
            self.write_wave(wave, durability, &mut created)?;
        }
        if durability == Durability::Durable {
            self.sync_dirs()?;
        }
        index::append(self.store.dir(), &created);
        Ok(())
    }

    /// Writes the files, waits for the disk, and gives the files their names in order.
    fn write_wave(
        &self,
        wave: &[Entry],
        durability: Durability,
        created: &mut Vec<(CasRef, CasRef)>,
    ) -> Result<(), StoreError> {
        let mut files = Vec::with_capacity(wave.len());
        for entry in wave {
            files.push(self.open(entry, durability)?);
        }
        if durability != Durability::Volatile {
            files.iter().for_each(Written::start_writeback);
        }
        if durability == Durability::Durable {
            files.iter().try_for_each(Written::sync)?;
        }
        for (entry, file) in wave.iter().zip(files) {
            if let Written::New(file) = file {
                self.place(entry, file, durability)?;
                created.push((entry.node.type_hash, entry.node.hash));
            }
        }
        Ok(())
    }

    fn open(&self, entry: &Entry, durability: Durability) -> Result<Written, StoreError> {
        if let NodeAction::Keep(path) = &entry.action
            && hold::refresh(self.store.dir(), path, entry.node.now_ms)?
        {
            return Ok(match durability {
                Durability::Started | Durability::Volatile => Written::Unchanged,
                Durability::Durable => Written::Existing(path.clone()),
            });
        }
        let node = &entry.node;
        let bytes = node::file_bytes(node.type_hash, &node.payload, node.timestamp_ms);
        Ok(Written::New(Draft::write(self.store.dir(), &bytes)?))
    }

    /// Gives the file its name, unless another process stored the node in the meantime.
    fn place(&self, entry: &Entry, file: Draft, durability: Durability) -> Result<(), StoreError> {
        let path = disk::node_path(self.store.dir(), entry.node.hash);
        if matches!(entry.action, NodeAction::Replace) {
            // A collector may have decided to remove the damaged file, and would then remove ours, which has the same
            // name. Where no lock can be made, nobody collects.
            let _hold = hold::share(self.store.dir()).ok();
            return Ok(file.replace(&path)?);
        }
        let file = match file.place(&path)? {
            Placed::Done => return Ok(()),
            Placed::Taken(file) => file,
        };
        let existing = match action_for(self.store, &entry.node)? {
            NodeAction::Keep(path) => {
                let exists = hold::refresh(self.store.dir(), &path, entry.node.now_ms)?;
                exists.then_some(path)
            }
            NodeAction::Create | NodeAction::Replace => None,
        };
        match existing {
            Some(path) if durability == Durability::Durable => Ok(uwf_durable::sync_file(&path)?),
            Some(_) => Ok(()),
            None => Ok(file.replace(&path)?),
        }
    }

    /// Makes the names of the nodes durable, in all directories that have some.
    fn sync_dirs(&self) -> Result<(), StoreError> {
        let mut dirs = BTreeSet::from([self.store.dir()]);
        for entry in &self.entries {
            if let NodeAction::Keep(path) = &entry.action {
                dirs.extend(path.parent());
            }
        }
        Ok(dirs.into_iter().try_for_each(uwf_durable::sync_dir)?)
    }
}

impl Written {
    fn start_writeback(&self) {
        if let Self::New(file) = self {
            file.start_writeback();
        }
    }

    fn sync(&self) -> Result<(), FileError> {
        match self {
            Self::New(file) => file.sync(),
            Self::Existing(path) => uwf_durable::sync_file(path),
            Self::Unchanged => Ok(()),
        }
    }
}

/// Compares a node with the store, and returns what to do with it.
fn action_for(store: &Store, node: &Encoded) -> Result<NodeAction, StoreError> {
    let hash = node.hash;
    let stored = match disk::read(store.dir(), hash) {
        Ok(None) => return Ok(NodeAction::Create),
        Ok(Some(stored)) => stored,
        Err(StoreError::Damaged { .. }) => return Ok(NodeAction::Replace),
        Err(error) => return Err(error),
    };
    match node::check(hash, &stored.bytes) {
        Err(_) => Ok(NodeAction::Replace),
        Ok(other)
            if other.node.type_hash == node.type_hash && has_payload(&other, &node.payload) =>
        {
            Ok(NodeAction::Keep(stored.path))
        }
        Ok(_) => Err(StoreError::Collision {
            hash,
            path: stored.path,
        }),
    }
}

/// Tells whether a node has this payload: the same bytes, or the same value in the bytes of another encoder.
fn has_payload(node: &Checked<'_>, payload: &[u8]) -> bool {
    node.payload == payload || cbor::encode(&node.node.payload).is_ok_and(|ours| ours == payload)
}

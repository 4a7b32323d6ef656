//! The interface of the store: put a node, get a node by its hash.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_protocol::schemas::META;
use uwf_schema::Validator;

use crate::batch::{Batch, Durability};
use crate::bytes::{self, BytesError};
use crate::disk::Stored;
use crate::error::{BrokenNode, StoreError};
use crate::gc::{Collect, Collected, Roots};
use crate::hold::Hold;
use crate::needs::Unreadable;
use crate::node::Node;
use crate::quarantine::DamagedFile;
use crate::referrers::{self, Referrers};
use crate::survey::Surveyed;
use crate::verify::Verified;
use crate::{
    bootstrap, disk, gc, graph, hold, index, mark, needs, node, quarantine, raw, survey, verify,
};

/// A directory of nodes. Several processes may read and write it at once.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use serde_json::json;
/// use uwf_protocol::schemas::TEXT;
///
/// let store = uwf_cas_fs::Store::open(dir.path().join("cas"));
/// store.create(0)?;
/// let hash = store.put(TEXT, &json!("hello"), 0)?;
/// assert_eq!(hash.as_str(), "95ST8MZ0QTKP9");
/// assert_eq!(store.get(hash)?.payload, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    dir: Arc<Path>,
    /// How large the file of a node may be, in bytes.
    largest: usize,
}

impl Store {
    /// Returns the store in this directory. This touches nothing on the disk.
    #[must_use]
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self::open_limited(dir, usize::MAX)
    }

    /// Returns the store in this directory, which strangers may have written: a node whose file has more than `largest`
    /// bytes counts as damaged, and is not read. This touches nothing on the disk.
    #[must_use]
    pub fn open_limited(dir: impl Into<PathBuf>, largest: usize) -> Self {
        Self {
            dir: dir.into().into(),
            largest,
        }
    }

    /// Returns the directory of the store.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the file of a node, if there is one and it is not too large.
    pub(crate) fn stored(&self, hash: CasRef) -> Result<Option<Stored>, StoreError> {
        disk::read_limited(&self.dir, hash, self.largest)
    }

    /// Makes the directory with mode 0700, and stores the schemas that every store has.
    ///
    /// If all of them are there, this only looks up their files.
    ///
    /// # Errors
    /// [`StoreError::File`] if the disk refuses.
    pub fn create(&self, now_ms: i64) -> Result<(), StoreError> {
        bootstrap::create(self, now_ms)
    }

    /// Returns the schemas that every store has.
    #[must_use]
    pub fn own_schemas(&self) -> Vec<CasRef> {
        bootstrap::hashes()
    }

    /// Reads a node, and checks that its content has the hash.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Damaged`], or [`StoreError::File`] if the file cannot be read.
    pub fn get(&self, hash: CasRef) -> Result<Node, StoreError> {
        self.find(hash)?.ok_or(StoreError::NotFound { hash })
    }

    /// Reads a node like [`get`](Store::get); `None` if it is not in the store.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], or [`StoreError::File`] if the file cannot be read.
    pub fn find(&self, hash: CasRef) -> Result<Option<Node>, StoreError> {
        let Some(stored) = self.stored(hash)? else {
            return Ok(None);
        };
        match node::check(hash, &stored.bytes) {
            Ok(checked) => Ok(Some(checked.node)),
            Err(reason) => Err(StoreError::Damaged {
                hash,
                path: stored.path,
                reason,
            }),
        }
    }

    /// Tells whether there is a file for the node, without reading it.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be searched.
    pub fn has(&self, hash: CasRef) -> Result<bool, StoreError> {
        Ok(disk::locate(&self.dir, hash)?.is_some())
    }

    /// Returns an empty batch. The nodes of a batch share one wait for the disk.
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(self)
    }

    /// Stores a node, durably, and returns its hash. The payload is not compared with the schema.
    ///
    /// # Errors
    /// Those of [`Batch::put`] and [`Batch::commit`].
    pub fn put(
        &self,
        type_hash: CasRef,
        payload: &Value,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        self.put_one(type_hash, payload, now_ms, Durability::Durable)
    }

    /// Stores a node without waiting for the disk. It may be lost in a power cut.
    ///
    /// # Errors
    /// Those of [`Batch::put`] and [`Batch::commit`].
    pub fn put_volatile(
        &self,
        type_hash: CasRef,
        payload: &Value,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        self.put_one(type_hash, payload, now_ms, Durability::Volatile)
    }

    fn put_one(
        &self,
        type_hash: CasRef,
        payload: &Value,
        now_ms: i64,
        durability: Durability,
    ) -> Result<CasRef, StoreError> {
        let mut batch = self.batch();
        let hash = batch.put(type_hash, payload, now_ms)?;
        batch.write(durability)?;
        Ok(hash)
    }

    /// Stores a schema, if it is valid, and returns its hash.
    ///
    /// # Errors
    /// [`StoreError::NotASchema`], and those of [`put`](Store::put).
    pub fn put_schema(&self, schema: &Value, now_ms: i64) -> Result<CasRef, StoreError> {
        uwf_schema::check(schema)?;
        self.put(META, schema, now_ms)
    }

    /// Stores a node if its payload fits its schema, and returns its hash.
    ///
    /// # Errors
    /// Those of [`validate`](Store::validate) and of [`put`](Store::put).
    pub fn put_checked(
        &self,
        type_hash: CasRef,
        payload: &Value,
        now_ms: i64,
    ) -> Result<CasRef, StoreError> {
        self.validate(type_hash, payload)?;
        self.put(type_hash, payload, now_ms)
    }

    /// Checks that a payload fits a schema in the store.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] with everything that does not fit, or [`StoreError::NotASchema`] if the payload should be a
    /// schema. [`StoreError::UnusableSchema`], and those of [`get`](Store::get), for the schema.
    pub fn validate(&self, type_hash: CasRef, payload: &Value) -> Result<(), StoreError> {
        if type_hash == META {
            return Ok(uwf_schema::check(payload)?);
        }
        let validator = self.validator(type_hash)?;
        validator
            .validate(payload)
            .map_err(|violations| StoreError::Invalid {
                type_hash,
                violations,
            })
    }

    /// Returns the validator of a schema in the store.
    pub(crate) fn validator(&self, hash: CasRef) -> Result<Validator, StoreError> {
        let schema = self.get(hash)?.payload;
        Validator::new(&schema).map_err(|source| StoreError::UnusableSchema { hash, source })
    }

    /// Stores everything that the source gives as one node with parts, durably, and returns its hash. Only one part is in
    /// memory at a time.
    ///
    /// # Errors
    /// [`BytesError::Io`] if the source fails, [`BytesError::Store`] as of [`put`](Store::put).
    pub fn put_bytes(&self, source: &mut dyn Read, now_ms: i64) -> Result<CasRef, BytesError> {
        bytes::put(self, source, now_ms)
    }

    /// Writes the bytes of a node that [`put_bytes`](Store::put_bytes) made, part by part, and returns how many they are.
    ///
    /// # Errors
    /// [`BytesError::NotBytes`], [`BytesError::Io`] if `out` fails, [`BytesError::Store`] as of [`get`](Store::get). Some
    /// parts may have been written then.
    pub fn write_bytes(&self, hash: CasRef, out: &mut dyn Write) -> Result<u64, BytesError> {
        bytes::write(self, hash, out)
    }

    /// Returns a node in the form in which it travels to another store, with its references.
    ///
    /// # Errors
    /// Those of [`get`](Store::get), for the node and for its schema.
    pub fn linked(&self, hash: CasRef) -> Result<LinkedNode, StoreError> {
        raw::linked(self, hash)
    }

    /// Returns a node like [`linked`](Store::linked), without its references: its schema is not needed.
    ///
    /// # Errors
    /// Those of [`get`](Store::get).
    pub fn raw(&self, hash: CasRef) -> Result<RawNode, StoreError> {
        raw::raw(self, hash)
    }

    /// Stores nodes of another store, durably, with one wait for the disk. Children must come before parents, so that a
    /// reader who sees a parent finds its children.
    ///
    /// # Errors
    /// Those of [`Batch::put_raw`], with nothing written, and of [`Batch::commit`].
    pub fn import(&self, nodes: &[RawNode], now_ms: i64) -> Result<(), StoreError> {
        let mut batch = self.batch();
        for node in nodes {
            batch.put_raw(node, now_ms)?;
        }
        batch.commit()
    }

    /// Makes nodes durable that another process has written: first their content, then their names.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::File`] if the disk refuses.
    pub fn sync(&self, hashes: &[CasRef]) -> Result<(), StoreError> {
        disk::sync_nodes(&self.dir, hashes)
    }

    /// Replaces the files of nodes that another process has written by new ones, durably. That process may have failed to
    /// sync them; then the kernel may have dropped what was not written.
    ///
    /// # Errors
    /// Those of [`get`](Store::get), or [`StoreError::File`] if the disk refuses.
    pub fn renew(&self, hashes: &[CasRef]) -> Result<(), StoreError> {
        disk::renew_nodes(&self.dir, hashes)
    }

    /// Reads a node that must be in the store, because another node or a thread refers to it.
    ///
    /// # Errors
    /// [`StoreError::Lost`], and those of [`find`](Store::find).
    pub fn need(&self, hash: CasRef) -> Result<Node, StoreError> {
        self.find(hash)?.ok_or(StoreError::Lost { hash })
    }

    /// Returns the nodes that are reachable from these roots and cannot be read. Each root comes with a description, such
    /// as "the head of thread …".
    ///
    /// # Errors
    /// [`StoreError::File`] if a file cannot be read.
    pub fn broken(&self, roots: &[(CasRef, String)]) -> Result<Vec<BrokenNode>, StoreError> {
        mark::broken(self, roots)
    }

    /// Returns the nodes from which a node can be reached. Every node of the store is read for it.
    ///
    /// # Errors
    /// [`StoreError::File`] if a file cannot be read.
    pub fn referrers(&self, to: CasRef) -> Result<Referrers, StoreError> {
        referrers::referrers(self, to)
    }

    /// Returns the nodes that are reachable from these roots and cannot be read, each with all roots that lead to it.
    ///
    /// # Errors
    /// [`StoreError::File`] if a schema cannot be read.
    pub fn unreadable(&self, roots: &[CasRef]) -> Result<Vec<Unreadable>, StoreError> {
        needs::unreadable(self, roots)
    }

    /// Returns everything that can be reached from these roots, as [`collect`](Store::collect) follows them: each node once,
    /// after the nodes that it refers to. Nodes that cannot be read are left out. The order depends on the roots alone.
    ///
    /// # Errors
    /// [`StoreError::File`] if a file cannot be read.
    pub fn closure(&self, roots: &[CasRef]) -> Result<Vec<CasRef>, StoreError> {
        mark::closure(self, roots)
    }

    /// Returns what these roots need: each node once, after the nodes that it refers to. A hash that a node only mentions leads
    /// nowhere. Nodes that cannot be read are left out.
    ///
    /// # Errors
    /// [`StoreError::File`] if a file cannot be read.
    pub fn needed(&self, roots: &[CasRef]) -> Result<Vec<CasRef>, StoreError> {
        mark::needed(self, roots)
    }

    /// Returns what these roots need like [`needed`](Store::needed), without the nodes that are known: neither they nor what
    /// only they need is read.
    ///
    /// # Errors
    /// [`StoreError::Lost`] or [`StoreError::Damaged`] for a node that is needed; [`StoreError::File`] if a file cannot be
    /// read.
    pub fn needed_beyond(
        &self,
        roots: &[CasRef],
        known: &HashSet<CasRef>,
    ) -> Result<Vec<CasRef>, StoreError> {
        mark::needed_beyond(self, roots, known)
    }

    /// Looks at the file of every node, without reading the nodes.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be listed.
    pub fn survey(&self) -> Result<Vec<Surveyed>, StoreError> {
        survey::survey(self)
    }

    /// Returns the files that do not hold the node of their name. This changes nothing.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be listed. A file that cannot be read is in the result.
    pub fn damaged_files(&self) -> Result<Vec<DamagedFile>, StoreError> {
        quarantine::find(self)
    }

    /// Moves damaged files into the folder `quarantine` of the store, and returns those that are still damaged. Other
    /// callers wait in [`hold`](Store::hold) meanwhile. An interrupted call can be repeated.
    ///
    /// # Errors
    /// [`StoreError::File`] if a file cannot be moved.
    pub fn set_aside(&self, found: Vec<DamagedFile>) -> Result<Vec<DamagedFile>, StoreError> {
        quarantine::set_aside(self, found)
    }

    /// Returns the folder for damaged files.
    #[must_use]
    pub fn quarantine(&self) -> PathBuf {
        quarantine::folder(&self.dir)
    }

    /// Returns the temporary files of the store that were last written before a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be listed.
    pub fn left_behind(&self, before_ms: i64) -> Result<Vec<PathBuf>, StoreError> {
        gc::left_behind(self, before_ms)
    }

    /// Returns the hashes of all nodes, sorted.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be listed.
    pub fn all(&self) -> Result<Vec<CasRef>, StoreError> {
        disk::list(&self.dir)
    }

    /// Returns the hashes of all nodes of a type, sorted, and repairs the type index where it is wrong.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory or a node cannot be read. A failure to write the index is no error.
    pub fn of_type(&self, type_hash: CasRef) -> Result<Vec<CasRef>, StoreError> {
        index::of_type(&self.dir, type_hash)
    }

    /// Returns the nodes that a node refers to, in order of appearance, each once.
    ///
    /// # Errors
    /// Those of [`get`](Store::get), for the node and for its schema.
    pub fn refs(&self, hash: CasRef) -> Result<Vec<CasRef>, StoreError> {
        graph::refs(self, hash)
    }

    /// Returns all nodes that are reachable from a node over references: breadth-first, the node itself first, each once.
    /// Nodes that are not in the store are left out.
    ///
    /// # Errors
    /// Those of [`get`](Store::get) except [`StoreError::NotFound`].
    pub fn walk(&self, root: CasRef) -> Result<Vec<CasRef>, StoreError> {
        graph::walk(self, root)
    }

    /// Checks nodes, each in full: its file, its hash, and that its payload fits its schema.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be read. A problem of a node is a verdict, and not an error.
    pub fn verify(&self, hashes: &[CasRef]) -> Result<Vec<Verified>, StoreError> {
        verify::verify(self, hashes)
    }

    /// Keeps all nodes in the store until the returned guard is dropped. A caller that is going to refer to nodes which it
    /// did not put itself takes the guard before it reads them, and drops it when the reference is on record.
    ///
    /// # Errors
    /// [`StoreError::File`] if the lock of the store cannot be opened.
    pub fn hold(&self) -> Result<Hold, StoreError> {
        hold::share(&self.dir)
    }

    /// Keeps all nodes in the store like [`hold`](Store::hold), for callers that only read. This writes nothing.
    ///
    /// # Errors
    /// See [`hold`](Store::hold).
    pub fn hold_to_read(&self) -> Result<Hold, StoreError> {
        hold::share_existing(&self.dir)
    }

    /// Returns when a node was put the last time, in milliseconds since 1970; `None` if it is not in the store.
    ///
    /// # Errors
    /// [`StoreError::File`] if its file cannot be looked at.
    pub fn used_ms(&self, hash: CasRef) -> Result<Option<i64>, StoreError> {
        gc::used_ms(self, hash)
    }

    /// Removes the nodes that are reachable neither from the roots nor from young nodes, and old temporary files. `lost`
    /// are nodes that are known to be gone. Any other needed node that cannot be read stops the collection.
    ///
    /// The roots are asked for twice. The second time other callers wait in [`hold`](Store::hold). If this is interrupted,
    /// the store stays sound.
    ///
    /// # Errors
    /// [`StoreError::Broken`], with nothing removed; [`StoreError::File`] if a file cannot be read or removed; and those
    /// of `roots`.
    pub fn collect<E: From<StoreError>>(
        &self,
        lost: &[CasRef],
        mode: Collect,
        roots: impl FnMut() -> Result<Roots, E>,
    ) -> Result<Collected, E> {
        gc::collect(self, lost, mode, roots)
    }

    /// Returns the current time by the clock that dates the files of the store, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::File`] if nothing can be written.
    pub fn clock_ms(&self) -> Result<i64, StoreError> {
        disk::clock_ms(&self.dir)
    }

    /// Rewrites the type index from the nodes, and returns how many nodes it lists.
    ///
    /// # Errors
    /// [`StoreError::File`] if the directory cannot be read or the index cannot be written.
    pub fn reindex(&self) -> Result<usize, StoreError> {
        index::rebuild(&self.dir)
    }
}

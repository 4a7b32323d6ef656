//! Checks whether a remote is whole.
//!
//! Each node that is not condemned must have the nodes that it needs. Each thread must have its workflow and its heads, and each
//! name the node that it stands for. So everything that can be reached from a thread or a name is there. Nodes and threads are read
//! in pages.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::RawNode;
use uwf_remote::RemoteError;

use crate::rows::{self, column, hash, hashes, is_whole, numbers, raw_node};
use crate::{Postgres, pages, records};

/// How many nodes a page has at most.
const NODES: i64 = 1000;
/// After how many bytes of payloads a page ends.
const BYTES: i64 = 8 << 20;

/// Something that is wrong with a remote. A node that a collection has condemned is not missing: it is there until it is removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A node is not what was stored.
    #[error("the node {0} is damaged: it is not what was stored")]
    Damaged(CasRef),
    /// A node is whole, and what is stored about its references is wrong.
    #[error("the references stored for node {node} differ from those in its payload")]
    OtherRefs {
        /// The node.
        node: CasRef,
        /// What it refers to.
        refs: Vec<CasRef>,
    },
    /// A node is whole, and what is stored about its references cannot be checked.
    #[error("the references of the node {0} cannot be checked: its schema is missing or damaged")]
    UnknownRefs(CasRef),
    /// A node needs others that are missing.
    #[error("the node {node} needs nodes that are missing: {}", named(.missing))]
    NodeLacks {
        /// The node.
        node: CasRef,
        /// What is missing.
        missing: Vec<CasRef>,
    },
    /// The workflow, a head, or an earlier head of a thread is missing.
    #[error("the thread {thread} needs nodes that are missing: {}", named(.missing))]
    ThreadLacks {
        /// The thread.
        thread: String,
        /// What is missing.
        missing: Vec<CasRef>,
    },
    /// The node that a name stands for is missing.
    #[error("the name {name:?} stands for a node that is missing: {missing}")]
    NameLacks {
        /// The name.
        name: String,
        /// The node.
        missing: CasRef,
    },
    /// What is stored about a thread makes no sense.
    #[error("what is stored about the thread {thread} makes no sense: {problem}")]
    Senseless {
        /// The thread.
        thread: String,
        /// Why.
        problem: String,
    },
}

impl Fault {
    /// Returns the nodes that would fix the fault, if they were sent.
    #[must_use]
    pub fn lost(&self) -> &[CasRef] {
        match self {
            Self::OtherRefs { .. } | Self::UnknownRefs(_) | Self::Senseless { .. } => &[],
            Self::Damaged(_)
            | Self::NodeLacks { .. }
            | Self::ThreadLacks { .. }
            | Self::NameLacks { .. } => self.about(),
        }
    }

    /// Returns the nodes that are damaged or missing, or about which something wrong may be stored.
    #[must_use]
    pub fn about(&self) -> &[CasRef] {
        match self {
            Self::Damaged(node) | Self::OtherRefs { node, .. } | Self::UnknownRefs(node) => {
                std::slice::from_ref(node)
            }
            Self::NodeLacks { missing, .. } | Self::ThreadLacks { missing, .. } => missing,
            Self::NameLacks { missing, .. } => std::slice::from_ref(missing),
            Self::Senseless { .. } => &[],
        }
    }

    /// Returns whether the fault can be ignored if nothing needs its nodes. Faults of threads, names and stored references cannot,
    /// because they decide which nodes are garbage.
    #[must_use]
    pub fn can_be_garbage(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::UnknownRefs(_) | Self::NodeLacks { .. } => true,
            Self::OtherRefs { .. }
            | Self::ThreadLacks { .. }
            | Self::NameLacks { .. }
            | Self::Senseless { .. } => false,
        }
    }
}

/// What the payload of a node says about its references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum References {
    /// Nothing. The content of the node has another hash, or cannot be read.
    Damaged,
    /// The node is whole, and its references are unknown, because its schema is missing or damaged.
    Unknown,
    /// The node is whole, and these are its references.
    Are(Vec<CasRef>),
}

/// Reads the references in the payload of a node. A remote understands no payloads, so the caller does that. The second argument is
/// the schema of the node, if it is there and whole.
pub type Look<'a> = dyn FnMut(&RawNode, Option<&RawNode>) -> References + 'a;

fn named(hashes: &[CasRef]) -> String {
    let texts: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// How much was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// The threads.
    pub threads: u64,
    /// The nodes.
    pub nodes: u64,
    /// The names of workflows.
    pub names: u64,
}

impl Postgres {
    /// Checks everything that the remote keeps, and passes each fault to `found`. Of the threads that have a history and are not
    /// there, only the first 100 are named.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn verify(
        &mut self,
        look: &mut Look<'_>,
        found: &mut dyn FnMut(Fault),
    ) -> Result<Verified, RemoteError> {
        let verified = self.verify_all(look, found);
        self.unless_older(verified)
    }

    fn verify_all(
        &mut self,
        look: &mut Look<'_>,
        found: &mut dyn FnMut(Fault),
    ) -> Result<Verified, RemoteError> {
        let names = self.verify_names(found)?;
        let nodes = self.verify_nodes(look, found)?;
        let threads = self.verify_threads(found)?;
        for row in self
            .connection
            .maintenance_call(&self.statements.check_history, &[])?
        {
            found(senseless(
                column(&row, "thread")?,
                "it has a history, and is not there",
            ));
        }
        Ok(Verified {
            threads,
            nodes,
            names,
        })
    }

    fn verify_names(&mut self, found: &mut dyn FnMut(Fault)) -> Result<u64, RemoteError> {
        let names = self
            .connection
            .maintenance_call(&self.statements.check_names, &[])?;
        for row in &names {
            if !column::<bool>(row, "is_there")? {
                found(Fault::NameLacks {
                    name: column(row, "name")?,
                    missing: hash(column(row, "hash")?),
                });
            }
        }
        Ok(names.len() as u64)
    }

    fn verify_nodes(
        &mut self,
        look: &mut Look<'_>,
        found: &mut dyn FnMut(Fault),
    ) -> Result<u64, RemoteError> {
        let (mut from, mut seen) = (i64::MIN, 0);
        let mut schemas = HashMap::new();
        loop {
            let page = self.connection.maintenance_call(
                &self.statements.check_nodes,
                &[
                    (&from, Type::INT8),
                    (&NODES, Type::INT8),
                    (&BYTES, Type::INT8),
                ],
            )?;
            for row in &page {
                let schema = column(row, "type")?;
                self.read_schema(&mut schemas, schema, look)?;
                let schema = schemas.get(&schema).and_then(Option::as_ref);
                check_node(row, &mut |node| look(node, schema), found)?;
                seen += 1;
            }
            let Some(last) = page.last() else {
                return Ok(seen);
            };
            match column::<i64>(last, "hash")?.checked_add(1) {
                Some(next) => from = next,
                None => return Ok(seen),
            }
        }
    }

    /// Reads the schema of nodes into `known`: `None` if it is not there or is not whole.
    fn read_schema(
        &mut self,
        known: &mut HashMap<i64, Option<RawNode>>,
        hash: i64,
        look: &mut Look<'_>,
    ) -> Result<(), RemoteError> {
        if known.contains_key(&hash) {
            return Ok(());
        }
        let rows = self.connection.call(
            &self.statements.nodes,
            &[(&[hash].as_slice(), Type::INT8_ARRAY)],
        )?;
        let mut found = None;
        for row in &rows {
            let schema = raw_node(row)?;
            let is_whole = is_whole(row, &schema)? && look(&schema, None) != References::Damaged;
            found = is_whole.then_some(schema);
        }
        known.insert(hash, found);
        Ok(())
    }

    fn verify_threads(&mut self, found: &mut dyn FnMut(Fault)) -> Result<u64, RemoteError> {
        let mut seen = 0;
        pages::each_thread(
            &mut self.connection,
            &self.statements.check_threads,
            |row| {
                seen += 1;
                check_thread(row, found)
            },
        )?;
        Ok(seen)
    }
}

fn check_node(
    row: &Row,
    look: &mut dyn FnMut(&RawNode) -> References,
    found: &mut dyn FnMut(Fault),
) -> Result<(), RemoteError> {
    let node = raw_node(row)?;
    match is_whole(row, &node)?.then(|| look(&node)) {
        None | Some(References::Damaged) => found(Fault::Damaged(node.hash)),
        Some(References::Unknown) => found(Fault::UnknownRefs(node.hash)),
        Some(References::Are(refs)) => {
            let stored: BTreeSet<i64> = column::<Vec<i64>>(row, "refs")?.into_iter().collect();
            if column(row, "lacks_ref")? || stored != numbers(&refs).into_iter().collect() {
                let node = node.hash;
                found(Fault::OtherRefs { node, refs });
            }
        }
    }
    let missing = hashes(&column::<Vec<i64>>(row, "lacking")?);
    if !missing.is_empty() {
        let node = hash(column(row, "hash")?);
        found(Fault::NodeLacks { node, missing });
    }
    Ok(())
}

fn check_thread(row: &Row, found: &mut dyn FnMut(Fault)) -> Result<(), RemoteError> {
    let thread: &str = column(row, "id")?;
    let mut missing: Vec<i64> = column(row, "lacking")?;
    // A text that a record names need not have been sent. If it was there with the record, it must be there still.
    let gone: Vec<i64> = column(row, "gone")?;
    let named = named_by(&column::<Vec<&[u8]>>(row, "records")?);
    missing.extend(gone.into_iter().filter(|node| named.contains(node)));
    let missing = hashes(&missing);
    if !missing.is_empty() {
        let thread = thread.to_owned();
        found(Fault::ThreadLacks { thread, missing });
    }
    for problem in problems(row)? {
        found(senseless(thread, &problem));
    }
    Ok(())
}

/// Returns the nodes that stored records name. A record that cannot be read names none.
pub(crate) fn named_by(stored: &[&[u8]]) -> BTreeSet<i64> {
    let read = stored.iter().filter_map(|one| rows::record(one).ok());
    read.flat_map(|one| records::named_nodes(&one)).collect()
}

fn senseless(thread: &str, problem: &str) -> Fault {
    Fault::Senseless {
        thread: thread.to_owned(),
        problem: problem.to_owned(),
    }
}

/// Returns what makes no sense in the row of a thread.
fn problems(row: &Row) -> Result<Vec<String>, RemoteError> {
    let mut problems = Vec::new();
    if column::<&str>(row, "id")?.parse::<ThreadId>().is_err() {
        problems.push("its id is not the id of a thread".into());
    }
    let label: Option<&str> = column(row, "label")?;
    if label.is_some_and(|label| label.parse::<Label>().is_err()) {
        problems.push("its label is not `key=value`".into());
    }
    if column(row, "lacks_record")? {
        problems.push("a record of it is missing".into());
    }
    if !column::<bool>(row, "fits_history")? {
        problems.push("its head does not fit its history".into());
    }
    let owner: Option<&str> = column(row, "lease_owner")?;
    let records: Vec<&[u8]> = column(row, "records")?;
    let read = [rows::status(column(row, "status")?).err()].into_iter();
    let read = read.chain([owner.and_then(|owner| rows::owner(owner).err())]);
    let read = read.chain(records.into_iter().map(|record| rows::record(record).err()));
    problems.extend(read.flatten().map(|problem| match problem {
        RemoteError::Broken(problem) => problem,
        other => other.to_string(),
    }));
    Ok(problems)
}

//! Whether a remote is whole.
//!
//! Each node that is not condemned has what it needs, each thread has its heads, and each name has what it stands for: so
//! everything that can be reached from a thread or a name is there. Nodes and threads are looked at in pages.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_remote::RemoteError;

use crate::Postgres;
use crate::rows::{self, column, hash, hashes, is_whole, raw_node};

/// How many nodes a page has at most.
const NODES: i64 = 1000;
/// After how many bytes of payloads a page ends.
const BYTES: i64 = 8 << 20;
/// How many threads a page has.
const THREADS: i64 = 100;

/// Something that is wrong with a remote. While garbage is being collected, a node may be said to be missing that the collection
/// puts right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A node is not what was stored.
    #[error("the node {0} is damaged: it does not fit its digest")]
    Damaged(CasRef),
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
    /// Returns the nodes that would put it right, if they were there and whole.
    #[must_use]
    pub fn lost(&self) -> &[CasRef] {
        match self {
            Self::Damaged(node) => std::slice::from_ref(node),
            Self::NodeLacks { missing, .. } | Self::ThreadLacks { missing, .. } => missing,
            Self::NameLacks { missing, .. } => std::slice::from_ref(missing),
            Self::Senseless { .. } => &[],
        }
    }
}

fn named(hashes: &[CasRef]) -> String {
    let texts: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// What was looked at.
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
    /// Looks at everything that the remote keeps. `found` is told of each fault.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn verify(&mut self, found: &mut dyn FnMut(Fault)) -> Result<Verified, RemoteError> {
        let verified = self.verify_all(found);
        self.unless_older(verified)
    }

    fn verify_all(&mut self, found: &mut dyn FnMut(Fault)) -> Result<Verified, RemoteError> {
        let names = self.verify_names(found)?;
        let nodes = self.verify_nodes(found)?;
        let threads = self.verify_threads(found)?;
        for row in self
            .connection
            .long_call(&self.statements.check_history, &[])?
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
            .long_call(&self.statements.check_names, &[])?;
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

    fn verify_nodes(&mut self, found: &mut dyn FnMut(Fault)) -> Result<u64, RemoteError> {
        let (mut from, mut seen) = (i64::MIN, 0);
        loop {
            let page = self.connection.long_call(
                &self.statements.check_nodes,
                &[
                    (&from, Type::INT8),
                    (&NODES, Type::INT8),
                    (&BYTES, Type::INT8),
                ],
            )?;
            for row in &page {
                check_node(row, found)?;
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

    fn verify_threads(&mut self, found: &mut dyn FnMut(Fault)) -> Result<u64, RemoteError> {
        let (mut after, mut seen): (Option<String>, u64) = (None, 0);
        loop {
            let page = self.connection.long_call(
                &self.statements.check_threads,
                &[(&after, Type::TEXT), (&THREADS, Type::INT8)],
            )?;
            for row in &page {
                check_thread(row, found)?;
                seen += 1;
            }
            match page.last() {
                Some(last) => after = Some(column(last, "id")?),
                None => return Ok(seen),
            }
        }
    }
}

fn check_node(row: &Row, found: &mut dyn FnMut(Fault)) -> Result<(), RemoteError> {
    let node = raw_node(row)?;
    if !is_whole(row, &node)? {
        found(Fault::Damaged(node.hash));
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
    let missing = hashes(&column::<Vec<i64>>(row, "lacking")?);
    if !missing.is_empty() {
        let thread = thread.to_owned();
        found(Fault::ThreadLacks { thread, missing });
    }
    for problem in problems(row)? {
        found(senseless(thread, &problem));
    }
    Ok(())
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

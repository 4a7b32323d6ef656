//! Checks whether a remote is whole.
//!
//! Each node that is not condemned must have the nodes that it needs. Each thread must have its workflow and its heads, and each
//! name the node that it stands for. So everything that can be reached from a thread or a name is there. Nodes and threads are read
//! in pages.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::RawNode;
use uwf_remote::RemoteError;
use uwf_remote::care::{Fault, Look, References, Verified};

use crate::rows::{self, column, hash, hashes, is_whole, numbers, raw_node};
use crate::{Postgres, pages, records};

/// How many nodes a page has at most.
const NODES: i64 = 1000;
/// After how many bytes of payloads a page ends.
const BYTES: i64 = 8 << 20;

impl Postgres {
    /// Checks everything that the remote keeps. Of the threads that have a history and are not there, only the first 100 are named.
    pub(crate) fn verify_all(
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

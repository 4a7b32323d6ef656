//! Finds what needs damaged or missing nodes, and replaces damaged ones.

use std::collections::{HashMap, HashSet};

use tokio_postgres::types::Type;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::RemoteError;
use uwf_remote::care::Needing;

use crate::advance::Columns;
use crate::rows::{column, number, numbers};
use crate::verify::named_by;
use crate::{Postgres, pages};

/// How many nodes a page has at most.
const NODES: i64 = 10_000;

impl Postgres {
    /// Returns the threads and names that need one of these nodes.
    pub(crate) fn all_needing(&mut self, nodes: &[CasRef]) -> Result<Needing, RemoteError> {
        let reached = above(&self.links()?, numbers(nodes));
        let mut needing = Needing::default();
        pages::each_thread(&mut self.connection, &self.statements.thread_needs, |row| {
            let needs: Vec<i64> = column(row, "needs")?;
            let named = named_by(&column::<Vec<&[u8]>>(row, "records")?);
            if needs
                .iter()
                .chain(&named)
                .any(|need| reached.contains(need))
            {
                needing.threads.push(column(row, "id")?);
            }
            Ok(())
        })?;
        let names = self
            .connection
            .maintenance_call(&self.statements.check_names, &[])?;
        for row in &names {
            if reached.contains(&column(row, "hash")?) {
                needing.names.push(column(row, "name")?);
            }
        }
        Ok(needing)
    }

    /// Returns for each node the nodes that need it directly.
    fn links(&mut self) -> Result<HashMap<i64, Vec<i64>>, RemoteError> {
        let (mut from, mut links) = (i64::MIN, HashMap::<i64, Vec<i64>>::new());
        loop {
            let page = self.connection.maintenance_call(
                &self.statements.links,
                &[(&from, Type::INT8), (&NODES, Type::INT8)],
            )?;
            let mut last = None;
            for row in &page {
                let node: i64 = column(row, "hash")?;
                for need in column::<Vec<i64>>(row, "needs")? {
                    links.entry(need).or_default().push(node);
                }
                last = Some(node);
            }
            match last.and_then(|last| last.checked_add(1)) {
                Some(next) => from = next,
                None => return Ok(links),
            }
        }
    }

    /// Replaces what is stored under the hashes of these nodes, and takes back its condemnation.
    pub(crate) fn replace_nodes(&mut self, nodes: &[LinkedNode]) -> Result<usize, RemoteError> {
        self.must_be_new_enough()?;
        let mut restored = 0;
        for node in nodes {
            let Ok(columns) = Columns::new(std::slice::from_ref(node), None) else {
                continue;
            };
            let rows = self
                .connection
                .call(&self.statements.restore, &columns.parameters()[..6])?;
            restored += rows.len();
        }
        Ok(restored)
    }

    /// Replaces what is stored about the references of nodes.
    pub(crate) fn replace_refs(
        &mut self,
        nodes: &[(CasRef, Vec<CasRef>)],
    ) -> Result<usize, RemoteError> {
        self.must_be_new_enough()?;
        let mut relinked = 0;
        for (node, refs) in nodes {
            let rows = self.connection.call(
                &self.statements.relink,
                &[
                    (&number(*node), Type::INT8),
                    (&numbers(refs), Type::INT8_ARRAY),
                ],
            )?;
            relinked += rows.len();
        }
        Ok(relinked)
    }
}

/// Returns these nodes and all nodes that need one of them, directly or through others.
fn above(links: &HashMap<i64, Vec<i64>>, nodes: Vec<i64>) -> HashSet<i64> {
    let mut reached = HashSet::new();
    let mut next = nodes;
    while let Some(node) = next.pop() {
        if reached.insert(node) {
            next.extend(links.get(&node).into_iter().flatten());
        }
    }
    reached
}

//! How much a remote keeps.

use tokio_postgres::Row;
use uwf_remote::RemoteError;
use uwf_remote::care::Statistics;

use crate::Postgres;
use crate::rows::{column, count, first, status};

impl Postgres {
    /// Counts what the remote keeps.
    pub(crate) fn count(&mut self) -> Result<Statistics, RemoteError> {
        let groups = self
            .connection
            .maintenance_call(&self.statements.count_threads, &[])?;
        let nodes = self
            .connection
            .maintenance_call(&self.statements.count_nodes, &[])?;
        let names = self
            .connection
            .maintenance_call(&self.statements.count_names, &[])?;
        let (nodes, names) = (first(&nodes)?, first(&names)?);
        let of_group = |row: &Row| Ok((status(column(row, "status")?)?, count(row, "threads")?));
        let leases = groups.iter().map(|row| count(row, "leases"));
        Ok(Statistics {
            leases: leases.sum::<Result<u64, RemoteError>>()?,
            threads: groups
                .iter()
                .map(of_group)
                .collect::<Result<_, RemoteError>>()?,
            names: count(names, "names")?,
            nodes: count(nodes, "nodes")?,
            bytes: count(nodes, "bytes")?,
            condemned: count(nodes, "condemned")?,
            condemned_bytes: count(nodes, "condemned_bytes")?,
        })
    }
}

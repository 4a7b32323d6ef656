//! How much a remote keeps.

use tokio_postgres::Row;
use uwf_protocol::head_status::HeadStatus;
use uwf_remote::RemoteError;

use crate::Postgres;
use crate::rows::{column, count, first, status};

/// How much a remote keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The threads by their status. A status that no thread has is not there.
    pub threads: Vec<(HeadStatus, u64)>,
    /// The leases whose time is not over.
    pub leases: u64,
    /// The names of workflows.
    pub names: u64,
    /// The nodes.
    pub nodes: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// The nodes that are condemned as garbage.
    pub condemned: u64,
    /// The bytes of their payloads.
    pub condemned_bytes: u64,
}

impl Postgres {
    /// Counts what the remote keeps.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn statistics(&mut self) -> Result<Statistics, RemoteError> {
        let counted = self.count();
        self.unless_older(counted)
    }

    fn count(&mut self) -> Result<Statistics, RemoteError> {
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

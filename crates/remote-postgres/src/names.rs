//! Sets and lists names of workflows.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::CasRef;
use uwf_remote::{Named, RemoteError, SharedName};

use crate::Postgres;
use crate::rows::{self, column, count, first, hash, hashes, many, number};

pub(crate) fn set(
    remote: &mut Postgres,
    name: &str,
    known: u64,
    to: CasRef,
) -> Result<Named, RemoteError> {
    let (Some(node), Ok(version)) = (number(to), i64::try_from(known)) else {
        return Ok(Named::Lacking);
    };
    let rows = remote.connection.call(
        &remote.statements.set_name,
        &[
            (&name, Type::TEXT),
            (&node, Type::INT8),
            (&version, Type::INT8),
        ],
    )?;
    let row = first(&rows)?;
    if column(row, "is_old")? {
        return Err(remote.too_old());
    }
    if column(row, "named")? {
        return Ok(Named::Done);
    }
    // Only a later statement sees what others have set meanwhile.
    let is_there: bool = column(row, "is_there")?;
    let rows = remote
        .connection
        .call(&remote.statements.name, &[(&name, Type::TEXT)])?;
    let stored = rows.first().map(shared_name).transpose()?;
    Ok(match stored {
        Some(stored) if stored.was_set(known, to) => Named::Already,
        _ if !is_there => Named::Lacking,
        Some(stored) => Named::StandsFor(stored),
        None => return Err(rows::broken("a name that was there is gone")),
    })
}

pub(crate) fn list(
    remote: &mut Postgres,
    after: Option<&str>,
    at_most: usize,
) -> Result<Vec<SharedName>, RemoteError> {
    let rows = remote.connection.call(
        &remote.statements.names,
        &[(&after, Type::TEXT), (&many(at_most), Type::INT8)],
    )?;
    rows.iter().map(shared_name).collect()
}

fn shared_name(row: &Row) -> Result<SharedName, RemoteError> {
    Ok(SharedName {
        name: column(row, "name")?,
        hash: hash(column(row, "hash")?),
        version: count(row, "version")?,
        earlier: hashes(&column::<Vec<i64>>(row, "earlier")?),
    })
}

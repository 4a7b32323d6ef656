//! The rows of threads.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Found, FoundOne, Lease, Listed, Owner, RemoteError, Standing};

use crate::rows::{self, column, hash, number, status, thread_id};
use crate::{Postgres, records};

/// Returns the row of a thread, which also says whether the thread has or had a head.
pub(crate) fn find(
    remote: &mut Postgres,
    id: ThreadId,
    head: Option<CasRef>,
) -> Result<Option<Row>, RemoteError> {
    let rows = rows_of(remote, &[id.as_str()], &[head.and_then(number)])?;
    Ok(rows.into_iter().next())
}

/// Returns those of these threads that are there.
pub(crate) fn find_each(
    remote: &mut Postgres,
    threads: &[(ThreadId, CasRef)],
) -> Result<Vec<FoundOne>, RemoteError> {
    let ids: Vec<&str> = threads.iter().map(|(id, _)| id.as_str()).collect();
    let heads: Vec<Option<i64>> = threads.iter().map(|(_, head)| number(*head)).collect();
    let rows = rows_of(remote, &ids, &heads)?;
    let found = rows
        .iter()
        .map(|row| Ok((thread_id(column(row, "id")?)?, found_in(row))));
    found.collect()
}

/// Returns what is stored about the thread in a row. Its records are not remembered. They would push the records of leased threads out of
/// the cache.
fn found_in(row: &Row) -> Result<Found, RemoteError> {
    Ok(Found {
        listed: listed(row)?,
        record: records::merged(&column::<Vec<Vec<u8>>>(row, "records")?)?,
        had: column(row, "had")?,
    })
}

fn rows_of(
    remote: &mut Postgres,
    ids: &[&str],
    heads: &[Option<i64>],
) -> Result<Vec<Row>, RemoteError> {
    remote.connection.call(
        &remote.statements.find,
        &[(&ids, Type::TEXT_ARRAY), (&heads, Type::INT8_ARRAY)],
    )
}

/// Returns what a list says about the thread in a row.
pub(crate) fn listed(row: &Row) -> Result<Listed, RemoteError> {
    let label: Option<&str> = column(row, "label")?;
    Ok(Listed {
        thread: thread_id(column(row, "id")?)?,
        workflow: hash(column(row, "workflow")?),
        head: hash(column(row, "head")?),
        status: status(column(row, "status")?)?,
        label: label
            .map(str::parse)
            .transpose()
            .map_err(|_| rows::broken("a label is not `key=value`"))?,
        busy: busy(row)?,
    })
}

/// Returns who works on a thread.
pub(crate) fn standing(remote: &mut Postgres, thread: ThreadId) -> Result<Standing, RemoteError> {
    let Some(row) = find(remote, thread, None)? else {
        remote.must_be_new_enough()?;
        return Ok(Standing::Unknown);
    };
    let Some((owner, lasts)) = busy(&row)? else {
        return Ok(Standing::Free);
    };
    Ok(Standing::Leased(Lease {
        thread,
        fence: column::<i64>(&row, "fence")?.cast_unsigned(),
        owner,
        lasts,
    }))
}

/// Returns the owner of the lease of a thread and how long the lease still lasts, if its time is not over.
fn busy(row: &Row) -> Result<Option<(Owner, Duration)>, RemoteError> {
    let (owner, left): (Option<&str>, Option<i64>) =
        (column(row, "lease_owner")?, column(row, "left")?);
    let (Some(owner), Some(left)) = (owner, left) else {
        return Ok(None);
    };
    match u64::try_from(left) {
        Ok(left) if left > 0 => Ok(Some((rows::owner(owner)?, Duration::from_millis(left)))),
        _ => Ok(None),
    }
}

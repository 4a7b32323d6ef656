//! Translates values of the database into values of ours, and back.

use std::time::Duration;

use tokio_postgres::Row;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Owner, RemoteError, digest};

/// Returns the number that stands for a hash in the database; `None` for a text of digits that is the hash of no node.
pub(crate) fn number(hash: CasRef) -> Option<i64> {
    hash.to_u64().map(u64::cast_signed)
}

/// Returns the numbers of hashes, and leaves out those that are the hash of no node.
pub(crate) fn numbers(hashes: &[CasRef]) -> Vec<i64> {
    hashes.iter().copied().filter_map(number).collect()
}

/// Returns the hash that a number stands for.
pub(crate) fn hash(number: i64) -> CasRef {
    CasRef::from_u64(number.cast_unsigned())
}

pub(crate) fn hashes(numbers: &[i64]) -> Vec<CasRef> {
    numbers.iter().copied().map(hash).collect()
}

/// Returns a column of a row.
pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    name: &str,
) -> Result<T, RemoteError> {
    row.try_get(name)
        .map_err(|problem| broken(&problem.to_string()))
}

/// Returns the error for an answer that makes no sense.
pub(crate) fn broken(problem: &str) -> RemoteError {
    RemoteError::Broken(problem.to_owned())
}

/// Returns the node in a row. Fails if it does not have the digest that was stored with it.
pub(crate) fn node(row: &Row) -> Result<LinkedNode, RemoteError> {
    let node = raw_node(row)?;
    if !is_whole(row, &node)? {
        return Err(broken(&format!("the node {} is damaged there", node.hash)));
    }
    Ok(LinkedNode {
        refs: hashes(&column::<Vec<i64>>(row, "refs")?),
        node,
    })
}

/// Returns the node in a row, and does not check its digest.
pub(crate) fn raw_node(row: &Row) -> Result<RawNode, RemoteError> {
    Ok(RawNode {
        hash: hash(column(row, "hash")?),
        type_hash: hash(column(row, "type")?),
        payload: column(row, "payload")?,
        timestamp_ms: column(row, "stamp")?,
    })
}

/// Tells whether the node of a row has the digest that was stored with it.
pub(crate) fn is_whole(row: &Row, node: &RawNode) -> Result<bool, RemoteError> {
    let stored: &[u8] = column(row, "digest")?;
    Ok(stored == digest(node))
}

/// Returns the first row of an answer that must have one.
pub(crate) fn first(rows: &[Row]) -> Result<&Row, RemoteError> {
    rows.first().ok_or_else(|| broken("an answer is empty"))
}

/// Returns a count of rows.
pub(crate) fn count(row: &Row, name: &str) -> Result<u64, RemoteError> {
    u64::try_from(column::<i64>(row, name)?).map_err(|_| broken("a count is negative"))
}

/// Returns an owner as it is stored: the machine, the mark, and last the name, which may have spaces.
pub(crate) fn owner_text(owner: &Owner) -> String {
    format!("{} {} {}", owner.machine, owner.mark, owner.name)
}

/// Returns the owner that a text stands for.
pub(crate) fn owner(text: &str) -> Result<Owner, RemoteError> {
    let mut parts = text.splitn(3, ' ');
    let mut part = || parts.next().ok_or_else(|| broken("a lease has no owner"));
    let machine: MachineId = part()?
        .parse()
        .map_err(|_| broken("a lease has no machine"))?;
    Ok(Owner {
        machine,
        mark: part()?.to_owned(),
        name: part()?.to_owned(),
    })
}

pub(crate) fn status(text: &str) -> Result<HeadStatus, RemoteError> {
    let mut all = HeadStatus::ALL.into_iter();
    let found = all.find(|status| status.as_str() == text);
    found.ok_or_else(|| broken(&format!("`{text}` is not a status")))
}

pub(crate) fn record_bytes(record: &ThreadRecord) -> Result<Vec<u8>, RemoteError> {
    serde_json::to_vec(record).map_err(|problem| broken(&problem.to_string()))
}

pub(crate) fn record(bytes: &[u8]) -> Result<ThreadRecord, RemoteError> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|problem| broken(&format!("a record cannot be read: {problem}")))
}

pub(crate) fn thread_id(text: &str) -> Result<ThreadId, RemoteError> {
    text.parse()
        .map_err(|_| broken(&format!("`{text}` is not the id of a thread")))
}

/// Returns a time in milliseconds, as a parameter of a statement.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a number of rows, as a parameter of a statement. Statements add one to it, so the largest number is left out.
pub(crate) fn many(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX).min(i64::MAX - 1)
}

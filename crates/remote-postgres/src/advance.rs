//! Stores nodes, with a new head or a new thread.

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{
    Advanced, After, Lease, NewThread, Push, Put, RemoteError, Together, Unfit, digest,
};

use crate::connection::Parameter;
use crate::records;
use crate::rows::{self, column, first, hash, hashes, number, numbers, owner_text};
use crate::statements::Statements;
use crate::threads::find;
use crate::{Postgres, TIMES};

/// Nodes as the columns of a table, and the other nodes that they need.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    hashes: Vec<i64>,
    types: Vec<i64>,
    payloads: Vec<Vec<u8>>,
    digests: Vec<Vec<u8>>,
    stamps: Vec<i64>,
    /// The references of each node, as the text of an array.
    refs: Vec<String>,
    needed: Vec<i64>,
}

impl Columns {
    /// Returns the columns of nodes. `head` is needed, too. A hash without a number is that of no node, so such a node is lacking.
    pub(crate) fn new(nodes: &[LinkedNode], head: Option<CasRef>) -> Result<Self, Unfit> {
        let Together { nodes, needed } = Together::of(nodes, head)?;
        let nameless = nodes
            .keys()
            .chain(&needed)
            .filter(|hash| number(**hash).is_none());
        let nameless: Vec<CasRef> = nameless.copied().collect();
        if !nameless.is_empty() {
            return Err(Unfit::Lacking(nameless));
        }
        let mut columns = Self {
            needed: numbers(&needed.into_iter().collect::<Vec<_>>()),
            ..Self::default()
        };
        for (hash, node) in nodes {
            columns.add(hash, node);
        }
        Ok(columns)
    }

    fn add(&mut self, hash: CasRef, node: &LinkedNode) {
        self.hashes.extend(numbers(&[hash]));
        self.types.extend(numbers(&[node.node.type_hash]));
        self.payloads.push(node.node.payload.clone());
        self.digests.push(digest(&node.node).to_vec());
        self.stamps.push(node.node.timestamp_ms);
        let refs: Vec<String> = numbers(&node.refs).iter().map(i64::to_string).collect();
        self.refs.push(format!("{{{}}}", refs.join(",")));
    }

    /// Returns the first parameters of a statement that stores nodes.
    pub(crate) fn parameters(&self) -> [Parameter<'_>; 7] {
        [
            (&self.hashes, Type::INT8_ARRAY),
            (&self.types, Type::INT8_ARRAY),
            (&self.payloads, Type::BYTEA_ARRAY),
            (&self.digests, Type::BYTEA_ARRAY),
            (&self.stamps, Type::INT8_ARRAY),
            (&self.refs, Type::TEXT_ARRAY),
            (&self.needed, Type::INT8_ARRAY),
        ]
    }
}

pub(crate) fn advance(
    remote: &mut Postgres,
    lease: &Lease,
    push: &Push<'_>,
) -> Result<Advanced, RemoteError> {
    let thread = lease.thread.as_str();
    let kept = remote.seen.replacing(lease.thread, push.record)?;
    let columns = match Columns::new(push.nodes, Some(push.to)) {
        Ok(columns) => columns,
        Err(unfit) => return Ok(unfit.into()),
    };
    let (Some(from), Some(to)) = (number(push.from), number(push.to)) else {
        return Ok(Advanced::Lacking(vec![push.from]));
    };
    let (owner, fence) = (owner_text(&lease.owner), lease.fence.cast_signed());
    let status = push.status.as_str();
    let gives_back = push.lease == After::GiveBack;
    let parameters: [(&(dyn ToSql + Sync), Type); 10] = [
        (&thread, Type::TEXT),
        (&owner, Type::TEXT),
        (&fence, Type::INT8),
        (&from, Type::INT8),
        (&to, Type::INT8),
        (&status, Type::TEXT),
        (&kept.record, Type::BYTEA),
        (&kept.replaced, Type::BYTEA_ARRAY),
        (&kept.named_nodes, Type::INT8_ARRAY),
        (&gives_back, Type::BOOL),
    ];
    let parameters = [columns.parameters().as_slice(), &parameters].concat();
    let row = match store(remote, |statements| &statements.advance, &parameters)? {
        Ok(row) => row,
        Err(unfit) => return Ok(unfit.into()),
    };
    let answer = settled(&row, column(&row, "what")?)?;
    remote.seen.stored(lease.thread, kept.record);
    corrected(remote, lease, push, answer)
}

/// Calls a statement that stores nodes. Returns its answer, or why it stored nothing.
fn store(
    remote: &mut Postgres,
    statement: impl Fn(&Statements) -> &str,
    parameters: &[Parameter<'_>],
) -> Result<Result<Row, Unfit>, RemoteError> {
    for _ in 0..TIMES {
        let rows = remote
            .connection
            .call(statement(&remote.statements), parameters)?;
        let row = rows.into_iter().next();
        let row = row.ok_or_else(|| rows::broken("an answer is empty"))?;
        match column(&row, "what")? {
            "old" => return Err(remote.too_old()),
            "lacking" => return Ok(Err(Unfit::Lacking(sorted_hashes(&row, "lacking")?))),
            "clash" => {
                let clashing = sorted_hashes(&row, "clashing")?;
                if !clashing.is_empty() {
                    return Ok(Err(Unfit::Clash(clashing)));
                }
                // Another call stored a node under the same hash meanwhile. The next statement sees whether it differs.
            }
            _ => return Ok(Ok(row)),
        }
    }
    Err(rows::broken(
        "nodes are not stored there, and no other nodes are in their place",
    ))
}

/// Returns the answer to a push whose nodes and record are stored.
fn settled(row: &Row, what: &str) -> Result<Advanced, RemoteError> {
    Ok(match what {
        "moved" => Advanced::Moved,
        "already" => Advanced::Already,
        "lost" => Advanced::LeaseLost,
        "head" => Advanced::HeadIs(hash(column(row, "head")?)),
        _ => return Err(rows::broken(&format!("`{what}` is no answer to a push"))),
    })
}

/// Corrects the answer to a push that moved nothing. The same push may have been under way twice, after a lost answer. The second
/// one does not see what the first one did, and a later statement does.
fn corrected(
    remote: &mut Postgres,
    lease: &Lease,
    push: &Push<'_>,
    answer: Advanced,
) -> Result<Advanced, RemoteError> {
    if matches!(answer, Advanced::Moved | Advanced::Already) {
        return Ok(answer);
    }
    let rows = remote.connection.call(
        &remote.statements.has_moved,
        &[
            (&lease.thread.as_str(), Type::TEXT),
            (&number(push.from), Type::INT8),
            (&number(push.to), Type::INT8),
        ],
    )?;
    Ok(match column(first(&rows)?, "moved")? {
        true => Advanced::Already,
        false => answer,
    })
}

pub(crate) fn put(
    remote: &mut Postgres,
    nodes: &[LinkedNode],
    new: Option<&NewThread>,
) -> Result<Put, RemoteError> {
    let columns = match Columns::new(nodes, new.map(|new| new.head)) {
        Ok(columns) => columns,
        Err(unfit) => return Ok(unfit.into()),
    };
    let id = new.map(|new| new.thread.as_str());
    let workflow = new.and_then(|new| number(new.workflow));
    let head = new.and_then(|new| number(new.head));
    let status = new.map(|new| new.status.as_str());
    let label = new
        .and_then(|new| new.label.as_ref())
        .map(ToString::to_string);
    let record = new.map(|new| rows::record_bytes(&new.record)).transpose()?;
    let named_nodes = new.map(|new| records::named_nodes(&new.record));
    let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
        (&id, Type::TEXT),
        (&workflow, Type::INT8),
        (&head, Type::INT8),
        (&status, Type::TEXT),
        (&label, Type::TEXT),
        (&record, Type::BYTEA),
        (&named_nodes, Type::INT8_ARRAY),
    ];
    let parameters = [columns.parameters().as_slice(), &parameters].concat();
    let row = match store(remote, |statements| &statements.put, &parameters)? {
        Ok(row) => row,
        Err(unfit) => return Ok(unfit.into()),
    };
    match new {
        Some(new) if !column::<bool>(&row, "added")? => known(remote, new),
        _ => Ok(Put::Done),
    }
}

/// Returns the answer for a new thread that is at the remote already.
fn known(remote: &mut Postgres, new: &NewThread) -> Result<Put, RemoteError> {
    let row = find(remote, new.thread, Some(new.head))?;
    let row = row.ok_or_else(|| rows::broken("a thread that was there is gone"))?;
    Ok(match column(&row, "had")? {
        true => Put::Already,
        false => Put::HeadIs(hash(column(&row, "head")?)),
    })
}

/// Returns the hashes in a column, in their order.
fn sorted_hashes(row: &Row, name: &str) -> Result<Vec<CasRef>, RemoteError> {
    let mut found = hashes(&column::<Vec<i64>>(row, name)?);
    found.sort_unstable();
    Ok(found)
}

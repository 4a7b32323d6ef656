//! Which nodes are missing, and which ones can be reached from others.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{Closure, Given, Part, RemoteError, needed_first};

use crate::Postgres;
use crate::rows::{self, column, hash, hashes, many, numbers};

/// A closure that was asked for, and the order of all nodes in it, without the nodes themselves.
#[derive(Debug)]
pub(crate) struct Walk {
    from: Vec<CasRef>,
    have: Vec<CasRef>,
    order: Vec<CasRef>,
}

pub(crate) fn missing(remote: &mut Postgres, asked: &[CasRef]) -> Result<Vec<CasRef>, RemoteError> {
    let rows = remote.connection.look_up(
        &remote.statements.missing,
        &[(&numbers(asked), Type::INT8_ARRAY)],
    )?;
    let numbers: Vec<i64> = rows
        .iter()
        .map(|row| column(row, "hash"))
        .collect::<Result<_, _>>()?;
    let missing = hashes(&numbers);
    let is_missing = |hash: &CasRef| rows::number(*hash).is_none() || missing.contains(hash);
    Ok(asked.iter().copied().filter(is_missing).collect())
}

/// Returns a part of what can be reached. If all of it fits into the part, one statement returns it. Otherwise the order is
/// remembered, so that the next part needs no walk.
pub(crate) fn closure(
    remote: &mut Postgres,
    from: &[CasRef],
    have: &[CasRef],
    part: Part,
) -> Result<Given, RemoteError> {
    let known = remote
        .walk
        .take()
        .filter(|walk| (&*walk.from, &*walk.have) == (from, have));
    let walk = match known {
        Some(walk) => walk,
        None => match start(remote, from, have, part)? {
            Started::Whole(given) => return Ok(given),
            Started::Long(walk) => walk,
        },
    };
    let end = walk
        .order
        .len()
        .min(part.skip.saturating_add(part.at_most.get()));
    let wanted = walk.order.get(part.skip..end).unwrap_or_default();
    let rows = remote.connection.call(
        &remote.statements.nodes,
        &[(&numbers(wanted), Type::INT8_ARRAY)],
    )?;
    if rows.len() < wanted.len() {
        return Err(rows::broken(
            "nodes are missing that were there a moment ago",
        ));
    }
    let closure = Closure {
        nodes: rows.iter().map(rows::node).collect::<Result<_, _>>()?,
        complete: end == walk.order.len(),
    };
    remote.walk = (!closure.complete).then_some(walk);
    Ok(Given::Nodes(closure))
}

/// What came of a new walk.
enum Started {
    /// The whole answer.
    Whole(Given),
    /// More nodes than fit into one answer.
    Long(Walk),
}

fn start(
    remote: &mut Postgres,
    from: &[CasRef],
    have: &[CasRef],
    part: Part,
) -> Result<Started, RemoteError> {
    let whole = match part.skip {
        0 => many(part.at_most.get()),
        _ => 0,
    };
    let rows = remote.connection.look_up(
        &remote.statements.closure,
        &[
            (&numbers(from), Type::INT8_ARRAY),
            (&numbers(have), Type::INT8_ARRAY),
            (&whole, Type::INT8),
        ],
    )?;
    let needs: HashMap<CasRef, Vec<CasRef>> = rows.iter().map(needs).collect::<Result<_, _>>()?;
    let is_lacking = |hash: &&CasRef| !have.contains(hash) && !needs.contains_key(*hash);
    let lacking: Vec<CasRef> = from.iter().filter(is_lacking).copied().collect();
    if !lacking.is_empty() {
        return Ok(Started::Whole(Given::Lacking(lacking)));
    }
    if many(rows.len()) <= whole {
        let nodes = rows.iter().map(rows::node).collect::<Result<_, _>>()?;
        let nodes =
            in_order(from, have, nodes).ok_or_else(|| rows::broken("nodes are missing there"))?;
        return Ok(Started::Whole(Given::Nodes(Closure {
            nodes,
            complete: true,
        })));
    }
    Ok(Started::Long(Walk {
        from: from.to_vec(),
        have: have.to_vec(),
        order: needed_first(from, have, |hash| needs.get(&hash).cloned()),
    }))
}

/// Returns the hash of the node in a row, and what the node needs.
fn needs(row: &Row) -> Result<(CasRef, Vec<CasRef>), RemoteError> {
    let (of, schema) = (hash(column(row, "hash")?), hash(column(row, "type")?));
    let refs = hashes(&column::<Vec<i64>>(row, "refs")?);
    let schema = (schema != of).then_some(schema);
    Ok((of, schema.into_iter().chain(refs).collect()))
}

/// Returns nodes in their order, or `None` if some of the nodes that are reached are not among them.
pub(crate) fn in_order(
    from: &[CasRef],
    have: &[CasRef],
    nodes: Vec<LinkedNode>,
) -> Option<Vec<LinkedNode>> {
    let mut nodes: HashMap<CasRef, LinkedNode> = nodes
        .into_iter()
        .map(|node| (node.node.hash, node))
        .collect();
    let mut all_there = true;
    let order = needed_first(from, have, |hash| {
        let node = nodes.get(&hash);
        all_there &= node.is_some();
        Some(node?.needs().collect())
    });
    let ordered = order.into_iter().filter_map(|hash| nodes.remove(&hash));
    let ordered = ordered.collect();
    all_there.then_some(ordered)
}

//! Taking a lease.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{Acquired, Given, Lease, Leased, Owner, Part, RemoteError, Want, Which};

use crate::connection::Parameter;
use crate::nodes::{self, in_order};
use crate::rows::{self, column, hash, many, millis, numbers, owner_text, status, thread_id};
use crate::threads::{find, listed};
use crate::{Postgres, TIMES, end_lease};

pub(crate) fn acquire(
    remote: &mut Postgres,
    which: Which<'_>,
    want: &Want<'_>,
) -> Result<Acquired, RemoteError> {
    let (mut lacked, mut is_new) = (None, false);
    for _ in 0..TIMES {
        let rows = ask(remote, which, want)?;
        if let Some(row) = rows.first() {
            let taken = Taken::of(row)?;
            is_new |= column::<bool>(row, "is_new")?;
            let given = match leased(remote, row, &rows[1..], want) {
                Ok(None) if lacked.as_ref() == Some(&taken) => Err(taken.lacks_nodes()),
                given => given,
            };
            match given {
                Ok(Some(leased)) => return Ok(Acquired::Leased(Box::new(leased))),
                Ok(None) => lacked = Some(taken),
                Err(error) => {
                    // A next thread stays leased, because it may be damaged. The next request has another owner, and gets another
                    // thread. A lease that the owner had before stays, too: a finished step may wait for it.
                    if is_new && matches!(which, Which::Thread(_)) {
                        taken.end(remote, want.owner);
                    }
                    return Err(error);
                }
            }
            continue;
        }
        let Which::Thread(id) = which else {
            remote.must_be_new_enough()?;
            return Ok(Acquired::Nothing);
        };
        // The statement does not tell why it gave no lease. Another one reads the row.
        if let Some(refused) = refused(remote, id, want.owner)? {
            return Ok(refused);
        }
    }
    Err(RemoteError::Contended(
        "others lease and release the thread all the time".into(),
    ))
}

/// A lease that the server has just given, and the head that came with it.
#[derive(PartialEq, Eq)]
struct Taken {
    thread: String,
    fence: i64,
    head: i64,
}

impl Taken {
    fn of(row: &Row) -> Result<Self, RemoteError> {
        Ok(Self {
            thread: column(row, "id")?,
            fence: column(row, "fence")?,
            head: column(row, "head")?,
        })
    }

    /// Ends the lease. A failure is only logged: the lease ends with its time.
    fn end(&self, remote: &mut Postgres, owner: &Owner) {
        let ended = end_lease::end_of(remote, &self.thread, owner, self.fence);
        if let Err(error) = ended {
            tracing::debug!(tag = "NWC7SXJN", %error, "a lease that nobody uses stays until its time is over");
        }
    }

    /// Returns the error for a head that came twice by the same lease without all that it needs. The second statement began after
    /// the lease, so it saw all nodes that came with the head.
    fn lacks_nodes(&self) -> RemoteError {
        let head = hash(self.head);
        rows::broken(&format!("nodes of the head `{head}` are missing there"))
    }
}

fn ask(remote: &mut Postgres, which: Which<'_>, want: &Want<'_>) -> Result<Vec<Row>, RemoteError> {
    let owner = owner_text(want.owner);
    let have = numbers(want.have);
    let (lasts, at_most) = (millis(want.lasts), many(want.at_most));
    let (id, texts, others): (String, Vec<String>, Vec<&str>);
    let statements = &remote.statements;
    let brings_nodes = want.at_most > 0;
    let (first, last): (Parameter<'_>, Option<Parameter<'_>>) = match which {
        Which::Thread(thread) => {
            id = thread.to_string();
            ((&id, Type::TEXT), None)
        }
        Which::Next { labels, except } => {
            texts = labels.iter().map(ToString::to_string).collect();
            others = except.iter().map(ThreadId::as_str).collect();
            (
                (&texts, Type::TEXT_ARRAY),
                Some((&others, Type::TEXT_ARRAY)),
            )
        }
    };
    let statement = match (which, brings_nodes) {
        (Which::Thread(_), true) => &statements.acquire,
        (Which::Thread(_), false) => &statements.acquire_alone,
        (Which::Next { .. }, true) => &statements.acquire_next,
        (Which::Next { .. }, false) => &statements.acquire_next_alone,
    };
    let mut parameters = vec![
        first,
        (&owner, Type::TEXT),
        (&lasts, Type::INT8),
        (&have, Type::INT8_ARRAY),
        (&at_most, Type::INT8),
    ];
    parameters.extend(last);
    match brings_nodes {
        true => remote.connection.look_up(statement, &parameters),
        false => remote.connection.call(statement, &parameters),
    }
}

/// Returns what was leased, or `None` if nodes of the head did not come: while the statement waited for the thread, the head moved
/// to nodes that the statement does not see.
fn leased(
    remote: &mut Postgres,
    row: &Row,
    nodes: &[Row],
    want: &Want<'_>,
) -> Result<Option<Leased>, RemoteError> {
    let thread = thread_id(column(row, "id")?)?;
    let head = hash(column(row, "head")?);
    let lease = Lease {
        thread,
        fence: column::<i64>(row, "fence")?.cast_unsigned(),
        owner: want.owner.clone(),
        lasts: want.lasts,
    };
    let record = remote.seen.merged(thread, column(row, "records")?)?;
    let Some((nodes, complete)) = needed(remote, head, nodes, want)? else {
        return Ok(None);
    };
    Ok(Some(Leased {
        store: column(row, "store")?,
        lease,
        head,
        status: status(column(row, "status")?)?,
        nodes,
        complete,
        record,
    }))
}

/// Returns the nodes that the owner lacks, and whether these are all; `None` if some are not there.
fn needed(
    remote: &mut Postgres,
    head: CasRef,
    found: &[Row],
    want: &Want<'_>,
) -> Result<Option<(Vec<LinkedNode>, bool)>, RemoteError> {
    if want.have.contains(&head) {
        return Ok(Some((Vec::new(), true)));
    }
    if found.len() <= want.at_most {
        if want.at_most == 0 {
            return Ok(Some((Vec::new(), false)));
        }
        let found: Vec<LinkedNode> = found.iter().map(rows::node).collect::<Result<_, _>>()?;
        let ordered = in_order(&[head], want.have, found);
        return Ok(ordered.map(|nodes| (nodes, true)));
    }
    // A part begins with the nodes that need no others, and only a walk to the end finds these.
    let part = Part {
        skip: 0,
        at_most: want
            .at_most
            .try_into()
            .unwrap_or(std::num::NonZeroUsize::MIN),
    };
    match nodes::closure(remote, &[head], want.have, part)? {
        Given::Nodes(closure) => Ok(Some((closure.nodes, closure.complete))),
        Given::Lacking(_) => Ok(None),
    }
}

/// Returns why a thread was not leased, or `None` if it can be leased now.
fn refused(
    remote: &mut Postgres,
    id: ThreadId,
    owner: &Owner,
) -> Result<Option<Acquired>, RemoteError> {
    let found = find(remote, id, None)?;
    let is_old = |row: &Row| column::<bool>(row, "is_old");
    if found.as_ref().map_or(Ok(true), is_old)? {
        remote.must_be_new_enough()?;
    }
    let Some(row) = found else {
        return Ok(Some(Acquired::Unknown));
    };
    let listed = listed(&row)?;
    Ok(match listed.busy {
        Some((by, left)) if by != *owner => Some(Acquired::Busy { owner: by, left }),
        _ if listed.status == HeadStatus::Ended => Some(Acquired::Ended),
        _ => None,
    })
}

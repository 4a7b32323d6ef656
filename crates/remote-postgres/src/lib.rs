//! A remote in a PostgreSQL database.
//!
//! A call of [`Remote`] makes each change in one statement. So the change is made as a whole or not at all, even if the client or
//! the server dies meanwhile. The statements are in `sql/`, and the tables in `sql/schema.sql`. The statements work at any
//! isolation level, and in databases that speak the language of PostgreSQL: each changes a table once, and locks rows only. The
//! collection of garbage also locks tables. It waits for such a lock for five seconds at most, and writers wait behind it.
//!
//! Every call may be repeated. So it is repeated here if its connection is lost, or if the server refuses it because of other
//! calls.

mod acquire;
mod address;
mod advance;
mod care;
mod certificate;
mod collect;
mod connection;
mod end_lease;
mod failure;
mod link;
mod migrate;
mod names;
mod nodes;
mod pages;
mod records;
mod repair;
mod rows;
mod statements;
mod statistics;
mod threads;
mod tls;
mod verify;

use tokio_postgres::types::Type;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{
    Abilities, Acquired, Advanced, Found, FoundOne, Given, Hello, Lease, Listed, Named, NewThread,
    Part, Push, Put, Query, Released, Remote, RemoteError, Renewed, SharedName, Standing, Want,
    Which,
};

pub use address::{Address, AddressError, check_schema};
pub use connection::Limits;

use connection::Connection;
use nodes::Walk;
use records::Seen;
use rows::{column, many, millis, owner_text};
use statements::Statements;
use threads::listed;

/// The version of what this program stores, and its version as a client.
const VERSION: u32 = 2;

/// How often a call is made again because its answer is out of date. For example, a thread was busy, and is free when its row is
/// read.
const TIMES: u32 = 100;

/// A connection to a remote in a database. It is made at the first call, and again when it is lost.
pub struct Postgres {
    connection: Connection,
    statements: Statements,
    seen: Seen,
    /// The last walk, until all its nodes were given.
    walk: Option<Walk>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    /// Prepares a connection. Nothing is sent before the first call.
    ///
    /// # Errors
    /// [`RemoteError::Unprepared`] if the system has no room for a connection.
    pub fn new(address: Address, password: Option<String>) -> Result<Self, RemoteError> {
        Self::with_limits(address, password, Limits::default())
    }

    /// Prepares a connection with these limits. Nothing is sent before the first call.
    ///
    /// # Errors
    /// [`RemoteError::Unprepared`] if the system has no room for a connection.
    pub fn with_limits(
        address: Address,
        password: Option<String>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let statements = Statements::new(&address.schema);
        Ok(Self {
            connection: Connection::new(address, password, limits)?,
            statements,
            seen: Seen::default(),
            walk: None,
        })
    }

    /// Fails if this program is too old for the remote. A statement that changed nothing may have been refused for that.
    fn must_be_new_enough(&mut self) -> Result<(), RemoteError> {
        self.hello().map(|_| ())
    }

    /// Returns the error for a statement that was refused because this client is too old.
    fn too_old(&mut self) -> RemoteError {
        let refused = self.must_be_new_enough().err();
        refused.unwrap_or_else(|| RemoteError::Contended("the remote has just been changed".into()))
    }
}

impl Remote for Postgres {
    fn hello(&mut self) -> Result<Hello, RemoteError> {
        let rows = self.connection.call(&self.statements.hello, &[])?;
        let row = rows.first().ok_or(RemoteError::NotMade)?;
        let number = |name: &str| -> Result<u32, RemoteError> {
            u32::try_from(column::<i32>(row, name)?)
                .map_err(|_| rows::broken("its version makes no sense"))
        };
        let hello = Hello {
            version: number("version")?,
            least_client: number("least_client")?,
            store: column(row, "store_id")?,
            abilities: Abilities { gives_next: true },
        };
        if hello.least_client > VERSION {
            return Err(RemoteError::TooOld {
                least: hello.least_client,
                ours: VERSION,
            });
        }
        Ok(hello)
    }

    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError> {
        acquire::acquire(self, which, want)
    }

    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError> {
        let rows = self.connection.call(
            &self.statements.renew,
            &[
                (&lease.thread.as_str(), Type::TEXT),
                (&owner_text(&lease.owner), Type::TEXT),
                (&lease.fence.cast_signed(), Type::INT8),
                (&millis(lease.lasts), Type::INT8),
            ],
        )?;
        if rows.is_empty() {
            self.must_be_new_enough()?;
            return Ok(Renewed::Lost);
        }
        Ok(Renewed::Yes)
    }

    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError> {
        advance::advance(self, lease, push)
    }

    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError> {
        let kept = self.seen.replacing(lease.thread, record)?;
        let rows = self.connection.call(
            &self.statements.release,
            &[
                (&lease.thread.as_str(), Type::TEXT),
                (&owner_text(&lease.owner), Type::TEXT),
                (&lease.fence.cast_signed(), Type::INT8),
                (&kept.record, Type::BYTEA),
                (&kept.replaced, Type::BYTEA_ARRAY),
                (&kept.named_nodes, Type::INT8_ARRAY),
            ],
        )?;
        let Some(row) = rows.first() else {
            self.must_be_new_enough()?;
            return Ok(Released::Lost);
        };
        let is_valid = column(row, "valid")?;
        self.seen.stored(lease.thread, kept.record);
        Ok(match is_valid {
            true => Released::Yes,
            false => Released::Lost,
        })
    }

    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError> {
        threads::standing(self, thread)
    }

    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError> {
        end_lease::end(self, lease)
    }

    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError> {
        advance::put(self, nodes, new)
    }

    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError> {
        nodes::missing(self, hashes)
    }

    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError> {
        nodes::closure(self, from, have, part)
    }

    fn rest(&mut self) {
        self.walk = None;
        self.connection.close();
    }

    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError> {
        let Some(row) = threads::find(self, thread, Some(head))? else {
            return Ok(None);
        };
        Ok(Some(Found {
            listed: listed(&row)?,
            record: self.seen.merged(thread, column(&row, "records")?)?,
            had: column(&row, "had")?,
        }))
    }

    fn find_each(&mut self, threads: &[(ThreadId, CasRef)]) -> Result<Vec<FoundOne>, RemoteError> {
        threads::find_each(self, threads)
    }

    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError> {
        let statuses = query.statuses.iter().map(|status| status.as_str());
        let statuses: Vec<&str> = statuses.collect();
        let label = query.label.as_ref().map(ToString::to_string);
        let after = after.as_ref().map(ThreadId::as_str);
        let rows = self.connection.call(
            &self.statements.list,
            &[
                (&statuses, Type::TEXT_ARRAY),
                (&label, Type::TEXT),
                (&after, Type::TEXT),
                (&many(at_most), Type::INT8),
            ],
        )?;
        rows.iter().map(listed).collect()
    }

    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError> {
        let set = self.connection.call(
            &self.statements.set_label,
            &[
                (&thread.as_str(), Type::TEXT),
                (&label.map(ToString::to_string), Type::TEXT),
            ],
        )?;
        match set.is_empty() {
            true => self.must_be_new_enough(),
            false => Ok(()),
        }
    }

    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError> {
        let named = names::set(self, name, known, to);
        self.unless_older(named)
    }

    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError> {
        let listed = names::list(self, after, at_most);
        self.unless_older(listed)
    }
}

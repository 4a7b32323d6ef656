//! The kinds of remotes, and what only some of them can do.

use std::time::Duration;

use uwf_cas_fs::RawRefs;
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_remote::{Hello, Remote, RemoteError};
use uwf_remote_object::Object;
use uwf_remote_postgres::{
    Collected, Fault, Migrated, Needing, Postgres, References, Statistics, VERSION, Verified,
};

/// Why an object storage is not migrated.
const NO_TABLES: &str = "an object storage has no tables that could be missing";
/// Why an object storage is not verified, nor repaired.
const NOT_VERIFIED: &str = "an object storage is not verified in place; each node is checked whenever it is read, and \
    `uwf --root <new folder> remote add <url>`, with the keys in the environment, and then \
    `uwf --root <new folder> fetch --all` read those of all threads";
/// Why nothing of an object storage is collected.
const KEEPS_ALL: &str = "an object storage cannot keep others from using a node while it is removed, so what nothing needs stays there";

/// A remote of some kind. Nothing is sent before the first call.
pub(super) enum Kind {
    Database(Box<Postgres>),
    Objects(Box<Object>),
}

impl Kind {
    pub(super) fn make(&mut self) -> Result<Hello, RemoteError> {
        match self {
            Self::Database(remote) => remote.make(),
            Self::Objects(remote) => remote.make(),
        }
    }

    /// Tells whether `migrate` would add something.
    pub(super) fn is_older(&self, hello: &Hello) -> bool {
        matches!(self, Self::Database(_)) && hello.version < VERSION
    }

    pub(super) fn as_remote(&mut self) -> &mut dyn Remote {
        match self {
            Self::Database(remote) => remote.as_mut(),
            Self::Objects(remote) => remote.as_mut(),
        }
    }

    pub(super) fn into_remote(self) -> Box<dyn Remote + Send> {
        match self {
            Self::Database(remote) => remote,
            Self::Objects(remote) => remote,
        }
    }

    /// Returns the schema that the remote is in, if it has one.
    pub(super) fn schema(&self, config: &RemoteConfig) -> Option<String> {
        let schema = config.schema.as_deref().unwrap_or(RemoteConfig::SCHEMA);
        matches!(self, Self::Database(_)).then(|| schema.to_owned())
    }

    /// Counts what the remote keeps, if it can.
    pub(super) fn statistics(&mut self) -> Result<Option<Statistics>, RemoteError> {
        match self {
            Self::Database(remote) => remote.statistics().map(Some),
            Self::Objects(_) => Ok(None),
        }
    }

    pub(super) fn migrate(&mut self) -> Result<Migrated, RemoteError> {
        self.database(NO_TABLES)?.migrate()
    }

    pub(super) fn verify(&mut self, found: &mut dyn FnMut(Fault)) -> Result<Verified, RemoteError> {
        let mut refs = RawRefs::default();
        let mut look = |node: &RawNode, schema: Option<&RawNode>| match refs.of(node, schema) {
            Ok(Some(refs)) => References::Are(refs),
            Ok(None) => References::Unknown,
            Err(_) => References::Damaged,
        };
        self.database(NOT_VERIFIED)?.verify(&mut look, found)
    }

    /// Returns the threads and names that need one of these nodes.
    pub(super) fn needing(&mut self, nodes: &[CasRef]) -> Result<Needing, RemoteError> {
        self.database(NOT_VERIFIED)?.needing(nodes)
    }

    /// Puts nodes in the place of damaged ones. Returns how many.
    pub(super) fn restore(&mut self, nodes: &[LinkedNode]) -> Result<usize, RemoteError> {
        self.database(NOT_VERIFIED)?.restore(nodes)
    }

    /// Says anew what whole nodes refer to. Returns how many there were.
    pub(super) fn relink(&mut self, nodes: &[(CasRef, Vec<CasRef>)]) -> Result<usize, RemoteError> {
        self.database(NOT_VERIFIED)?.relink(nodes)
    }

    /// Fails if this kind never removes anything.
    pub(super) fn must_collect(&mut self) -> Result<(), RemoteError> {
        self.database(KEEPS_ALL).map(drop)
    }

    pub(super) fn count_garbage(&mut self, older_than: Duration) -> Result<Collected, RemoteError> {
        self.database(KEEPS_ALL)?.count_garbage(older_than)
    }

    pub(super) fn collect(&mut self, older_than: Duration) -> Result<Collected, RemoteError> {
        self.database(KEEPS_ALL)?.collect(older_than)
    }

    /// Returns the remote for what only a database can do. Fails with the reason if it is of another kind.
    fn database(&mut self, why_not: &str) -> Result<&mut Postgres, RemoteError> {
        match self {
            Self::Database(remote) => Ok(remote.as_mut()),
            Self::Objects(_) => Err(RemoteError::Unable(why_not.to_owned())),
        }
    }

    /// Returns what lets users in: the SQL for a database, or what the policies of an object storage must say.
    pub(super) fn roles(&self) -> &str {
        match self {
            Self::Database(remote) => remote.roles(),
            Self::Objects(_) => {
                "An object storage has no roles. Who may read and write is said by the policies of the bucket or container:\n\
                 readers must be allowed to get and list objects, and machines that work to put them, too."
            }
        }
    }
}

//! The care for a remote in an object storage, and why most of it is not for one.

use std::time::Duration;

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::care::{Cared, Collected, Fault, Look, Migrated, Needing, Statistics, Verified};
use uwf_remote::{Hello, Remote, RemoteError, random};

use crate::bucket::When;
use crate::failure::Failure;
use crate::{Made, Object, VERSION, names, race};

/// Why an object storage is not migrated.
const NO_TABLES: &str = "an object storage has no tables that could be missing";
/// Why an object storage is not verified, nor repaired.
const NOT_VERIFIED: &str = "an object storage is not verified in place; each node is checked whenever it is read, and \
    `uwf --root <new folder> remote add <url>`, with the keys in the environment, and then \
    `uwf --root <new folder> fetch --all` read those of all threads";
/// Why nothing of an object storage is collected.
const KEEPS_ALL: &str = "an object storage cannot keep others from using a node while it is removed, so what nothing needs stays there";
/// What must be configured for users.
const POLICIES: &str = "An object storage has no roles. Who may read and write is said by the policies of the bucket or container:\n\
    readers must be allowed to get and list objects, and machines that work to put them, too.";

impl Cared for Object {
    /// Makes the remote, if there is none, and checks that the store is fit for one: of many writes at once, one may win. A user
    /// who may only read a remote that is there can use it without the check. Fails with [`RemoteError::Unable`] if the store is
    /// not fit.
    fn make(&mut self) -> Result<Hello, RemoteError> {
        let known = match self.hello() {
            Err(RemoteError::NotMade) => None,
            known => Some(known?),
        };
        match (race::check(&self.bucket), known) {
            (Err(RemoteError::NotLetIn(..)), Some(known)) => return Ok(known),
            (Err(error), _) => return Err(error),
            (Ok(()), Some(known)) => return Ok(known),
            (Ok(()), None) => {}
        }
        let made = Made {
            version: VERSION,
            least_client: VERSION,
            store: format!("{:016x}{:016x}", random(), random()),
        };
        let content = serde_json::to_vec(&made);
        let content = content.map_err(|problem| RemoteError::Broken(problem.to_string()))?;
        let written = self.bucket.put_once(names::REMOTE, content, When::New);
        // Another client may have made it at the same time, or the answer was lost. Then it is there now.
        self.hello().map_err(|error| match written {
            Err(failure) => Failure::into_error(failure),
            Ok(_) => error,
        })
    }

    fn is_older(&self, _: &Hello) -> bool {
        false
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn statistics(&mut self) -> Result<Option<Statistics>, RemoteError> {
        Ok(None)
    }

    fn migrate(&mut self) -> Result<Migrated, RemoteError> {
        unable(NO_TABLES)
    }

    fn verify(
        &mut self,
        _: &mut Look<'_>,
        _: &mut dyn FnMut(Fault),
    ) -> Result<Verified, RemoteError> {
        unable(NOT_VERIFIED)
    }

    fn needing(&mut self, _: &[CasRef]) -> Result<Needing, RemoteError> {
        unable(NOT_VERIFIED)
    }

    fn restore(&mut self, _: &[LinkedNode]) -> Result<usize, RemoteError> {
        unable(NOT_VERIFIED)
    }

    fn relink(&mut self, _: &[(CasRef, Vec<CasRef>)]) -> Result<usize, RemoteError> {
        unable(NOT_VERIFIED)
    }

    fn must_collect(&self) -> Result<(), RemoteError> {
        unable(KEEPS_ALL)
    }

    fn count_garbage(&mut self, _: Duration) -> Result<Collected, RemoteError> {
        unable(KEEPS_ALL)
    }

    fn collect(&mut self, _: Duration) -> Result<Collected, RemoteError> {
        unable(KEEPS_ALL)
    }

    fn roles(&self) -> &str {
        POLICIES
    }
}

/// Fails with the reason why this kind of remote cannot do something.
fn unable<T>(why: &str) -> Result<T, RemoteError> {
    Err(RemoteError::Unable(why.to_owned()))
}

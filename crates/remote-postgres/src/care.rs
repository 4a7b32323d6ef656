//! The care for a remote in a database.

use std::time::Duration;

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::care::{Cared, Collected, Fault, Look, Migrated, Needing, Statistics, Verified};
use uwf_remote::{Hello, Remote, RemoteError, Right};

use crate::{Postgres, VERSION};

impl Cared for Postgres {
    /// Makes the tables of the remote, if there are none.
    fn make(&mut self) -> Result<Hello, RemoteError> {
        match self.hello() {
            Err(RemoteError::NotMade) => {}
            other => return other,
        }
        let made = self.connection.script(&self.statements.schema);
        let made = made.map_err(|error| match error.needing(Right::NewSchema) {
            RemoteError::Broken(said) => RemoteError::Unable(format!(
                "its tables cannot be made in the schema: {said}; choose another one with `--schema`"
            )),
            other => other,
        });
        // Another client may have made them at the same time, or an answer was lost. Then they are there now.
        self.hello().map_err(|error| match made {
            Err(first) => first,
            Ok(()) => error,
        })
    }

    fn is_older(&self, hello: &Hello) -> bool {
        hello.version < VERSION
    }

    fn schema(&self) -> Option<&str> {
        Some(&self.connection.address.schema)
    }

    fn statistics(&mut self) -> Result<Option<Statistics>, RemoteError> {
        let counted = self.count();
        self.unless_older(counted).map(Some)
    }

    fn migrate(&mut self) -> Result<Migrated, RemoteError> {
        self.add_missing()
    }

    fn verify(
        &mut self,
        look: &mut Look<'_>,
        found: &mut dyn FnMut(Fault),
    ) -> Result<Verified, RemoteError> {
        let verified = self.verify_all(look, found);
        self.unless_older(verified)
    }

    fn needing(&mut self, nodes: &[CasRef]) -> Result<Needing, RemoteError> {
        let needing = self.all_needing(nodes);
        self.unless_older(needing)
    }

    fn restore(&mut self, nodes: &[LinkedNode]) -> Result<usize, RemoteError> {
        self.replace_nodes(nodes)
    }

    fn relink(&mut self, nodes: &[(CasRef, Vec<CasRef>)]) -> Result<usize, RemoteError> {
        self.replace_refs(nodes)
    }

    fn must_collect(&self) -> Result<(), RemoteError> {
        Ok(())
    }

    fn count_garbage(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let counted = self.count_each(age);
        self.unless_older(counted)
    }

    fn collect(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let collected = self.collect_garbage(age);
        self.unless_older(collected)
    }

    /// Returns a script, which makes the roles of readers and workers.
    fn roles(&self) -> &str {
        &self.statements.roles
    }
}

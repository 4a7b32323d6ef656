//! Collects the garbage of a remote: condemns the nodes that nothing needs, and removes those that were condemned long ago.
//!
//! Machines go on working meanwhile. "Garbage of a remote" in `docs/architecture.md` argues why no needed node is removed. Comments
//! here name its points.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::types::Type;
use uwf_remote::care::Collected;
use uwf_remote::{RemoteError, Right};

use crate::connection::Parameter;
use crate::rows::{self, broken, column, count, first, millis};
use crate::{Postgres, pages, records};

/// How many nodes one statement removes.
const BATCH: i64 = 10_000;

impl Postgres {
    /// Returns what a collection would do.
    pub(crate) fn count_each(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let age = millis(age.max(self.connection.limits.least_age));
        let named = self.named_by_records()?;
        let statement = &self.statements.count_garbage;
        let parameters: [Parameter<'_>; 2] = [(&age, Type::INT8), (&named, Type::INT8_ARRAY)];
        let rows = self.connection.maintenance_call(statement, &parameters)?;
        let row = first(&rows)?;
        Ok(Collected {
            condemned: count(row, "condemned")?,
            reprieved: count(row, "reprieved")?,
            removed: count(row, "removed")?,
        })
    }

    /// Collects garbage. A time that is shorter than [`Limits::least_age`](crate::Limits::least_age) counts as that one. The caller
    /// [verifies](uwf_remote::care::Cared::verify) the remote before (point 1).
    pub(crate) fn collect_garbage(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        self.must_be_new_enough()?;
        self.must_be_allowed()?;
        let age = millis(age.max(self.connection.limits.least_age));
        let condemn = self.statements.condemn.clone();
        // Point 7: here, and again before the reprieve.
        let named = self.named_by_records()?;
        let condemned = self.counted(&condemn, &[(&named, Type::INT8_ARRAY)], "condemned")?;
        // Point 3. This collection removes nothing that is condemned after this moment.
        let rows = self.connection.call(&self.statements.now, &[])?;
        let before: String = column(first(&rows)?, "now")?;
        for barrier in &self.statements.barriers {
            self.connection.script(barrier)?;
        }
        let reprieve = self.statements.reprieve.clone();
        let named = self.named_by_records()?;
        let reprieved = self.counted(&reprieve, &[(&named, Type::INT8_ARRAY)], "reprieved")?;
        let remove = self.statements.remove.clone();
        let parameters: [Parameter<'_>; 3] = [
            (&before, Type::TEXT),
            (&age, Type::INT8),
            (&BATCH, Type::INT8),
        ];
        let mut removed = 0;
        loop {
            match self.counted(&remove, &parameters, "removed")? {
                0 => break,
                some => removed += some,
            }
        }
        Ok(Collected {
            condemned,
            reprieved,
            removed,
        })
    }

    /// Fails if this user may not remove nodes. Such a user may condemn nodes, and a collection does that first.
    fn must_be_allowed(&mut self) -> Result<(), RemoteError> {
        let rows = self.connection.call(&self.statements.may_remove, &[])?;
        match column(first(&rows)?, "allowed")? {
            true => Ok(()),
            false => Err(RemoteError::Denied(
                Right::Owner,
                "only the owner of the schema collects its garbage".to_owned(),
            )),
        }
    }

    /// Returns the nodes that records name and that are not in the column `roots` of their threads (point 7).
    fn named_by_records(&mut self) -> Result<Vec<i64>, RemoteError> {
        let mut named = BTreeSet::new();
        pages::each_thread(&mut self.connection, &self.statements.records, |row| {
            let known: Vec<i64> = column(row, "roots")?;
            let id: &str = column(row, "id")?;
            let unreadable = |_| broken(&format!("a record of the thread {id} cannot be read"));
            for one in column::<Vec<&[u8]>>(row, "records")? {
                let of_record = records::named_nodes(&rows::record(one).map_err(unreadable)?);
                named.extend(of_record.into_iter().filter(|node| !known.contains(node)));
            }
            Ok(())
        })?;
        Ok(named.into_iter().collect())
    }

    /// Runs a statement that changes nodes, and returns how many it changed.
    fn counted(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        name: &str,
    ) -> Result<u64, RemoteError> {
        let rows = self.connection.maintenance_call(statement, parameters)?;
        count(first(&rows)?, name)
    }
}

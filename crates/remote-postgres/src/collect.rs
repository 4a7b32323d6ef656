//! Garbage of a remote: nodes that nothing needs are condemned first, and removed when they were condemned for long enough.
//!
//! What must stay is what can be reached from heads, workflows, the history, the nodes that records name, and what names stand
//! for. Machines go on working meanwhile. Nothing that is needed is removed. That follows from these facts, in this order:
//!
//! 0. What is stored about the references of nodes is true, and nothing that is needed is missing. Payloads are not read here, so
//!    the caller [verifies](crate::Fault::can_be_garbage) it before.
//! 1. A condemned node counts as missing. A statement that sees the condemnation refers to the node only if it stores it itself,
//!    and that takes the condemnation back.
//! 2. A statement that began before the condemnation does not see it, and may refer to the node. The barriers wait until all
//!    such statements have ended. What begins later sees the condemnation.
//! 3. Then the reprieve finds what the statements of fact 2 did, and takes those condemnations back. From now on, no node that
//!    is not condemned needs one that was condemned before the barriers, and no thread does.
//! 4. A node is removed only if it was condemned before the barriers and still is. A statement that stores it at that moment waits
//!    for the removal and stores it anew, or it comes first and takes the condemnation back.
//!
//! The nodes that a record names are read from the record itself. What is stored beside it (`roots`) has only those that were there
//! when the record was stored.
//!
//! Two collections at once do no harm: each removes only what was condemned before its own barriers. A collection that dies
//! leaves condemned nodes behind; the next one reprieves what is needed before it removes anything.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::types::Type;
use uwf_remote::RemoteError;

use crate::connection::Parameter;
use crate::rows::{self, broken, column, count, first};
use crate::{Postgres, millis, records};

/// How many nodes one statement removes.
const BATCH: i64 = 10_000;
/// How many threads a page has.
const THREADS: i64 = 100;

/// What a collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many nodes were condemned that were not before.
    pub condemned: u64,
    /// How many nodes are no longer condemned, because they are needed.
    pub reprieved: u64,
    /// How many nodes were removed.
    pub removed: u64,
}

impl Postgres {
    /// Condemns the nodes that nothing needs, and removes those that have been condemned for this time. The time is at least
    /// [`Limits::least_age`](crate::Limits::least_age).
    ///
    /// # Errors
    /// [`RemoteError`]. A collection can be repeated.
    pub fn collect(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let collected = self.collect_garbage(age);
        self.unless_older(collected)
    }

    /// Returns what [`collect`](Self::collect) would do, and changes nothing.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn count_garbage(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let counted = self.count_each(age);
        self.unless_older(counted)
    }

    fn count_each(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        let age = millis(age.max(self.connection.limits.least_age));
        let named = self.named_by_records()?;
        let statement = &self.statements.count_garbage;
        let parameters: [Parameter<'_>; 2] = [(&age, Type::INT8), (&named, Type::INT8_ARRAY)];
        let rows = self.connection.long_call(statement, &parameters)?;
        let row = first(&rows)?;
        Ok(Collected {
            condemned: count(row, "condemned")?,
            reprieved: count(row, "reprieved")?,
            removed: count(row, "removed")?,
        })
    }

    fn collect_garbage(&mut self, age: Duration) -> Result<Collected, RemoteError> {
        self.must_be_new_enough()?;
        let age = millis(age.max(self.connection.limits.least_age));
        let condemn = self.statements.condemn.clone();
        let named = self.named_by_records()?;
        let condemned = self.counted(&condemn, &[(&named, Type::INT8_ARRAY)], "condemned")?;
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

    /// Returns the nodes that records name and that are not stored beside them as such.
    fn named_by_records(&mut self) -> Result<Vec<i64>, RemoteError> {
        let (mut after, mut named): (Option<String>, BTreeSet<i64>) = (None, BTreeSet::new());
        loop {
            let page = self.connection.long_call(
                &self.statements.records,
                &[(&after, Type::TEXT), (&THREADS, Type::INT8)],
            )?;
            for row in &page {
                let known: Vec<i64> = column(row, "roots")?;
                let id: &str = column(row, "id")?;
                let unreadable = |_| broken(&format!("a record of the thread {id} cannot be read"));
                for one in column::<Vec<&[u8]>>(row, "records")? {
                    let of_record = records::roots(&rows::record(one).map_err(unreadable)?);
                    named.extend(of_record.into_iter().filter(|node| !known.contains(node)));
                }
            }
            match page.last() {
                Some(last) => after = Some(column(last, "id")?),
                None => return Ok(named.into_iter().collect()),
            }
        }
    }

    /// Makes a call that changes nodes, and returns how many.
    fn counted(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        name: &str,
    ) -> Result<u64, RemoteError> {
        let rows = self.connection.long_call(statement, parameters)?;
        count(first(&rows)?, name)
    }
}

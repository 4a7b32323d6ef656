//! Adds the tables that a remote lacks because an older version of this program made it.

use tokio_postgres::Row;
use uwf_remote::care::Migrated;
use uwf_remote::{Remote, RemoteError, Right};

use crate::rows::column;
use crate::{Postgres, VERSION};

impl Postgres {
    /// Adds the missing tables, sets the version of the remote, and lets its roles use the tables. No other data changes, and older
    /// clients go on.
    pub(crate) fn add_missing(&mut self) -> Result<Migrated, RemoteError> {
        let from = self.hello()?.version;
        let added = self.connection.script(&self.statements.migrate);
        let to = self.hello()?.version;
        let owned = |error: RemoteError| error.needing(Right::Owner);
        match added {
            Ok(()) => self.grant().map_err(owned)?,
            // Another client has migrated the remote at the same time.
            Err(_) if from < VERSION && to >= VERSION => {}
            Err(problem) => return Err(owned(problem)),
        }
        Ok(Migrated { from, to })
    }

    /// Lets the roles of the remote do what older versions did not allow.
    fn grant(&mut self) -> Result<(), RemoteError> {
        let rows = self.connection.call(&self.statements.grants, &[])?;
        let grants = rows.iter().map(|row: &Row| column(row, "grants"));
        for grant in grants.collect::<Result<Vec<String>, _>>()? {
            self.connection.script(&grant)?;
        }
        Ok(())
    }

    /// Replaces the error for a missing table, if the remote is there: an older version made it without that table.
    pub(crate) fn unless_older<T>(
        &mut self,
        answer: Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        match answer {
            Err(RemoteError::NotMade) => {
                self.hello()?;
                Err(RemoteError::NotMigrated)
            }
            other => other,
        }
    }
}

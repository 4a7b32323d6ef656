//! Adding the tables that a remote lacks because an older version of this program made it.

use tokio_postgres::Row;
use uwf_remote::{Remote, RemoteError};

use crate::rows::column;
use crate::{Postgres, VERSION};

/// What became of a remote whose missing tables were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version of what was stored there.
    pub from: u32,
    /// The version of what is stored there now.
    pub to: u32,
}

impl Postgres {
    /// Adds the tables that are missing, and lets the roles of the remote use them. Nothing that is there changes, and older clients
    /// go on.
    ///
    /// # Errors
    /// [`RemoteError`]. A migration can be repeated.
    pub fn migrate(&mut self) -> Result<Migrated, RemoteError> {
        let from = self.hello()?.version;
        let added = self.connection.script(&self.statements.migrate);
        let to = self.hello()?.version;
        match added {
            Ok(()) => self.grant()?,
            // Somebody else has done it at the same time.
            Err(_) if from < VERSION && to >= VERSION => {}
            Err(problem) => return Err(problem),
        }
        Ok(Migrated { from, to })
    }

    /// Lets the roles of the remote use the tables that were added.
    fn grant(&mut self) -> Result<(), RemoteError> {
        let rows = self.connection.call(&self.statements.grants, &[])?;
        let grants = rows.iter().map(|row: &Row| column(row, "grants"));
        for grant in grants.collect::<Result<Vec<String>, _>>()? {
            self.connection.script(&grant)?;
        }
        Ok(())
    }

    /// Says that a table is missing which an older version did not make, if that is why a call failed.
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

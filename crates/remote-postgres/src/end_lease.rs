//! The end of a lease whose owner is gone, by somebody else.
//!
//! The fence grows with it. So a step that the owner sends later is refused, as if another machine had taken the thread over.

use tokio_postgres::types::Type;
use uwf_protocol::ids::ThreadId;
use uwf_remote::{Lease, RemoteError, Standing};

use crate::rows::{column, owner_text};
use crate::{Postgres, acquire};

impl Postgres {
    /// Returns who works on a thread.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError> {
        let Some(row) = acquire::find(self, thread, None)? else {
            self.must_be_new_enough()?;
            return Ok(Standing::Unknown);
        };
        let Some((owner, lasts)) = acquire::busy(&row)? else {
            return Ok(Standing::Free);
        };
        Ok(Standing::Leased(Lease {
            thread,
            fence: column::<i64>(&row, "fence")?.cast_unsigned(),
            owner,
            lasts,
        }))
    }

    /// Ends a lease in the place of its owner. Afterwards the lease does not count, also if it had ended before. Another lease of
    /// the thread is left alone.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    pub fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError> {
        let ended = self.connection.call(
            &self.statements.end_lease,
            &[
                (&lease.thread.as_str(), Type::TEXT),
                (&owner_text(&lease.owner), Type::TEXT),
                (&lease.fence.cast_signed(), Type::INT8),
            ],
        )?;
        match ended.is_empty() {
            true => self.must_be_new_enough(),
            false => Ok(()),
        }
    }
}

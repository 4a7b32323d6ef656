//! The end of a lease whose owner is gone, by somebody else.
//!
//! The fence grows with it. So a step that the owner sends later is refused, as if another machine had taken the thread over.

use tokio_postgres::types::Type;
use uwf_protocol::ids::ThreadId;
use uwf_remote::{Lease, RemoteError, Standing};

use crate::rows::{column, owner_text};
use crate::{Postgres, acquire};

/// Returns who works on a thread.
pub(crate) fn standing(remote: &mut Postgres, thread: ThreadId) -> Result<Standing, RemoteError> {
    let Some(row) = acquire::find(remote, thread, None)? else {
        remote.must_be_new_enough()?;
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

/// Ends a lease, whose owner is named. Another lease of the thread is left alone.
pub(crate) fn end(remote: &mut Postgres, lease: &Lease) -> Result<(), RemoteError> {
    let ended = remote.connection.call(
        &remote.statements.end_lease,
        &[
            (&lease.thread.as_str(), Type::TEXT),
            (&owner_text(&lease.owner), Type::TEXT),
            (&lease.fence.cast_signed(), Type::INT8),
        ],
    )?;
    match ended.is_empty() {
        true => remote.must_be_new_enough(),
        false => Ok(()),
    }
}

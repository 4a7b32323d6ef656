//! Ends a lease in the place of its owner, which may be gone.
//!
//! The fence grows, too. So a step that the owner sends later is refused, as if another machine had taken the thread over.

use tokio_postgres::types::Type;
use uwf_remote::{Lease, Owner, RemoteError};

use crate::Postgres;
use crate::rows::owner_text;

/// Ends exactly this lease: the owner and the fence must be the same.
pub(crate) fn end(remote: &mut Postgres, lease: &Lease) -> Result<(), RemoteError> {
    let ended = end_of(
        remote,
        lease.thread.as_str(),
        &lease.owner,
        lease.fence.cast_signed(),
    )?;
    match ended {
        true => Ok(()),
        false => remote.must_be_new_enough(),
    }
}

/// Ends a lease of a thread, and tells whether there was such a lease.
pub(crate) fn end_of(
    remote: &mut Postgres,
    thread: &str,
    owner: &Owner,
    fence: i64,
) -> Result<bool, RemoteError> {
    let ended = remote.connection.call(
        &remote.statements.end_lease,
        &[
            (&thread, Type::TEXT),
            (&owner_text(owner), Type::TEXT),
            (&fence, Type::INT8),
        ],
    )?;
    Ok(!ended.is_empty())
}

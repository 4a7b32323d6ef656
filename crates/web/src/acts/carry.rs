//! What every act needs: its command is carried out, unless the server is for looking only.

use crate::asked::Asked;
use crate::order::{Carried, Order};
use crate::trouble::Refusal;
use crate::visitor::Access;

/// Does the command of an order.
pub(super) fn carry(asked: &Asked, order: &Order) -> Result<Carried, Refusal> {
    let done = (asked.app.carry)(asked.site(), order);
    done.map_err(Refusal::of_command)
}

/// Refuses an act if the server is `--read-only`.
pub(super) fn refuse_if_read_only(asked: &Asked) -> Result<(), Refusal> {
    match asked.app.access {
        Access::Full => Ok(()),
        Access::ReadOnly => Err(Refusal::read_only()),
    }
}

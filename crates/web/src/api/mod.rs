//! What programs read: the data of the commands, as `--format json` prints it.

pub(crate) mod costs;
pub(crate) mod machine;
pub(crate) mod nodes;
pub(crate) mod threads;
pub(crate) mod workflows;

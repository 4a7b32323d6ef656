//! The data for programs, as the commands print it with `--format json`.

pub(crate) mod costs;
pub(crate) mod machine;
pub(crate) mod nodes;
pub(crate) mod threads;
pub(crate) mod workflows;

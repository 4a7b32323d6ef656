//! What commands show: plain data made from the store and the state, never changing either.

pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod step_detail;
pub(crate) mod steps;
pub(crate) mod workflows;

//! Threads that are runs of pipelines: where they stand, as their chains tell it. The half that does their steps is in
//! `run/pipelines`.

pub(crate) mod active;
pub(crate) mod chain;
pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod loop_times;
pub(crate) mod origin;
pub(crate) mod place;
pub(crate) mod resume_error;
pub(crate) mod route;
pub(crate) mod secrets;
pub(crate) mod views;

//! The text form of results, and the types of results that only the command line has.

mod cas;
mod config;
mod doctor;
mod setup;
mod table;
mod thread;
mod which;
mod workflow;

pub(crate) use cas::{
    CollectedView, ExistsView, HashView, HashesView, NodeView, RefsView, ReindexedView, SchemaItem,
    SchemaView, VerifiedView,
};
pub(crate) use config::{
    CheckView, ConfigView, DeletedView, EditedView, LogLinesView, PathView, SetView, UnsetView,
    ValueView,
};
pub(crate) use doctor::{Check, DoctorView};
pub(crate) use setup::{SetupView, Validation};
pub(crate) use table::Page;
pub(crate) use thread::{
    DetailView, FailedStepView, ForkedView, KilledView, PausedView, PrunedView, RemovedView,
    StartedView, StepView, ThreadsView, UnpausedView,
};
pub(crate) use workflow::{InvalidView, RegisteredView, ValidView};

//! The text form of results, and the types of results that only the command line has.

mod artifacts;
mod cas;
mod columns;
mod config;
mod doctor;
mod graph;
mod init;
mod orchestrate;
mod progress_line;
mod serve;
mod setup;
mod sharing;
mod sharing_care;
mod store_care;
mod store_import;
mod table;
mod thread;
mod travel;
mod trust;
mod which;
mod workflow;
mod workflow_diff;
mod workflow_names;

pub(crate) use artifacts::{ArtifactsView, ExportedArtifactsView};
pub(crate) use cas::{
    CollectedView, ExistsView, HashView, HashesView, NodeView, NodesView, RefsView, ReindexedView,
    SchemaItem, SchemaView, VerifiedView,
};
pub(crate) use config::{
    CheckView, ConfigView, DeletedView, EditedView, LogLinesView, OriginsView, PathView,
    PricesView, SetView, UnsetView, ValueView,
};
pub(crate) use doctor::{Check, DoctorView};
pub(crate) use graph::{dot, mermaid};
pub(crate) use init::{InitializedView, NextCommands, TemplateItem};
pub(crate) use orchestrate::{
    CleanedRuns, InvalidPipeline, LogItem, MovedTask, NoRunView, PutTask, RunList, RunRow,
    RunStatusPage, RunView, StatusView, TaskList, ValidPipeline, log_heading, problem_line,
    run_report, told,
};
pub(crate) use progress_line::{JobCounts, jobs_line, progress_line};
pub(crate) use serve::ServedView;
pub(crate) use setup::{SetupView, Validation};
pub(crate) use sharing::{
    AddedRemoteView, FetchedView, MOST_ENDED, PushedView, RemoteThreadsView, RemoteView, Shared,
    Wanted, remote_status,
};
pub(crate) use sharing_care::{
    CollectedRemoteView, MigratedRemoteView, ReleasedView, Repaired, VerifiedRemoteView,
};
pub(crate) use store_care::RepairView;
pub(crate) use store_import::StoreImportView;
pub(crate) use table::{Page, cut};
pub(crate) use thread::{
    BackgroundView, ChangedFilesView, DetailView, DroppedSessionsView, FailedStepView, ForkedView,
    KilledView, NotDoneView, PausedView, PlanView, PrunedView, RemovedView, RestoredView,
    RunStepView, ShownView, SkippedView, StartedView, StepDifferenceView, StepView, StoppedView,
    SummarizedView, TailView, ThreadDifferenceView, ThreadsView, TopView, UnpausedView, WaitedView,
    unkept_line,
};
pub(crate) use travel::{ExportedView, ImportedView};
pub(crate) use trust::{ProjectView, RevokedView, TrustItem, TrustList};
pub(crate) use workflow::{InvalidView, RegisteredView, ValidView};

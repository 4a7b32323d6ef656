//! The operations on threads: start, step, resume, poke, fork, kill; garbage collection; and the views that commands print.
//!
//! The crate has two halves. [`Site`] is a storage root with its store: it is enough to read and to record, and the threads
//! of a process may share one. [`Runner`] does steps on a site: it starts agents as processes, checks their answers and
//! moves heads.
//!
//! The moderator decides in pure functions where a thread goes. This crate never parses the text of an answer, never knows
//! which agent is behind a command, and prints nothing.

mod act_log;
mod agent_choice;
mod agent_failure;
mod artifact_error;
mod astray;
mod attempt;
mod bundle;
mod check_error;
mod check_files;
mod child_error;
mod children;
mod conditions;
mod confine;
mod describe;
mod error;
mod error_from;
mod files_error;
mod first_instruction;
mod fix;
mod fork;
mod gc;
mod limits;
mod lost_run;
mod naming;
mod needs;
mod node_kind;
mod pause;
mod person_message;
mod pipelines;
mod planned_try;
mod printed;
mod project;
mod read;
mod rebase;
mod register;
mod remove;
mod repair;
mod review_error;
mod run;
mod sharing;
mod short_names;
mod site;
mod snapshots;
mod start;
mod store_error;
mod store_import;
mod stored_workflow;
mod tags;
mod thread;
mod unfound;
mod unknown_word;
mod unregister;
mod waiting_answer;
mod workflow_ref;
mod workflow_use_error;
mod workspace;
mod workspace_error;

pub use act_log::{ActByPage, log_act};
pub use agent_choice::AgentChoice;
pub use agent_failure::AgentFailure;
pub use artifact_error::ArtifactError;
pub use attempt::orphans;
pub use bundle::{
    BundleError, Divergence, Diverging, Exported, Imported, ImportedThread, NodeSource, Outcome,
    TakenName, all_threads, export_threads, import_threads,
};
pub use check_error::CheckError;
pub use child_error::{ChildError, ChildProblem};
pub use conditions::{EVALUATOR_COMMAND, evaluate_conditions};
pub use confine::confine;
pub use describe::{describe_pause, message_option};
pub use error::EngineError;
pub use error::about::BusyElsewhere;
pub use files_error::FilesError;
pub use fix::Fix;
pub use fork::{ForkPoint, Forked, MovedOn, Visit, find_visit, fork};
pub use gc::{GcOptions, LEAST_GRACE_MS, USUAL_GRACE_MS, VerifiedStore, broken, gc, verify};
pub use naming::{NamedThread, label, naming, rename};
pub use needs::Need;
pub use needs::push::nodes_of_push;
pub use pause::{PausedThread, UnpausedThread, is_paused, pause, unpause};
pub use pipelines::active::{ActiveRun, active_runs, runs_without_folder};
pub use pipelines::error::PipelineError;
pub use pipelines::origin::{RunOrigin, run_origin};
pub use pipelines::place::RunOfThread;
pub use pipelines::resume_error::ResumeError;
pub use pipelines::views::RunPhase;
pub use pipelines::views::entry::{
    ArchiveView, OutputView, ResumeView, RunEntry, TryView, VisitView,
};
pub use pipelines::views::follow::{Followed, LogFollower, LogPart};
pub use pipelines::views::logs::{LogContent, RunLog, run_logs};
pub use pipelines::views::report::{RunStory, run_story, run_writes};
pub use pipelines::views::status::{
    CurrentView, HeldChild, LoopLine, RunStatusView, StepLine, run_status,
};
pub use pipelines::views::summary::{RunSummary, run_summary};
pub use planned_try::{PlannedTry, Waiting};
pub use read::activity::{AttemptView, RunningView};
pub use read::artifacts::{
    ArtifactsOfStep, ExportedArtifacts, Overwrite, artifacts, export_artifacts, write_artifact,
};
pub use read::board::{Board, BoardPage, StatusCount, board};
pub use read::branch::{Branch, ChildOfStep};
pub use read::causing_child::CausingChild;
pub use read::changed_files::{
    ChangedFile, ChangedFiles, FilesOfThread, StepOfFiles, files_of_step, files_of_thread,
};
pub use read::child_view::{ChildView, SumsWithChildren};
pub use read::cost::cost;
pub use read::cost_sums::{CostKey, CostOptions, CostReport, CostRow};
pub use read::difference::{ThreadDifference, diff_steps, diff_threads};
pub use read::family::{Family, FamilyMember, family};
pub use read::family_tail::{FamilyEvent, FamilyTail, TailChild};
pub use read::files_at::Files;
pub use read::forks::{ForkItem, Forks, forks};
pub use read::glance::{Glance, engines_below, glance, glance_at_family};
pub use read::graph::players::GraphPlayer;
pub use read::graph::way::{thread_graph, thread_graph_of_newest};
pub use read::graph::{
    GraphEdge, GraphNode, GraphThread, GraphView, NodeKind, PathEntry, Standing, workflow_graph,
};
pub use read::left_by_step::LeftByStep;
pub use read::list::{ThreadList, list};
pub use read::machine::{AgentRole, AgentView, MachineView, SlotsView, machine};
pub use read::meaning::{NamedWorkflow, WorkflowMeaning, meaning};
pub use read::node_detail::{NodeDetail, node_detail};
pub use read::outline::Outline;
pub use read::overrides::{IdleOverride, idle_overrides};
pub use read::parent_view::ParentView;
pub use read::possible::{Action, possible_actions};
pub use read::report::{ChildReport, StepReport};
pub use read::selection::{Children, ListFilter, WorkflowChoice, choose_workflow};
pub use read::sessions::{SessionFilter, SessionView, SessionsView, sessions};
pub use read::show::{ThreadView, show};
pub use read::step_data::{step_details, thread_of};
pub use read::step_detail::{StepPrompt, StepReadOptions, StepTurns, read_step, read_step_prompt};
pub use read::step_difference::{
    ComparedStep, FieldDifference, StepDifference, TextHunk, text_hunks,
};
pub use read::step_facts::{StepFacts, step_facts};
pub use read::steps::{RefusedEntry, StartEntry, StepEntry, StepsEntry, StepsView, steps};
pub use read::store_stats::{
    LargeNode, NodeTotal, StoreStats, TypeStats, schema_title, store_stats,
};
pub use read::stored_program::{StoredProgram, StoredRole, stored_program};
pub use read::story::{StepStory, ToolUse};
pub use read::story_page::{StepsPage, StoryPage, story_page};
pub use read::summary::SummaryView;
pub use read::tail_event::{
    OutputStream, Stopped, TailEvent, TailLine, TailStep, TailTask, TailTurn, Working,
};
pub use read::thread_item::ThreadItem;
pub use read::thread_state::{HeldBy, ThreadState, ThreadStatus};
pub use read::thread_story::{ReadOptions, ThreadStory, read_thread};
pub use read::usage_total::UsageTotal;
pub use read::verdict::VerdictView;
pub use read::versions::{
    VersionAction, WorkflowHistories, WorkflowHistory, WorkflowVersion, workflow_history,
};
pub use read::visit_story::{LogStory, VisitPart, VisitStory};
pub use read::which::{
    NodeState, NodeUse, NodeUses, ReplacedUse, StepUse, ThreadUse, WorkflowUse, which,
};
pub use read::workflow_difference::{
    ComparedWorkflow, WorkflowDifference, diff_with_registered, diff_workflows,
};
pub use read::workflow_files::{WorkflowFile, export_workflow_files};
pub use read::workflow_text::{Difference, WorkflowText, export_workflow};
pub use read::workflows::{
    WorkflowItem, WorkflowOrigin, WorkflowView, list_workflows, show_workflow,
};
pub use rebase::Misfit;
pub use register::{
    Checked, Registered, STANDARD_INPUT, check_file, check_text, put_workflow, put_workflow_text,
};
pub use remove::{
    About, Prune, PruneOptions, Pruned, PrunedThread, Removable, Removed, prune, remove,
};
pub use repair::{LostNode, Repair, RepairMode, RepairOptions, Suffering, left_behind, repair};
pub use review_error::ReviewError;
pub use run::Runner;
pub use run::agent_command::configured_grace;
pub use run::claim::Sharing;
pub use run::cycle::{Early, Intervention, Pace, Session, StepOptions, step};
pub use run::drop_sessions::drop_sessions;
pub use run::dry_run::{AgentPlan, StepPlan, plan};
pub use run::fork_files::{ForkFiles, fork_with_files};
pub use run::kill::{FinishedBelow, Killed, kill};
pub use run::migrate::{Migrated, migrate, plan_migration};
pub use run::next::{NextThread, Taken, take_next};
pub use run::observer::{Doing, Observer, Progress};
pub use run::patience::{wait_for_next_try, wait_until_free, wait_until_free_elsewhere};
pub use run::pipelines::clean::{Cleaned, clean_run};
pub use run::pipelines::make::{MadeRun, NewRun, make_run};
pub use run::pipelines::resume::{resume_pipeline, run_pipeline};
pub use run::pipelines::wish::{Changes, FileNow, LostPicture, ResumeWish};
pub use run::pipelines::{
    Backups, HeldStep, Prompts, RunEnd, RunEvent, RunReport, RunSettings, USUAL_LOG_BYTES,
};
pub use run::poke::poke;
pub use run::push::{NewLabel, PushOutcome, Pushed, Relabelled, push};
pub use run::restore::{RestoreOptions, Restored, restore};
pub use run::resume::resume;
pub use run::review::REVIEW_COMMAND;
pub use run::slots::NoSlot;
pub use run::summary::summarize_thread;
pub use sharing::error::{SharingError, machine_of};
pub use sharing::family_fetch::FamilyFetch;
pub use sharing::fetch::{Fetched, HowEnded, fetch, remote_threads};
pub use sharing::names::{
    FetchedAs, FetchedName, PushedAs, PushedName, fetch_name, is_registered, push_name,
    remote_name, remote_names,
};
pub use sharing::records::{
    Replaced, are_unasked, ensure_records, replace_remote, restore_records, unasked,
};
pub use sharing::repair::{send_lost, whole_nodes};
pub use sharing::{
    Remotes, is_free, is_shared, may_change, pause_before_question, shared_threads, threads_of,
    threads_of_others, threads_of_remotes, topmost_shared, waiting_step, waiting_threads,
};
pub use short_names::{Candidate, NameError, find_in_thread, find_node, find_thread};
pub use site::Site;
pub use start::{StartOptions, Started, start, working_directory};
pub use store_error::store_exit;
pub use store_import::{
    NameOutcome, Refusal, StoreImport, TakenThread, WorkflowName, import_store,
};
pub use stored_workflow::{workflow_description, workflow_name};
pub use thread::ThreadAt;
pub use unfound::{Unfound, has_remote};
pub use unknown_word::UnknownWord;
pub use unregister::{RemovedName, RolledBack, remove_name, roll_back};
pub use uwf_snapshot::{SnapshotError, Unkept};
pub use waiting_answer::{Drops, WaitingAnswer, waiting_answer};
pub use workflow_ref::{HiddenWorkflow, Origin};
pub use workflow_use_error::WorkflowUseError;
pub use workspace::WorkspaceView;
pub use workspace::removal::{UnkeptChanges, UnkeptThread};
pub use workspace_error::{UnkeptWork, WorkspaceError};

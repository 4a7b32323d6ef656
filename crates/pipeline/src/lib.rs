//! Pipelines: commands and calls of model programs in a fixed order, written in YAML.
//!
//! Everything here is pure: texts, bytes and settled steps come in as values, decisions and texts go out. Other crates read
//! files, start processes, and keep what happened.

mod argv;
mod attempt;
mod call;
mod capture;
mod condition;
mod context;
pub mod course;
mod difference;
mod exact;
mod fill;
mod graph;
mod language;
mod load;
mod names;
mod needs;
pub mod nodes;
mod paths;
mod pipeline;
mod problem;
mod queues;
mod rerun;
mod result;
mod scope;
mod secrets;
pub mod state;
mod status;
mod template;
mod tree;
mod value;

pub use argv::{MAX_PROMPT_BYTES, Word, WordPart, compose, merged, prompt_text, too_long};
pub use attempt::{
    Ended, LimitOf, Limits, STDERR_TAIL_LINES, STDOUT_TAIL_LINES, TIMED_OUT, result_of,
    retry_after, waited,
};
pub use call::{Call, call};
pub use capture::{CaptureDebug, CaptureEnd, Capturing, JsonProblem, JsonReason, Tail};
pub use condition::{Condition, Matches, PathTest, condition};
pub use context::{ContextError, context_file, context_value, merged_context};
pub use course::{Course, Event, Route, StepKey, next};
pub use difference::{About, Change, Difference, changed_keys, differences};
pub use exact::exact_json;
pub use fill::Filling;
pub use graph::{Graph, GraphEdge, GraphNode, NodeKind, On, Passage, dot, graph, mermaid};
pub use language::is_workflow;
pub use load::{Loaded, MAX_FILE_BYTES, is_pipeline, load};
pub use names::{checksum, env, log_name, run_id, run_id_problem, timestamp_iso, timestamp_utc};
pub use needs::{ContextUse, missing_context};
pub use paths::path_problem;
pub use pipeline::{
    Capture, DependsOn, Equals, ForEach, Goto, Handlers, Inject, InputMode, Items, OWN_FOLDER,
    OnItemComplete, Pipeline, Pointer, PointerField, Program, Provider, Queues, Retries, Run, Step,
    Wait, When, Work, WorkflowCall,
};
pub use problem::{Code, Place, Problem};
pub use queues::run_time;
pub use rerun::{ActiveRun, OwnFiles, Rerun, SETTLE_MS, Sight, Sights, Todo};
pub use result::{
    Captured, ErrorKind, Failure, ItemResult, Lifecycle, LifecycleAction, Looped, StepError,
    StepResult, StepStatus, Waited,
};
pub use scope::{Item, Level, Recorded, Results, RunFacts, Scope};
pub use secrets::{Material, OutputFiles, secret_warnings};
pub use status::{StatusProblem, status_problems};
pub use template::{NameError, Piece, Reference, RunField, StepField, Template};
pub use tree::{Tree, TreeMap};
pub use uwf_util::mask::{MaskStream, Masks, is_maskable};
pub use value::text_of;

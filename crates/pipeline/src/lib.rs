//! Pipelines: commands and calls of model programs in a fixed order, written in YAML.
//!
//! Everything here is pure: texts, bytes and settled steps come in as values, decisions and texts go out. Other crates read
//! files, start processes, and keep what happened.

mod load;
mod paths;
mod pipeline;
mod problem;
mod template;
mod tree;
mod value;

pub use load::{Loaded, MAX_FILE_BYTES, load};
pub use paths::path_problem;
pub use pipeline::{
    Capture, DependsOn, Equals, ForEach, Goto, Handlers, Inject, InputMode, Items, OnItemComplete,
    Pipeline, Pointer, PointerField, Program, Provider, Queues, Retries, Run, Step, Wait, When,
    Work,
};
pub use problem::{Code, Place, Problem};
pub use template::{NameError, Piece, Reference, RunField, StepField, Template};
pub use tree::Tree;
pub use value::text_of;

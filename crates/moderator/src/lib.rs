//! The moderator: who comes next in a thread, with which instruction, and whether a workflow makes sense.
//!
//! Everything here is pure: a workflow and what happened so far come in as values, a decision goes out. What
//! could take too long, the conditions of a workflow, is asked for through an argument.
//! Reading workflows and threads, and doing what was decided, is for others.

pub mod condition;
pub mod graph;
mod program;
mod route;
mod route_error;
pub mod template;
mod validate;

pub use program::{assign, history_need, next, reenter};
pub use route::{Assignment, HistoryNeed, Performer, Route};
pub use route_error::{EdgeKey, EdgeName, Field, RouteError};
pub use validate::validate;

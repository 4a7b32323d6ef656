//! The moderator: which role comes next in a thread, with which instruction, and whether a workflow makes sense.
//!
//! Everything here is pure: a workflow and the steps so far come in as values, a decision goes out. Evaluating the
//! conditions of a workflow could take too long, so the caller brings a function for it. Other crates read workflows and
//! threads, and act on the decision.

mod children;
pub mod condition;
mod ends;
pub mod graph;
mod join;
mod nesting;
mod program;
mod route;
mod route_error;
pub mod template;
mod validate;

pub use children::{PlanError, PlannedChild, plan};
pub use ends::{end_status, end_statuses};
pub use graph::Passage;
pub use join::{Joined, Tally, joined};
pub use nesting::levels;
pub use program::{assign, end_result, history_need, is_routed_exactly, next, passages, reenter};
pub use route::{Assignment, EndResult, HistoryNeed, Performer, Route, head_status};
pub use route_error::{EdgeKey, EdgeName, Field, RouteError};
pub use validate::validate;

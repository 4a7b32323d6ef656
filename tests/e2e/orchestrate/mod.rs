//! Commands of `orchestrate` that act.

mod queues;
mod resume;
mod run_step;

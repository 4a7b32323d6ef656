//! Commands of `orchestrate` that act.

mod queues;

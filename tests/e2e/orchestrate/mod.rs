//! Commands of `orchestrate` that act.

mod disks;
mod hostile;
mod kills;
mod queues;
mod resume;
mod run_step;

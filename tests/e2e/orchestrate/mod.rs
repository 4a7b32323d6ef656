//! Commands of `orchestrate` that act.

mod acceptance;
mod acceptance_files;
mod clean;
mod disks;
mod edges_flow;
mod edges_load;
mod edges_loops;
mod edges_output;
mod edges_paths;
mod edges_programs;
mod edges_queues;
mod edges_secrets;
mod edges_state;
mod edges_steps;
mod flags;
mod hostile;
mod kills;
mod looking;
mod queues;
mod resume;
mod run_step;
mod runs;
mod specification;
mod tutorial;
mod watch;
mod zip;

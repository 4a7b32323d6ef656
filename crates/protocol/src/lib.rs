//! The nouns of `uwf` as types, shared by every other crate: ids, workflows, nodes, config, the contract
//! with agents, the records of a run and the shapes that commands print.
//!
//! Everything here is pure. Where these things are stored, and what happens to them, is decided by other crates.

pub mod agent;
pub mod answer;
pub mod artifact;
pub mod chain;
pub mod check_files;
pub mod checks;
pub mod child;
mod chosen_agent;
pub mod config;
pub mod endpoint;
pub mod exit;
pub mod failure;
pub mod head_status;
pub mod hooks;
pub mod ids;
pub mod limits;
pub mod machine;
pub mod naming;
pub mod nodes;
pub mod permissions;
pub mod policy;
pub mod prices;
pub mod program;
pub mod raw_node;
pub mod retry;
pub mod review;
pub mod run;
pub mod schemas;
pub mod step_files;
pub mod work;
pub mod workflow;
pub mod workflow_diff;
pub mod workflow_export;
pub mod workflow_stored;
pub mod workflow_yaml;
pub mod workspace;

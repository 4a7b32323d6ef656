//! The half of the engine that reads: views of threads, steps and workflows as plain data. It never changes the store or
//! the state.

pub(crate) mod activity;
pub(crate) mod artifacts;
pub(crate) mod branch;
pub(crate) mod causing_child;
pub(crate) mod changed_files;
pub(crate) mod child_view;
pub(crate) mod copies;
pub(crate) mod cost;
pub(crate) mod cost_sums;
pub(crate) mod detail_summary;
pub(crate) mod difference;
mod document;
mod expand;
pub(crate) mod family_tail;
pub(crate) mod glance;
pub(crate) mod graph;
mod history;
pub(crate) mod list;
pub(crate) mod meaning;
pub(crate) mod outline;
pub(crate) mod parent_view;
pub(crate) mod removed_cost;
pub(crate) mod report;
mod running_turns;
pub(crate) mod selection;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod standing;
pub(crate) mod step_data;
pub(crate) mod step_detail;
pub(crate) mod step_difference;
pub(crate) mod steps;
pub(crate) mod store_stats;
pub(crate) mod story;
pub(crate) mod summary;
pub(crate) mod tail;
pub(crate) mod tail_event;
mod thread_document;
mod thread_end;
pub(crate) mod thread_item;
pub(crate) mod thread_state;
pub(crate) mod thread_story;
pub(crate) mod usage_total;
pub(crate) mod verdict;
pub(crate) mod versions;
pub(crate) mod visit_story;
pub(crate) mod which;
mod work;
pub(crate) mod workflow_difference;
pub(crate) mod workflow_files;
mod workflow_source;
pub(crate) mod workflow_text;
pub(crate) mod workflows;

#[cfg(test)]
mod tests;

//! The promises of `uwf`, shown through the real binary: each test kills, races, corrupts or asks wrongly.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

mod adapters;
mod agent_calls;
mod agents;
mod answers;
mod attempts;
mod bad_input;
mod bad_workflow;
mod builtin;
mod cas;
mod cli_agents;
mod compat;
mod conditions;
mod config_and_log;
mod config_edit;
mod counted_once;
mod crash;
mod crashes;
mod damage;
mod demo;
mod docs;
mod doctor;
mod documents;
mod echoes;
mod extraction;
mod failures;
mod fifos;
mod filters;
mod formats;
mod full_disk;
mod gates;
mod gc;
mod gc_races;
mod golden;
mod help;
mod hermes;
mod hints;
mod kept_running;
mod kills;
mod limits;
mod lost_lines;
mod lost_names;
mod lost_state;
#[path = "../support/model_server.rs"]
mod model_server;
mod names;
mod naming;
mod orphans;
mod pagers;
mod pages;
mod pausing;
mod pokes;
mod processes;
mod pty;
mod races;
mod readme;
mod recipes;
mod recordings;
mod reference;
mod refusals;
mod refused_steps;
mod release_notes;
mod removing;
mod resolution;
mod resumes;
mod sessions;
mod setup;
mod setup_asks;
mod shells;
mod slots;
mod store_care;
mod stories;
mod tails;
mod terminal;
mod threads;
mod tls;
mod travel;
mod travel_refused;
mod trees;
mod which;
mod workflows;
mod world;

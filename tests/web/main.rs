//! The promises of `uwf serve`, shown through the real binary: what its pages do, what it tells while it happens, and what a
//! real browser makes of it.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

mod acts;
mod attacks;
mod browser;
mod checking;
mod children;
mod events;
mod forms;
mod graphs;
#[path = "../e2e/hostile.rs"]
mod hostile;
mod hostile_pages;
mod large_files;
mod long_words;
mod lost_state;
mod pages;
mod pictures;
mod reading;
mod scene;
mod slow_disk;
mod tabs;
mod twice;
#[path = "../e2e/web_client.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod web_client;
#[path = "../e2e/world.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod world;
mod wrong_forms;

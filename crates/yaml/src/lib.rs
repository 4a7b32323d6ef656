//! YAML texts as trees: every key and value knows where it was written, and scalars know how.
//!
//! This crate does not know what a tree means. [`parse`] reads a single text. [`read`] reads one of several texts that
//! belong together: its caller opens includes, collects problems and shares one [`Budget`] between the texts. [`render()`]
//! writes data as YAML.

mod build;
mod de;
mod problem;
mod render;
mod scalar;
mod single;
mod tree;

pub use build::{Budget, Dialect, Host, MAX_DEPTH, read};
pub use problem::{Problem, excerpt};
pub use render::{render, render_for_people};
pub use single::{parse, parse_after};
pub use tree::{At, Data, Key, Node};

/// Returns a text without the byte order mark at its start.
#[must_use]
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

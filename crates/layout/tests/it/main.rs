//! Tests of layouts as a whole.

mod common;
mod properties;
mod size;

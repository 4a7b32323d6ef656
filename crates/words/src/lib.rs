//! What people read about the views of the engine, on a terminal and on a page alike: words for graphs and usage, and the
//! picture of a graph. Pure: data in, text out.

pub mod graph;
pub mod usage;

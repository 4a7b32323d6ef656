//! What people read about the views of the engine, on a terminal and on a page alike: words for graphs, usage and steps, and
//! the picture of a graph. Pure: data in, text out.

pub mod graph;
pub mod teaser;
pub mod usage;

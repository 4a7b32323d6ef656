//! What people read about the views of the engine, on a terminal and on a page alike: words for graphs, usage, steps, remotes and where a
//! thread stands, and the picture of a graph. Pure: data in, text out.

pub mod graph;
pub mod remote;
pub mod stand;
pub mod teaser;
pub mod usage;

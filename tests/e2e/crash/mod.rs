//! Whatever dies, whenever: commands are killed before each of their system calls in turn, and what is left is judged
//! by a reader that shares no code with the store.

mod calls;
mod care;
mod children;
mod children_soak;
mod commands;
mod garbage;
mod leftovers;
mod pipelines;
mod pipelines_left;
mod pipelines_soak;
mod printed;
pub(crate) mod reader;
mod registry;
pub(crate) mod soak;
mod survivors;
pub(crate) mod sweep;
pub(crate) mod tracer;
mod travel;
mod waiting_answers;
mod waiting_words;
mod windows;
mod worktrees;

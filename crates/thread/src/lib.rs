//! Reading a thread from its nodes: what a head is, the steps before it, the workflow, what agents said, and what the
//! steps used up.
//!
//! Everything is read from the head backwards, and only as far as the caller looks. Which head a thread has, its locks and
//! its run files are not known here.

mod chain;
mod error;
mod head;
mod program;
mod totals;
mod turns;

pub use chain::{Steps, output, steps, steps_with_outputs, with_output};
pub use error::{Expected, ThreadError};
pub use head::{Head, Stored, read_start, read_step};
pub use program::read_program;
pub use totals::{summarize, used_by, used_up_to};
pub use turns::{Answers, Call, Turn, answer, raw, read_turns, text};

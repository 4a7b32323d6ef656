//! Reading a thread from its nodes: the head, the steps before it, the workflow, the answers, and the usage.
//!
//! Everything is read from the head backwards, and only as far as the caller asks. This crate knows nothing of the state
//! files, locks and run records of a thread.

mod chain;
mod error;
mod head;
mod positions;
mod program;
mod totals;
mod turns;

pub use chain::{Steps, output, steps, steps_with_outputs, with_output};
pub use error::{Expected, ThreadError};
pub use head::{Head, Stored, read_start, read_step};
pub use positions::{Positions, positions};
pub use program::read_program;
pub use totals::{summarize, usage_of, used_by, used_by_replaced, used_up_to};
pub use turns::{Answers, Call, Turn, answer, name_answers, raw, read_turns, text};

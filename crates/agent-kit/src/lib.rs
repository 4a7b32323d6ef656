//! The agent's side of the process boundary.

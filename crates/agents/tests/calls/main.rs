//! Calls of the built-in agents from their arguments to what they leave behind.

mod command;
mod mock;
#[cfg(test)]
mod world;

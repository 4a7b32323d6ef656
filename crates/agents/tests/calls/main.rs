//! Calls of the built-in agents from their arguments to what they leave behind.

mod command;
#[cfg(test)]
mod fake_tool;
mod mock;
mod tools;
#[cfg(test)]
mod world;

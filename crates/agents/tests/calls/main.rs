//! Calls of the built-in agents from their arguments to what they leave behind.

mod command;
#[cfg(test)]
mod fake_tool;
#[cfg(test)]
mod hermes_acp;
#[cfg(test)]
mod hermes_chat;
mod mock;
mod tools;
#[cfg(test)]
mod world;

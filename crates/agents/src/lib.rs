//! Adapters over the agent kit, and the door through which the one binary becomes any of them.
//!
//! An adapter reads its own arguments and puts prompts to its agent; the rest of a call is the kit's.

mod acp;
mod answer;
mod builtin;
mod call;
mod chat;
mod claude_code;
mod codex;
mod command;
mod cursor;
mod drives;
mod gemini;
mod hermes;
mod json;
mod kept;
mod llm;
mod mock;
mod options;
mod program;
mod record;
mod recording;
mod shorten;
mod stream;
#[cfg(test)]
mod test_task;

use std::io::{self, Write as _};

use uwf_storage::Env;

pub use drives::{Drives, drives};

/// The names of the adapters that are built in, without the prefix `uwf-`.
pub const BUILT_IN: &[&str] = &[
    "mock",
    "command",
    "claude-code",
    "codex",
    "cursor",
    "gemini",
    "hermes",
    "llm",
    "builtin",
    "record",
];

/// Serves one call of a built-in agent: `args` are those after its name. Returns the exit code, or `None`
/// when there is no such adapter.
#[must_use]
pub fn run(name: &str, args: &[String], env: &Env) -> Option<i32> {
    let tool = |tool, usage| (stream::start(tool, args, env), usage);
    let (result, usage) = match name {
        "mock" => (mock::serve(args, env), mock::USAGE),
        "command" => (command::serve(args, env), command::USAGE),
        "claude-code" => tool(&claude_code::TOOL, claude_code::USAGE),
        "codex" => tool(&codex::TOOL, codex::USAGE),
        "cursor" => (cursor::serve(args, env), cursor::USAGE),
        "gemini" => tool(&gemini::TOOL, gemini::USAGE),
        "hermes" => (hermes::serve(args, env), hermes::USAGE),
        "llm" => (llm::serve(args, env), llm::USAGE),
        "builtin" => (builtin::serve(args, env), builtin::USAGE),
        "record" => (record::serve(args, env), record::USAGE),
        _ => return None,
    };
    Some(result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error}\nhint: usage: {usage}");
        2
    }))
}

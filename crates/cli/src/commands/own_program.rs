//! This program as a process of its own, which does a part of the work.

use std::process::Command;

use crate::commands::Context;

/// Returns a command of this program, with the options of every command as they were given to this call.
pub(super) fn command(context: &Context, args: &[String]) -> Command {
    let mut command = Command::new(context.site().env.program());
    command.args(args);
    if let Some(root) = &context.global.root {
        command.arg("--root").arg(root);
    }
    command.args(std::iter::repeat_n("-v", context.global.verbose.into()));
    command.args(["--format", context.format.name()]);
    command
}

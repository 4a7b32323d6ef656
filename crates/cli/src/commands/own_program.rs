//! This program as a process of its own, which does a part of the work.

use std::process::Command;

use crate::commands::Context;
use crate::output::Format;

/// Returns a command of this program, with the options of every command as they were given to this call. Its output is for
/// a file, and not for a terminal.
pub(super) fn command(context: &Context, args: &[String]) -> Command {
    let mut command = Command::new(context.site().env.program());
    command.args(args);
    if let Some(root) = &context.global.root {
        command.arg("--root").arg(root);
    }
    command.args(std::iter::repeat_n("-v", context.global.verbose.into()));
    // The format also decides how messages are written. Data is JSON without being asked for, messages are not.
    if context.asked.is_some() || context.format != Format::usual_elsewhere() {
        command.args(["--format", context.format.name()]);
    }
    command
}

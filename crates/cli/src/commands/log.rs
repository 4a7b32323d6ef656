//! `uwf log …`.

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_storage::log::{self, Day, LogFilter};

use crate::args::LogCommand;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::output::{print, print_line};
use crate::text::DeletedView;

pub(crate) fn run(context: &Context, command: LogCommand) -> Result<Exit, Failure> {
    let root = &context.site().root;
    match command {
        LogCommand::List => print(&log::list(root)?, context.format)?,
        LogCommand::Show {
            thread,
            process,
            date,
            last,
            lines,
        } => {
            let thread: Option<ThreadId> = thread.as_deref().map(str::parse).transpose()?;
            let date: Option<Day> = date.as_deref().map(str::parse).transpose()?;
            let found = log::show(
                root,
                &LogFilter {
                    thread,
                    process,
                    date,
                },
            )?;
            for line in &found.damaged {
                warn(&line.to_string());
            }
            let mut entries = found.entries;
            let skipped = last.map_or(0, |last| entries.len().saturating_sub(last));
            entries.drain(..skipped);
            if lines {
                for entry in &entries {
                    print_line(entry)?;
                }
            } else {
                print(&entries, context.format)?;
            }
        }
        LogCommand::Clean { before } => {
            let deleted = log::clean(root, &before.parse()?)?;
            print(&DeletedView { deleted }, context.format)?;
        }
    }
    Ok(Exit::Done)
}

//! `uwf log …`.

use std::time::Duration;

use serde_json::{Map, Value};
use uwf_protocol::exit::Exit;
use uwf_storage::log::{self, Day, Follower, LogEntries, LogFilter};
use uwf_util::time;

use crate::args::{LogCommand, LogFilterArgs};
use crate::commands::{Context, past_time};
use crate::failure::{Failure, warn};
use crate::output::{Format, print, print_line};
use crate::text::{DeletedView, LogLinesView};

/// How long `log tail -f` sleeps between two looks.
const PAUSE: Duration = Duration::from_millis(300);

pub(crate) fn run(context: &Context, command: LogCommand) -> Result<Exit, Failure> {
    let root = &context.site().root;
    match command {
        LogCommand::List => print(&log::list(root)?, context.format)?,
        LogCommand::Show {
            filter,
            date,
            last,
            lines,
        } => {
            let date: Option<Day> = date.as_deref().map(str::parse).transpose()?;
            let filter = LogFilter {
                date,
                ..filter_of(context, &filter)?
            };
            let entries = newest(log::show(root, &filter)?, last.unwrap_or(usize::MAX));
            if lines {
                entries.iter().try_for_each(print_line)?;
            } else {
                print(&entries, context.format)?;
            }
        }
        LogCommand::Tail {
            filter,
            last,
            follow,
        } => tail(context, &filter_of(context, &filter)?, last, follow)?,
        LogCommand::Clean { before } => {
            let deleted = log::clean(root, &first_day_kept(context, &before)?)?;
            print(&DeletedView { deleted }, context.format)?;
        }
    }
    Ok(Exit::Done)
}

fn filter_of(context: &Context, args: &LogFilterArgs) -> Result<LogFilter, Failure> {
    let thread = args.thread.as_deref().map(|text| context.thread(text));
    let after_ms = args.after.as_deref().map(|text| past_time(context, text));
    Ok(LogFilter {
        thread: thread.transpose()?,
        process: args.process.clone(),
        event: args.event.clone(),
        after_ms: after_ms.transpose()?,
        date: None,
    })
}

/// Prints the newest lines, then those that come, if they are wanted.
fn tail(context: &Context, filter: &LogFilter, last: usize, follow: bool) -> Result<(), Failure> {
    let root = &context.site().root;
    let mut follower = Follower::default();
    let mut lines = LogLinesView(newest(follower.next(root, filter)?, last));
    loop {
        match context.format {
            Format::Json => lines.0.iter().try_for_each(print_line)?,
            Format::Text | Format::Yaml if lines.0.is_empty() => {}
            Format::Text | Format::Yaml => print(&lines, context.format)?,
        }
        if !follow {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
        lines = LogLinesView(newest(follower.next(root, filter)?, usize::MAX));
    }
}

/// Returns the last entries, and warns of lines that cannot be read.
fn newest(found: LogEntries, last: usize) -> Vec<Map<String, Value>> {
    for line in &found.damaged {
        warn(&line.to_string());
    }
    let mut entries = found.entries;
    entries.drain(..entries.len().saturating_sub(last));
    entries
}

/// Returns the day that `--before` names: a date, or the day of a time such as `30d`.
fn first_day_kept(context: &Context, text: &str) -> Result<Day, Failure> {
    if let Ok(day) = text.parse() {
        return Ok(day);
    }
    let is_relative = time::parse_duration(text).is_some();
    match past_time(context, text) {
        Ok(at_ms) if is_relative => Ok(time::date_utc(at_ms).parse()?),
        Ok(_) | Err(_) => Ok(text.parse::<Day>()?),
    }
}

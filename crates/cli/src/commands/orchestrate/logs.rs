//! `uwf orchestrate logs`.

use std::time::Duration;

use uwf_engine::{LogContent, LogFollower, RunLog, is_shared, run_logs};
use uwf_protocol::ids::ThreadId;

use super::looking::format;
use super::place;
use crate::args::RunLogsArgs;
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::hints::runs::failed;
use crate::output::{Format, Raw, Reader, print_each};
use crate::text::{LogItem, log_heading};

/// How long to wait between two looks at a run that goes on.
const PAUSE: Duration = Duration::from_millis(200);
/// How much of a log one object has, in bytes.
const MOST_OF_ITEM: usize = 1 << 20;

pub(super) fn run(context: &Context, args: &RunLogsArgs) -> Result<(), Failure> {
    let thread = place::find(context, &args.place, &args.run)?;
    let step = args.step.as_deref();
    if args.follow {
        return follow(context, thread, step);
    }
    let logs = run_logs(context.site(), thread, step).map_err(|error| failed(error, None))?;
    if logs.is_empty() {
        note("no program has printed anything");
    }
    match format(context, args.json) {
        Format::Text => print_all(&logs, is_shared(context.site(), thread)),
        format => logs.iter().try_for_each(|log| {
            let item = LogItem::new(log, text_of(log)?);
            print_each(&item, format).map(drop)
        }),
    }
}

/// Prints logs one after the other. One alone is printed as it is.
fn print_all(logs: &[RunLog], is_shared: bool) -> Result<(), Failure> {
    let mut out = Raw::new();
    for log in logs {
        if logs.len() > 1 {
            out.heading(&log_heading(log))?;
        }
        if print_from(&mut out, log, 0, is_shared)? == Reader::Gone {
            break;
        }
    }
    Ok(())
}

/// Prints what is added to the logs of a run, until it stops.
fn follow(context: &Context, thread: ThreadId, step: Option<&str>) -> Result<(), Failure> {
    let mut follower =
        LogFollower::open(context.site(), thread, step).map_err(|error| failed(error, None))?;
    let is_shared = is_shared(context.site(), thread);
    let mut out = Raw::new();
    let mut last = String::new();
    loop {
        let followed = follower.look().map_err(|error| failed(error, None))?;
        for part in &followed.parts {
            let heading = log_heading(&part.log);
            if heading != last {
                out.heading(&heading)?;
                last = heading;
            }
            if print_from(&mut out, &part.log, part.from, is_shared)? == Reader::Gone {
                return Ok(());
            }
        }
        if !followed.goes_on {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Prints a log from a position on. That of a shared run may be on another machine.
fn print_from(out: &mut Raw, log: &RunLog, from: u64, is_shared: bool) -> Result<Reader, Failure> {
    match &log.content {
        LogContent::File(file) => out.file(file, from),
        LogContent::Text(text) => out.bytes(text.as_bytes()),
        LogContent::Gone(file) => {
            note(&match is_shared {
                true => format!(
                    "`{}` is not on this machine: output of more than 64 KiB stays where the step was done",
                    file.display()
                ),
                false => format!("`{}` is gone", file.display()),
            });
            Ok(Reader::There)
        }
    }
}

/// Returns the text of a log, and whether there is more.
fn text_of(log: &RunLog) -> Result<Option<(String, bool)>, Failure> {
    Ok(match &log.content {
        LogContent::File(file) => {
            // One byte more tells whether there is more.
            let read = uwf_durable::read_start(file, MOST_OF_ITEM + 1);
            let read = read.map_err(|error| Failure::request("cannot read a log").cause(&error))?;
            read.map(|bytes| {
                let shown = &bytes[..bytes.len().min(MOST_OF_ITEM)];
                let is_cut = bytes.len() > MOST_OF_ITEM;
                (String::from_utf8_lossy(shown).into_owned(), is_cut)
            })
        }
        LogContent::Text(text) => Some((text.clone(), false)),
        LogContent::Gone(_) => None,
    })
}

//! `uwf thread tail`: what the agents of a thread and of its children do, turn by turn.

use std::io::IsTerminal;
use std::time::Duration;

use uwf_engine::{FamilyEvent, FamilyTail, TailEvent};
use uwf_protocol::exit::Exit;

use crate::args::TailArgs;
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::output::{Reader, print_each};
use crate::text::TailView;

/// How long a change may go unnoticed that is not in the files of the run, such as the end of an engine by force.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long events are collected. An answer that is streamed changes a file with each of its words.
const COLLECT: Duration = Duration::from_millis(100);

pub(super) fn tail(context: &Context, args: &TailArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let (mut tail, events) = FamilyTail::begin(context.site(), thread, args.turns)?;
    if print(context, events)? == Reader::Gone || !args.follow {
        return Ok(Exit::Done);
    }
    let mut must_say_that_it_waits = !tail.is_running() && std::io::stderr().is_terminal();
    loop {
        let events = tail.next_events()?;
        let is_over = events.last().is_some_and(has_stopped);
        if print(context, events)? == Reader::Gone || is_over {
            return Ok(Exit::Done);
        }
        if std::mem::take(&mut must_say_that_it_waits) {
            note("nobody works on the thread now; Ctrl-C ends the wait");
        }
        tail.wait(LOOK_AGAIN);
        std::thread::sleep(COLLECT);
    }
}

/// Tells whether nothing follows.
fn has_stopped(event: &FamilyEvent) -> bool {
    event.child.is_none() && matches!(event.event, TailEvent::Stopped(_))
}

/// Prints events one by one, until nobody reads them any more.
fn print(context: &Context, events: Vec<FamilyEvent>) -> Result<Reader, Failure> {
    for event in events {
        let view = TailView {
            event,
            now_ms: context.site().env.now_ms(),
        };
        if print_each(&view, context.format)? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::There)
}

//! What changes while one looks at it: `uwf thread top`, and `uwf thread list --watch`.

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use uwf_engine::{ListFilter, ThreadStatus};
use uwf_protocol::exit::Exit;

use super::listing::{list_options, listed};
use crate::args::ListArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{Format, as_page, print, rendered, write};
use crate::screen;
use crate::text::{Page, TopView};

/// How often the page is drawn.
const EVERY: Duration = Duration::from_secs(2);

/// Shows the threads that run and those that wait for a person, until a key ends it. Where nobody looks, once.
pub(super) fn top(context: &Context) -> Result<Exit, Failure> {
    if is_watched(context) {
        return screen::show(&context.runner.signals, EVERY, || {
            Ok(as_page(&top_view(context)?))
        });
    }
    print(&top_view(context)?, context.format)?;
    Ok(Exit::Done)
}

/// Shows a list on a terminal until a key ends it. Elsewhere, prints the list whenever it has changed, until nobody reads
/// it.
pub(super) fn watch(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let filter = list_options(context, args)?;
    let snapshot = || listed(context, args, &filter).map(|(view, _)| view);
    if is_watched(context) {
        return screen::show(&context.runner.signals, EVERY, || Ok(as_page(&snapshot()?)));
    }
    let mut last = None;
    loop {
        let now = rendered(&snapshot()?, context.format, Page::default())?;
        if last.as_ref() != Some(&now) {
            write(&now)?;
            last = Some(now);
        }
        if !screen::is_read_after(EVERY) {
            return Ok(Exit::Done);
        }
    }
}

/// Tells whether a person looks at the output.
fn is_watched(context: &Context) -> bool {
    context.format == Format::Text && stdout().is_terminal()
}

fn top_view(context: &Context) -> Result<TopView, Failure> {
    let site = context.site();
    let filter = ListFilter {
        statuses: Some(vec![
            ThreadStatus::Running,
            ThreadStatus::Suspended,
            ThreadStatus::Blocked,
            ThreadStatus::Failed,
            ThreadStatus::Corrupt,
        ]),
        ..ListFilter::default()
    };
    let listed = uwf_engine::list(site, &filter)?;
    Ok(TopView::new(listed.threads, site.env.now_ms()))
}

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
use crate::text::{Page, ThreadsView, TopView};

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

/// Shows a list on a terminal until a key ends it. Elsewhere, prints the list whenever something has happened, until nobody
/// reads it.
pub(super) fn watch(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    context.note_empty_root();
    let filter = list_options(context, args)?;
    let snapshot = || listed(context, args, &filter).map(|(view, _)| view);
    if is_watched(context) {
        return screen::show(&context.runner.signals, EVERY, || Ok(as_page(&snapshot()?)));
    }
    let mut last = None;
    loop {
        let mut view = snapshot()?;
        let news = news_of(&mut view, context.format)?;
        if last.as_ref() != Some(&news) {
            write(&rendered(&view, context.format, Page::default())?)?;
            last = Some(news);
        }
        if !screen::is_read_after(EVERY) {
            return Ok(Exit::Done);
        }
    }
}

/// What must differ for a list to be printed again.
#[derive(PartialEq)]
struct News {
    rendered: String,
    changed_at_ms: Vec<Option<i64>>,
}

/// Returns what a list says apart from ages: an age grows although nothing happens.
fn news_of(view: &mut ThreadsView, format: Format) -> Result<News, Failure> {
    let now_ms = std::mem::take(&mut view.now_ms);
    let rendered = rendered(view, format, Page::default())?;
    view.now_ms = now_ms;
    let changed = view.threads.iter().map(|item| item.outline.changed_at_ms);
    Ok(News {
        rendered,
        changed_at_ms: changed.collect(),
    })
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
            ThreadStatus::Waiting,
            ThreadStatus::Corrupt,
        ]),
        ..ListFilter::default()
    };
    let listed = uwf_engine::list(site, &filter)?;
    Ok(TopView::new(listed.threads, site.env.now_ms()))
}

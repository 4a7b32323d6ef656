//! The turns and the output of the agents of a thread while they work.

use maud::{Markup, html};
use uwf_engine::{EngineError, FamilyEvent, FamilyTail, OutputStream, Site, TailEvent};
use uwf_protocol::ids::ThreadId;
use uwf_util::text::cut_line;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, thread_address};
use crate::trouble::Trouble;

/// How many of the newest turns of each thread of the family are shown.
const TURNS: usize = 40;
/// How many characters of a turn are shown.
const MOST: usize = 4000;
/// How many characters of the arguments of a call are shown.
const CALL: usize = 200;
/// The title of the part of a page with the turns.
pub(super) const TITLE: &str = "What is said now";

/// Returns a page with the turns alone. The script of the thread's page loads it to show new turns.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let thread = asked.thread()?;
    let turns = turns(asked.site(), thread)?;
    Ok(Page {
        title: "Live".to_owned(),
        tab: Tab::None,
        main: html! {
            p.crumbs { a.id href=(thread_address(thread)) { (thread) } }
            h1 { "Live" }
            (section(&turns))
        },
    })
}

/// Returns the newest turns and lines of the agents that work now: one thread of the family after the other, each with its newest
/// turn last.
pub(crate) fn turns(site: &Site, thread: ThreadId) -> Result<Vec<FamilyEvent>, EngineError> {
    let (_, mut events) = FamilyTail::begin(site, thread, TURNS)?;
    events.retain(|event| match &event.event {
        TailEvent::Turn(turn) => turn.step.is_none(),
        TailEvent::Line(_) | TailEvent::Working(_) => true,
        TailEvent::Task(_) | TailEvent::Step(_) | TailEvent::Failed(_) | TailEvent::Stopped(_) => {
            false
        }
    });
    Ok(events)
}

/// Returns the part of a page with the turns.
pub(crate) fn section(events: &[FamilyEvent]) -> Markup {
    html! {
        section #live aria-labelledby="live-title" {
            h2 #live-title { (TITLE) }
            div.live role="log" tabindex="0" aria-labelledby="live-title" {
                ol { @for event in events { (said(event)) } }
            }
        }
    }
}

/// Returns the key of an event. It is unique in a family, and stays the same when the page is loaded again. A later attempt uses
/// the same keys again.
fn event_key(event: &FamilyEvent) -> Option<String> {
    let thread = event.child.as_ref();
    let thread = thread.map_or("top", |child| child.thread.as_str());
    match &event.event {
        TailEvent::Turn(turn) => Some(format!("{thread} turn {}", turn.turn.index)),
        TailEvent::Line(line) => Some(match line.stream {
            OutputStream::Stdout => format!("{thread} stdout {}", line.number),
            OutputStream::Stderr => format!("{thread} stderr {}", line.number),
        }),
        TailEvent::Working(working) => Some(format!("{thread} works {}", working.started_at_ms)),
        TailEvent::Task(_) | TailEvent::Step(_) | TailEvent::Failed(_) | TailEvent::Stopped(_) => {
            None
        }
    }
}

fn said(event: &FamilyEvent) -> Markup {
    let key = event_key(event);
    let branch = event.child.as_ref().map(|child| child.branch.as_str());
    let who = |role: &str| match branch {
        Some(branch) => format!("{branch}: {role}"),
        None => role.to_owned(),
    };
    match &event.event {
        TailEvent::Turn(turn) => html! {
            li data-key=[key] {
                b { (Said(&who(turn.role.as_str()))) }
                @if !turn.turn.content.trim().is_empty() {
                    pre dir="auto" { "\n" (Said(&cut(&turn.turn.content))) }
                }
                @for call in &turn.turn.calls {
                    p.call { "→ " (Said(call.name.as_str())) " "
                        @if let Some(args) = &call.args { code { (Said(&cut_line(args, CALL))) } } }
                }
            }
        },
        TailEvent::Line(line) => html! {
            li data-key=[key] class=(match line.stream { OutputStream::Stdout => "stdout", OutputStream::Stderr => "stderr" }) {
                pre dir="auto" { "\n" (Said(&cut(&line.text))) }
            }
        },
        TailEvent::Working(working) => html! {
            li.begin data-key=[key] { b { (Said(&who(working.role.as_str()))) } " works, by " (Said(&working.agent)) }
        },
        TailEvent::Task(_) | TailEvent::Step(_) | TailEvent::Failed(_) | TailEvent::Stopped(_) => {
            html! {}
        }
    }
}

/// Returns a text, or its beginning if it has more than [`MOST`] characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} […]", &text[..at]),
        None => text.trim_end().to_owned(),
    }
}

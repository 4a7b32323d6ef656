//! Parts of a step that other pages have, too: its data, its tool calls, its checks, and the attempts that failed.

use maud::{Markup, html};
use serde_json::Value;
use uwf_engine::{AttemptView, ToolUse, VisitPart, VisitStory};
use uwf_protocol::checks::{CheckResult, line};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::Usage;
use uwf_util::text::counted;
use uwf_util::{size, time};
use uwf_words::teaser::without_front_matter;

use crate::parts::{Room, Said, beginning, preformatted, section, section_in};

/// The name of the answer in the address of a whole text.
pub(super) const ANSWER: &str = "answer";

/// Returns the address of a whole text of a step, as it came.
pub(super) fn text_address(step: CasRef, text: &str) -> String {
    format!("/steps/{step}/text/{text}")
}

/// Returns a failed attempt as an item of a list.
pub(crate) fn attempt(attempt: &AttemptView) -> Markup {
    let again = match attempt.replaces {
        Some(_) => " at doing it again",
        None => "",
    };
    let usage = attempt.usage.as_ref().and_then(Usage::note);
    html! {
        li.failed {
            p.facts {
                "Attempt " (attempt.number) (again) ": " (Said(attempt.role.as_str())) " by " (Said(&attempt.agent)) ", "
                (time::format_utc(attempt.ended_at_ms)) " UTC"
                @if let Some(usage) = usage { ", " (usage) }
            }
            (preformatted(&attempt.error))
            @if let Some(hint) = &attempt.hint { p.hint { (Said(hint)) } }
            (section("A person said", "person", attempt.words.as_deref()))
            (crate::parts::folded("What the agent printed last", Some(&attempt.stderr_tail)))
        }
    }
}

/// Returns the tool calls, folded.
pub(crate) fn tools(calls: &[ToolUse]) -> Markup {
    html! {
        @if !calls.is_empty() {
            details.aside {
                summary { (counted(calls.len(), "tool call")) }
                ol.tools {
                    @for call in calls {
                        @let outcome = call.outcome.as_deref().filter(|outcome| *outcome != "ok");
                        li class=[outcome.map(|_| "failed")] {
                            b { (Said(&call.name)) } " "
                            code { (Said(call.args.as_deref().unwrap_or_default())) }
                            @if let Some(outcome) = outcome { " " (Said(outcome)) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the results of the checks of a role.
pub(crate) fn checks(results: &[CheckResult]) -> Markup {
    html! {
        @for result in results {
            details.aside {
                summary class=[(!result.passed()).then_some("failed-text")] { "Check " (Said(&result.summary())) }
                p { code { (Said(&line(&result.command))) } }
                (preformatted(&result.output))
            }
        }
    }
}

/// Returns the text of an answer without the data at its start, which the page shows as data; the whole answer if the step has no
/// data.
pub(crate) fn answer(
    step: CasRef,
    answer: Option<&str>,
    output: Option<&Value>,
    bytes: usize,
) -> Markup {
    let Some(answer) = answer else {
        return html! {};
    };
    let whole = text_address(step, ANSWER);
    let room = Room {
        bytes,
        whole: Some(&whole),
    };
    let text = without_front_matter(answer);
    if text.len() == answer.len() || output.is_none() {
        return section_in(room, "Answer", "answer", Some(answer));
    }
    html! {
        (section_in(room, "Answer", "answer", Some(text.trim_start_matches('\n'))))
        p.hint { a href=(whole) { "The answer as it came, with its data" } }
    }
}

/// Returns the parts of a step of a pipeline, such as its command and its output; the data of another step.
pub(crate) fn outcome(
    role: &RoleName,
    visit: Option<&VisitStory>,
    output: Option<&Value>,
    room: Room<'_>,
) -> Markup {
    let parts = visit.map(VisitStory::parts);
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
        return data(output, room);
    };
    let shown = |(name, text): VisitPart| {
        let (title, class) = match name {
            "command" => ("Command", "instruction"),
            "error" => ("Error", "problem"),
            "output" => ("Output", "output"),
            "stdout" => ("Standard output", "output"),
            _ => ("Standard error", "output"),
        };
        section_in(room, title, class, Some(&text))
    };
    let logs = visit.iter().flat_map(|visit| &visit.logs);
    html! {
        @for one in parts { (shown(one)) }
        @for log in logs.filter(|log| log.text.is_none()) {
            p.hint { (size::format(log.bytes)) " more are in " code { (Said(&log.path)) } ": "
                code { "uwf orchestrate logs " (Said(&log.run)) " " (Said(role.as_str())) } }
        }
    }
}

/// Returns the data of a step; nothing if it has none.
fn data(output: Option<&Value>, room: Room<'_>) -> Markup {
    let output = output.filter(|output| !output.is_null());
    html! {
        @if let Some(output) = output {
            section.data {
                h3 { "Data" }
                (value_table(output, room))
            }
        }
    }
}

/// How many levels of a value are shown as tables and lists. Deeper levels are text.
const DEPTH: usize = 4;

/// Returns a value as tables and lists; as a text if there is no room for all of it.
fn value_table(value: &Value, room: Room<'_>) -> Markup {
    let text = match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    match text.len() > room.bytes {
        true => beginning(&text, room),
        false => of_value(value, DEPTH),
    }
}

fn of_value(value: &Value, depth: usize) -> Markup {
    match value {
        Value::String(text) => plain(text),
        Value::Object(fields) if depth > 0 && !fields.is_empty() => html! {
            table { tbody { @for (name, value) in fields {
                tr { th scope="row" { (Said(name)) } td { (of_value(value, depth - 1)) } }
            } } }
        },
        Value::Array(items) if depth > 0 && !items.is_empty() => html! {
            ol.values { @for item in items { li { (of_value(item, depth - 1)) } } }
        },
        other => plain(&format!("{other:#}")),
    }
}

/// Returns a text that cannot get the focus, because it needs no scrolling.
fn plain(text: &str) -> Markup {
    html! { pre dir="auto" { "\n" (Said(text.trim_end())) } }
}

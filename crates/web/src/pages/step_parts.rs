//! Parts of a step that other pages have, too: its data, its tool calls, its checks, and the attempts that failed.

use maud::{Markup, html};
use serde_json::Value;
use uwf_engine::{AttemptView, ToolUse};
use uwf_protocol::checks::{CheckResult, line};
use uwf_protocol::nodes::Usage;
use uwf_util::text::counted;
use uwf_util::time;

use crate::parts::{Room, Said, beginning, preformatted, section};

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

/// Returns what came of the checks of a role.
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

/// Returns the data of a step: a row for each field, or the value itself.
pub(crate) fn data(output: Option<&Value>, room: Room<'_>) -> Markup {
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

/// How deep values are shown as tables. Deeper ones are text.
const DEPTH: usize = 4;

/// Returns a value: a row for each field of an object, or the value itself. One that is very long is text.
pub(crate) fn value_table(value: &Value, room: Room<'_>) -> Markup {
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

/// Returns a text that need not be scrolled.
fn plain(text: &str) -> Markup {
    html! { pre dir="auto" { "\n" (Said(text.trim_end())) } }
}

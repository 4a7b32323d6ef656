//! What differs between two steps.

use axum::http::StatusCode;
use maud::{Markup, html};
use uwf_engine::{ComparedStep, FieldDifference, TextHunk, diff_steps};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::Usage;
use uwf_util::text::cut;
use uwf_util::time;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, hash_link, preformatted};
use crate::trouble::{Refusal, Trouble};

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let (a, b) = (step(asked, "a")?, step(asked, "b")?);
    let found = diff_steps(asked.site(), a, b)?;
    let main = html! {
        div.title { h1 { "Difference of two steps" } }
        table.plain {
            thead { tr { td {} th scope="col" { "Step" } th scope="col" { "Role" } th scope="col" { "Agent" } th scope="col" { "Used" } } }
            tbody {
                @if let Some(a) = &found.a { (line("before", a)) }
                @if let Some(b) = &found.b { (line("after", b)) }
            }
        }
        @if found.same { p.empty { "Role, instruction, data and answer are the same." } }
        (texts("Instruction", &found.instruction))
        (fields(&found.data))
        (texts("Answer", &found.text))
    };
    Ok(Page {
        title: "Difference of two steps".to_owned(),
        tab: Tab::None,
        main,
    })
}

fn step(asked: &Asked, name: &str) -> Result<CasRef, Refusal> {
    let text = asked.query.get(name).unwrap_or_default();
    text.parse().map_err(|_| {
        let message = format!("`{name}` has to be a step, and is `{text}`");
        Refusal::new(StatusCode::BAD_REQUEST, "field", message)
    })
}

fn line(which: &str, step: &ComparedStep) -> Markup {
    html! {
        tr {
            th scope="row" { (which) }
            td { (step.number) ". " (hash_link(step.step)) }
            td { (Said(step.role.as_str())) }
            td { (Said(&step.agent)) }
            td {
                @if let Some(took) = step.duration_ms { (time::format_duration(took)) }
                @if let Some(usage) = step.usage.as_ref().and_then(Usage::note) { ", " (usage) }
            }
        }
    }
}

/// Returns the lines of two texts that differ.
pub(crate) fn texts(title: &str, hunks: &[TextHunk]) -> Markup {
    html! {
        @if !hunks.is_empty() {
            section.card {
                h2 { (title) }
                @for hunk in hunks {
                    p.hint { "Line " (hunk.a_line) " / " (hunk.b_line) }
                    div.difference { @for text in &hunk.lines { (changed(text)) } }
                }
            }
        }
    }
}

/// How many characters of a line are shown.
const LINE: usize = 10_000;

/// Returns a line of a hunk, which begins with its sign.
fn changed(line: &str) -> Markup {
    let rest = cut(line.get(1..).unwrap_or_default(), LINE);
    let rest = rest.as_ref();
    match line.as_bytes().first() {
        Some(b'+') => html! { div { ins.ins { (Said(rest)) } } },
        Some(b'-') => html! { div { del.del { (Said(rest)) } } },
        _ => html! { div.same { (Said(rest)) } },
    }
}

fn fields(differences: &[FieldDifference]) -> Markup {
    html! {
        @if !differences.is_empty() {
            section.card.data {
                h2 { "Data" }
                table { tbody { @for one in differences { tr {
                    th scope="row" { @if one.path.is_empty() { "(all)" } @else { (Said(&one.path)) } }
                    td {
                        @if let Some(a) = &one.a { del { (preformatted(&shown(a))) } }
                        @if let Some(b) = &one.b { ins { (preformatted(&shown(b))) } }
                    }
                } } } }
            }
        }
    }
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

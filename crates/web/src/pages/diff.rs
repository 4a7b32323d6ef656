//! The pages with the differences of two steps, two threads, or two workflows.

use axum::http::StatusCode;
use maud::{Markup, html};
use uwf_engine::{
    ComparedStep, FieldDifference, StepDifference, TextHunk, diff_steps, diff_threads,
    stored_program, text_hunks,
};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::Usage;
use uwf_util::text::{counted, cut};
use uwf_util::time;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, hash_link, preformatted, thread_address, workflow_link};
use crate::trouble::{Refusal, Trouble};

/// How many pairs of steps a page shows at most.
const PAIRS: usize = 100;

/// Returns the page for two threads or two steps.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let threads = ["a", "b"].map(|name| asked.query.get(name).and_then(|text| text.parse().ok()));
    if let [Some(a), Some(b)] = threads {
        return of_threads(asked, a, b);
    }
    let (a, b) = (step(asked, "a")?, step(asked, "b")?);
    let found = diff_steps(asked.site(), a, b)?;
    let main = html! {
        div.title { h1 { "Difference of two steps" } }
        (pair(&found))
    };
    Ok(Page {
        title: "Difference of two steps".to_owned(),
        tab: Tab::None,
        main,
    })
}

fn of_threads(asked: &Asked, a: ThreadId, b: ThreadId) -> Result<Page, Trouble> {
    let found = diff_threads(asked.site(), a, b)?;
    let hidden = found.steps.len().saturating_sub(PAIRS);
    let main = html! {
        div.title { h1 { "Difference of two threads" } }
        p.facts {
            span { "Before " a.id href=(thread_address(a)) { (a) } }
            span { "After " a.id href=(thread_address(b)) { (b) } }
            span { b { (counted(found.common_steps, "step")) } " in common" @if let Some(last) = found.last_common { ", the last is " (hash_link(last)) } }
        }
        @if found.a_workflow != found.b_workflow {
            p { "They run different workflows: " a href=(between_workflows(found.a_workflow, found.b_workflow)) { "compare these" } "." }
        }
        (texts("Task", &found.task))
        @if found.steps.is_empty() && found.task.is_empty() { p.empty { "Their tasks and their steps are the same." } }
        @for steps in found.steps.iter().take(PAIRS) {
            @let one = steps.a.as_ref().or(steps.b.as_ref());
            section.card {
                @if let Some(one) = one { h2 { "Step " (one.number) } }
                (pair(steps))
            }
        }
        @if hidden > 0 { p.hint { (counted(hidden, "more pair")) " of steps: " code { "uwf thread diff " (a) " " (b) } } }
    };
    Ok(Page {
        title: "Difference of two threads".to_owned(),
        tab: Tab::None,
        main,
    })
}

/// Returns the differences of a pair of steps. One of them may be missing.
fn pair(found: &StepDifference) -> Markup {
    html! {
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
    }
}

/// Returns the address of the differences of two workflows.
pub(super) fn between_workflows(a: CasRef, b: CasRef) -> String {
    format!("/workflows/{b}/since/{a}")
}

/// Returns the page with the differences of two workflows.
pub(crate) fn of_workflows(asked: &Asked) -> Result<Page, Trouble> {
    let (new, old) = (asked.hash()?, asked.parsed("old", "workflow")?);
    let [old, new] = [old, new].map(|hash| stored_program(asked.site(), hash));
    let (old, new) = (old?, new?);
    let hunks = old.source.as_deref().zip(new.source.as_deref());
    let hunks = hunks.map(|(old, new)| text_hunks(old, new));
    let main = html! {
        div.title { h1 { "Difference of two workflows" } }
        p.facts {
            @for (which, one) in [("Before ", &old), ("After ", &new)] {
                span { (which) (workflow_link(one.graph.workflow, Some(&one.graph.name))) " " (hash_link(one.graph.workflow)) }
            }
        }
        @match &hunks {
            None => { p.hint { "One of them cannot be written as a file: " code { "uwf workflow diff " (old.graph.workflow) " " (new.graph.workflow) } } }
            Some(hunks) if hunks.is_empty() => { p.empty { "As files they are the same." } }
            Some(hunks) => { (texts("File", hunks)) }
        }
    };
    Ok(Page {
        title: "Difference of two workflows".to_owned(),
        tab: Tab::Workflows,
        main,
    })
}

fn step(asked: &Asked, name: &str) -> Result<CasRef, Refusal> {
    let text = asked.query.get(name).unwrap_or_default();
    text.parse().map_err(|_| {
        let message =
            format!("`{name}` has to be a step or a thread, as the other one, and is `{text}`");
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

/// Returns the lines by which two texts differ.
pub(crate) fn texts(title: &str, hunks: &[TextHunk]) -> Markup {
    let (shown, hidden) = within(hunks, SHOWN);
    html! {
        @if !hunks.is_empty() {
            section.card {
                h2 { (title) }
                @for (hunk, lines) in shown {
                    p.hint { "Line " (hunk.a_line) " / " (hunk.b_line) }
                    div.difference { @for text in lines { (changed(text)) } }
                }
                @if hidden > 0 { p.hint { (counted(hidden, "more line")) " are not shown; the pages of both lead to the whole texts." } }
            }
        }
    }
}

/// How many bytes of differing lines one part shows, with the HTML around them.
const SHOWN: usize = 64 * 1024;
/// How many bytes of HTML are around the text of a line.
const AROUND: usize = 40;

/// Returns the first lines of hunks, as many as fit into this number of bytes, and how many lines are left out.
fn within(hunks: &[TextHunk], bytes: usize) -> (Vec<(&TextHunk, &[String])>, usize) {
    let (mut shown, mut left, mut hidden) = (Vec::new(), bytes, 0);
    for hunk in hunks {
        let fits = hunk.lines.iter().take_while(|line| {
            let fits = left > 0;
            left = left.saturating_sub(line.len().min(LINE) + AROUND);
            fits
        });
        let fits = fits.count();
        hidden += hunk.lines.len() - fits;
        if fits > 0 {
            shown.push((hunk, &hunk.lines[..fits]));
        }
    }
    (shown, hidden)
}

/// How many characters of a line a page shows.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_differing_lines_are_shown_and_the_others_are_counted() {
        let hunk = |lines: &[&str]| TextHunk {
            a_line: 1,
            b_line: 1,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let hunks = [
            hunk(&["-a", "+b"]),
            hunk(&["-c", "+d", "+e"]),
            hunk(&["-f"]),
        ];
        let shown = |bytes| {
            let (shown, hidden) = within(&hunks, bytes);
            let lines: Vec<usize> = shown.iter().map(|(_, lines)| lines.len()).collect();
            (lines, hidden)
        };
        assert_eq!(shown(SHOWN), (vec![2, 3, 1], 0));
        assert_eq!(shown(2 * (AROUND + 2) + 1), (vec![2, 1], 3));
        assert_eq!(shown(1), (vec![1], 5));
    }
}

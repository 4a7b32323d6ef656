//! One thread: where it stands, its way through the graph, and its steps.

use maud::{Markup, html};
use uwf_engine::{GraphNode, GraphView, ReadOptions, ThreadView, read_thread, show, thread_graph};
use uwf_protocol::ids::CasRef;
use uwf_util::text::counted;
use uwf_words::graph::linked_svg;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::pages::{family, standing, steps};
use crate::parts::{Said, cost, drawing, hash_link, labels, status, when, workflow_link};
use crate::trouble::{Refusal, Trouble};

/// How many characters of steps a page has. Older steps are on pages of their own.
const QUOTA: usize = 200_000;

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let id = asked.thread()?;
    let site = asked.site();
    let before: Option<CasRef> = match asked.query.get("before") {
        Some(text) => {
            let refused = |_| Refusal::not_found(format!("`{text}` is no step"));
            Some(text.parse().map_err(refused)?)
        }
        None => None,
    };
    let view = show(site, id)?;
    let graph = thread_graph(site, id)?;
    let options = ReadOptions {
        quota: QUOTA,
        before,
        start: false,
    };
    let story = read_thread(site, id, &options)?;
    let title = title(&view);
    let main = html! {
        (header(&view, &title, site.env.now_ms()))
        (standing::state(&view))
        div.columns {
            section.way aria-labelledby="way" {
                h2 #way { "Way" }
                (drawn(&graph))
            }
            div {
                (family::section(&view))
                (steps::section(&view, &story))
            }
        }
    };
    Ok(Page {
        title,
        tab: Tab::Threads,
        main,
    })
}

/// Returns what a thread is called: by its task.
fn title(view: &ThreadView) -> String {
    let task = view.outline.task.as_deref();
    task.filter(|task| !task.trim().is_empty())
        .unwrap_or("(no task)")
        .to_owned()
}

fn header(view: &ThreadView, title: &str, now_ms: i64) -> Markup {
    let outline = &view.outline;
    html! {
        p.crumbs {
            a href="/" { "Threads" } span aria-hidden="true" { "/" }
            span.id { (view.thread) }
        }
        div.title {
            h1 { (Said(title)) }
            (status(view.state.status))
            @if let Some(name) = &view.name { b { (Said(name.as_str())) } }
            (labels(&view.labels))
        }
        div.facts {
            span { "Workflow " (workflow_link(view.workflow, view.workflow_name.as_deref())) }
            span { b { (counted(view.steps, "step")) } }
            @if outline.usage.as_ref().is_some_and(|total| total.runs > 0) {
                span { "Cost " b { (cost(outline.usage.as_ref())) } }
            }
            @if let Some(at_ms) = outline.started_at_ms { span { "Started " (when(at_ms, now_ms)) } }
            @if let Some(at_ms) = outline.changed_at_ms { span { "Changed " (when(at_ms, now_ms)) } }
            span { "Head " (hash_link(view.head)) }
        }
    }
}

/// Returns the drawing of a graph, whose nodes lead to the last step of their role; a word about it if it is too large.
fn drawn(graph: &GraphView) -> Markup {
    let to_last_step = |node: &GraphNode| node.last_step.map(|step| format!("#{step}"));
    match linked_svg(graph, &to_last_step) {
        Ok(svg) => drawing(svg),
        Err(error) => html! { p.hint { "The graph is not drawn: " (error.to_string()) "." } },
    }
}

//! One thread: where it stands, its way through the graph, and its steps.

use maud::{Markup, html};
use uwf_engine::{
    GraphNode, GraphView, StepStory, StepsPage, ThreadView, show, story_page,
    thread_graph_of_newest,
};
use uwf_protocol::ids::CasRef;
use uwf_util::text::counted;

use crate::asked::Asked;
use crate::pages::actions::links;
use crate::pages::frame::{Page, Tab};
use crate::pages::machine::REMOTE;
use crate::pages::{background, family, live, standing, steps};
use crate::parts::{
    Said, cost, drawing, hash_link, labels, status, task, thread_address, unreadable, when,
    workflow_link,
};
use crate::trouble::{Refusal, Trouble};

/// How many steps a page has. Older ones are on pages of their own.
const STEPS: usize = 50;
/// How many of the newest steps count for the way in the graph. So the page of a thread with very many steps opens fast.
const WAY: usize = 150;

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
    let graph = thread_graph_of_newest(site, id, WAY)?;
    let part = StepsPage {
        before,
        take: STEPS,
    };
    let story = story_page(site, id, part)?;
    let family = uwf_engine::family(site, id)?;
    let forks = uwf_engine::forks(site, id)?;
    let running = view.running.is_some();
    let turns = running.then(|| live::turns(site, id));
    let title = task(&view.outline).to_owned();
    let shared = shared(&view);
    let main = html! {
        (header(&view, &title, site.env.now_ms(), &shared))
        (background::notice(asked, &view))
        (standing::state(&view))
        (links(asked, &view))
        @match turns {
            Some(Ok(turns)) => { (live::section(&turns)) }
            Some(Err(error)) => { (unreadable(asked, live::TITLE, error)) }
            None => {}
        }
        div.columns {
            section.way aria-labelledby="way" {
                h2 #way { "Way" }
                (drawn(&graph, &story.steps))
                @if graph.thread.as_ref().is_some_and(|thread| thread.hidden > 0) {
                    p.hint { "Bold lines are the way of the newest " (WAY) " steps." }
                }
            }
            div {
                (family::section(&view, family.as_ref(), &forks))
                (steps::section(&story, asked.app.access))
            }
        }
    };
    Ok(Page {
        title,
        tab: Tab::Threads,
        main,
    })
}

/// Says that the thread is shared, and that this machine has its lease if the thread is at work here. Only the remote knows of other
/// leases, and no page of a thread asks it.
fn shared(view: &ThreadView) -> Markup {
    html! {
        @if view.shared {
            span {
                b { "Shared" }
                @if view.running.is_some() { ", leased by this machine" }
                @else if !view.state.status.is_ended() { ", " a href=(format!("{REMOTE}#remote")) { "leases" } }
            }
        }
    }
}

fn header(view: &ThreadView, title: &str, now_ms: i64, shared: &Markup) -> Markup {
    let outline = &view.outline;
    let in_all = view.with_children.as_ref();
    let usage = in_all.map(|all| &all.usage).or(outline.usage.as_ref());
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
            span { b { (counted(view.steps, "step")) } @if let Some(all) = in_all { ", in all " b { (all.steps) } " with its children" } }
            @if usage.is_some_and(|total| total.runs > 0) {
                span { "Cost " a href=(format!("{}/costs", thread_address(view.thread))) { b { (cost(usage)) } } }
            }
            @if let Some(at_ms) = outline.started_at_ms { span { "Started " (when(at_ms, now_ms)) } }
            @if let Some(at_ms) = outline.changed_at_ms { span { "Changed " (when(at_ms, now_ms)) } }
            span { "Head " (hash_link(view.head)) }
            (shared)
            @if let Some(run) = &view.run { span { "Run " code { (Said(&run.id)) } } }
            @if let Some(place) = &view.workspace {
                span { "Worktree " code { (Said(&place.folder.display().to_string())) } @if !place.exists { " (gone)" } " at branch " code { (Said(&place.branch)) } }
            }
        }
    }
}

/// Returns the drawing of a graph. Each node links to the last step of its role.
fn drawn(graph: &GraphView, shown: &[StepStory]) -> Markup {
    let to_last_step = |node: &GraphNode| {
        let step = node.last_step?;
        let is_here = shown.iter().any(|one| one.hash == step);
        Some(match is_here {
            true => format!("#{step}"),
            false => format!("/steps/{step}"),
        })
    };
    drawing(graph, &to_last_step)
}

//! The page of all threads: first those that wait for a person, then all, page by page. The filters are part of the address.

use maud::{Markup, html};
use uwf_engine::{Board, StatusCount, ThreadItem, list_workflows};
use uwf_util::text::{counted, cut_line};

use crate::asked::Asked;
use crate::fields::Fields;
use crate::pages::frame::{Page, Tab};
use crate::parts::{
    Said, cost, labels, new_thread, reason, status, task, thread_address, when, workflow_link,
};
use crate::selection::{self, field};
use crate::trouble::Trouble;
use crate::visitor::Access;

/// How many characters of a reason the list shows.
const REASON: usize = 240;

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let site = asked.site();
    let query = &asked.query;
    let board = selection::board_of(asked)?;
    let now_ms = site.env.now_ms();
    let is_first = query.get(field::BEFORE).is_none() && query.get(field::STATUS).is_none();
    let main = html! {
        div.title { h1 { "Threads" } (new_thread(asked, None)) }
        (warnings(&board))
        (counts(&board.counts, query))
        (filters(&workflow_names(asked), query))
        @if is_first && !board.urgent.is_empty() { (urgent(&board, now_ms)) }
        @if board.threads.is_empty() { (nothing(asked)) } @else {
            (table(&board.threads, now_ms))
            (pages(&board, query))
        }
    };
    Ok(Page {
        title: "Threads".to_owned(),
        tab: Tab::Threads,
        main,
    })
}

/// Returns the names of workflows for the filter; none if they cannot be read.
fn workflow_names(asked: &Asked) -> Vec<String> {
    let items = list_workflows(asked.site()).unwrap_or_default();
    items.into_iter().map(|item| item.name).collect()
}

fn warnings(board: &Board) -> Markup {
    html! {
        @if !board.warnings.is_empty() {
            ul.notes { @for warning in &board.warnings { li.failed { (Said(warning)) } } }
        }
    }
}

/// Returns how many threads have each status. Each number is a link to these threads.
fn counts(counts: &[StatusCount], query: &Fields) -> Markup {
    let chosen: Vec<&str> = query
        .all(field::STATUS)
        .flat_map(|text| text.split(','))
        .collect();
    let all: usize = counts.iter().map(|one| one.count).sum();
    let rest = Fields::parse(&query.with(field::BEFORE, None));
    let address = |status| format!("/?{}", rest.with(field::STATUS, status));
    html! {
        ul.counts aria-label="Statuses" {
            li { a href=(address(None)) aria-current=[chosen.is_empty().then_some("true")] { "all " b { (all) } } }
            @for one in counts {
                @let word = one.status.as_str();
                li {
                    a href=(address(Some(word))) aria-current=[chosen.contains(&word).then_some("true")] {
                        (status(one.status)) " " b { (one.count) }
                    }
                }
            }
        }
    }
}

fn filters(names: &[String], query: &Fields) -> Markup {
    let workflow = query.get(field::WORKFLOW);
    let is_listed = workflow.is_none_or(|chosen| names.iter().any(|name| name == chosen));
    html! {
        form.filters method="get" action="/" role="search" {
            @for status in query.all(field::STATUS) { input type="hidden" name=(field::STATUS) value=(status); }
            label.grow { "Text in the task, the name or the id"
                input #q type="search" name=(field::TEXT) value=[query.get(field::TEXT)];
            }
            label { "Workflow"
                select name=(field::WORKFLOW) {
                    option value="" { "all" }
                    @for name in names { option value=(name) selected[workflow == Some(name)] { (Said(name)) } }
                    @if let (false, Some(other)) = (is_listed, workflow) { option value=(other) selected { (Said(other)) } }
                }
            }
            label { "Label"
                input type="text" name=(field::LABEL) value=[query.get(field::LABEL)] placeholder="key=value" size="12";
            }
            @for label in query.all(field::LABEL).skip(1) { input type="hidden" name=(field::LABEL) value=(label); }
            label { "Children"
                select name=(field::CHILDREN) {
                    option value="" { "below their parents" }
                    option value="listed" selected[query.get(field::CHILDREN) == Some("listed")] { "listed, too" }
                }
            }
            button type="submit" { "Filter" }
        }
    }
}

/// Returns the threads that wait for a person, each with its reason.
fn urgent(board: &Board, now_ms: i64) -> Markup {
    let threads = &board.urgent;
    let hidden = board.waiting.saturating_sub(threads.len());
    html! {
        section.urgent aria-labelledby="urgent" {
            h2 #urgent { "Waiting for you" }
            ul {
                @for item in threads {
                    li.row id=(format!("waits-{}", item.thread)) {
                        (status(item.status))
                        a href=(thread_address(item.thread)) { (Said(task(&item.outline))) }
                        @if let Some(at_ms) = item.outline.changed_at_ms { (when(at_ms, now_ms)) }
                        @if let Some(reason) = reason(item) { span.why { (Said(&cut_line(reason, REASON))) } }
                    }
                }
            }
            @if hidden > 0 { p.hint { "The newest " (threads.len()) " of " (board.waiting) "; the statuses above lead to all." } }
        }
    }
}

fn table(threads: &[ThreadItem], now_ms: i64) -> Markup {
    html! {
        table.threads {
            thead {
                tr {
                    th scope="col" { "Task" }
                    th scope="col" { "Status" }
                    th scope="col" { "Next" }
                    th scope="col" { "Workflow" }
                    th.number scope="col" { "Steps" }
                    th.number scope="col" { "Cost" }
                    th scope="col" { "Changed" }
                }
            }
            tbody { @for item in threads { (row(item, now_ms)) } }
        }
    }
}

fn row(item: &ThreadItem, now_ms: i64) -> Markup {
    let outline = &item.outline;
    let role = item.current_role.as_ref().or(item.suspended_role.as_ref());
    html! {
        tr id=(format!("row-{}", item.thread)) {
            td.task {
                a href=(thread_address(item.thread)) { (Said(task(&item.outline))) }
                span.under {
                    @if let Some(name) = &item.name { b { (Said(name.as_str())) } " " }
                    span.id { (item.thread) }
                    (labels(&item.labels))
                }
            }
            td { (status(item.status)) }
            td { @if let Some(role) = role { (Said(role.as_str())) } }
            td { @if let Some(hash) = item.workflow { (workflow_link(hash, item.workflow_name.as_deref())) } }
            td.number { @if let Some(steps) = item.steps { (steps) span.unit { @if steps == 1 { " step" } @else { " steps" } } } }
            td.number { (cost(outline.usage.as_ref())) }
            td { @if let Some(at_ms) = outline.changed_at_ms { (when(at_ms, now_ms)) } }
        }
    }
}

/// Returns how many threads were selected, and the links to other pages of them.
fn pages(board: &Board, query: &Fields) -> Markup {
    html! {
        nav.pages aria-label="Pages of threads" {
            span { (counted(board.total, "thread")) }
            @if query.get(field::BEFORE).is_some() {
                a href=(format!("/?{}", query.with(field::BEFORE, None))) { "To the newest" }
            }
            @if let Some(last) = board.next {
                a.button rel="next" href=(format!("/?{}", query.with(field::BEFORE, Some(last.as_str())))) { "Older threads" }
            }
        }
    }
}

/// Returns what is shown instead of an empty list.
fn nothing(asked: &Asked) -> Markup {
    let is_filtered = !asked.query.with(field::BEFORE, None).is_empty();
    html! {
        p.empty {
            @if asked.query.get(field::BEFORE).is_some() {
                "There are no older threads. " a href=(format!("/?{}", asked.query.with(field::BEFORE, None))) { "To the newest" }
            }
            @else if is_filtered { "No thread matches. " a href="/" { "Show all" } }
            @else {
                "There are no threads yet. "
                @if asked.app.access == Access::Full { a href="/new" { "New thread" } " or " }
                code { "uwf thread start WORKFLOW -p \"…\"" } " makes one."
            }
        }
    }
}

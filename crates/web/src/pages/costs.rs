//! The page of costs: of one thread with its children, or of all threads, by role, agent, model, workflow, day or thread.

use maud::{Markup, html};
use uwf_engine::{CostKey, CostReport, CostRow, UsageTotal};
use uwf_util::text::cut_line;
use uwf_words::usage;

use crate::asked::Asked;
use crate::costs::{BY, SINCE, report_of};
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, threads_of};
use crate::selection::field;
use crate::trouble::Trouble;

/// How many characters of a task a row shows.
const TASK: usize = 100;
/// How many rows a page shows at most. The highest costs come first, or the newest days and threads.
const ROWS: usize = 500;
/// The values of [`SINCE`] that can be chosen, each with its text.
const TIMES: [(&str, &str); 4] = [
    ("", "always"),
    ("24h", "last 24 hours"),
    ("7d", "last 7 days"),
    ("30d", "last 30 days"),
];

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let report = report_of(asked)?;
    let thread = asked.part("thread");
    let is_of_thread = !thread.is_empty();
    let main = html! {
        @if is_of_thread {
            p.crumbs {
                a href="/" { "Threads" } span aria-hidden="true" { "/" }
                a.id href=(format!("/threads/{thread}")) { (thread) }
            }
        }
        div.title { h1 { "Costs" } }
        @if is_of_thread { p { "The steps and the failed attempts of the thread and of all its children." } }
        @if !report.warnings.is_empty() {
            ul.notes { @for warning in &report.warnings { li.failed { (Said(warning)) } } }
        }
        (filters(asked, report.by, is_of_thread))
        (table(&report))
    };
    Ok(Page {
        title: "Costs".to_owned(),
        tab: match is_of_thread {
            true => Tab::Threads,
            false => Tab::Costs,
        },
        main,
    })
}

fn filters(asked: &Asked, by: CostKey, is_of_thread: bool) -> Markup {
    let query = &asked.query;
    let since = query.get(SINCE).unwrap_or_default();
    let is_listed = TIMES.iter().any(|(value, _)| *value == since);
    html! {
        form.filters method="get" {
            label { "By"
                select name=(BY) {
                    @for one in CostKey::ALL { option value=(one.as_str()) selected[one == by] { (one.as_str()) } }
                }
            }
            label { "Since"
                select name=(SINCE) {
                    @for (value, name) in TIMES { option value=(value) selected[value == since] { (name) } }
                    @if !is_listed { option value=(since) selected { (Said(since)) } }
                }
            }
            @if !is_of_thread {
                label { "Label"
                    input type="text" name=(field::LABEL) value=[query.get(field::LABEL)] placeholder="key=value" size="12";
                }
            }
            @for label in query.all(field::LABEL).skip(usize::from(!is_of_thread)) { input type="hidden" name=(field::LABEL) value=(label); }
            button type="submit" { "Sum" }
        }
    }
}

fn table(report: &CostReport) -> Markup {
    if report.total.runs == 0 {
        return html! { p.empty { "No agent has run." } };
    }
    let hidden = report.rows.len().saturating_sub(ROWS);
    html! {
        table.plain {
            thead { tr {
                // The cost comes first: on a narrow screen, the other columns are beyond its edge.
                th scope="col" { (report.by.as_str()) } th.number scope="col" { "Cost" } th.number scope="col" { "Runs" }
                th.number scope="col" { "Time" } th.number scope="col" { "Tokens" }
            } }
            tbody {
                @for one in report.rows.iter().take(ROWS) { (row(report.by, one)) }
                @if let Some(removed) = &report.removed { (sums(&html! { "removed threads" }, removed)) }
            }
            tfoot { (sums(&html! { "total" }, &report.total)) }
        }
        @if hidden > 0 { p.hint { (hidden) " more rows are in the total." } }
    }
}

fn row(by: CostKey, row: &CostRow) -> Markup {
    let Some(key) = &row.key else {
        return sums(&html! { span.none { "unknown" } }, &row.usage);
    };
    let name = match by {
        CostKey::Thread => html! {
            a href=(format!("/threads/{key}")) { (Said(&cut_line(row.task.as_deref().unwrap_or(key), TASK))) }
        },
        CostKey::Workflow => html! { a href=(threads_of(key)) { (Said(key)) } },
        CostKey::Role | CostKey::Agent | CostKey::Model | CostKey::Day => html! { (Said(key)) },
    };
    sums(&name, &row.usage)
}

fn sums(name: &Markup, total: &UsageTotal) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            td.number { (usage::cost(total)) }
            td.number { (total.runs) }
            td.number { (usage::duration(total)) }
            td.number { (usage::tokens(total)) }
        }
    }
}

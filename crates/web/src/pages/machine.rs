//! What runs here, which agents may, what is shared, and what `uwf doctor` says.

use maud::{Markup, html};
use uwf_engine::{MachineView, machine};
use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, status, task, thread_address, when};
use crate::settings::{Finding, Level};
use crate::trouble::{Refusal, Trouble};

/// Where the page is that has the checks.
pub(crate) const CHECKS: &str = "/machine/checks";

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    of(
        asked,
        &html! {
            p { a.button href=(format!("{CHECKS}#checks")) { "Check everything" } }
            p.hint { "As " code { "uwf doctor --offline" } ": it starts agents to ask for their versions, and calls no model." }
        },
    )
}

/// Returns the page with what `uwf doctor` says.
pub(crate) fn checks(asked: &Asked) -> Result<Page, Trouble> {
    let findings = (asked.app.check)(asked.site());
    of(asked, &checked(&findings.map_err(Refusal::of_command)?))
}

fn of(asked: &Asked, checks: &Markup) -> Result<Page, Trouble> {
    let site = asked.site();
    let now_ms = site.env.now_ms();
    let main = html! {
        div.title { h1 { "Machine" } }
        div.facts {
            span { "Root " code { (Said(&site.root.path().display().to_string())) } }
            span { "Store " code { (Said(&site.store.dir().display().to_string())) } }
        }
        // If the state cannot be read, the checks below are what somebody looks for.
        @match machine(site) {
            Ok(view) => { (at_work(&view, now_ms)) }
            Err(error) => { ul.notes { li.failed { (Said(&(asked.app.explain)(error).whole())) } } }
        }
        section aria-labelledby="checks" {
            h2 #checks { "Checks" }
            (checks)
        }
    };
    Ok(Page {
        title: "Machine".to_owned(),
        tab: Tab::Machine,
        main,
    })
}

fn at_work(view: &MachineView, now_ms: i64) -> Markup {
    html! {
        @if !view.warnings.is_empty() { ul.notes { @for warning in &view.warnings { li.failed { (Said(warning)) } } } }
        (running(view, now_ms))
        (slots(view))
        (remote(view))
    }
}

fn running(view: &MachineView, now_ms: i64) -> Markup {
    html! {
        section aria-labelledby="running" {
            h2 #running { "At work" }
            @if view.running.is_empty() { p.empty { "No step is being done." } } @else {
                table.plain {
                    thead { tr {
                        th scope="col" { "Thread" } th scope="col" { "Status" } th scope="col" { "Role" }
                        th scope="col" { "Agent" } th scope="col" { "Process" } th scope="col" { "Since" }
                    } }
                    tbody { @for item in &view.running { tr {
                        th.row scope="row" { a href=(thread_address(item.thread)) { (Said(task(&item.outline))) } }
                        td { (status(item.status)) }
                        @if let Some(now) = &item.running {
                            td { (Said(now.role.as_str())) }
                            td { (Said(now.agent.as_deref().unwrap_or_default())) @if now.waiting { " (waits for a slot)" } }
                            td { @if let Some(pid) = now.agent_pid { (pid) } }
                            td { (when(now.started_at_ms, now_ms)) }
                        }
                    } } }
                }
            }
        }
    }
}

fn slots(view: &MachineView) -> Markup {
    html! {
        section aria-labelledby="slots" {
            h2 #slots { "Slots for agents" }
            @if view.slots.is_empty() { p.hint { "The config does not limit how many agents work at once." } }
            ul.list { @for pool in &view.slots { li {
                b { @match &pool.agent { Some(agent) => { (Said(agent)) } None => "all agents" } }
                " " (pool.holders.len()) " of " (pool.max) " taken"
                @if !pool.holders.is_empty() { ": " (links(&pool.holders)) }
            } } }
        }
    }
}

fn remote(view: &MachineView) -> Markup {
    html! {
        section aria-labelledby="remote" {
            h2 #remote { "Remote" }
            @match &view.remote {
                Some(url) => { p { "Threads are shared at " code { (Said(url)) } ". It is not asked here: " code { "uwf thread list --remote" } " does." } }
                None => { p.hint { "No remote is configured." } }
            }
            @if !view.shared.is_empty() { p { (counted(view.shared.len(), "shared thread")) ": " (links(&view.shared)) } }
            @if !view.waiting.is_empty() { p { "With a finished step that waits here: " (links(&view.waiting)) } }
        }
    }
}

/// How many threads are named.
const NAMED: usize = 20;

fn links(threads: &[ThreadId]) -> Markup {
    html! {
        @for (nth, thread) in threads.iter().take(NAMED).enumerate() {
            @if nth > 0 { ", " }
            a.id href=(thread_address(*thread)) { (thread) }
        }
        @if threads.len() > NAMED { " and " (threads.len() - NAMED) " more" }
    }
}

fn checked(findings: &[Finding]) -> Markup {
    html! {
        table.plain {
            thead { tr { th scope="col" { "Check" } th scope="col" { "Result" } th scope="col" { "Found" } } }
            tbody { @for one in findings { tr {
                th scope="row" { (Said(&one.check)) @if let Some(subject) = &one.subject { " " (Said(subject)) } }
                td { @match one.status {
                    Level::Ok => span.status.completed { "✓ ok" },
                    Level::Warning => span.status.suspended { "? warning" },
                    Level::Error => span.status.failed { "! error" },
                } }
                td { (Said(&one.message)) @if let Some(hint) = &one.hint { p.hint { (Said(hint)) } } }
            } } }
        }
    }
}

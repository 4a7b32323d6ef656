//! The machine: the steps that are being done, the agents of the config, the slots, what is shared and which machine owns each
//! lease, and the result of `uwf doctor`.

use maud::{Markup, html};
use uwf_engine::{AgentView, MachineView, machine};
use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;
use uwf_util::{shell_words, time};

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, status, task, thread_address, threads_of, when};
use crate::remote::RemoteThread;
use crate::settings::{Finding, Level};
use crate::trouble::{Refusal, Trouble};

/// The address of the page with the checks.
pub(crate) const CHECKS: &str = "/machine/checks";

/// The address of the page with the threads at the remote.
pub(crate) const REMOTE: &str = "/machine/remote";

/// The parts that take long. A page has one of them only if its address asks for it.
#[derive(Default)]
struct Extra {
    findings: Option<Vec<Finding>>,
    threads: Option<Vec<RemoteThread>>,
}

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    of(asked, &Extra::default())
}

/// Returns the page with the result of `uwf doctor`.
pub(crate) fn checks(asked: &Asked) -> Result<Page, Trouble> {
    let findings = (asked.app.check)(asked.site());
    let findings = findings.map_err(Refusal::of_command)?;
    of(
        asked,
        &Extra {
            findings: Some(findings),
            ..Extra::default()
        },
    )
}

/// Returns the page with the threads at the remote.
pub(crate) fn remote(asked: &Asked) -> Result<Page, Trouble> {
    // The page says it if there is no remote.
    let has_none = machine(asked.site()).is_ok_and(|view| view.remote.is_none());
    let threads = match has_none {
        true => None,
        false => Some(crate::remote::ask(asked)?),
    };
    of(
        asked,
        &Extra {
            threads,
            ..Extra::default()
        },
    )
}

fn of(asked: &Asked, extra: &Extra) -> Result<Page, Trouble> {
    let site = asked.site();
    let now_ms = site.env.now_ms();
    let main = html! {
        div.title { h1 { "Machine" } }
        div.facts {
            span { "Root " code { (Said(&site.root.path().display().to_string())) } }
            span { "Store " code { (Said(&site.store.dir().display().to_string())) } }
        }
        // If the state cannot be read, the page shows the error, and the checks below tell more.
        @match machine(site) {
            Ok(view) => { (at_work(&view, extra, now_ms)) }
            Err(error) => { ul.notes { li.failed { (Said(&(asked.app.explain)(error).whole())) } } }
        }
        section aria-labelledby="checks" {
            h2 #checks { "Checks" }
            @match &extra.findings {
                Some(findings) => { (checked(findings)) }
                None => {
                    p { a.button href=(format!("{CHECKS}#checks")) { "Check everything" } }
                    p.hint { "As " code { "uwf doctor --offline" } ": it starts agents to ask for their versions, and calls no model." }
                }
            }
        }
    };
    Ok(Page {
        title: "Machine".to_owned(),
        tab: Tab::Machine,
        main,
    })
}

fn at_work(view: &MachineView, extra: &Extra, now_ms: i64) -> Markup {
    html! {
        @if !view.warnings.is_empty() { ul.notes { @for warning in &view.warnings { li.failed { (Said(warning)) } } } }
        (running(view, now_ms))
        (agents(view))
        (slots(view))
        (shared(view, extra.threads.as_deref()))
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
                        @match &item.running {
                            Some(now) => {
                                td { (Said(now.role.as_str())) }
                                td { (Said(now.agent.as_deref().unwrap_or_default())) @if now.waiting { " (waits for a slot)" } }
                                td { @if let Some(pid) = now.agent_pid { (pid) } }
                                td { (when(now.started_at_ms, now_ms)) }
                            }
                            // No record says what it does.
                            None => { td {} td {} td {} td {} }
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

fn agents(view: &MachineView) -> Markup {
    html! {
        section aria-labelledby="agents" {
            h2 #agents { "Agents" }
            @if view.agents.is_empty() { p.empty { "The config names no agent. " code { "uwf setup" } " asks for one." } } @else {
                table.plain {
                    thead { tr {
                        th scope="col" { "Agent" } th scope="col" { "Program" } th scope="col" { "May do without asking" } th scope="col" { "Works" }
                    } }
                    tbody { @for one in &view.agents { (agent(one)) } }
                }
            }
        }
    }
}

fn agent(agent: &AgentView) -> Markup {
    let words = agent.command.iter().chain(&agent.args).map(String::as_str);
    html! {
        tr {
            th.row scope="row" { (Said(&agent.alias)) }
            td { code { (Said(&shell_words::join(words))) } }
            td { @match agent.permissions { Some(permissions) => (permissions.to_string()), None => span.none { "as its own settings say" } } }
            td {
                @if agent.default { p { "where no other agent is named" } }
                @for one in &agent.roles { p { "as " b { (Said(&one.role)) } " of " a href=(threads_of(&one.workflow)) { (Said(&one.workflow)) } } }
                @if !agent.fallback.is_empty() { p.hint { "If it fails: " (Said(&agent.fallback.join(", "))) } }
            }
        }
    }
}

fn shared(view: &MachineView, threads: Option<&[RemoteThread]>) -> Markup {
    html! {
        section aria-labelledby="remote" {
            h2 #remote { "Remote" }
            @match (&view.remote, threads) {
                (Some(url), Some(threads)) => { p { "Threads are shared at " code { (Said(url)) } "." } (at_remote(threads)) }
                (Some(url), None) => {
                    p { "Threads are shared at " code { (Said(url)) } "." }
                    p { a.button href=(format!("{REMOTE}#remote")) { "Ask it for its threads and leases" } }
                }
                (None, _) => { p.hint { "No remote is configured." } }
            }
            @if !view.shared.is_empty() { p { (counted(view.shared.len(), "shared thread")) ": " (links(&view.shared)) } }
            @if !view.waiting.is_empty() { p { "With a finished step that waits here: " (links(&view.waiting)) } }
        }
    }
}

/// How many threads at the remote a page shows.
const REMOTE_THREADS: usize = 500;

fn at_remote(threads: &[RemoteThread]) -> Markup {
    if threads.is_empty() {
        return html! { p.empty { "No thread at the remote is active." } };
    }
    let hidden = threads.len().saturating_sub(REMOTE_THREADS);
    html! {
        table.plain {
            thead { tr {
                th scope="col" { "Thread" } th scope="col" { "Status" } th scope="col" { "Workflow" }
                th scope="col" { "Here" } th scope="col" { "Label" } th scope="col" { "Lease" }
            } }
            tbody { @for one in threads.iter().take(REMOTE_THREADS) { tr {
                th.row scope="row" {
                    @if one.here { a.id href=(thread_address(one.thread)) { (one.thread) } } @else { span.id { (one.thread) } }
                }
                td { (uwf_words::remote::status(one.status, one.machine.is_some())) }
                td { @match &one.workflow_name { Some(name) => { (Said(name)) } None => { span.id { (one.workflow) } } } }
                td { @let here = uwf_words::remote::here(one.here, one.waiting);
                    @if one.waiting { span.failed-text { (here) } } @else { (here) }
                }
                td { @if let Some(label) = &one.label { (Said(label)) } }
                td { @match &one.machine {
                    Some(machine) => { (Said(machine)) @if let Some(left_ms) = one.left_ms { ", for " (time::format_duration(left_ms)) } }
                    None => { span.none { "free" } }
                } }
            } } }
        }
        @if hidden > 0 { p.hint { (hidden) " more: " code { "uwf thread list --remote" } } }
    }
}

/// How many threads a list of links names.
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

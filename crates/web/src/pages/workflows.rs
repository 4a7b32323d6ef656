//! The page of the workflows that have a name here, with their versions; and the page of one workflow.

use maud::{Markup, html};
use serde_json::Value;
use uwf_engine::{
    Site, StoredProgram, StoredRole, VersionAction, WorkflowHistories, WorkflowHistory,
    WorkflowItem, WorkflowVersion, list_workflows, stored_program, workflow_description,
};
use uwf_protocol::ids::CasRef;
use uwf_util::text::counted;
use uwf_util::time;

use crate::asked::Asked;
use crate::pages::diff::between_workflows;
use crate::pages::frame::{Page, Tab};
use crate::parts::{
    Said, drawing, folded, hash_link, new_thread, section, threads_of, workflow_link,
};
use crate::trouble::Trouble;

/// Returns the page with all workflows.
pub(crate) fn list(asked: &Asked) -> Result<Page, Trouble> {
    let site = asked.site();
    let items = list_workflows(site)?;
    let histories = WorkflowHistories::read(site).ok();
    let main = html! {
        div.title { h1 { "Workflows" } }
        @if items.is_empty() {
            p.empty { "No workflow has a name here. " code { "uwf workflow put FILE" } " gives it one." }
        } @else {
            table.plain {
                thead { tr {
                    th scope="col" { "Name" } th scope="col" { "What it is for" } th scope="col" { "Workflow" }
                    th scope="col" { "Versions" } th scope="col" { "Threads" }
                } }
                tbody { @for item in &items { (row(site, item, histories.as_ref())) } }
            }
        }
    };
    Ok(Page {
        title: "Workflows".to_owned(),
        tab: Tab::Workflows,
        main,
    })
}

fn row(site: &Site, item: &WorkflowItem, histories: Option<&WorkflowHistories>) -> Markup {
    let history = histories.and_then(|all| all.of(&item.name).ok());
    let description = item.hash.and_then(|hash| workflow_description(site, hash));
    let path = item.path.as_ref().map(|path| path.display().to_string());
    html! {
        tr {
            th.row scope="row" { @match item.hash {
                Some(hash) => { (workflow_link(hash, Some(&item.name))) }
                None => { (Said(&item.name)) }
            } }
            td { @if let Some(text) = &description { (Said(text)) } }
            td { @match (item.hash, &path) {
                (Some(hash), _) => { (hash_link(hash)) }
                (None, Some(path)) => { "file " code { (Said(path)) } }
                (None, None) => {}
            } }
            td { @if let Some(history) = &history { (versions(history)) } }
            td { a href=(threads_of(&item.name)) { "Show" } }
        }
    }
}

/// Returns the versions of a name, folded.
fn versions(history: &WorkflowHistory) -> Markup {
    html! {
        details.aside {
            summary { (counted(history.versions.len(), "version")) }
            ol.list {
                @for version in history.versions.iter().rev() {
                    li {
                        (version.number) ". "
                        @match version.action {
                            VersionAction::Put => "put ",
                            VersionAction::Rollback => "back to ",
                            VersionAction::Removed => "removed ",
                        }
                        @if let Some(hash) = version.hash { (workflow_link(hash, None)) }
                        @if let Some(at) = version.timestamp { " " span.none { (time::format_utc(at)) " UTC" } }
                        @if version.current { " " b { "now" } }
                        @if let Some((old, new)) = change(&history.versions, version) {
                            " " a href=(between_workflows(old, new)) { "What changed" }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the workflows before and after a version, if it changed what the name stands for.
fn change(versions: &[WorkflowVersion], version: &WorkflowVersion) -> Option<(CasRef, CasRef)> {
    let earlier = versions.iter().filter(|one| one.number < version.number);
    let old = earlier.filter_map(|one| one.hash).next_back()?;
    let new = version.hash?;
    (old != new).then_some((old, new))
}

/// Returns the page of one workflow.
pub(crate) fn one(asked: &Asked) -> Result<Page, Trouble> {
    let program = stored_program(asked.site(), asked.hash()?)?;
    let view = &program.graph;
    let name = view.name.clone();
    let to_role = |node: &uwf_engine::GraphNode| {
        let has_role = program
            .roles
            .iter()
            .any(|role| role.name.as_str() == node.name);
        has_role.then(|| format!("#role-{}", node.name))
    };
    let main = html! {
        p.crumbs { a href="/workflows" { "Workflows" } span aria-hidden="true" { "/" } span.id { (view.workflow) } }
        div.title { h1 { (Said(&name)) } (new_thread(asked, Some(view.workflow.as_str()))) }
        @if !view.description.trim().is_empty() { p { (Said(&view.description)) } }
        (facts(&program))
        div.columns {
            section.way aria-labelledby="graph" { h2 #graph { "Graph" } (drawing(view, &to_role)) }
            div {
                @if !program.roles.is_empty() {
                    section aria-labelledby="roles" {
                        h2 #roles { "Roles" }
                        div.steps { @for one in &program.roles { (role(one)) } }
                    }
                }
                (conditions(&program))
                @if program.source.is_some() {
                    section aria-labelledby="file" { h2 #file { "File" } (folded("Show the text", program.source.as_deref())) }
                }
            }
        }
    };
    Ok(Page {
        title: name,
        tab: Tab::Workflows,
        main,
    })
}

fn facts(program: &StoredProgram) -> Markup {
    let view = &program.graph;
    html! {
        div.facts {
            span { @match &program.registered_as[..] {
                [] => "No name stands for it now",
                names => { "Registered as " b { (Said(&names.join(", "))) } }
            } }
            span { "Stored " (time::format_utc(program.stored_at_ms)) " UTC" }
            span { "Node " (hash_link(view.workflow)) }
            span { a href=(threads_of(view.workflow.as_str())) { "Its threads" } }
            span { a href=(threads_of(&view.name)) { "Threads of all versions" } }
            @for (name, value) in &program.limits { span { (Said(name)) " " b { (Said(&limit(value))) } } }
        }
    }
}

fn role(role: &StoredRole) -> Markup {
    let schema = role.schema.as_ref().map(|schema| format!("{schema:#}"));
    html! {
        article.step id=(format!("role-{}", role.name)) {
            details {
                summary { span.role { (Said(role.name.as_str())) } span.teaser { (Said(&role.description)) } }
                div.body {
                    @if !role.description.is_empty() { p { (Said(&role.description)) } }
                    (section("Goal", "goal", Some(&role.goal)))
                    (section("Procedure", "goal", Some(&role.procedure)))
                    (section("Answer", "goal", Some(&role.output)))
                    @if !role.capabilities.is_empty() { p { "Capabilities: " (Said(&role.capabilities.join(", "))) } }
                    @for hash in &role.played_by { p { "Played by " (workflow_link(*hash, None)) } }
                    @for check in &role.checks { p { "Check " code { (Said(check)) } } }
                    (section("Schema of the data", "answer", schema.as_deref()))
                }
            }
        }
    }
}

fn conditions(program: &StoredProgram) -> Markup {
    html! {
        @if !program.conditions.is_empty() {
            section aria-labelledby="conditions" {
                h2 #conditions { "Conditions" }
                table.plain {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Expression" } } }
                    tbody { @for (name, expression) in &program.conditions {
                        tr { th scope="row" { (Said(name)) } td { code { (Said(expression)) } } }
                    } }
                }
            }
        }
    }
}

/// Returns a limit for people. A limit for each role becomes `writer 5, reviewer 2`.
fn limit(value: &Value) -> String {
    let Value::Object(by_role) = value else {
        return value.to_string();
    };
    let each = by_role
        .iter()
        .map(|(role, value)| format!("{role} {value}"));
    each.collect::<Vec<_>>().join(", ")
}

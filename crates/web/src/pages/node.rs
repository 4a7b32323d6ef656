//! One node of the store: what it is, its content, what it refers to, and what needs it.

use maud::{Markup, html};
use serde_json::Value;
use uwf_engine::{NodeDetail, NodeUse, NodeUses, node_detail, which};
use uwf_util::text::counted;
use uwf_util::time;

use crate::addresses::API;
use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Room, Said, beginning, hash_link, thread_address, workflow_link};
use crate::trouble::Trouble;

/// The field that asks for what needs the node.
const USES: &str = "uses";

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let hash = asked.hash()?;
    let node = node_detail(asked.site(), hash)?;
    let uses = match asked.query.get(USES) {
        Some(_) => Some(which(asked.site(), hash)?),
        None => None,
    };
    let main = html! {
        p.crumbs { a href="/help#store" { "Store" } span aria-hidden="true" { "/" } span.id { (hash) } }
        div.title { h1 { "Node " span.hash { (hash) } } span.label { (Said(&node.what)) } }
        div.facts {
            span { "Type " (hash_link(node.r#type)) @if let Some(title) = &node.type_title { " " (Said(title)) } }
            span { "Stored " (time::format_utc(node.timestamp)) " UTC" }
            @if node.what.starts_with("step of ") { span { a href=(format!("/steps/{hash}")) { "As a step" } } }
            @if matches!(&*node.what, "workflow" | "pipeline") { span { (workflow_link(hash, Some("As a workflow"))) } }
        }
        section.output aria-labelledby="content" { h2 #content { "Content" } (content(&node)) }
        section aria-labelledby="refs" {
            h2 #refs { "Refers to " (counted(node.refs.len(), "node")) }
            (nodes(&node.refs))
        }
        section aria-labelledby="uses" { h2 #uses { "What needs it" } @match &uses {
            Some(uses) => { (needed(uses)) }
            None => { p { a.button href=(format!("/cas/{hash}?{USES}=all#uses")) { "Look" } } p.hint { "This reads the whole store." } }
        } }
    };
    Ok(Page {
        title: format!("Node {hash}"),
        tab: Tab::None,
        main,
    })
}

fn content(node: &NodeDetail) -> Markup {
    let text = match &node.payload {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    let whole = format!("{API}/cas/{}", node.hash);
    beginning(&text, Room::before(&whole))
}

fn nodes(nodes: &[NodeUse]) -> Markup {
    html! { ul.list { @for node in nodes { li { (hash_link(node.hash)) " " (Said(&node.what)) } } } }
}

fn needed(uses: &NodeUses) -> Markup {
    html! {
        @if !uses.reachable { p { "Nothing keeps it from being collected as garbage." } }
        @if !uses.threads.is_empty() {
            h3 { "Threads" }
            ul.list { @for one in &uses.threads { li {
                a href=(thread_address(one.thread)) { (one.thread) }
                @if let Some(name) = &one.name { " " b { (Said(name.as_str())) } }
                @if one.start { " by its start or its workflow" }
                @for step in &one.steps {
                    " · " a href=(format!("{}#{}", thread_address(one.thread), step.step)) {
                        @if let Some(number) = step.number { "step " (number) } @else { "a step" }
                    }
                    @if let Some(role) = &step.role { " of " (Said(role.as_str())) }
                }
            } } }
        }
        @for (title, workflows) in [("Names of workflows", &uses.workflows), ("Earlier versions", &uses.earlier)] {
            @if !workflows.is_empty() {
                h3 { (title) }
                ul.list { @for one in workflows { li { (workflow_link(one.hash, Some(&one.name))) } } }
            }
        }
        @if !uses.replaced.is_empty() {
            h3 { "Steps that were done again" }
            ul.list { @for one in &uses.replaced { li { (hash_link(one.step)) " in " a href=(thread_address(one.thread)) { (one.thread) } } } }
        }
        @if !uses.referrers.is_empty() { h3 { "Nodes that refer to it" } (nodes(&uses.referrers)) }
        @if !uses.other_roots.is_empty() {
            p.hint { "Other roots use the store, and were not looked at: "
                @for root in &uses.other_roots { code { (Said(&root.display().to_string())) } " " } }
        }
    }
}

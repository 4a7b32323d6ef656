//! The threads that belong to a thread: its parent, the one that it was forked from, and its children.

use maud::{Markup, html};
use uwf_engine::{ChildView, ThreadView};

use crate::parts::{Said, hash_link, status, thread_address};

/// Returns the part about the family; nothing if there is none.
pub(super) fn section(view: &ThreadView) -> Markup {
    let is_alone = view.parent.is_none() && view.forked_from.is_none() && view.children.is_empty();
    if is_alone {
        return html! {};
    }
    html! {
        section aria-labelledby="family" {
            h2 #family { "Family" }
            div.tree {
                @if let Some(parent) = &view.parent {
                    p { "It is a child of " a href=(thread_address(parent.parent.thread)) { (parent.parent.thread) }
                        ", as " b { (Said(parent.parent.role.as_str())) }
                        @let branch = parent.branch().to_string();
                        @if !branch.is_empty() { ", branch " (Said(&branch)) } "." }
                }
                @if let Some(origin) = &view.forked_from {
                    p { "It was forked from " (hash_link(origin.step))
                        @if let Some(thread) = origin.thread { " of " a href=(thread_address(thread)) { (thread) } } "." }
                }
                @if !view.children.is_empty() {
                    h3 { "Children that work for the next step" }
                    ul { @for one in &view.children { (child(one)) } }
                }
            }
        }
    }
}

fn child(view: &ChildView) -> Markup {
    let branch = view.branch.to_string();
    html! {
        li {
            @if !branch.is_empty() { b { (Said(&branch)) } " " }
            @match (view.thread, view.status) {
                (Some(thread), Some(is)) => {
                    (status(is)) " " a href=(thread_address(thread)) { (thread) }
                    @if let Some(role) = &view.current_role { ", " (Said(role.as_str())) }
                    @if let Some(reason) = &view.reason { ": " (Said(reason)) }
                }
                _ => { span.none { "not made yet" } }
            }
        }
    }
}

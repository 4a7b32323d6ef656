//! The threads that belong to a thread: the one that it was forked from, its forks, its parents, and all children below them.

use maud::{Markup, html};
use uwf_engine::{Family, FamilyMember, Forks, ThreadStatus, ThreadView};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Name;
use uwf_util::text::{counted, cut_line};

use crate::parts::{Said, hash_link, reason, status, task, thread_address};

/// How many characters of a task or a reason the tree shows.
const LINE: usize = 100;

/// Returns the part about the family; nothing if there is none.
pub(super) fn section(view: &ThreadView, family: Option<&Family>, forks: &Forks) -> Markup {
    if view.forked_from.is_none() && family.is_none() && forks.forks.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="family" {
            h2 #family { "Family" }
            @if let Some(origin) = &view.forked_from {
                p { "It was forked from " (hash_link(origin.step))
                    @if let Some(thread) = origin.thread { " of " a href=(thread_address(thread)) { (thread) } } "."
                    @if let Some(thread) = origin.thread { " " a href=(between(thread, view.thread)) { "Compare with it" } } }
            }
            (forked(view.thread, forks))
            @if let Some(family) = family {
                div.tree { ul { (member(&family.top, view.thread)) } }
                @if family.hidden > 0 { p.hint { (counted(family.hidden, "more thread")) } }
            }
        }
    }
}

/// Returns the address of the differences of two threads.
fn between(a: ThreadId, b: ThreadId) -> String {
    format!("/diff?a={a}&b={b}")
}

fn forked(this: ThreadId, forks: &Forks) -> Markup {
    html! {
        @if !forks.forks.is_empty() {
            div.tree {
                p { "Forks" }
                ul { @for fork in &forks.forks {
                    @let item = &fork.item;
                    @let task = task(&item.outline);
                    @let name = item.name.as_ref().map_or(item.thread.as_str(), Name::as_str);
                    li {
                        (status(item.status)) " "
                        a href=(thread_address(item.thread)) { (Said(name)) } " at " (hash_link(fork.forked_at)) ": " (Said(&cut_line(task, LINE)))
                        " " a href=(between(this, item.thread)) { "Compare" }
                    }
                } }
            }
            @if forks.hidden > 0 { p.hint { (counted(forks.hidden, "more fork")) } }
        }
    }
}

fn member(one: &FamilyMember, this: ThreadId) -> Markup {
    let item = &one.item;
    let task = task(&item.outline);
    html! {
        li {
            (status(item.status)) " "
            @if let Some(parent) = &item.parent {
                b { (Said(parent.role.as_str())) @if !parent.key.is_empty() { " " (Said(&parent.key)) } } " "
            }
            @if item.thread == this { b aria-current="true" { "this thread" } } @else {
                a href=(thread_address(item.thread)) { (Said(&cut_line(task, LINE))) }
            }
            @if item.parent.is_some() && let Some(role) = &item.current_role {
                ", " (Said(role.as_str())) @if item.status == ThreadStatus::Running { " is at work" } @else { " is next" }
            }
            @if item.parent.is_some() && let Some(reason) = reason(item) { ": " (Said(&cut_line(reason, LINE))) }
            @if !one.children.is_empty() { ul { @for child in &one.children { (member(child, this)) } } }
        }
    }
}

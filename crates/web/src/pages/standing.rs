//! Where a thread stands: its question, its result, what keeps it from going on, and its next role.

use maud::{Markup, html};
use uwf_engine::{ThreadStatus, ThreadView};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::RefusedStep;
use uwf_util::time;
use uwf_words::stand::{Tone, of_view};

use crate::pages::step_parts::attempt;
use crate::parts::{Said, hash_link, section, thread_address};

/// Returns the box with the state of a thread.
pub(super) fn state(view: &ThreadView) -> Markup {
    let state = &view.state;
    html! {
        div class=(format!("state {}", state.status.as_str())) {
            h2.away { "Where it stands" }
            @for part in of_view(view) { (section(&part.title, class(part.tone), Some(&part.text))) }
            @if let Some(paused) = &state.paused {
                p { "Paused " (time::format_utc(paused.at)) " UTC" @if let Some(reason) = &paused.reason { ": " (Said(reason)) } "." }
            }
            @if let Some(cause) = &state.caused_by {
                p { "A child keeps it from going on: "
                    a href=(thread_address(cause.thread)) { (cause.thread) }
                    @if let Some(reason) = &cause.reason { " " (Said(reason)) }
                }
            }
            @if !view.attempts.is_empty() {
                h2 { "Failed attempts" }
                ul.notes { @for one in &view.attempts { (attempt(one)) } }
            }
            (beside(view))
            @if let Some(next) = next(view) { p.next-step { (next) } }
        }
    }
}

/// Returns the class of a part.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Question => "question",
        Tone::Problem => "problem",
        Tone::Result => "result",
        Tone::Summary => "summary",
    }
}

/// Returns the steps that were finished and are not in the chain; nothing if there is none.
fn beside(view: &ThreadView) -> Markup {
    let link = |step: CasRef| html! { a.hash href=(format!("/steps/{step}")) { (step) } };
    html! {
        @if let Some(step) = view.finished_step {
            p { "The finished step " (link(step)) " waits to be committed. The next call does that." }
        }
        @for RefusedStep { step, head, .. } in &view.refused_steps {
            p { "The finished step " (link(*step)) " is kept: it follows " (hash_link(*head))
                ", which the thread had left. " code { "uwf thread fork " (step) } " goes on from it." }
        }
    }
}

/// Returns the first child that is running, and its current role.
fn child_at_work(view: &ThreadView) -> Option<(ThreadId, &str)> {
    let mut children = view.children.iter();
    let child = children.find(|child| child.status == Some(ThreadStatus::Running))?;
    let role = child.current_role.as_ref();
    Some((child.thread?, role.map_or("A child", |role| role.as_str())))
}

/// Returns a sentence about the role that works or is next, or about the end of the thread.
fn next(view: &ThreadView) -> Option<Markup> {
    if let Some(running) = &view.running {
        let since = time::format_utc(running.started_at_ms);
        return Some(html! {
            b { (Said(running.role.as_str())) }
            @if running.waiting { " waits until its agent may start" } @else { " is at work" }
            @if let Some(agent) = &running.agent { ", by " (Said(agent)) }
            ", since " (since) " UTC."
        });
    }
    if let Some((child, at_work)) = child_at_work(view) {
        return Some(html! {
            b { (Said(at_work)) } " is at work in " a href=(thread_address(child)) { (child) } "."
        });
    }
    let Some(role) = &view.state.current_role else {
        let is_silent = view.state.status.is_ended() && view.outline.result.is_none();
        return is_silent.then(|| html! { "It is " (view.state.status.as_str()) "." });
    };
    Some(match (view.state.status, &view.state.next_try) {
        (ThreadStatus::Waiting, Some(next)) => html! {
            b { (Said(role.as_str())) } " is tried again at " (time::format_utc(next.at_ms)) " UTC."
        },
        _ => html! { b { (Said(role.as_str())) } " is next." },
    })
}

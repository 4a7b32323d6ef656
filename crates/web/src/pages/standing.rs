//! Where a thread stands: its question, its result, what keeps it from going on, and its next role.

use maud::{Markup, html};
use uwf_engine::{HeldBy, ThreadStatus, ThreadView};
use uwf_protocol::ids::ThreadId;
use uwf_util::time;

use crate::pages::step_parts::attempt;
use crate::parts::{Said, section, thread_address};

/// Returns the box with the state of a thread.
pub(super) fn state(view: &ThreadView) -> Markup {
    let state = &view.state;
    let outline = &view.outline;
    let summary = view.summary.as_ref().map(|summary| summary.text.as_str());
    html! {
        div class=(format!("state {}", state.status.as_str())) {
            h2.away { "Where it stands" }
            (asks(view))
            (section("Result", "result", outline.result.as_deref()))
            (section("The result cannot be filled in", "problem", outline.result_problem.as_deref()))
            (section("The graph gives no next step", "problem", view.blocked_reason.as_deref()))
            (section("Summary", "summary", summary))
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
            @if let Some(next) = next(view) { p.next-step { (next) } }
        }
    }
}

/// Returns the question or the reason for which the thread waits for a person; nothing if it does not.
fn asks(view: &ThreadView) -> Markup {
    let state = &view.state;
    let message = state.suspend_message.as_deref();
    let role = state.suspended_role.as_ref();
    let role = role.map_or("It", |role| role.as_str());
    match state.held_by {
        _ if message.is_none() => html! {},
        Some(HeldBy::Supervisor) => section("The supervisor suspended it", "problem", message),
        Some(HeldBy::Limit) => section("A limit is reached", "problem", message),
        Some(HeldBy::Failure) => section(&format!("{role} stopped the run"), "problem", message),
        None => section(&format!("{role} asks"), "question", message),
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

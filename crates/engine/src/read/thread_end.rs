//! The end of a thread's document: its summary, the attempts that failed last, and where the thread stands. Pure.

use uwf_util::markdown::code;
use uwf_util::text::{cut_line, one_line};
use uwf_util::time;

use crate::read::activity::AttemptView;
use crate::read::document::tagged;
use crate::read::outline::Outline;
use crate::read::show::ThreadView;
use crate::read::thread_document::{ERROR_SHOWN, attempt_line};
use crate::read::thread_state::{HeldBy, ThreadStatus};

/// Returns the section with the summary of a model, if there is one.
pub(crate) fn summary_section(view: &ThreadView) -> Option<String> {
    let summary = view.summary.as_ref()?;
    let later = match summary.head == view.head {
        true => "",
        false => "\n\nLater steps are not in it.",
    };
    let by = format!(
        "By {}, {} UTC",
        one_line(&summary.model),
        time::format_utc(summary.at_ms)
    );
    let text = tagged("summary", &summary.text);
    Some(format!("## Summary\n{by}\n\n{text}{later}"))
}

/// Returns the section with the attempts that failed after the last step, if there are any.
pub(crate) fn failures_section(attempts: &[AttemptView]) -> Option<String> {
    let (again, next): (Vec<_>, Vec<_>) = attempts
        .iter()
        .partition(|attempt| attempt.replaces.is_some());
    let parts = [
        failures(&again, |times| {
            format!("The last step was to be done again, {times}, without success:")
        }),
        failures(&next, |times| {
            format!("The next step was tried {times} and failed:")
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("## Failed attempts\n\n{}", parts.join("\n\n")))
}

/// Lists failed attempts of one kind, if there are any. `title` gets how often it was tried.
fn failures(attempts: &[&AttemptView], title: impl Fn(&str) -> String) -> Option<String> {
    let times = match attempts.len() {
        0 => return None,
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let line = |(number, attempt): (usize, &&AttemptView)| {
        format!("{}. {}", number + 1, attempt_line(attempt))
    };
    let lines: Vec<String> = attempts.iter().enumerate().map(line).collect();
    Some(format!("{}\n\n{}", title(&times), lines.join("\n")))
}

/// Returns the section that tells where a thread stands: what it waits for, who is next, or how it ended.
pub(crate) fn state_section(view: &ThreadView) -> String {
    let state = &view.state;
    let short = |text: &str| code(&cut_line(text, ERROR_SHOWN));
    if let Some(reason) = &view.blocked_reason {
        return format!(
            "## Blocked\n\nThe graph gives no next step: {}",
            short(reason)
        );
    }
    if let (Some(message), Some(role)) = (&state.suspend_message, &state.suspended_role) {
        return suspended(view, role.as_str(), message);
    }
    let text = match (state.status, &state.current_role, &view.running) {
        (ThreadStatus::Completed, ..) => completed(&view.outline),
        (ThreadStatus::Cancelled, ..) => "The thread was cancelled.".to_owned(),
        (_, _, Some(running)) if running.waiting => {
            format!("**{}** waits until its agent may start.", running.role)
        }
        (_, _, Some(running)) => format!(
            "**{}** is at work since {} UTC.",
            running.role,
            time::format_utc(running.started_at_ms)
        ),
        (ThreadStatus::Failed, Some(role), None) => {
            format!("**{role}** is next; the last attempt failed.")
        }
        (ThreadStatus::Waiting, Some(role), None) => match &state.next_try {
            Some(next) => format!(
                "**{role}** is next: the last attempt failed, and `{}` makes another one at {} UTC.",
                next.agent,
                time::format_utc(next.at_ms)
            ),
            None => format!("**{role}** is next; the last attempt failed."),
        },
        (_, Some(role), None) => format!("**{role}** is next."),
        (_, None, None) => "The next call ends the thread.".to_owned(),
    };
    format!("## {}\n\n{text}", title(state.status))
}

/// Says that a thread is completed, with its result or why that could not be filled in.
fn completed(outline: &Outline) -> String {
    match (&outline.result, &outline.result_problem) {
        (Some(result), _) => {
            format!(
                "The thread has reached `$END`.\n\n{}",
                tagged("result", result)
            )
        }
        (None, Some(problem)) => {
            let problem = code(&cut_line(problem, ERROR_SHOWN));
            format!("The thread has reached `$END`, and its result cannot be filled in: {problem}")
        }
        (None, None) => "The thread has reached `$END`.".to_owned(),
    }
}

/// Returns the section of a thread that waits for a person: for an answer, for a higher limit, for both, or because
/// its supervisor says so.
fn suspended(view: &ThreadView, role: &str, message: &str) -> String {
    let short = |text: &str| code(&cut_line(text, ERROR_SHOWN));
    match view.state.held_by {
        Some(HeldBy::Supervisor) => {
            let reason = tagged("reason", message);
            return format!(
                "## Suspended\n\n**{role}** is next, but the supervisor suspended the thread:\n\n{reason}"
            );
        }
        Some(HeldBy::Limit) => {
            let limit = short(message);
            return format!("## Suspended\n\n**{role}** is next, but a limit is reached: {limit}");
        }
        Some(HeldBy::Failure) => {
            let failure = short(message);
            return format!("## Suspended\n\n**{role}** stopped the run: {failure}");
        }
        None => {}
    }
    let question = tagged("question", message);
    let asks = format!("## Suspended\n\n**{role}** asks:\n\n{question}");
    match &view.state.limit {
        Some(limit) => format!(
            "{asks}\n\nA limit is reached, too: {}",
            short(&limit.to_string())
        ),
        None => asks,
    }
}

/// Returns the heading of the section of a thread with this status.
fn title(status: ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::Idle => "Idle",
        ThreadStatus::Running => "Running",
        ThreadStatus::Suspended => "Suspended",
        ThreadStatus::Paused => "Paused",
        ThreadStatus::Blocked => "Blocked",
        ThreadStatus::Failed => "Failed",
        ThreadStatus::Waiting => "Waiting",
        ThreadStatus::Completed => "Completed",
        ThreadStatus::Cancelled => "Cancelled",
        ThreadStatus::Corrupt => "Corrupt",
    }
}

#[cfg(test)]
mod tests {
    use uwf_protocol::ids::CasRef;
    use uwf_protocol::nodes::Usage;
    use uwf_protocol::run::Attempt;

    use super::*;

    #[test]
    fn failed_attempts_are_listed_one_line_each() {
        let attempt = AttemptView::from(Attempt {
            error: "missing\n## Step 9: x".to_owned(),
            agent: "uwf-mock".to_owned(),
            usage: Some(Usage {
                cost_usd: Some(0.5),
                ..Usage::default()
            }),
            ..Attempt::of(CasRef::from_u64(2), "writer".parse().unwrap())
        });
        let text = failures_section(&[attempt.clone(), attempt.clone()]);
        let expected = "## Failed attempts\n\nThe next step was tried 2 times and failed:\n\n\
            1. **writer**, uwf-mock, at 1970-01-01 00:00:00 UTC, $0.50: `missing ## Step 9: x`\n\
            2. **writer**, uwf-mock, at 1970-01-01 00:00:00 UTC, $0.50: `missing ## Step 9: x`";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(failures_section(&[]), None);
        let poked = AttemptView {
            replaces: Some(CasRef::from_u64(3)),
            ..attempt
        };
        let text = failures_section(&[poked]).unwrap();
        assert!(
            text.contains("done again, once, without success:\n\n1. **writer**"),
            "{text}"
        );
    }
}

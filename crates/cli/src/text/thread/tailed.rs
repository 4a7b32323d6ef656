//! What happens in a thread, in lines: a turn has one for its text and one for each of its tool calls.

use serde::Serialize;
use uwf_engine::{
    FamilyEvent, HeldBy, OutputStream, Stopped, TailEvent, TailLine, TailStep, TailTurn,
    ThreadStatus, Working,
};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::nodes::Usage;
use uwf_util::text::{cut_line, one_line};
use uwf_util::time;

use super::{placed, word_for};
use crate::hints::{self, thread::next};
use crate::output::Show;
use crate::text::table::{Page, cut};

/// How many characters of a line are shown where no terminal has a width.
const USUAL: usize = 200;

/// An event of a thread.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct TailView {
    pub(crate) event: FamilyEvent,
    /// The current time.
    #[serde(skip)]
    pub(crate) now_ms: i64,
}

impl Show for TailView {
    fn text(&self, page: Page) -> String {
        let FamilyEvent { child, event } = &self.event;
        let lines = match event {
            TailEvent::Task(task) => vec![format!("-- begins: {}", task.task)],
            TailEvent::Working(working) => vec![working_line(working, self.now_ms)],
            TailEvent::Turn(turn) => turn_lines(turn),
            TailEvent::Line(line) => vec![output_line(line)],
            TailEvent::Step(step) => vec![step_line(step)],
            TailEvent::Failed(attempt) => vec![format!(
                "-- attempt {} of {} {}: {}",
                attempt.number,
                attempt.role,
                word_for(attempt),
                attempt.error
            )],
            TailEvent::Stopped(stopped) if child.is_some() => {
                vec![format!("-- {}", why_stopped(stopped))]
            }
            TailEvent::Stopped(stopped) => return stopped_text(stopped),
        };
        let width = page.width.unwrap_or(USUAL);
        let mark = child
            .as_ref()
            .map_or_else(String::new, |child| format!("[{}] ", child.branch));
        let lines = lines
            .iter()
            .map(|line| cut(&one_line(&format!("{mark}{line}")), width));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn working_line(working: &Working, now_ms: i64) -> String {
    let Working { role, agent, .. } = working;
    if working.waiting {
        return format!("-- {role} waits until its agent may start");
    }
    let agent = match agent.as_str() {
        "" => String::new(),
        agent => format!(" by {agent}"),
    };
    let since = now_ms.saturating_sub(working.started_at_ms);
    let since = time::format_duration(u64::try_from(since).unwrap_or(0));
    let usage = working.usage.as_ref().and_then(Usage::note);
    let usage = usage.map_or_else(String::new, |usage| format!(", {usage} so far"));
    format!("-- {role} is at work{agent}, for {since}{usage}")
}

/// Returns the text of a turn and its tool calls, a line each. What a tool answers is named after the tool.
fn turn_lines(turn: &TailTurn) -> Vec<String> {
    let TailTurn { role, turn, .. } = turn;
    let mut lines = Vec::new();
    let said = without_fence(&turn.content);
    if let Some(answers) = &turn.answers {
        let tool = answers.tool.as_deref().unwrap_or("tool");
        let outcome = match answers.outcome.as_str() {
            "ok" => String::new(),
            outcome => format!(" ({outcome})"),
        };
        lines.push(format!("{role} ← {tool}{outcome}: {said}"));
    } else if turn.role == "tool" {
        lines.push(format!("{role} ← tool: {said}"));
    } else if !said.trim().is_empty() {
        let speaker = match turn.role.as_str() {
            "assistant" => String::new(),
            other => format!(" ({other})"),
        };
        lines.push(format!("{role}{speaker}: {said}"));
    }
    for call in &turn.calls {
        let args = call.args.as_deref().unwrap_or_default();
        lines.push(format!("{role} → {} {args}", call.name));
    }
    lines
}

/// Returns a text without the fence of its front matter, which says nothing.
fn without_fence(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("---\n").unwrap_or(text)
}

fn output_line(line: &TailLine) -> String {
    let mark = match line.stream {
        OutputStream::Stdout => '|',
        OutputStream::Stderr => '!',
    };
    format!("{} {mark} {}", line.role, line.text)
}

fn step_line(step: &TailStep) -> String {
    let took = step.duration_ms.map(time::format_duration);
    let took = took.map_or_else(String::new, |took| format!(" after {took}"));
    let usage = step.usage.as_ref().and_then(Usage::note);
    let usage = usage.map_or_else(String::new, |usage| format!(", {usage}"));
    let checks = CheckResult::note(&step.checks);
    let checks = checks.map_or_else(String::new, |note| format!(", {note}"));
    format!(
        "-- {} is done{took}{usage}{checks}: step {}",
        step.role, step.step
    )
}

/// Says why nothing follows, and what to type next.
fn stopped_text(stopped: &Stopped) -> String {
    let why = why_stopped(stopped);
    match next(stopped.thread, &stopped.state) {
        Some(next) => format!("-- {why}\nnext: {}", hints::here(&next)),
        None => format!("-- {why}"),
    }
}

/// Says why nothing follows.
fn why_stopped(stopped: &Stopped) -> String {
    let state = &stopped.state;
    let placed = |text: &str| placed(state, text);
    let why = match (state.status, &state.suspended_role, &state.suspend_message) {
        (ThreadStatus::Suspended, Some(role), Some(message)) => {
            let message = placed(message);
            match state.held_by {
                Some(HeldBy::Limit | HeldBy::Supervisor) => {
                    format!("suspended before {role}: {message}")
                }
                Some(HeldBy::Failure) => format!("suspended: {message}"),
                None => format!("suspended, {role} asks: {message}"),
            }
        }
        (status, ..) => match &stopped.blocked_reason {
            Some(reason) => format!("{}: {}", status.as_str(), placed(reason)),
            None => status.as_str().to_owned(),
        },
    };
    cut_line(&why, 1000)
}

#[cfg(test)]
mod tests {
    use uwf_engine::TailEvent;

    use super::*;

    fn shown(event: TailEvent) -> String {
        let view = TailView {
            event: FamilyEvent { child: None, event },
            now_ms: 65_000,
        };
        view.text(Page {
            width: Some(60),
            colour: false,
        })
    }

    fn line(text: &str) -> TailEvent {
        TailEvent::Line(TailLine {
            number: 0,
            role: "writer".parse().unwrap(),
            stream: OutputStream::Stderr,
            text: text.to_owned(),
        })
    }

    #[test]
    fn each_event_fits_on_its_lines() {
        assert_eq!(shown(line("a\tb")), "writer ! a b");
        let long = shown(line(&"x".repeat(99)));
        assert_eq!(long.chars().count(), 60);
        let working = Working {
            role: "writer".parse().unwrap(),
            agent: "codex".to_owned(),
            started_at_ms: 0,
            waiting: false,
            usage: None,
        };
        assert_eq!(
            shown(TailEvent::Working(working)),
            "-- writer is at work by codex, for 1m05s"
        );
    }

    #[test]
    fn the_fence_of_front_matter_is_not_shown() {
        assert_eq!(without_fence("\n---\na: 1\n---\n"), "a: 1\n---\n");
        assert_eq!(without_fence("text"), "text");
    }
}

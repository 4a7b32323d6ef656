//! A thread as a Markdown document: its start, and the newest steps that fit. Its end is in `thread_end`. Pure.
//!
//! Texts of roles and agents stand between tags that they cannot close, so no heading in an answer is one of the document.

use std::collections::HashSet;

use serde_json::Value;
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Extraction, ExtractionMethod, RefusedCalls, Usage};
use uwf_util::markdown::code;
use uwf_util::text::{counted, cut_line, one_line};
use uwf_util::time;

use crate::read::activity::AttemptView;
use crate::read::branch::ChildOfStep;
use crate::read::document::{RULE, length, tagged};
use crate::read::story::{StepStory, ToolUse};
use crate::read::visit_story::VisitStory;

/// How many characters of a failure's text are shown.
pub(crate) const ERROR_SHOWN: usize = 300;

/// The parts of a document that do not depend on how many steps fit.
pub(crate) struct Frame {
    pub(crate) thread: ThreadId,
    /// The section with the task, if it is part of the document.
    pub(crate) start: Option<String>,
    /// The sections below the steps: the failed attempts, and why the thread has stopped.
    pub(crate) ends: Vec<String>,
}

/// One step of the document.
pub(crate) struct Block {
    pub(crate) step: CasRef,
    pub(crate) role: RoleName,
    /// The heading, the line below it, and the failed attempts.
    pub(crate) heading: String,
    /// What the role is for, between tags.
    pub(crate) prompt: Option<String>,
    /// The instruction, the message of a person and the answer, between tags.
    pub(crate) body: String,
}

impl Frame {
    /// Returns the part of a quota that is left for the steps, each with the rule above it.
    pub(crate) fn room(&self, quota: usize) -> usize {
        let sections = self.start.iter().chain(&self.ends);
        let used: usize = sections.map(|section| length(section) + RULE.len()).sum();
        // The first part has no rule above it, and the document ends with a line end.
        (quota + RULE.len()).saturating_sub(used + 1)
    }

    /// Returns the length of the notice that this many steps are hidden.
    pub(crate) fn notice_cost(&self, hidden: usize, any: CasRef) -> usize {
        length(&self.notice(hidden, any)) + RULE.len()
    }

    fn notice(&self, hidden: usize, first_shown: CasRef) -> String {
        let steps = counted(hidden, "earlier step");
        let thread = self.thread;
        format!("*({steps}, load with `uwf thread read {thread} --before {first_shown}`)*")
    }

    /// Returns the document with these steps, oldest first. `hidden` steps before them are left out.
    pub(crate) fn render(&self, blocks: &[Block], hidden: usize) -> String {
        let notice = match blocks.first() {
            Some(first) if hidden > 0 => Some(self.notice(hidden, first.step)),
            Some(_) | None => None,
        };
        let mut shown = HashSet::new();
        let blocks = blocks
            .iter()
            .map(|block| block.render(shown.insert(&block.role)));
        let parts = self
            .start
            .iter()
            .cloned()
            .chain(notice)
            .chain(blocks)
            .chain(self.ends.clone());
        let mut parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            parts.push("*(no earlier steps)*".to_owned());
        }
        parts.join(RULE) + "\n"
    }
}

impl Block {
    /// Returns the block of a step.
    pub(crate) fn of(story: &StepStory) -> Self {
        let lines = lines(story);
        let heading = if lines.is_empty() {
            heading(story)
        } else {
            format!("{}\n\n{}", heading(story), lines.join("\n"))
        };
        let goal = story.goal.as_deref();
        Self {
            step: story.hash,
            role: story.role.clone(),
            heading,
            prompt: goal
                .filter(|goal| !goal.trim().is_empty())
                .map(|goal| tagged("prompt", goal)),
            body: body(story),
        }
    }

    /// Returns the length that the step adds to a document. The prompt of its role counts if the role is not in `shown` yet.
    pub(crate) fn cost(&self, shown: &mut HashSet<RoleName>) -> usize {
        length(&self.render(shown.insert(self.role.clone()))) + RULE.len()
    }

    fn render(&self, with_prompt: bool) -> String {
        let prompt = self.prompt.as_deref().filter(|_| with_prompt);
        let parts: Vec<&str> = [Some(self.heading.as_str()), prompt, Some(&self.body)]
            .into_iter()
            .flatten()
            .collect();
        parts.join("\n\n")
    }
}

/// Returns the heading of a step and the line below it.
fn heading(story: &StepStory) -> String {
    let StepStory {
        number, hash, role, ..
    } = story;
    let mut line = format!(
        "**Agent:** {} | **Time:** {} UTC",
        one_line(&story.agent),
        time::format_utc(story.timestamp)
    );
    let took = story.duration_ms.map(time::format_duration);
    line.extend(took.map(|took| format!(" | **Duration:** {took}")));
    line.extend(story.visit.as_ref().map(VisitStory::note));
    if let Some(note) = story.usage.as_ref().and_then(Usage::note) {
        line += &format!(" | **Usage:** {note}");
    }
    let tools = tools_note(&story.tool_calls);
    line.extend(tools.map(|note| format!(" | **Tools:** {note}")));
    // Data that a model extracted may differ from what the agent said, so the reader is told.
    if let Some(note) = story.extraction.as_ref().and_then(Extraction::note) {
        line += &format!(" | **Extraction:** {}", one_line(&note));
    }
    let may = story.permissions;
    line.extend(may.map(|it| format!(" | **Permissions:** {it}")));
    let refused = RefusedCalls::note(&story.refused_calls);
    line.extend(refused.map(|note| format!(" | **Refused:** {}", one_line(&note))));
    let checks = CheckResult::note(&story.checks);
    line.extend(checks.map(|note| format!(" | **Checks:** {}", one_line(&note))));
    let children = children_note(&story.children);
    line.extend(children.map(|note| format!(" | **Threads:** {note}")));
    format!("## Step {number}: {role} `{hash}`\n{line}")
}

/// Returns the child threads that did a step, such as `` 0 (a.rs) `01M8…`, 1 (b.rs) `01M9…` and 10 more ``; `None` if an agent
/// did it.
fn children_note(children: &[ChildOfStep]) -> Option<String> {
    const SHOWN: usize = 3;
    let shown = children.iter().take(SHOWN);
    let shown = shown.map(|child| match child.branch.to_string() {
        branch if branch.is_empty() => format!("`{}`", child.thread),
        branch => format!("{branch} `{}`", child.thread),
    });
    let shown: Vec<String> = shown.collect();
    let more = children.len() - shown.len();
    match (shown.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(shown.join(", ")),
        (false, more) => Some(format!("{} and {more} more", shown.join(", "))),
    }
}

/// Returns the tools that were called and how often, such as `Bash ×3, Read`; `None` if no tool was called.
pub(crate) fn tools_note(calls: &[ToolUse]) -> Option<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for call in calls {
        match counted.iter_mut().find(|(name, _)| *name == call.name) {
            Some((_, count)) => *count += 1,
            None => counted.push((&call.name, 1)),
        }
    }
    let words = counted.into_iter().map(|(name, count)| match count {
        1 => one_line(name),
        _ => format!("{} ×{count}", one_line(name)),
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Returns a line for each failed attempt at the step, for each step that it replaced, and for each thing that it left.
fn lines(story: &StepStory) -> Vec<String> {
    let attempts = story.attempts.iter().map(|attempt| {
        let what = match attempt.replaces {
            Some(_) => "failed to do it again",
            None => "failed before",
        };
        format!("- {what}: {}", attempt_line(attempt))
    });
    let replaced = story.replaces.iter();
    let replaced = replaced.map(|step| format!("- done again: it took the place of step `{step}`"));
    let left = story.left.iter();
    let left = left.map(|left| format!("- {}: {}", left.what, left.shown_by));
    attempts.chain(replaced).chain(left).collect()
}

/// Returns the instruction, the question, the message of a person and the answer, each between tags.
fn body(story: &StepStory) -> String {
    if let Some(body) = story.visit.as_ref().and_then(VisitStory::body) {
        return body;
    }
    let asked = [
        ("instruction", story.instruction.as_deref()),
        ("question", story.question.as_deref()),
        ("person", story.person.as_deref()),
    ];
    let asked = asked
        .into_iter()
        .filter_map(|(tag, text)| Some(tagged(tag, text?)));
    let template = story.template.as_deref().map(|template| {
        let template = tagged("template", template);
        format!("Each branch got its own instruction, from this template:\n\n{template}")
    });
    let unreadable = story.unreadable.iter();
    let unreadable = unreadable.map(|problem| format!("*({})*", one_line(problem)));
    let json = |data: &Value| format!("```json\n{data:#}\n```");
    let (answer, data) = match (&story.answer, &story.output) {
        (Some(answer), data) => {
            let data = data.as_ref().filter(|_| !says_its_data(story));
            (Some(answer.clone()), data.map(json))
        }
        (None, Some(data)) => (Some(json(data)), None),
        (None, None) => (None, None),
    };
    let answer = answer.map(|answer| tagged("output", &answer));
    let data = data.map(|data| tagged("data", &data));
    let parts: Vec<String> = template
        .into_iter()
        .chain(asked)
        .chain(unreadable)
        .chain(answer)
        .chain(data)
        .collect();
    parts.join("\n\n")
}

/// Tells whether the data of a step is read in its answer. Data that a model extracted is not, and other programs may
/// have found theirs elsewhere.
fn says_its_data(story: &StepStory) -> bool {
    let method = story.extraction.as_ref().map(|found| found.method);
    match method {
        Some(ExtractionMethod::Frontmatter | ExtractionMethod::Correction) => true,
        Some(ExtractionMethod::Llm) => false,
        // The data of older details is always in the answer, unless it has none.
        None => story.output.as_ref().is_none_or(Value::is_null) || begins_with_data(story),
    }
}

/// Tells whether an answer begins with front matter.
fn begins_with_data(story: &StepStory) -> bool {
    let answer = story.answer.as_deref().unwrap_or_default();
    answer.trim_start().starts_with("---")
}

/// Returns the section that begins a document.
pub(crate) fn start_section(
    thread: ThreadId,
    workflow_name: &str,
    workflow: CasRef,
    prompt: &str,
) -> String {
    let name = one_line(workflow_name);
    format!("# Thread `{thread}`\n\n**Workflow:** {name} (`{workflow}`)\n\n## Task\n\n{prompt}")
}

/// Returns a failed attempt on one line.
pub(crate) fn attempt_line(attempt: &AttemptView) -> String {
    let usage = attempt.usage.as_ref().and_then(Usage::note);
    let usage = usage.map_or_else(String::new, |note| format!(", {note}"));
    format!(
        "**{}**, {}, at {} UTC{usage}: {}",
        attempt.role,
        one_line(&attempt.agent),
        time::format_utc(attempt.ended_at_ms),
        code(&cut_line(&attempt.error, ERROR_SHOWN)),
    )
}

#[cfg(test)]
mod tests;

//! One step of a thread as a part of its page.

use serde_json::Value;
use uwf_engine::{AttemptView, StepStory, ToolUse, VisitPart, VisitStory};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::nodes::{Extraction, RefusedCalls, Usage};
use uwf_util::text::{counted, cut_line};
use uwf_util::time;
use uwf_words::teaser::teaser;

use super::element::{Html, labelled, preformatted};

/// How many characters of an answer stand in the table of contents.
const TEASER: usize = 90;

/// Returns a step as an article that can be folded.
pub(super) fn step_article(story: &StepStory) -> Html {
    let id = format!("step-{}", story.number);
    let number = story.number.to_string();
    let heading = Html::element(
        "summary",
        &[],
        [
            labelled("span", "number", &number),
            labelled("span", "role", story.role.as_str()),
            labelled("span", "facts", &facts(story).join(" · ")),
        ],
    );
    let parts = [
        notes(story),
        folded("What the role is for", story.goal.as_deref()),
        section("Instruction", "instruction", story.instruction.as_deref()),
        section(
            "Template of the instructions of the branches",
            "instruction",
            story.template.as_deref(),
        ),
        section("Question", "question", story.question.as_deref()),
        section("A person says", "person", story.person.as_deref()),
        tools(&story.tool_calls),
        section("Answer", "answer", story.answer.as_deref()),
        visit(story),
        identity(story),
    ];
    let body = Html::element("div", &[("class", "body")], parts);
    let details = Html::element("details", &[("open", "")], [heading, body]);
    Html::element("article", &[("id", &id)], [details])
}

/// Returns how a step of a pipeline went; of other steps, the data.
fn visit(story: &StepStory) -> Html {
    let parts = story.visit.as_ref().map(VisitStory::parts);
    let parts = parts.filter(|parts| !parts.is_empty());
    let Some(parts) = parts else {
        return data(story.output.as_ref());
    };
    let part = |(name, text): VisitPart| {
        let (title, class) = match name {
            "command" => ("Command", "instruction"),
            "error" => ("Error", "failed"),
            "output" => ("Output", "answer"),
            "stdout" => ("Standard output", "answer"),
            _ => ("Standard error", "answer"),
        };
        section(title, class, Some(&text))
    };
    let parts: Vec<Html> = parts.into_iter().map(part).collect();
    Html::element("div", &[], parts)
}

/// Returns the line of a step in the table of contents.
pub(super) fn contents_line(story: &StepStory) -> Html {
    let target = format!("#step-{}", story.number);
    let link = Html::element("a", &[("href", &target)], [Html::text(story.role.as_str())]);
    let teaser = labelled("span", "teaser", &cut_line(&teaser(story), TEASER));
    Html::element("li", &[], [link, teaser])
}

/// Returns a failed attempt as an item of a list.
pub(super) fn attempt_item(attempt: &AttemptView) -> Html {
    let what = match attempt.replaces {
        Some(_) => "failed to do it again",
        None => "failed",
    };
    let about = format!(
        "{} {what}, attempt {} by {}, {} UTC",
        attempt.role,
        attempt.number,
        attempt.agent,
        time::format_utc(attempt.ended_at_ms)
    );
    let usage = attempt.usage.as_ref().and_then(Usage::note);
    let about = usage.map_or(about.clone(), |usage| format!("{about}, {usage}"));
    let words = attempt.words.as_deref();
    let parts = [
        labelled("span", "facts", &about),
        preformatted(&attempt.error),
        section("A person said", "person", words),
    ];
    Html::element("li", &[("class", "failed")], parts)
}

/// Returns a part with a title; nothing if there is no text.
pub(super) fn section(title: &str, class: &str, text: Option<&str>) -> Html {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Html::default();
    };
    let title = Html::element("h3", &[], [Html::text(title)]);
    Html::element("section", &[("class", class)], [title, preformatted(text)])
}

/// Returns a part that is folded until somebody opens it.
fn folded(title: &str, text: Option<&str>) -> Html {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Html::default();
    };
    let title = Html::element("summary", &[], [Html::text(title)]);
    let attributes = [("class", "aside")];
    Html::element("details", &attributes, [title, preformatted(text)])
}

/// Returns what a reader wants to know of a step at a glance.
fn facts(story: &StepStory) -> Vec<String> {
    let time = format!("{} UTC", time::format_utc(story.timestamp));
    let took = story.duration_ms.map(time::format_duration);
    let usage = story.usage.as_ref().and_then(Usage::note);
    let may = story.permissions.map(|it| format!("permissions {it}"));
    let facts = [Some(story.agent.clone()), Some(time), took, may, usage];
    let visit = story.visit.iter().flat_map(VisitStory::facts);
    let visit = visit.map(|(name, fact)| match name {
        "Status" => fact,
        name => format!("{} {fact}", name.to_lowercase()),
    });
    facts.into_iter().flatten().chain(visit).collect()
}

/// Returns what went wrong or was done again, what was refused, and how the data was found.
fn notes(story: &StepStory) -> Html {
    let text = |class: &str, text: String| labelled("li", class, &text);
    let extraction = story.extraction.as_ref().and_then(Extraction::note);
    let extraction = extraction.map(|note| text("note", format!("data by {note}")));
    let refused = RefusedCalls::note(&story.refused_calls).map(|note| text("failed", note));
    let class = match story.checks.iter().all(CheckResult::passed) {
        true => "note",
        false => "failed",
    };
    let checks = CheckResult::note(&story.checks).map(|note| text(class, note));
    let unreadable = story.unreadable.clone().map(|note| text("failed", note));
    let replaced = story.replaces.iter();
    let replaced =
        replaced.map(|step| text("note", format!("done again, in the place of step {step}")));
    let attempts = story.attempts.iter().map(attempt_item);
    let items: Vec<Html> = attempts
        .chain(replaced)
        .chain(refused)
        .chain(checks)
        .chain(extraction)
        .chain(unreadable)
        .collect();
    if items.is_empty() {
        return Html::default();
    }
    Html::element("ul", &[("class", "notes")], items)
}

/// Returns the tool calls, folded.
fn tools(calls: &[ToolUse]) -> Html {
    if calls.is_empty() {
        return Html::default();
    }
    let line = |call: &ToolUse| {
        let outcome = call.outcome.as_deref().filter(|outcome| *outcome != "ok");
        let class = if outcome.is_some() { "failed" } else { "call" };
        let parts = [
            labelled("b", "tool", &call.name),
            Html::text(" "),
            labelled("code", "args", call.args.as_deref().unwrap_or_default()),
            outcome.map_or_else(Html::default, |outcome| {
                labelled("span", "outcome", &format!(" {outcome}"))
            }),
        ];
        Html::element("li", &[("class", class)], parts)
    };
    let title = counted(calls.len(), "tool call");
    let summary = Html::element("summary", &[], [Html::text(&title)]);
    let list = Html::element("ol", &[("class", "tools")], calls.iter().map(line));
    Html::element("details", &[("class", "aside")], [summary, list])
}

/// Returns the data of a step: a row for each field, or the value itself.
fn data(output: Option<&Value>) -> Html {
    let Some(output) = output.filter(|output| !output.is_null()) else {
        return Html::default();
    };
    let title = Html::element("h3", &[], [Html::text("Data")]);
    let shown = match output {
        Value::Object(fields) => {
            let row = |(name, value): (&String, &Value)| {
                let name = Html::element("th", &[("scope", "row")], [Html::text(name)]);
                Html::element(
                    "tr",
                    &[],
                    [name, Html::element("td", &[], [of_value(value)])],
                )
            };
            Html::element("table", &[], fields.iter().map(row))
        }
        other => of_value(other),
    };
    Html::element("section", &[("class", "data")], [title, shown])
}

fn of_value(value: &Value) -> Html {
    match value {
        Value::String(text) => preformatted(text),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let lines: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            preformatted(&lines.join("\n"))
        }
        other => preformatted(&format!("{other:#}")),
    }
}

fn identity(story: &StepStory) -> Html {
    labelled("p", "hash", &format!("step {}", story.hash))
}

//! The steps of a thread, each folded, and its task before them.

use maud::{Markup, html};
use uwf_engine::{StepStory, StoryPage, VisitStory};
use uwf_protocol::nodes::{Extraction, Usage};
use uwf_util::text::{counted, cut_line};
use uwf_util::time;
use uwf_words::teaser::teaser;

use crate::pages::step_parts::{answer, attempt, checks, outcome, tools};
use crate::parts::{
    LONGEST, Room, Said, folded_in, hash_link, preformatted, section_in as part, thread_address,
};
use crate::visitor::Access;

/// How many characters of a text the line of a step shows.
const TEASER: usize = 160;
/// How many bytes the texts of one kind, such as the answers, have together on a page. A page with many long steps must open, too.
const TOGETHER: usize = 1 << 20;

/// Returns the part with the steps.
pub(super) fn section(story: &StoryPage, access: Access) -> Markup {
    let thread = thread_address(story.thread);
    let first = story.steps.first().map(|step| step.hash);
    let fork = |step: &StepStory| {
        let address = format!("{thread}/do/fork?step={}", step.hash);
        (access == Access::Full).then_some(address)
    };
    let bytes = (TOGETHER / story.steps.len().max(1)).min(LONGEST);
    html! {
        section aria-labelledby="steps" {
            h2 #steps { "Steps" }
            div.steps {
                article.step.task #task {
                    details open[story.steps.is_empty()] {
                        summary { span.role { "Task" } span.teaser { (Said(&cut_line(&story.task, TEASER))) } }
                        div.body { (preformatted(&story.task)) }
                    }
                }
                @if let (1.., Some(first)) = (story.hidden, first) {
                    a.button href=(format!("{thread}?before={first}#steps")) { (counted(story.hidden, "earlier step")) }
                }
                @for (nth, step) in story.steps.iter().enumerate() { (article(step, bytes, earlier(&story.steps[..nth], step), fork(step))) }
                @if story.later > 0 { a.button href=(thread) { "To the newest steps" } }
            }
        }
    }
}

/// Returns a step. Its line has the role, the status to which it led, the beginning of its text, and the facts.
fn article(
    step: &StepStory,
    bytes: usize,
    earlier: Option<&StepStory>,
    fork: Option<String>,
) -> Markup {
    let status = step
        .output
        .as_ref()
        .and_then(|data| data.get("$status")?.as_str());
    html! {
        article.step id=(step.hash) {
            details {
                summary {
                    span.nth { (step.number) }
                    span.role { (Said(step.role.as_str())) }
                    @if let Some(status) = status { span.went { "→ " (Said(status)) } }
                    span.teaser { (Said(&cut_line(&teaser(step), TEASER))) }
                    span.about { (facts(step).join(" · ")) }
                }
                div.body { (body(step, bytes, earlier, fork)) }
            }
        }
    }
}

/// Returns the last earlier step of the same role, if it is on the page.
fn earlier<'a>(before: &'a [StepStory], step: &StepStory) -> Option<&'a StepStory> {
    before.iter().rev().find(|one| one.role == step.role)
}

fn body(
    step: &StepStory,
    bytes: usize,
    earlier: Option<&StepStory>,
    fork: Option<String>,
) -> Markup {
    let room = Room { bytes, whole: None };
    html! {
        (notes(step))
        (folded_in(room, "What the role is for", step.goal.as_deref()))
        (part(room, "Instruction", "instruction", step.instruction.as_deref()))
        (part(room, "Template of the instructions of the branches", "instruction", step.template.as_deref()))
        (part(room, "Question", "question", step.question.as_deref()))
        (part(room, "A person says", "person", step.person.as_deref()))
        (children(step))
        (tools(&step.tool_calls))
        (outcome(&step.role, step.visit.as_ref(), step.output.as_ref(), room))
        (answer(step.hash, step.answer.as_deref(), step.output.as_ref(), bytes))
        (checks(&step.checks))
        p.foot {
            span { a href=(format!("/steps/{}", step.hash)) {
                @match step.visit { Some(_) => "This step alone", None => "Turns, files and prompt" }
            } }
            @if let Some(earlier) = earlier {
                span { a href=(format!("/diff?a={}&b={}", earlier.hash, step.hash)) { "Compare with step " (earlier.number) } }
            }
            @if let Some(fork) = fork { span { a href=(fork) { "Fork here" } } }
            span { "Node " (hash_link(step.hash)) }
            span { time datetime=(time::format_iso(step.timestamp)) { (time::format_utc(step.timestamp)) " UTC" } }
            @if let Some(permissions) = &step.permissions { span { "permissions " (permissions.to_string()) } }
            @if let Some(usage) = step.usage.as_ref().and_then(Usage::note) { span { (usage) } }
        }
    }
}

fn children(step: &StepStory) -> Markup {
    html! {
        @if !step.children.is_empty() {
            section.tree {
                h3 { "Children that did it" }
                ul {
                    @for child in &step.children {
                        @let branch = child.branch.to_string();
                        li {
                            @if !branch.is_empty() { b { (Said(&branch)) } " " }
                            a href=(thread_address(child.thread)) { (child.thread) }
                            " → " (Said(&child.status)) ", " (counted(child.steps, "step"))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the facts in the line of a step: those of its visit, its agent, its cost and its time.
fn facts(step: &StepStory) -> Vec<String> {
    let cost = step.usage.as_ref();
    let cost = cost.and_then(|usage| Some(usage.cost_kind().show(usage.cost_usd?)));
    let took = step.duration_ms.map(time::format_duration);
    let visit = step.visit.iter().flat_map(VisitStory::facts);
    let visit = visit.map(|(name, fact)| match name {
        "Status" => fact,
        name => format!("{} {fact}", name.to_lowercase()),
    });
    let agent = Some(step.agent.clone());
    visit
        .chain([agent, cost, took].into_iter().flatten())
        .collect()
}

/// Returns the notes of a step: failed attempts, steps that it replaces, refused calls, and how the data was found.
fn notes(step: &StepStory) -> Markup {
    let extraction = step.extraction.as_ref().and_then(Extraction::note);
    let refused = uwf_protocol::nodes::RefusedCalls::note(&step.refused_calls);
    let is_plain = step.attempts.is_empty()
        && step.replaces.is_empty()
        && extraction.is_none()
        && refused.is_none()
        && step.unreadable.is_none();
    if is_plain {
        return html! {};
    }
    html! {
        ul.notes {
            @for one in &step.attempts { (attempt(one)) }
            @for replaced in &step.replaces { li { "Done again, in the place of step " (hash_link(*replaced)) "." } }
            @if let Some(note) = &refused { li.failed { (Said(note)) } }
            @if let Some(note) = &extraction { li { "Data by " (Said(note)) "." } }
            @if let Some(note) = &step.unreadable { li.failed { (Said(note)) } }
        }
    }
}

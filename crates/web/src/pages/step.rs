//! One step: its turns with their tool calls, its answer, its artefacts, its checks, and the prompt that its agent got.

use maud::{Markup, html};
use uwf_engine::{StepReadOptions, StepTurns, read_step, read_step_prompt};
use uwf_protocol::artifact::Artifact;
use uwf_protocol::nodes::RefusedCalls;
use uwf_util::size;
use uwf_util::text::counted;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::pages::step_parts::checks;
use crate::parts::{Said, folded, hash_link, preformatted, section};
use crate::trouble::Trouble;

/// How many characters of turns a page has. Older ones are for the command line.
const QUOTA: usize = 400_000;

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let hash = asked.hash()?;
    let site = asked.site();
    let step = read_step(site, hash, &StepReadOptions { quota: QUOTA })?;
    let prompt = read_step_prompt(site, hash)?;
    let title = format!("Step of {}", step.role);
    let main = html! {
        p.crumbs { a href="/" { "Threads" } span aria-hidden="true" { "/" } span.id { (hash) } }
        div.title { h1 { (Said(&title)) } }
        div.facts {
            span { "Agent " b { (Said(&step.agent)) } }
            @if let Some(permissions) = step.permissions { span { "Permissions " b { (permissions.to_string()) } } }
            span { "Node " (hash_link(hash)) }
            @if let Some(note) = RefusedCalls::note(&step.refused_calls) { span.failed-text { (Said(&note)) } }
        }
        (section("Answer", "answer card", step.answer.as_deref()))
        (artifacts(&step))
        (checks(&step.checks))
        (turns(&step))
        section { (folded("The whole prompt of the agent", prompt.prompt.as_deref())) }
    };
    Ok(Page {
        title,
        tab: Tab::Threads,
        main,
    })
}

fn turns(step: &StepTurns) -> Markup {
    html! {
        @if !step.turns.is_empty() {
            section aria-labelledby="turns" {
                h2 #turns { (counted(step.turns.len() + step.hidden, "turn")) }
                @if step.hidden > 0 {
                    p.hint { (counted(step.hidden, "earlier turn")) " left out: " code { "uwf step read " (step.step) } }
                }
                div.steps { @for turn in &step.turns {
                    article.card.turn {
                        h3 {
                            span.nth { (turn.index + 1) } " " (Said(&turn.role))
                            @if let Some(answers) = &turn.answers {
                                " answers " (Said(answers.tool.as_deref().unwrap_or("a call"))) " → " (Said(&answers.outcome))
                            }
                        }
                        @if !turn.content.trim().is_empty() { (preformatted(&turn.content)) }
                        @for call in &turn.calls {
                            details.aside open {
                                summary { "Calls " b { (Said(&call.name)) } }
                                @if let Some(args) = &call.args { (preformatted(args)) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

fn artifacts(step: &StepTurns) -> Markup {
    html! {
        @if !step.artifacts.is_empty() {
            section.card aria-labelledby="artifacts" {
                h2 #artifacts { "Artefacts" }
                ul.list { @for one in &step.artifacts { li { (artifact(one)) } } }
                p.hint { code { "uwf step export " (step.step) " DIR" } " writes them into a folder." }
            }
        }
    }
}

fn artifact(artifact: &Artifact) -> Markup {
    html! {
        code { (Said(&artifact.path)) } " " span.none { (size::format(artifact.bytes)) }
        @if let Some(problem) = &artifact.problem { " " span.failed-text { "not kept: " (Said(problem)) } }
        @if let Some(node) = artifact.node { " " (hash_link(node)) }
    }
}

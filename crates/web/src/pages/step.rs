//! One step: its turns with their tool calls, its answer, its artefacts, its checks, and the prompt that its agent got.

use axum::http::StatusCode;
use maud::{Markup, html};
use uwf_engine::{
    ChangedFiles, StepReadOptions, StepTurns, VisitStory, artifacts as artifacts_of, files_of_step,
    read_step, read_step_prompt, step_facts, thread_of, write_artifact,
};
use uwf_protocol::artifact::Artifact;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{RefusedCalls, Usage};
use uwf_util::printable::shortened;
use uwf_util::text::counted;
use uwf_util::{size, time};

use crate::answer::{Disposition, File};
use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::pages::step_parts::{ANSWER, answer, checks, outcome, text_address};
use crate::parts::{
    LONGEST, Room, Said, folded_in, hash_link, preformatted, section, thread_address, unreadable,
    with_field,
};
use crate::trouble::{Refusal, Trouble};

/// How many characters of turns a page shows: the newest ones. The command line can show all.
const QUOTA: usize = 400_000;

/// The field that asks for the changed files.
const FILES: &str = "files";
/// The field that names an artefact.
const PATH: &str = "path";
/// How many lines of a patch a page shows.
const PATCH: usize = 5_000;
/// The name of the prompt in the address of a whole text.
const PROMPT: &str = "prompt";
/// The title of the prompt.
const PROMPT_TITLE: &str = "The whole prompt of the agent";
/// An answer with more bytes than this is not shown a second time, as a turn.
const SHOWN_ONCE: usize = 4 << 10;
/// How large an artefact may be that can be downloaded, in bytes.
const LARGEST: u64 = 64 << 20;

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let hash = asked.hash()?;
    let site = asked.site();
    let step = read_step(site, hash, &StepReadOptions { quota: QUOTA })?;
    let facts = step_facts(site, hash)?;
    let prompt = read_step_prompt(site, hash);
    // The page has no link to a thread if no thread has the step, or if the threads cannot be read.
    let thread = thread_of(site, hash).ok().flatten();
    let title = format!("Step of {}", step.role);
    let whole = text_address(hash, PROMPT);
    let main = html! {
        p.crumbs {
            a href="/" { "Threads" } span aria-hidden="true" { "/" }
            @if let Some(thread) = thread { a.id href=(format!("{}#{hash}", thread_address(thread))) { (thread) } span aria-hidden="true" { "/" } }
            span.id { (hash) }
        }
        div.title { h1 { (Said(&title)) } }
        div.facts {
            span { "Agent " b { (Said(&step.agent)) } }
            @if let Some(permissions) = step.permissions { span { "Permissions " b { (permissions.to_string()) } } }
            span { time datetime=(time::format_iso(facts.stored_at_ms)) { (time::format_utc(facts.stored_at_ms)) " UTC" } }
            @if let Some(took) = facts.duration_ms { span { "Took " b { (time::format_duration(took)) } } }
            @if let Some(usage) = facts.usage.as_ref().and_then(Usage::note) { span { "Used " b { (usage) } } }
            @for (name, fact) in facts.visit.iter().flat_map(VisitStory::facts) { span { (name) " " b { (Said(&fact)) } } }
            span { "Node " (hash_link(hash)) }
            @if let Some(prev) = facts.prev {
                span { a href=(format!("/steps/{prev}")) { "The step before" } }
                span { a href=(format!("/diff?a={prev}&b={hash}")) { "Compare with it" } }
            }
            @if let Some(note) = RefusedCalls::note(&step.refused_calls) { span.failed-text { (Said(&note)) } }
        }
        h2.away { "What came of it" }
        (section("Instruction", "instruction", facts.instruction.as_deref()))
        (outcome(&step.role, facts.visit.as_ref(), facts.output.as_ref(), Room::default()))
        (answer(hash, step.answer.as_deref(), facts.output.as_ref(), LONGEST))
        (artifacts(&step))
        (changed(asked, hash))
        (checks(&step.checks))
        (turns(&step))
        section { @match prompt {
            Ok(prompt) => { (folded_in(Room::before(&whole), PROMPT_TITLE, prompt.prompt.as_deref())) }
            Err(error) => { (unreadable(asked, PROMPT_TITLE, error)) }
        } }
    };
    Ok(Page {
        title,
        tab: Tab::Threads,
        main,
    })
}

/// Returns what the step changed in git repositories, if the address asks for it; otherwise a link. `git` compares the snapshots,
/// which takes long.
fn changed(asked: &Asked, hash: CasRef) -> Markup {
    if asked.query.get(FILES).is_none() {
        return html! { p { a.button href=(format!("/steps/{hash}?{FILES}=all#files")) { "Show the files that it changed" } } };
    }
    let found = files_of_step(asked.site(), hash);
    html! {
        section.card aria-labelledby="files" {
            h2 #files { "Files" }
            @match found {
                Ok(repositories) => { @for one in &repositories { (repository(one)) } }
                Err(error) => { p.hint { (Said(&(asked.app.explain)(error).whole())) } }
            }
        }
    }
}

fn repository(changed: &ChangedFiles) -> Markup {
    let patch = String::from_utf8_lossy(&changed.patch);
    html! {
        table.plain { tbody { @for file in &changed.files { tr {
            td { (file.change) }
            td { code { (shortened(&file.path, usize::MAX)) } }
            td.number { @if let Some(added) = file.added { ins { "+" (added) } } }
            td.number { @if let Some(removed) = file.removed { del { "−" (removed) } } }
        } } } }
        @if changed.files.is_empty() { p.hint { "No file is different." } }
        @if !patch.trim().is_empty() {
            div.difference tabindex="0" { @for (part, line) in parts_of(&patch).take(PATCH) { (patch_line(part, line)) } }
            @if patch.lines().nth(PATCH).is_some() { p.hint { "The patch has more lines." } }
        }
    }
}

/// The part of a patch to which a line belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchPart {
    /// What is said about a file before its first hunk.
    Head,
    /// A hunk: its first line, and lines of the file.
    Hunk,
}

/// Returns each line of a patch with its part. The beginning of a line does not tell its part: `--- x` names a file in a head, and
/// is the removed line `-- x` in a hunk.
fn parts_of(patch: &str) -> impl Iterator<Item = (PatchPart, &str)> {
    let mut part = PatchPart::Head;
    patch.lines().map(move |line| {
        match line.as_bytes() {
            [b'@', ..] => part = PatchPart::Hunk,
            // Each line of a file has a sign or a space before it.
            [b'd', ..] => part = PatchPart::Head,
            _ => {}
        }
        (part, line)
    })
}

fn patch_line(part: PatchPart, line: &str) -> Markup {
    match (part, line.as_bytes()) {
        (PatchPart::Head, _) => html! { div.hint { (Said(line)) } },
        (PatchPart::Hunk, [b'+', ..]) => html! { div { ins { (Said(line)) } } },
        (PatchPart::Hunk, [b'-', ..]) => html! { div { del { (Said(line)) } } },
        (PatchPart::Hunk, _) => html! { div { (Said(line)) } },
    }
}

/// Returns an artefact as a download. A browser shows nothing of it.
pub(crate) fn download(asked: &Asked) -> Result<File, Trouble> {
    let hash = asked.hash()?;
    let path = asked.query.get(PATH).unwrap_or_default();
    let kept = artifacts_of(asked.site(), hash)?.artifacts;
    if let Some(large) = kept
        .iter()
        .find(|one| one.path == path && one.bytes > LARGEST)
    {
        let message = format!("`{path}` has {}", size::format(large.bytes));
        let refusal = Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "large", message);
        return Err(refusal
            .hint(format!(
                "`uwf step export {hash} -o DIR` writes it into a folder"
            ))
            .into());
    }
    let mut content = Vec::new();
    write_artifact(asked.site(), hash, path, &mut content)?;
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(File {
        name,
        content,
        disposition: Disposition::Download,
    })
}

/// Returns a whole text of a step, as it came.
pub(crate) fn text(asked: &Asked) -> Result<File, Trouble> {
    let hash = asked.hash()?;
    let name = asked.part("text");
    let text = match name {
        ANSWER => read_step(asked.site(), hash, &StepReadOptions { quota: 0 })?.answer,
        PROMPT => read_step_prompt(asked.site(), hash)?.prompt,
        _ => None,
    };
    let missing = || Refusal::not_found(format!("the step has no text `{name}`"));
    Ok(File {
        name: format!("{name}.txt"),
        content: text.ok_or_else(missing)?.into_bytes(),
        disposition: Disposition::PlainText,
    })
}

fn turns(step: &StepTurns) -> Markup {
    let is_above = |text: &str| text.len() > SHOWN_ONCE && step.answer.as_deref() == Some(text);
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
                        @if is_above(&turn.content) { p.hint { "This is the answer, which is above." } }
                        @else if !turn.content.trim().is_empty() { (preformatted(&turn.content)) }
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
                ul.list { @for one in &step.artifacts { li { (artifact(step.step, one)) } } }
                p.hint { code { "uwf step export " (step.step) " -o DIR" } " writes them into a folder." }
            }
        }
    }
}

fn artifact(step: CasRef, artifact: &Artifact) -> Markup {
    let address = with_field(&format!("/steps/{step}/artifact"), PATH, &artifact.path);
    html! {
        @if artifact.node.is_some() { a href=(address) download { code { (Said(&artifact.path)) } } } @else { code { (Said(&artifact.path)) } }
        " " span.none { (size::format(artifact.bytes)) }
        @if let Some(problem) = &artifact.problem { " " span.failed-text { "not kept: " (Said(problem)) } }
        @if let Some(node) = artifact.node { " " (hash_link(node)) }
    }
}

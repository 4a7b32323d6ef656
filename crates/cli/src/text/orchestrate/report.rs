//! What happened in a run, as a Markdown page.

use std::collections::HashMap;
use std::fmt::Write as _;

use uwf_engine::{RunEntry, RunStory, VisitView};
use uwf_pipeline::nodes::Stream;
use uwf_pipeline::{StepError, StepStatus};
use uwf_util::markdown::{block, cell, code};
use uwf_util::text::counted;
use uwf_util::time::format_duration;

use crate::hints;
use crate::hints::run_name::RunName;

use super::looking::{next_command, part_of, status_words, stream_name};

/// How many rows the table of steps has. Visits of items that went well give way.
const MOST_ROWS: usize = 200;
/// How many outputs are shown, and how many failures.
const MOST_BLOCKS: usize = 50;

/// Returns what happened in a run as a Markdown page.
pub(crate) fn run_report(story: &RunStory, name: &RunName) -> String {
    let visits: Vec<&VisitView> = visits(story).collect();
    let mut page = head(story, name);
    page.push_str(&steps(story));
    page.push_str(&loops(story, &visits));
    page.push_str(&failures(&visits));
    page.push_str(&outputs(&visits));
    page.push_str(&files(&visits));
    page
}

fn visits(story: &RunStory) -> impl Iterator<Item = &VisitView> {
    story.entries.iter().filter_map(|entry| match entry {
        RunEntry::Visit(visit) => Some(&**visit),
        RunEntry::Resume(_) | RunEntry::Archive(_) => None,
    })
}

fn head(story: &RunStory, name: &RunName) -> String {
    let run = &story.status.run;
    let mut rows = vec![
        ("status", status_words(&story.status)),
        (
            "workflow",
            format!("{} ({})", cell(&run.workflow), code(&run.workflow_file)),
        ),
        ("thread", code(run.thread.as_str())),
        ("started", run.started_at.clone()),
    ];
    rows.extend(part_of(run));
    if let Some(updated) = &run.updated_at {
        rows.push(("last change", updated.clone()));
    }
    if let Some(error) = &story.status.error {
        rows.push(("error", code(&error.message)));
    }
    if !story.context.is_empty() {
        let context = serde_json::to_string(&story.context).unwrap_or_default();
        rows.push(("context", code(&uwf_util::text::cut(&context, 500))));
    }
    if let Some(next) = next_command(&story.status, name) {
        rows.push(("next", code(&hints::here(&next))));
    }
    let mut page = format!("# Run {}\n\n| | |\n|---|---|\n", run.run_id);
    for (name, value) in rows {
        let _ = writeln!(page, "| {name} | {} |", cell(&value));
    }
    page
}

/// Returns the table of all steps, in the order in which they were done.
fn steps(story: &RunStory) -> String {
    let mut page = "\n## Steps\n\n".to_owned();
    if story.entries.is_empty() {
        return page + "No step has settled.\n";
    }
    page.push_str(
        "| # | step | status | code | time | attempts | by |\n|---|---|---|---|---|---|---|\n",
    );
    let matters = |entry: &RunEntry| match entry {
        RunEntry::Visit(visit) => !visit.key.contains('[') || visit.status == StepStatus::Failed,
        RunEntry::Resume(_) | RunEntry::Archive(_) => true,
    };
    let is_long = story.entries.len() > MOST_ROWS;
    let numbered = story.entries.iter().enumerate();
    let shown = numbered.filter(|(_, entry)| !is_long || matters(entry));
    let mut rows = 0;
    for (at, entry) in shown.take(MOST_ROWS) {
        rows += 1;
        let _ = writeln!(page, "| {} | {} |", at + 1, row(entry));
    }
    let hidden = story.entries.len() - rows;
    if hidden > 0 {
        let _ = writeln!(
            page,
            "\n{} left out; `--format json` has all.",
            counted(hidden, "more step")
        );
    }
    page
}

fn row(entry: &RunEntry) -> String {
    match entry {
        RunEntry::Visit(visit) => {
            let number = match visit.visit {
                1 => String::new(),
                number => format!(" (visit {number})"),
            };
            let attempts = match visit.attempts.len() {
                0 => String::new(),
                count => count.to_string(),
            };
            let took = format_duration(visit.duration_ms);
            format!(
                "{}{number} | {} | {} | {} | {attempts} | {}",
                cell(&visit.key),
                visit.status.as_str(),
                visit.exit_code,
                took,
                cell(&visit.agent),
            )
        }
        RunEntry::Resume(resume) => {
            let lost = resume
                .lost
                .as_ref()
                .map(|lost| format!("; attempt {} of {} was lost", lost.attempt, lost.key));
            let from = resume.from.as_ref().map(|from| format!(" at {from}"));
            let (from, lost) = (from.unwrap_or_default(), lost.unwrap_or_default());
            let other = match resume.accepted {
                Some(_) => "; the workflow file had changed",
                None => "",
            };
            format!("*resumed{from}{lost}{other}* | | | | |")
        }
        RunEntry::Archive(archive) => {
            let (status, error) = match &archive.error {
                None => ("completed", String::new()),
                Some(error) => ("failed", format!(": {}", code(error))),
            };
            let place = code(&archive.path);
            format!(
                "*archive {}{}* | {status} | | | |",
                cell(&place),
                cell(&error)
            )
        }
    }
}

/// Returns the loops with their counts and their failed items.
fn loops(story: &RunStory, visits: &[&VisitView]) -> String {
    let mut lines = Vec::new();
    // A step that was done again has what came of it the last time.
    let newest = newest_visits(visits);
    let stands = |visit: &&&VisitView| newest[&*visit.key].visit == visit.visit;
    let standing: Vec<&VisitView> = visits.iter().filter(stands).copied().collect();
    for visit in visits {
        if let Some(items) = visit.items {
            let failed = failed_within(&visit.key, &standing);
            let count = counted(items.count, "item");
            let line = format!("- {}: {count}, {} failed{failed}", visit.key, items.failed);
            lines.push(line);
        }
    }
    for open in &story.status.loops {
        let failed = failed_within(&open.key, &standing);
        let (number, total) = (open.index + 1, open.total);
        lines.push(format!(
            "- {}: at item {number} of {total}, {} failed so far{failed}",
            open.key, open.failed
        ));
    }
    section("Loops", &lines.join("\n"))
}

/// Returns the failed steps within a loop.
fn failed_within(key: &str, visits: &[&VisitView]) -> String {
    let begin = format!("{key}[");
    let failed = visits
        .iter()
        .filter(|visit| visit.status == StepStatus::Failed && visit.key.starts_with(&begin));
    let keys: Vec<&str> = failed.map(|visit| visit.key.as_str()).collect();
    match keys.len() {
        0 => String::new(),
        1..=MOST_BLOCKS => format!("; failed steps: {}", keys.join(", ")),
        count => format!(
            "; failed steps: {} and {} more",
            keys[..MOST_BLOCKS].join(", "),
            count - MOST_BLOCKS
        ),
    }
}

/// Returns the newest visit of each step.
fn newest_visits<'v>(visits: &[&'v VisitView]) -> HashMap<&'v str, &'v VisitView> {
    let keyed = visits.iter().map(|visit| (visit.key.as_str(), *visit));
    keyed.collect()
}

fn failures(visits: &[&VisitView]) -> String {
    let failed = visits
        .iter()
        .filter_map(|visit| visit.error.as_ref().map(|error| (*visit, error)));
    let last = newest_visits(visits);
    let texts = failed.map(|(visit, error)| failure(visit, error, last[&*visit.key]));
    section("Failures", &newest(texts.collect()))
}

/// Returns a failure. `last` is the newest visit of the step.
fn failure(visit: &VisitView, error: &StepError, last: &VisitView) -> String {
    let later = match last.visit > visit.visit {
        true => format!("; {} in visit {}", last.status.as_str(), last.visit),
        false => String::new(),
    };
    let mut text = format!(
        "### {} (exit code {}{later})\n\n{}\n",
        visit.key,
        visit.exit_code,
        code(&error.message)
    );
    if !visit.argv.is_empty() {
        let words = visit
            .argv
            .iter()
            .map(|word| uwf_util::shell_words::quote(word));
        let words: Vec<String> = words.map(Into::into).collect();
        let _ = write!(text, "\ncommand: {}\n", code(&words.join(" ")));
    }
    if visit.attempts.len() > 1 {
        let attempts = visit.attempts.iter();
        let attempts = attempts.map(|one| {
            format!(
                "{} after {}",
                one.exit_code,
                format_duration(one.duration_ms)
            )
        });
        let attempts: Vec<String> = attempts.collect();
        let _ = write!(
            text,
            "\nexit codes of its attempts: {}\n",
            attempts.join(", ")
        );
    }
    for (name, tail) in [
        ("stderr", &error.stderr_tail),
        ("stdout", &error.stdout_tail),
    ] {
        if !tail.is_empty() {
            let _ = write!(text, "\nend of {name}:\n\n{}\n", block(&tail.join("\n")));
        }
    }
    text
}

fn outputs(visits: &[&VisitView]) -> String {
    let shown = visits.iter().filter_map(|visit| {
        let output = visit.output.as_ref().filter(|it| !it.text.is_empty())?;
        let log = visit.log(Stream::Stdout);
        let more = match (output.cut, log) {
            (false, _) => String::new(),
            (true, Some(log)) => format!("\nThere is more in {}.\n", code(&log.path)),
            (true, None) => "\nThere is more.\n".to_owned(),
        };
        let text = block(&output.text);
        Some(format!("### {}\n\n{text}\n{more}", visit.key))
    });
    section("Output", &newest(shown.collect()))
}

fn files(visits: &[&VisitView]) -> String {
    let mut lines = Vec::new();
    for visit in visits {
        let written = visit.writes.iter();
        lines.extend(written.map(|path| format!("- {} by {}", code(path), visit.key)));
        if let Some(moved) = visit.lifecycle.as_ref().filter(|it| it.action_applied) {
            let (from, to) = (code(&moved.from), code(&moved.to));
            lines.push(format!("- {from} was moved to {to}"));
        }
        let large = visit.logs.iter().filter(|log| log.text.is_none());
        lines.extend(large.map(|log| {
            let stream = stream_name(log.stream);
            format!("- {} has the {stream} of {}", code(&log.path), visit.key)
        }));
    }
    let lines: Vec<String> = lines.into_iter().take(MOST_ROWS).collect();
    section("Files", &lines.join("\n"))
}

/// Returns the newest texts, with a word about those before them.
fn newest(mut texts: Vec<String>) -> String {
    let hidden = texts.len().saturating_sub(MOST_BLOCKS);
    texts.drain(..hidden);
    let before = match hidden {
        0 => String::new(),
        hidden => format!(
            "{} left out; `--format json` has all.\n\n",
            counted(hidden, "older one")
        ),
    };
    before + &texts.join("\n")
}

fn section(heading: &str, text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("\n## {heading}\n\n{}\n", text.trim_end()),
    }
}

//! Runs, as data and as text.

use std::iter;

use serde::Serialize;
use uwf_engine::{FinishedBelow, LogContent, LoopLine, RunLog, RunStatusView, RunSummary};
use uwf_pipeline::nodes::Stream;
use uwf_util::text::counted;
use uwf_util::time::format_duration;

use crate::hints;
use crate::hints::run_name::RunName;
use crate::output::Show;
use crate::text::Page;
use crate::text::table::{fields, fitted, table};
use crate::text::thread::finished_below_line;

/// The runs of a workspace, the newest first.
#[derive(Serialize)]
pub(crate) struct RunList {
    pub(crate) runs: Vec<RunRow>,
}

/// A run of the list.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum RunRow {
    Run(Box<RunSummary>),
    Unreadable { run_id: String, error: String },
}

impl Show for RunList {
    fn text(&self, page: Page) -> String {
        if self.runs.is_empty() {
            return String::new();
        }
        let headings = ["RUN", "STATUS", "STARTED", "UPDATED", "WORKFLOW"];
        let rows = self.runs.iter().map(RunRow::cells).collect();
        fitted(&headings, rows, 4, page)
    }
}

impl RunRow {
    fn cells(&self) -> Vec<String> {
        match self {
            Self::Run(run) => {
                let word = run.status.as_str();
                let status = match &run.failed_step {
                    Some(step) => format!("{word} at {step}"),
                    None if run.programs_live => format!("{word}, a program lives"),
                    None => word.to_owned(),
                };
                let updated = run.updated_at.as_deref().map_or("", whole_seconds);
                vec![
                    run.run_id.clone(),
                    status,
                    whole_seconds(&run.started_at).to_owned(),
                    updated.to_owned(),
                    workflow_words(run),
                ]
            }
            Self::Unreadable { run_id, error } => vec![
                run_id.clone(),
                "unreadable".to_owned(),
                String::new(),
                String::new(),
                error.clone(),
            ],
        }
    }
}

/// Returns the pipeline of a run, and what part of a larger whole the run is.
fn workflow_words(run: &RunSummary) -> String {
    match part_of(run) {
        Some((what, of)) => format!("{}, {what} {of}", run.workflow),
        None => run.workflow.clone(),
    }
}

/// Returns a time without its milliseconds and its `Z`.
pub(super) fn whole_seconds(iso: &str) -> &str {
    iso.get(..19).unwrap_or(iso)
}

/// Where a run stands.
#[derive(Serialize)]
pub(crate) struct RunStatusPage {
    #[serde(flatten)]
    status: RunStatusView,
    /// The command that lets the run go on, or follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl RunStatusPage {
    pub(crate) fn new(status: RunStatusView, name: &RunName) -> Self {
        let next = next_command(&status, name);
        Self {
            next: next.map(|next| hints::here(&next).into_owned()),
            status,
        }
    }
}

impl Show for RunStatusPage {
    fn text(&self, page: Page) -> String {
        let status = &self.status;
        let run = &status.run;
        let mut rows = vec![
            ("run", run.run_id.clone()),
            ("status", status_words(status)),
            (
                "workflow",
                format!("{} ({})", run.workflow, run.workflow_file),
            ),
            ("thread", run.thread.to_string()),
            ("started", run.started_at.clone()),
        ];
        rows.extend(part_of(run));
        if let Some(updated) = &run.updated_at {
            rows.push(("updated", updated.clone()));
        }
        if let Some(current) = &status.current_step {
            let mut line = format!("{}, attempt {}", current.key, current.attempt);
            if let Some(pid) = current.pid {
                line = format!("{line}, process {pid}");
            }
            rows.push(("step", line));
        }
        if let Some(step) = &status.next_step {
            rows.push(("stands at", step.clone()));
        }
        for process in &status.left_running {
            let line = format!(
                "process {process}; no engine works on the run, and `resume` ends this first"
            );
            rows.push(("still alive", line));
        }
        rows.extend(status.loops.iter().map(|open| ("loop", loop_words(open))));
        if let Some(error) = &status.error {
            rows.push(("error", error.message.clone()));
        }
        if status.exit_code == Some(0) && !status.failed_steps.is_empty() {
            rows.push(("failed", status.failed_steps.join(", ")));
        }
        if status.paused {
            rows.push(("paused", "a person paused it".to_owned()));
        }
        if let Some(child) = &status.child {
            let why = child.message.as_deref();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            rows.push((
                "child",
                format!("{}  {}{why}", child.thread, child.status.as_str()),
            ));
        }
        rows.extend(self.next.clone().map(|next| ("next", next)));
        format!("{}\n\n{}", fields(&rows, page), steps_table(status))
    }
}

/// Says how far a loop is.
fn loop_words(open: &LoopLine) -> String {
    let failed = match open.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let (number, total) = (open.index + 1, open.total);
    format!("{}: item {number} of {total}{failed}", open.key)
}

/// Returns what part of a larger whole a run is, as the name and the value of a row.
pub(super) fn part_of(run: &RunSummary) -> Option<(&'static str, String)> {
    let only = run.only_step.clone().map(|step| ("only step", step));
    let parent = || Some(("a step of", run.parent?.to_string()));
    let fork = || Some(("fork of", run.fork_of.clone()?));
    only.or_else(parent).or_else(fork)
}

/// Returns the status of a run with what belongs to it.
pub(super) fn status_words(status: &RunStatusView) -> String {
    let mut words = status.run.status.as_str().to_owned();
    if let Some(step) = &status.run.failed_step {
        words = format!("{words} at {step}");
    }
    match status.exit_code {
        Some(code) => format!("{words}, exit code {code}"),
        None => words,
    }
}

/// Returns the command that goes on with a run, if it can.
pub(super) fn next_command(status: &RunStatusView, name: &RunName) -> Option<String> {
    use uwf_engine::RunPhase::{Cancelled, Completed, Failed, Interrupted, Running};
    match status.run.status {
        Failed | Interrupted if status.paused => {
            Some(format!("uwf thread unpause {}", status.run.thread))
        }
        Failed | Interrupted => {
            let of_child = status.child.as_ref();
            let of_child = of_child.and_then(hints::thread::next_of_held);
            Some(of_child.unwrap_or_else(|| name.command("resume")))
        }
        Running => Some(format!("{} -f", name.command("logs"))),
        Completed | Cancelled => None,
    }
}

fn steps_table(status: &RunStatusView) -> String {
    let rows = status.steps.iter().map(|step| {
        let code = step.exit_code.map(|code| code.to_string());
        let items = step.items.map(|items| match items.failed {
            0 => counted(items.count, "item"),
            failed => format!("{}, {failed} failed", counted(items.count, "item")),
        });
        vec![
            step.name.clone(),
            step.status.to_owned(),
            code.unwrap_or_default(),
            step.duration_ms.map(format_duration).unwrap_or_default(),
            step.visits.to_string(),
            items.unwrap_or_default(),
        ]
    });
    let headings = ["STEP", "STATUS", "CODE", "TIME", "VISITS", "ITEMS"];
    table(&headings, rows.collect())
}

/// One log.
#[derive(Serialize)]
pub(crate) struct LogItem {
    key: String,
    visit: u64,
    stream: Stream,
    bytes: u64,
    path: Option<String>,
    text: Option<String>,
    cut: bool,
}

impl LogItem {
    /// Returns a log with its text, and whether there is more text.
    pub(crate) fn new(log: &RunLog, text: Option<(String, bool)>) -> Self {
        let path = match &log.content {
            LogContent::File(path) | LogContent::Gone(path) => Some(path.display().to_string()),
            LogContent::Text(_) => None,
        };
        let (text, cut) = text.map_or((None, false), |(text, cut)| (Some(text), cut));
        Self {
            key: log.key.clone(),
            visit: log.visit,
            stream: log.stream,
            bytes: log.bytes,
            path,
            text,
            cut,
        }
    }
}

impl Show for LogItem {
    fn text(&self, _page: Page) -> String {
        self.text.clone().unwrap_or_default()
    }
}

/// Returns the line that stands above a log.
pub(crate) fn log_heading(log: &RunLog) -> String {
    let visit = match log.visit {
        1 => String::new(),
        visit => format!(" (visit {visit})"),
    };
    format!("{}{visit} {}", log.key, stream_name(log.stream))
}

pub(super) fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Prompt => "prompt",
    }
}

/// What became of old runs.
#[derive(Serialize)]
pub(crate) struct CleanedRuns {
    dry_run: bool,
    removed: Vec<RemovedRun>,
    kept: Vec<KeptRun>,
    #[serde(skip)]
    has_failed: bool,
}

/// A run whose folder was removed.
#[derive(Serialize)]
struct RemovedRun {
    run_id: String,
    ended: bool,
    /// What its children had finished and no engine had committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    finished_below: Vec<FinishedBelow>,
}

/// A folder that was not removed.
#[derive(Serialize)]
struct KeptRun {
    run_id: String,
    why: String,
}

impl CleanedRuns {
    pub(crate) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            removed: Vec::new(),
            kept: Vec::new(),
            has_failed: false,
        }
    }

    /// Adds a run that had ended.
    pub(crate) fn remove(&mut self, run_id: String) {
        self.removed.push(RemovedRun {
            run_id,
            ended: false,
            finished_below: Vec::new(),
        });
    }

    /// Adds a run that could have gone on, and what its children had finished.
    pub(crate) fn remove_and_end(&mut self, run_id: String, finished_below: Vec<FinishedBelow>) {
        self.removed.push(RemovedRun {
            run_id,
            ended: true,
            finished_below,
        });
    }

    /// Adds a folder that is not removed.
    pub(crate) fn keep(&mut self, run_id: String, why: String) {
        self.kept.push(KeptRun { run_id, why });
    }

    /// Adds a folder that could not be removed.
    pub(crate) fn fail(&mut self, run_id: String, why: String) {
        self.keep(run_id, why);
        self.has_failed = true;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }
}

impl Show for CleanedRuns {
    fn text(&self, _page: Page) -> String {
        let removed = self.removed.iter().map(|run| {
            let id = &run.run_id;
            let said = match (self.dry_run, run.ended) {
                (true, _) => format!("would remove {id}"),
                (false, true) => format!("removed {id}; it could have gone on, and was ended"),
                (false, false) => format!("removed {id}"),
            };
            let finished = run.finished_below.iter().map(finished_below_line);
            iter::once(said)
                .chain(finished)
                .collect::<Vec<_>>()
                .join("\n")
        });
        let kept = self.kept.iter();
        let kept = kept.map(|run| format!("kept {}: {}", run.run_id, run.why));
        let lines: Vec<String> = removed.chain(kept).collect();
        match lines.is_empty() {
            true => "nothing to remove".to_owned(),
            false => lines.join("\n"),
        }
    }
}

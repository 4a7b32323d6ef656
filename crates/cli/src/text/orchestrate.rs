//! Results of `uwf orchestrate`.

mod looking;
mod queues;
mod report;
mod run;

use std::path::Path;

use serde::Serialize;
use uwf_pipeline::{Loaded, Problem, StatusProblem, Step};
use uwf_util::text::counted;

pub(crate) use looking::{CleanedRuns, LogItem, RunList, RunRow, RunStatusPage, log_heading};
pub(crate) use queues::{MovedTask, PutTask, TaskList};
pub(crate) use report::run_report;
pub(crate) use run::{NoRunView, RunView};

use crate::output::Show;
use crate::text::Page;

/// The file of a pipeline that can be used.
#[derive(Serialize)]
pub(crate) struct ValidPipeline {
    name: String,
    valid: bool,
    steps: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<ProblemView>,
}

/// The file of a pipeline that cannot be used.
#[derive(Serialize)]
pub(crate) struct InvalidPipeline {
    valid: bool,
    problems: Vec<ProblemView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<ProblemView>,
    /// How many more mistakes and warnings there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
}

/// How many mistakes of a file are told, and how many warnings.
const MOST_TOLD: usize = 100;

/// Returns what is told of the mistakes or the warnings of a file, and how many more there are.
pub(crate) fn told<'p>(problems: &'p [&'p Problem]) -> (&'p [&'p Problem], usize) {
    let told = &problems[..problems.len().min(MOST_TOLD)];
    (told, problems.len() - told.len())
}

/// A problem as data.
#[derive(Serialize)]
struct ProblemView {
    file: String,
    line: usize,
    column: usize,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What a check of a file by `status/v1` says.
#[derive(Serialize)]
pub(crate) struct StatusView {
    file: String,
    valid: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<StatusProblemView>,
}

/// A violation of `status/v1` as data.
#[derive(Serialize)]
struct StatusProblemView {
    path: String,
    message: String,
}

/// Returns a problem as one line: `file:line:column: code: message (hint)`.
pub(crate) fn problem_line(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    }
}

impl From<&Problem> for ProblemView {
    fn from(problem: &Problem) -> Self {
        Self {
            file: problem.place.file.clone(),
            line: problem.place.line,
            column: problem.place.column,
            code: problem.code.as_str(),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        }
    }
}

impl From<&Loaded> for ValidPipeline {
    fn from(loaded: &Loaded) -> Self {
        Self {
            name: loaded.pipeline.name.clone(),
            valid: true,
            steps: names(&loaded.pipeline.steps, ""),
            warnings: loaded.warnings.iter().map(ProblemView::from).collect(),
        }
    }
}

impl From<&[Problem]> for InvalidPipeline {
    fn from(problems: &[Problem]) -> Self {
        let (warnings, problems): (Vec<&Problem>, Vec<&Problem>) = problems
            .iter()
            .partition(|problem| problem.code.is_warning());
        let ((problems, more), (warnings, more_warnings)) = (told(&problems), told(&warnings));
        let view = |problem: &&Problem| ProblemView::from(*problem);
        Self {
            valid: false,
            problems: problems.iter().map(view).collect(),
            warnings: warnings.iter().map(view).collect(),
            more: Some(more + more_warnings).filter(|more| *more > 0),
        }
    }
}

impl StatusView {
    pub(crate) fn new(file: &Path, problems: &[StatusProblem]) -> Self {
        let problems = problems.iter().map(|problem| StatusProblemView {
            path: problem.path.clone(),
            message: problem.message.clone(),
        });
        let problems: Vec<StatusProblemView> = problems.collect();
        Self {
            file: file.display().to_string(),
            valid: problems.is_empty(),
            problems,
        }
    }

    /// Returns the violations as lines: `outputs[1]: message`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |problem: &StatusProblemView| match problem.path.as_str() {
            "" => problem.message.clone(),
            path => format!("{path}: {}", problem.message),
        };
        self.problems.iter().map(line).collect()
    }
}

impl Show for StatusView {
    /// People read the violations on stderr.
    fn text(&self, _page: Page) -> String {
        match self.valid {
            true => format!("`{}` is as status/v1 says", self.file),
            false => String::new(),
        }
    }
}

/// Returns the keys of steps, and of those in their bodies, with empty brackets for the items.
fn names(steps: &[Step], around: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for step in steps {
        let key = format!("{around}{}", step.name);
        let body = step
            .body()
            .map(|body| names(&body.steps, &format!("{key}[].")));
        keys.push(key);
        keys.extend(body.unwrap_or_default());
    }
    keys
}

impl Show for ValidPipeline {
    fn text(&self, _page: Page) -> String {
        let steps = match self.steps.len() {
            1 => "step".to_owned(),
            count => counted(count, "step"),
        };
        let warnings = match self.warnings.len() {
            0 => String::new(),
            count => format!(", with {}", counted(count, "warning")),
        };
        let keys = self.steps.join(", ");
        format!("`{}` is valid{warnings}; its {steps}: {keys}", self.name)
    }
}

impl Show for InvalidPipeline {
    /// People read the mistakes on stderr.
    fn text(&self, _page: Page) -> String {
        String::new()
    }
}

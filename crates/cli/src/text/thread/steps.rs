//! The steps of one thread.

use uwf_engine::{
    AttemptView, ChildOfStep, LeftByStep, RefusedEntry, StartEntry, StepEntry, StepsEntry,
    StepsView,
};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{Extraction, RefusedCalls};
use uwf_protocol::workflow::reserved;
use uwf_util::text::counted;
use uwf_util::time;

use super::{agent_of, of_branch, word_for};
use crate::output::Show;
use crate::text::table::{Page, fitted};

impl Show for StepsView {
    /// A failed attempt comes below the step that it should have followed or replaced.
    fn text(&self, page: Page) -> String {
        let mut rows = Vec::new();
        for entry in &self.steps {
            let (hash, row, replaced) = match entry {
                StepsEntry::Start(start) => (start.hash, start_row(start), Vec::new()),
                StepsEntry::Step(step) => (step.hash, step_row(step), replaced_rows(step)),
            };
            for (hash, row) in replaced.into_iter().chain([(hash, row)]) {
                rows.push(row);
                if let StepsEntry::Step(step) = entry
                    && step.hash == hash
                {
                    rows.extend(child_rows(step));
                    rows.extend(check_rows(step));
                }
                let there = self.attempts.iter().filter(|attempt| attempt.at() == hash);
                rows.extend(there.map(attempt_row));
            }
        }
        if let Some(step) = self.finished_step {
            let waits = "finished, and waits to be committed by `uwf thread step`".to_owned();
            let none = || "-".to_owned();
            rows.push(vec![step.to_string(), none(), none(), none(), waits]);
        }
        rows.extend(self.refused_steps.iter().map(refused_row));
        fitted(&["STEP", "ROLE", "AGENT", "TOOK", "DATA"], rows, 4, page)
    }
}

fn start_row(start: &StartEntry) -> Vec<String> {
    vec![
        start.hash.to_string(),
        reserved::START.to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        start.prompt.clone(),
    ]
}

fn step_row(step: &StepEntry) -> Vec<String> {
    let took = step.duration_ms.map(time::format_duration);
    let extraction = step.extraction.as_ref().and_then(Extraction::note);
    let permissions = step.permissions.map(|it| format!("permissions {it}"));
    let notes = permissions
        .into_iter()
        .chain(extraction)
        .chain(RefusedCalls::note(&step.refused_calls))
        .chain(CheckResult::note(&step.checks));
    let agent = notes.fold(step.agent.clone(), |agent, note| {
        format!("{agent} ({note})")
    });
    vec![
        step.hash.to_string(),
        step.role.to_string(),
        agent,
        took.unwrap_or_else(|| "-".to_owned()),
        step.output.to_string(),
    ]
}

/// How many children of a step have a row of their own.
const CHILDREN_SHOWN: usize = 20;

/// Returns a row for each child that did a part of the step, and one for those that are left out.
fn child_rows(step: &StepEntry) -> Vec<Vec<String>> {
    let row = |data: String| {
        let cells = ["(child)", step.role.as_str(), "-", "-", &data];
        cells.map(str::to_owned).to_vec()
    };
    let line = |child: &ChildOfStep| {
        let branch = of_branch(&child.branch);
        let steps = counted(child.steps, "step");
        format!("{branch}{} after {steps}, {}", child.status, child.thread)
    };
    let shown = step.children.iter().take(CHILDREN_SHOWN);
    let mut rows: Vec<_> = shown.map(|child| row(line(child))).collect();
    let more = step.children.len() - rows.len();
    if more > 0 {
        rows.push(row(format!("and {more} more")));
    }
    rows
}

/// Returns a row for each command that prints what the failed checks of a step printed.
fn check_rows(step: &StepEntry) -> Vec<Vec<String>> {
    let left = LeftByStep::by_checks(step.hash, &step.checks).into_iter();
    let row = |left: LeftByStep| {
        let cells = ["(checks)", step.role.as_str(), "-", "-", &left.shown_by];
        cells.map(str::to_owned).to_vec()
    };
    left.map(row).collect()
}

/// Returns the rows of the steps that a step replaced.
fn replaced_rows(step: &StepEntry) -> Vec<(CasRef, Vec<String>)> {
    let row = |hash: &CasRef| {
        let cells = [hash.as_str(), step.role.as_str(), "-", "-", "(replaced)"];
        (*hash, cells.map(str::to_owned).to_vec())
    };
    step.replaces.iter().map(row).collect()
}

/// Returns the row of a step that is kept although it is not in the chain.
fn refused_row(refused: &RefusedEntry) -> Vec<String> {
    let RefusedEntry {
        refused,
        role,
        agent,
        duration_ms,
    } = refused;
    let none = || "-".to_owned();
    vec![
        refused.step.to_string(),
        role.as_ref().map_or_else(none, ToString::to_string),
        agent.clone().unwrap_or_else(none),
        duration_ms.map_or_else(none, time::format_duration),
        format!(
            "(kept) follows {}, which the thread had left",
            refused.expects()
        ),
    ]
}

fn attempt_row(attempt: &AttemptView) -> Vec<String> {
    let took = attempt.ended_at_ms.saturating_sub(attempt.started_at_ms);
    vec![
        format!("({} {})", word_for(attempt), attempt.number),
        attempt.role.to_string(),
        agent_of(attempt),
        time::format_duration(u64::try_from(took).unwrap_or(0)),
        attempt.error.clone(),
    ]
}

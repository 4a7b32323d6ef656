//! What is known of a visit while it goes on, and what came of it.

use std::time::{Duration, Instant};

use uwf_pipeline::nodes::{AttemptRecord, VisitDebug, VisitNode};
use uwf_pipeline::{Captured, Ended, ErrorKind, Masks, StepResult};
use uwf_runner::Report;

use super::visit::VisitEnd;

/// The result of a visit, and how it came.
pub(super) struct SettledTask {
    pub(super) result: StepResult,
    pub(super) detail: VisitNode,
    pub(super) prompt: Option<String>,
    pub(super) started_at_ms: i64,
    pub(super) duration_ms: u64,
}

impl SettledTask {
    /// Returns what people should know of a step that may count as done, and is not all that it seems to be.
    pub(super) fn warnings(&self, key: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(Captured::Lines { lines, truncated }) = &self.result.captured
            && *truncated
        {
            let kept = lines.len();
            warnings.push(format!(
                "{key}: only the first {kept} lines are kept; `output_file` has all of them"
            ));
        }
        let moved = self.result.lifecycle.as_ref();
        if let Some(error) = moved.and_then(|moved| moved.error.as_ref()) {
            warnings.push(format!(
                "{key}: the file of the item was not moved: {error}"
            ));
        }
        let exited = self.detail.attempts.last().map(|attempt| attempt.ended);
        if self.detail.debug.leaked_processes && matches!(exited, Some(Ended::Exit(_))) {
            warnings.push(format!(
                "{key}: the program left processes that kept its output open, and they were ended"
            ));
        }
        warnings
    }

    /// Takes secrets out of paths and errors.
    pub(super) fn mask(&mut self, masks: &Masks) {
        self.result.mask(masks);
        let detail = &mut self.detail;
        for path in detail.reads.iter_mut().chain(&mut detail.writes) {
            *path = masks.text(path);
        }
        for error in detail
            .attempts
            .iter_mut()
            .filter_map(|it| it.error.as_mut())
        {
            error.mask(masks);
        }
    }
}

/// What is known of a visit after each of its attempts.
pub(super) struct Progress {
    pub(super) detail: VisitNode,
    pub(super) prompt: Option<String>,
    pub(super) began: Instant,
    pub(super) started_at_ms: i64,
}

impl Progress {
    /// Returns the progress of a visit that begins now, after attempts that failed before a process was killed.
    pub(super) fn begin(visit: u64, failed: Vec<AttemptRecord>, started_at_ms: i64) -> Self {
        Self {
            detail: VisitNode {
                attempts: failed,
                ..VisitNode::new(visit)
            },
            prompt: None,
            began: Instant::now(),
            started_at_ms,
        }
    }

    /// Returns the number of the next attempt.
    pub(super) fn next_number(&self) -> u64 {
        self.detail.attempts.len() as u64 + 1
    }

    /// Adds an attempt that has ended.
    pub(super) fn add(&mut self, result: &StepResult, report: &Report, started_at_ms: i64) {
        self.detail.argv.clone_from(&report.argv);
        self.detail.reads.clone_from(&report.reads);
        self.detail.writes = report.writes.iter().cloned().collect();
        self.detail.debug = VisitDebug {
            cwd: report.ended.map(|_| ".".to_owned()),
            env_count: report.env_count,
            leaked_processes: !report.leaked.is_empty(),
            capture: report.debug.clone(),
        };
        let refused = || match result.error.as_ref().map(|error| error.kind) {
            Some(ErrorKind::Timeout) => Ended::TimedOut,
            Some(ErrorKind::RunTimeout) => Ended::RunTimedOut,
            _ => Ended::Exit(i32::try_from(result.exit_code).unwrap_or(1)),
        };
        self.detail.attempts.push(AttemptRecord {
            ended: report.ended.unwrap_or_else(refused),
            exit_code: result.exit_code,
            started_at_ms,
            duration_ms: whole_ms(report.duration),
            error: result.error.clone(),
        });
    }

    /// Returns the end of the visit with its result.
    pub(super) fn settled(self, result: StepResult) -> VisitEnd {
        VisitEnd::Settled(Box::new(SettledTask {
            result,
            detail: self.detail,
            prompt: self.prompt,
            started_at_ms: self.started_at_ms,
            duration_ms: whole_ms(self.began.elapsed()),
        }))
    }
}

pub(super) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

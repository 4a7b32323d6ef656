//! A run of one step: how it ends.

use uwf_pipeline::Course;
use uwf_pipeline::course::Outcome;
use uwf_pipeline::nodes::RunNode;

/// Returns how a completed run ends. One of a single step has the exit code of that step, also where failures do not stop runs.
pub(super) fn outcome(run: &RunNode, course: &Course, outcome: Outcome) -> Outcome {
    if run.only.is_none() {
        return outcome;
    }
    let left = course.left();
    let step = left.steps.first();
    let result = step.and_then(|step| left.results.get(&step.name));
    let exit_code = match result.map_or(0, |recorded| recorded.result.exit_code) {
        code @ 0..=127 => code,
        _ => 1,
    };
    Outcome {
        exit_code,
        ..outcome
    }
}

//! How far the running step of a run is, for a line that is shown meanwhile.

use uwf_pipeline::Course;
use uwf_pipeline::course::StepKey;

use crate::run::observer::Doing;

/// Returns which step of the pipeline this one is, or is in.
pub(super) fn doing(course: &Course, key: &StepKey) -> Doing {
    let steps = &course.pipeline().steps;
    let outermost = key.items().first().map(|(name, _)| name.as_str());
    let name = outermost.or(key.step_name());
    let at = steps
        .iter()
        .position(|step| Some(step.name.as_str()) == name);
    Doing::StepOf {
        number: at.map_or(steps.len(), |at| at + 1),
        of: steps.len(),
    }
}

//! Helpers for all tests.

use uwf_pipeline::{Loaded, Pipeline, Problem, load};

/// The file of the specification's own example, word for word.
pub(crate) const EXAMPLE: &str = include_str!("../files/multi_agent_feature_dev.yaml");

/// Loads a text under a name that does not matter.
pub(crate) fn read(text: &str) -> Result<Loaded, Vec<Problem>> {
    load(text.as_bytes(), "flow.yaml")
}

/// Loads a text that has no mistake.
#[track_caller]
pub(crate) fn pipeline(text: &str) -> Pipeline {
    match read(text) {
        Ok(loaded) => loaded.pipeline,
        Err(problems) => panic!("{}\n{text}", lines(&problems)),
    }
}

/// Returns problems as a person sees them.
pub(crate) fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Returns the places and codes of problems, such as `2:3 V05`.
pub(crate) fn codes(problems: &[Problem]) -> Vec<String> {
    let codes = problems.iter();
    let codes = codes.map(|problem| {
        let place = &problem.place;
        format!("{}:{} {}", place.line, place.column, problem.code)
    });
    codes.collect()
}

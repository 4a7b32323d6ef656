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

/// One step, under which more keys can be written.
pub(crate) const STEP: &str = "steps:\n- name: A\n  command: [a]\n";

/// Checks the places and codes of all problems of a text.
#[track_caller]
pub(crate) fn refuses(text: &str, expected: &[&str]) {
    match read(text) {
        Ok(_) => panic!("this is accepted:\n{text}"),
        Err(problems) => assert_eq!(codes(&problems), expected, "{}\n{text}", lines(&problems)),
    }
}

/// Checks that a text has no mistake.
#[track_caller]
pub(crate) fn accepts(text: &str) {
    if let Err(problems) = read(text) {
        panic!("{}\n{text}", lines(&problems));
    }
}

/// Checks a file of one step `A` that also has these lines, which begin on line 4.
#[track_caller]
pub(crate) fn step_refuses(more: &str, expected: &[&str]) {
    refuses(&format!("{STEP}{more}"), expected);
}

/// Checks that a file with these lines of a step `A` has no mistake.
#[track_caller]
pub(crate) fn step_accepts(more: &str) {
    accepts(&format!("{STEP}{more}"));
}

//! The specification of mustache, case by case; see `tests/fixtures/suites/README.md`.

use serde_json::Value;
use uwf_moderator::template;

const SUITE: &str = include_str!("../../../../tests/fixtures/suites/mustache.jsonl");

/// Cases with another answer here: the part, the name, and why.
const DIFFERENCES: [(&str, &str, &str); 20] = [
    ("delimiters", "Partial Inheritence", NO_PARTIALS),
    ("delimiters", "Post-Partial Behavior", NO_PARTIALS),
    ("interpolation", "HTML Escaping", NO_ESCAPING),
    ("interpolation", "Basic Context Miss Interpolation", NO_GAPS),
    (
        "interpolation",
        "Triple Mustache Context Miss Interpolation",
        NO_GAPS,
    ),
    (
        "interpolation",
        "Ampersand Context Miss Interpolation",
        NO_GAPS,
    ),
    ("interpolation", "Dotted Names - Broken Chains", NO_GAPS),
    (
        "interpolation",
        "Dotted Names - Broken Chain Resolution",
        NO_GAPS,
    ),
    ("partials", "Basic Behavior", NO_PARTIALS),
    ("partials", "Context", NO_PARTIALS),
    ("partials", "Recursion", NO_PARTIALS),
    ("partials", "SubPartials", NO_PARTIALS),
    ("partials", "Surrounding Whitespace", NO_PARTIALS),
    ("partials", "Inline Indentation", NO_PARTIALS),
    ("partials", "Standalone Line Endings", NO_PARTIALS),
    ("partials", "Standalone Without Previous Line", NO_PARTIALS),
    ("partials", "Standalone Without Newline", NO_PARTIALS),
    ("partials", "Standalone Indentation", NO_PARTIALS),
    ("partials", "Padding Whitespace", NO_PARTIALS),
    ("sections", "Implicit Iterator - HTML Escaping", NO_ESCAPING),
];

const NO_PARTIALS: &str = "templates have no partials: files are included by `!include`";
const NO_ESCAPING: &str = "prompts are no HTML";
const NO_GAPS: &str = "a value that is missing is an error, not a gap";

#[test]
fn templates_are_filled_in_as_specified_or_differ_as_listed() {
    let mut differing = Vec::new();
    let mut count = 0;
    for line in SUITE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let found = template::render(&text("template"), &case["data"]);
        count += 1;
        if found.ok() != Some(text("expected")) {
            differing.push((text("part"), text("name")));
        }
    }
    assert_eq!(count, 115);
    let listed = DIFFERENCES.map(|(part, name, _)| (part.to_owned(), name.to_owned()));
    assert_eq!(differing, listed);
}

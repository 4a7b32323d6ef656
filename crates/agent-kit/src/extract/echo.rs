//! Answers that repeat the prompt or its example. Pure.
//!
//! Some programs print their input before they answer. The prompt is cut out of the answer. An example that is left is
//! refused, since its data is ours and not the agent's.

use std::borrow::Cow;

use serde_json::Value;

use super::Rejected;
use super::yaml::Yaml;
use crate::prompt::{REPORT, stand_ins};

/// Returns the answer without the prompt, if it contains the prompt. The other lines keep their numbers.
///
/// # Errors
/// When the answer has nothing else.
pub(crate) fn without_prompt<'a>(answer: &'a str, prompt: &str) -> Result<Cow<'a, str>, Rejected> {
    let prompt = prompt.trim();
    if prompt.is_empty() || !answer.contains(prompt) {
        return Ok(Cow::Borrowed(answer));
    }
    let lines = prompt.matches('\n').count();
    let rest = answer.replace(prompt, &"\n".repeat(lines));
    match rest.trim() {
        "" => Err(Rejected::Echo),
        _ => Ok(Cow::Owned(rest)),
    }
}

/// Tells whether a text contains the example of a prompt.
pub(crate) fn shows_example(text: &str) -> bool {
    text.lines().any(|line| line.trim() == REPORT)
}

/// Refuses an answer that repeats the example of the prompt: a stand-in as a value, or the line for the report.
pub(super) fn refuse_example(
    block: &[(String, Yaml)],
    body: &str,
    schema: &Value,
) -> Result<(), Rejected> {
    let shown = stand_ins(schema);
    for (name, node) in block {
        if let Some(stand_in) = stand_in_of(node, &shown) {
            return Err(Rejected::Example {
                place: format!("`{name}`"),
                stand_in: stand_in.to_owned(),
            });
        }
    }
    let first = body.lines().map(str::trim).find(|line| !line.is_empty());
    match first {
        Some(REPORT) => Err(Rejected::Example {
            place: "the report".to_owned(),
            stand_in: REPORT.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

/// Returns the first stand-in in a value.
fn stand_in_of<'a>(node: &'a Yaml, shown: &[String]) -> Option<&'a str> {
    match node {
        Yaml::Scalar { text, .. } => shown.contains(text).then_some(text),
        Yaml::List(items) => items.iter().find_map(|item| stand_in_of(item, shown)),
        Yaml::Map(fields) => fields
            .iter()
            .find_map(|(_, field)| stand_in_of(field, shown)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cut(answer: &str, prompt: &str) -> Result<String, Rejected> {
        without_prompt(answer, prompt).map(Cow::into_owned)
    }

    #[test]
    fn a_prompt_that_was_printed_is_no_part_of_the_answer() {
        let prompt = "## Goal\n\nYou write.\n";
        assert_eq!(cut(prompt, prompt), Err(Rejected::Echo));
        assert_eq!(cut(&format!("\n{prompt}\n\n"), prompt), Err(Rejected::Echo));
        let answer = format!("reading:\n{prompt}---\na: 1\n---\n");
        assert_eq!(
            cut(&answer, prompt).unwrap(),
            "reading:\n\n\n\n---\na: 1\n---\n"
        );
        assert_eq!(cut("You write.", prompt).unwrap(), "You write.");
        assert_eq!(cut("", "").unwrap(), "");
    }

    #[test]
    fn a_text_that_shows_the_example_is_known_by_the_line_for_the_report() {
        assert!(shows_example("a\n> b\n  <your report in Markdown>\n"));
        assert!(!shows_example("I left out <your report in Markdown> here."));
    }

    #[test]
    fn stand_ins_are_found_wherever_the_schema_has_them() {
        let schema = json!({ "properties": {
            "s": { "type": "string" },
            "l": { "type": "array", "items": { "type": "array", "items": { "type": "boolean" } } },
            "o": { "type": "object", "properties": { "e": { "enum": ["a", "b"] } } },
            "c": { "const": "fixed" },
        } });
        let shown = stand_ins(&schema);
        for stand_in in [
            "<string>",
            "<list>",
            "<true | false>",
            "<object>",
            "<a | b>",
        ] {
            assert!(
                shown.iter().any(|one| one == stand_in),
                "{stand_in}: {shown:?}"
            );
        }
        assert!(!shown.iter().any(|one| one == "fixed"), "{shown:?}");
    }
}

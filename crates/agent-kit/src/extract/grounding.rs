//! Grounding: checks that data which a model read out of an answer occurs in that answer. Pure.
//!
//! A schema cannot tell a hash, a path or a status that the model has read from one that it made up. These must occur
//! in the answer word by word. Other fields may be in the model's own words.

use std::ops::Range;

use regex::Regex;
use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_schema::{Members, Schema, fields, item, parts, values};

use super::denial::{Said, said};

/// Parts of the names of formats whose values name a thing: URIs and IRIs of all kinds, references, paths.
const NAMING: [&str; 7] = ["ref", "uri", "iri", "url", "path", "file", "directory"];

/// The field that routes if there is no `$status`.
const PLAIN_STATUS: &str = "status";

/// Returns a line for the model about each value that must occur in the answer and does not.
pub(crate) fn ungrounded(output: &Value, schema: &Value, answer: &str) -> Vec<String> {
    let mut names = Names {
        answer,
        members: Members::default(),
        found: Vec::new(),
    };
    names.check(output, &[Schema::new(schema)], "");
    names.found.extend(check_status(output, schema, answer));
    names.found
}

/// Returns the status of an output and the field that holds it.
pub(crate) fn status(output: &Value) -> Option<(&'static str, &str)> {
    let of = |field: &'static str| Some((field, output.get(field)?.as_str()?));
    of(STATUS_FIELD).or_else(|| of(PLAIN_STATUS))
}

/// Collects the names of things that do not occur in the answer.
struct Names<'a> {
    answer: &'a str,
    members: Members,
    found: Vec<String>,
}

impl Names<'_> {
    /// Checks a value and the values in it. A text is checked if any part of its schema says that it names a thing.
    fn check(&mut self, value: &Value, schemas: &[Schema<'_>], place: &str) {
        let parts = parts(schemas);
        match value {
            Value::String(text) => {
                if parts.iter().any(names_a_thing) && !occurs(text, self.answer) {
                    self.found.push(format!(
                        "`{}` must be copied from the answer letter by letter, and `{text}` does not occur in it",
                        place.trim_start_matches('.')
                    ));
                }
            }
            Value::Array(list) => {
                for (at, value) in list.iter().enumerate() {
                    self.check(value, &item(&parts, at), &format!("{place}[{at}]"));
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    let schemas = self.members.of(&parts, name);
                    self.check(value, &schemas, &format!("{place}.{name}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn names_a_thing(part: &Schema<'_>) -> bool {
    let format = part.text("format");
    format.is_some_and(|format| NAMING.iter().any(|part| format.contains(part)))
}

/// Checks the field that routes.
///
/// If the answer states a status in a line of its own, the value must be that one. Otherwise the value must be the only
/// one of the schema's values that occurs, and its sentence must not deny it. A field with a single allowed value is
/// not checked, since there was nothing to choose.
fn check_status(output: &Value, schema: &Value, answer: &str) -> Option<String> {
    let (field, chosen) = status(output)?;
    let words = match words_of(schema, field) {
        words if words.is_empty() => vec![chosen],
        words if words.len() == 1 => return None,
        words => words,
    };
    let stated = stated(answer);
    let problem = match stated.as_slice() {
        [] => not_asserted(chosen, &words, answer)
            .map(|why| format!("must be stated in the answer, and {why}")),
        stated => not_confirmed(chosen, stated),
    };
    problem.map(|problem| format!("`{field}` {problem}"))
}

/// Returns why an answer that states no status does not assert this one.
fn not_asserted(chosen: &str, words: &[&str], answer: &str) -> Option<String> {
    let lower = answer.to_lowercase();
    let places = |word: &str| occurrences(&word.to_lowercase(), &lower, continues_word);
    let occurring = words.iter().filter(|word| !places(word).is_empty());
    let occurring: Vec<_> = occurring.collect();
    match occurring.as_slice() {
        [only] if **only == chosen => {}
        [] => return Some("none of its values occurs there".to_owned()),
        [_] => return Some(format!("`{chosen}` does not occur there")),
        _ => return Some("several of its values occur there".to_owned()),
    }
    let verdicts = places(chosen);
    let verdicts: Vec<Said> = verdicts.into_iter().map(|at| said(&lower, at)).collect();
    if verdicts.contains(&Said::No) {
        return Some(format!("`{chosen}` is denied there"));
    }
    let is_said = verdicts.contains(&Said::Yes);
    (!is_said).then(|| format!("`{chosen}` is only asked for there, or said under a condition"))
}

/// Returns why the statuses that an answer states do not confirm this one.
fn not_confirmed(chosen: &str, stated: &[(&str, Said)]) -> Option<String> {
    let agrees = stated
        .iter()
        .all(|(word, _)| word.eq_ignore_ascii_case(chosen));
    let is_said = stated.iter().all(|(_, said)| *said == Said::Yes);
    let words: Vec<&str> = stated.iter().map(|(word, _)| *word).collect();
    let words = words.join("`, `");
    match (agrees, is_said) {
        (true, true) => None,
        (false, _) => Some(format!("is stated as `{words}` in the answer")),
        (true, false) => Some(format!(
            "is stated as `{words}` in the answer, and denied or left open there"
        )),
    }
}

/// Returns the words that a schema allows for a field, in all its variants.
pub(crate) fn words_of<'a>(schema: &'a Value, field: &str) -> Vec<&'a str> {
    let fields = fields(&[Schema::new(schema)], STATUS_FIELD);
    let known = fields.into_iter().find(|it| it.name == field);
    let schemas = known.map(|field| field.schemas).unwrap_or_default();
    let values = values(&parts(&schemas)).into_iter();
    values.filter_map(Value::as_str).collect()
}

/// Returns the statuses in lines such as `$status: done`, `"status": "done"` or `**Status:** done`, with what the line
/// says about them.
fn stated(answer: &str) -> Vec<(&str, Said)> {
    let line = r#"(?m)^[\s"'`*_\-#>{,$|.]*(?i-u:status)["'`*_ ]*[:=]["'`*_ ]*([\w\-]+).*$"#;
    let line = Regex::new(line).expect("the pattern is well-formed");
    let lines = line.captures_iter(answer);
    let words = lines.filter_map(|found| {
        let (line, word) = (found.get(0)?, found.get(1)?);
        let rest = word.start() - line.start()..word.end() - line.start();
        Some((word.as_str(), said(line.as_str(), rest)))
    });
    words.collect()
}

/// Tells whether a text occurs as a whole word, and not only within a longer one.
fn occurs(text: &str, answer: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    !occurrences(text, answer, inside).is_empty()
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Returns where a text occurs as a whole, that is with no continuing character on either side.
fn occurrences(text: &str, answer: &str, continues: fn(char) -> bool) -> Vec<Range<usize>> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let found = answer
        .match_indices(text)
        .map(|(at, _)| at..at + text.len());
    let stands_alone = |at: &Range<usize>| {
        let before = answer[..at.start].chars().next_back();
        let after = answer[at.end..].chars().next();
        !before.is_some_and(continues) && !after.is_some_and(continues)
    };
    found.filter(stands_alone).collect()
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without `&`"
)]
mod tests {
    use super::*;
    use serde_json::json;

    const URL: &str = "https://example.com/pull/1";

    fn check_grounded(schema: Value, output: Value, answer: &str) {
        let found = ungrounded(&output, &schema, answer);
        assert_eq!(found, Vec::<String>::new(), "{output} in `{answer}`");
    }

    fn check_ungrounded(schema: Value, output: Value, answer: &str, part: &str) {
        let found = ungrounded(&output, &schema, answer).join("\n");
        assert!(found.contains(part), "{output} in `{answer}`: `{found}`");
    }

    fn link() -> Value {
        json!({ "properties": { "pr": { "type": "string", "format": "uri" } } })
    }

    #[test]
    fn what_names_a_thing_must_occur_as_a_whole() {
        let output = || json!({ "pr": URL });
        check_grounded(link(), output(), "See https://example.com/pull/1.");
        check_grounded(link(), output(), "(https://example.com/pull/1)");
        check_ungrounded(
            link(),
            output(),
            "See pull request 1.",
            "`pr` must be copied",
        );
        check_ungrounded(link(), output(), "https://example.com/pull/12", URL);
        check_ungrounded(link(), json!({ "pr": "" }), "anything", "`pr`");
    }

    #[test]
    fn every_format_that_names_a_thing_counts_and_others_do_not() {
        for format in [
            "ocas_ref",
            "uri",
            "uri-reference",
            "iri",
            "url",
            "path",
            "file-path",
            "directory",
        ] {
            let schema = json!({ "properties": { "a": { "format": format } } });
            check_ungrounded(schema, json!({ "a": "x" }), "no", "`a`");
        }
        let schema = json!({ "properties": { "a": { "format": "date" }, "b": {} } });
        check_grounded(schema, json!({ "a": "2026-01-01", "b": "free" }), "no");
    }

    #[test]
    fn it_is_found_in_lists_variants_and_nested_fields() {
        let schema = json!({
            "oneOf": [
                { "properties": { "refs": { "type": "array", "items": { "anyOf": [{ "format": "ocas_ref" }, { "type": "null" }] } } } },
                { "properties": { "at": { "properties": { "file": { "format": "path" } } } } },
            ],
            "additionalProperties": { "format": "uri" },
        });
        check_ungrounded(
            schema.clone(),
            json!({ "refs": ["7VQ43ZSJTEWA7", null, "CTS5P6RD8HMCS"] }),
            "7VQ43ZSJTEWA7",
            "`refs[2]`",
        );
        check_ungrounded(
            schema.clone(),
            json!({ "at": { "file": "src/b.rs" } }),
            "src/a.rs",
            "`at.file`",
        );
        check_ungrounded(schema, json!({ "more": URL }), "", "`more`");
    }

    fn verdict() -> Value {
        json!({ "oneOf": [
            { "properties": { "$status": { "const": "approved" } } },
            { "properties": { "$status": { "enum": ["rejected", "needs-work"] } } },
        ] })
    }

    #[test]
    fn a_status_must_be_the_only_one_that_the_answer_speaks_of() {
        let approved = || json!({ "$status": "approved" });
        check_grounded(verdict(), approved(), "Approved, well done.");
        check_ungrounded(verdict(), approved(), "It is fine.", "none of its values");
        check_ungrounded(verdict(), approved(), "Disapproved.", "none");
        let both = "I would have rejected it last week; now it is approved.";
        check_ungrounded(verdict(), approved(), both, "several");
        check_ungrounded(
            verdict(),
            json!({ "$status": "rejected" }),
            "It is not approved.",
            "`rejected` does not occur",
        );
    }

    #[test]
    fn a_status_that_is_denied_or_left_open_is_not_said() {
        let approved = || json!({ "$status": "approved" });
        let no = "Not approved: the tests fail.";
        check_ungrounded(verdict(), approved(), no, "`approved` is denied there");
        let both = "It was approved. Now it is not approved.";
        check_ungrounded(verdict(), approved(), both, "denied");
        check_ungrounded(verdict(), approved(), "Approved?", "only asked for");
        let unsaid = [
            "It is unapproved.",
            "It goes in without approval.",
            "un-approved",
        ];
        for answer in unsaid {
            check_ungrounded(verdict(), approved(), answer, "none of its values");
        }
        for line in [
            "Status: approved? no",
            "$status: approved (not yet)",
            "status: approved: false",
        ] {
            check_ungrounded(verdict(), approved(), line, "denied or left open");
        }
        check_ungrounded(
            verdict(),
            approved(),
            "status: not approved",
            "stated as `not`",
        );
        check_grounded(verdict(), approved(), "Is it approved? It is: approved.");
        check_grounded(
            verdict(),
            approved(),
            "I did not like it.\nstatus: approved, no objections",
        );
    }

    #[test]
    fn a_status_that_is_stated_settles_it() {
        let check = |line: &str| {
            let answer = format!("It was rejected before.\n{line}\nBye.");
            check_grounded(verdict(), json!({ "$status": "approved" }), &answer);
            let other = json!({ "$status": "rejected" });
            check_ungrounded(verdict(), other, &answer, "stated as `");
        };
        check("$status: approved");
        check("  \"$status\": \"approved\",");
        check("- **Status:** Approved");
        check("status = 'approved'");
        let twice = "status: approved\nstatus: rejected";
        check_ungrounded(verdict(), json!({ "$status": "approved" }), twice, "stated");
    }

    #[test]
    fn a_plain_status_routes_too_and_a_single_one_is_no_choice() {
        let plain = json!({ "properties": { "status": { "enum": ["done", "failed"] } } });
        check_ungrounded(plain, json!({ "status": "done" }), "ok", "`status`");
        let open = || json!({ "properties": { "$status": { "type": "string" } } });
        check_grounded(open(), json!({ "$status": "done" }), "It is done.");
        check_ungrounded(open(), json!({ "$status": "done" }), "ok", "`$status`");
        let single = json!({ "properties": { "$status": { "const": "done" } } });
        check_grounded(single, json!({ "$status": "done" }), "ok");
    }

    #[test]
    fn what_is_said_of_other_fields_is_not_said_of_those_that_are_named() {
        let schema = json!({
            "properties": { "note": {} },
            "patternProperties": { "^at_": { "format": "path" } },
            "additionalProperties": { "format": "uri" },
        });
        let output = |name: &str| json!({ name: "made up" });
        check_grounded(schema.clone(), output("note"), "no");
        check_ungrounded(schema.clone(), output("at_file"), "no", "`at_file`");
        check_ungrounded(schema, output("more"), "no", "`more`");
    }
}

//! Why `serde_yaml` does not read our YAML: texts that its last version, 0.9.34, reads wrongly for us, and what is read
//! here. `docs/dependencies.md` says what the crate makes of each.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use serde_json::{Value, json};
use uwf_yaml::{Dialect, parse};

fn value(text: &str) -> Value {
    parse(text, Dialect::Strict).unwrap().unwrap().to_json()
}

/// Asserts where a text is refused, by line and column, and why.
#[track_caller]
fn refused(text: &str, place: (usize, usize), why: &str) {
    let problem = parse(text, Dialect::Strict).unwrap_err();
    assert_eq!((problem.at.line, problem.at.column), place, "{problem:?}");
    assert!(problem.message.contains(why), "{problem:?}");
}

/// `serde_yaml` silently takes the last value wherever it reads a map or a JSON value.
#[test]
fn a_key_that_is_given_twice_is_an_error() {
    refused("a: 1\na: 2\n", (2, 1), "`a` is given twice");
    let roles = "roles: { writer: {}, writer: {} }";
    refused(roles, (1, 22), "`writer` is given twice");
}

/// `serde_yaml` refuses the escape.
#[test]
fn a_character_may_be_written_as_json_writes_it() {
    assert_eq!(value(r#""\ud83d\ude00""#), json!("😀"));
}

/// `serde_yaml` reads all of the text before it refuses it, in more than linear time: 80 KB took 2.4 to 6.3 seconds.
#[test]
fn deep_nesting_is_refused_where_it_gets_too_deep() {
    let too_deep = "recursion limit exceeded";
    refused(&"{".repeat(80_000), (1, 256), too_deep);
    refused(&"[".repeat(80_000), (1, 256), too_deep);
    refused(&"{a: ".repeat(20_000), (1, 1021), too_deep);
}

/// `serde_yaml` makes `null` of the first one in a JSON value, and a text of the second one.
#[test]
fn a_number_that_json_does_not_have_is_an_error() {
    refused("a: -.inf", (1, 4), "`-.inf`");
    refused("a: 1.0e400", (1, 4), "`1.0e400`");
}

/// `serde_yaml` reads a number of YAML 1.1, and keeps `<<` as a key.
#[test]
fn yaml_1_1_is_not_mixed_in() {
    assert_eq!(value("a: 0b1"), json!({ "a": "0b1" }));
    refused("a: &x { b: 1 }\nc:\n  <<: *x\n", (3, 3), "merge keys");
}

/// `serde_yaml` turns such keys into strings.
#[test]
fn a_key_that_is_not_a_string_is_an_error() {
    refused("1: a", (1, 1), "`1` is a number");
    refused("true: a", (1, 1), "`true`");
}

/// A value of `serde_yaml` does not know where it was written.
#[test]
fn every_value_knows_its_place() {
    let tree = parse("a:\n  b: 1\n", Dialect::Strict).unwrap().unwrap();
    let (_, inner) = tree.entry("a").unwrap();
    let (key, value) = inner.entry("b").unwrap();
    assert_eq!((key.at.line, key.at.column), (2, 3));
    assert_eq!((value.at.line, value.at.column), (2, 6));
}

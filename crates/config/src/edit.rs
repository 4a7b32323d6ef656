//! Changes one value in a YAML text, and keeps comments and layout. The caller parses the result and compares it with the
//! expected data, because not every text can be changed in this way.

use std::str::FromStr;

use serde_json::{Map, Value};
use yaml_edit::{Mapping, YamlFile};

/// Returns the text with a value at a path. The value is a scalar or a list of scalars. Returns `None` if a comment would
/// be lost, or the text cannot be parsed.
pub(crate) fn set(text: &str, path: &[String], value: &Value) -> Option<String> {
    let file = YamlFile::from_str(text).ok()?;
    let Some(mut mapping) = top(&file) else {
        let new = branch(path, value)?.to_string();
        return Some(terminated(text) + &new);
    };
    let mut path = path;
    while let [parent, rest @ ..] = path
        && !rest.is_empty()
        && let Some(inner) = mapping.get_mapping(parent.as_str())
    {
        (mapping, path) = (inner, rest);
    }
    match path {
        [] => return None,
        [key] => put(&mapping, key, value)?,
        [key, ..] => {
            let new = top(&branch(path, value)?)?.get_mapping(key.as_str())?;
            mapping.set(key.as_str(), &new);
        }
    }
    let edited = file.to_string();
    (comments(&edited)? == comments(text)?).then_some(edited)
}

/// Returns the text without the entry at a path. Comments between this entry and the next one are removed with it.
pub(crate) fn unset(text: &str, path: &[String]) -> Option<String> {
    let file = YamlFile::from_str(text).ok()?;
    let (last, parents) = path.split_last()?;
    let mut mapping = top(&file)?;
    for parent in parents {
        mapping = mapping.get_mapping(parent.as_str())?;
    }
    mapping.remove(last.as_str())?;
    let edited = file.to_string();
    if top(&file).is_some_and(|top| top.is_empty()) {
        // The rest is `{}`. Without it, later additions are not in flow style.
        let kept = edited.lines().filter(|line| line.trim() != "{}");
        return Some(kept.map(|line| format!("{line}\n")).collect());
    }
    Some(edited)
}

/// Tells whether the text has comments, or may have some because it cannot be parsed.
pub(crate) fn has_comments(text: &str) -> bool {
    comments(text).is_none_or(|comments| !comments.is_empty())
}

fn top(file: &YamlFile) -> Option<Mapping> {
    file.document()?.as_mapping()
}

fn comments(text: &str) -> Option<Vec<String>> {
    let file = YamlFile::from_str(text).ok()?;
    let comments = file.comments().map(|comment| comment.to_string());
    Some(comments.collect())
}

/// Returns a document that has only this path and its value.
fn branch(path: &[String], value: &Value) -> Option<YamlFile> {
    let (last, parents) = path.split_last()?;
    let nested = path.iter().rev().fold(Value::from(0), |inner, key| {
        Value::Object(Map::from_iter([(key.clone(), inner)]))
    });
    let file = YamlFile::from_str(&uwf_yaml::render(&nested)).ok()?;
    let mut mapping = top(&file)?;
    for parent in parents {
        mapping = mapping.get_mapping(parent.as_str())?;
    }
    put(&mapping, last, value)?;
    Some(file)
}

/// Sets a key of one mapping to a scalar, or to a list in brackets.
fn put(mapping: &Mapping, key: &str, value: &Value) -> Option<()> {
    match value {
        Value::String(text) => mapping.set(key, text.as_str()),
        Value::Bool(flag) => mapping.set(key, *flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => mapping.set(key, whole),
            None => mapping.set(key, number.as_f64()?),
        },
        Value::Array(_) => {
            // JSON is YAML in flow style.
            let list = YamlFile::from_str(&value.to_string()).ok()?;
            mapping.set(key, &list.document()?.as_sequence()?);
        }
        Value::Null | Value::Object(_) => return None,
    }
    Some(())
}

fn terminated(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.ends_with('\n') => text.to_owned(),
        text => format!("{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(dotted: &str) -> Vec<String> {
        dotted.split('.').map(ToOwned::to_owned).collect()
    }

    #[track_caller]
    fn check_set(text: &str, key: &str, value: &Value, expected: &str) {
        assert_eq!(set(text, &path(key), value).as_deref(), Some(expected));
    }

    #[track_caller]
    fn check_unset(text: &str, key: &str, expected: &str) {
        assert_eq!(unset(text, &path(key)).as_deref(), Some(expected));
    }

    /// Texts of many shapes, with what they become when `agents.x.command` is set, and when it is removed.
    const SHAPES: &[(&str, &str, &str)] = &[
        (
            "# top\nagents:\n  x:\n    command: a # c\n    args: [1]\n",
            "# top\nagents:\n  x:\n    command: new # c\n    args: [1]\n",
            "# top\nagents:\n  x:\n    args: [1]\n",
        ),
        (
            "agents: { x: { command: a, args: [] } } # flow\n",
            "agents: { x: { command: new, args: [] } } # flow\n",
            "agents: { x: { args: [] } } # flow\n",
        ),
        (
            "\"agents\":\n  'x':\n    \"command\": \"a b\"   # keep\n    args: []\n",
            "\"agents\":\n  'x':\n    \"command\": new   # keep\n    args: []\n",
            "\"agents\":\n  'x':\n    args: []\n",
        ),
        (
            "agents: &a\n  x: &x\n    command: |\n      two\n      lines\n    args: []\n# end",
            "agents: &a\n  x: &x\n    command: new\n    args: []\n# end",
            "agents: &a\n  x: &x\n    args: []\n# end",
        ),
        (
            "agents:\r\n  x:\r\n    command: a # c\r\n    args: []\r\n",
            "agents:\r\n  x:\r\n    command: new # c\r\n    args: []\r\n",
            "agents:\r\n  x:\r\n    args: []\r\n",
        ),
        (
            "agents:\n  x:\n    args: []\n    command: >-\n      folded\n      text",
            "agents:\n  x:\n    args: []\n    command: new",
            "agents:\n  x:\n    args: []",
        ),
        (
            "---\nagents:\n  x: {\n    args: [], # in flow\n    command: a }\n...\n",
            "---\nagents:\n  x: {\n    args: [], # in flow\n    command: new }\n...\n",
            "---\nagents:\n  x: {\n    args: [] # in flow\n    }\n...\n",
        ),
        (
            "agents:\n    x:\n          args: []\n          # why\n          command: a\n\n# tail\n",
            "agents:\n    x:\n          args: []\n          # why\n          command: new\n\n# tail\n",
            "agents:\n    x:\n          args: []\n          # why\n\n# tail\n",
        ),
        (
            "\u{feff}agents:\n  x:\n    command: a\n    args: []\n",
            "\u{feff}agents:\n  x:\n    command: new\n    args: []\n",
            "\u{feff}agents:\n  x:\n    args: []\n",
        ),
    ];

    #[test]
    fn one_value_changes_and_nothing_else() {
        for (text, with, without) in SHAPES {
            check_set(text, "agents.x.command", &json!("new"), with);
            check_unset(text, "agents.x.command", without);
        }
    }

    #[test]
    fn what_is_new_goes_where_it_belongs() {
        let new = json!("new");
        for (text, expected) in [
            ("", "agents:\n  x:\n    command: new\n"),
            ("# only\n", "# only\nagents:\n  x:\n    command: new\n"),
            ("agents:\n", "agents:\n  x:\n    command: new\n"),
            ("agents: ~\n", "agents:\n  x:\n    command: new\n"),
            ("{}", "{agents: {x: {command: new}}}"),
            (
                "agents: # none yet\ndefaultAgent: x\n",
                "agents: # none yet\n  x:\n    command: new\ndefaultAgent: x\n",
            ),
            (
                "agents:\n  a:\n    command: a # a\n\ndefaultAgent: a\n",
                "agents:\n  a:\n    command: a # a\n  x:\n    command: new\n\ndefaultAgent: a\n",
            ),
            (
                "defaultAgent: a",
                "defaultAgent: a\nagents:\n  x:\n    command: new",
            ),
        ] {
            check_set(text, "agents.x.command", &new, expected);
        }
    }

    #[test]
    fn values_keep_their_types() {
        for (value, expected) in [
            (json!("12"), "a: '12'\n"),
            (json!(12), "a: 12\n"),
            (json!(true), "a: true\n"),
            (json!("true"), "a: 'true'\n"),
            (json!("b # c"), "a: 'b # c'\n"),
            (json!(["x", "-1", "y z"]), "a: [\"x\",\"-1\",\"y z\"]\n"),
        ] {
            check_set("a: x\n", "a", &value, expected);
        }
    }

    #[test]
    fn no_comment_is_lost_with_a_value_that_is_replaced() {
        let text = "a:\n  - one # first\n  - two\n";
        assert_eq!(set(text, &path("a"), &json!(["x"])), None);
    }

    #[test]
    fn what_is_left_empty_starts_afresh() {
        check_unset("# mine\na: 1 # one\n", "a", "# mine\n");
        check_unset("a:\n  b: 1\n", "a", "");
    }
}

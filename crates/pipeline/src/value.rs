//! The text of a value, wherever a value becomes part of a text.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the text of a value: a string is itself, an array or object is compact JSON in the order of the document.
///
/// A float is the shortest text that reads back as the same float, and always has a point or an exponent.
#[must_use]
pub fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

/// Returns the part of a value at a path: members of objects by their names, elements of arrays by their indices.
pub(crate) fn part<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Object(members) => members.get(key),
        Value::Array(items) => items.get(index(key)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Returns the number of an element; `None` for other texts, such as `+1`.
fn index(key: &str) -> Option<usize> {
    let is_decimal = key.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| key.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_value_has_one_text() {
        let check = |value: Value, text: &str| assert_eq!(text_of(&value), text);
        check(json!("a \n"), "a \n");
        check(json!(true), "true");
        check(json!(null), "null");
        check(json!(-7), "-7");
        check(json!(1.0), "1.0");
        check(json!(0.1), "0.1");
        check(
            json!({"b": [1, "x"], "a": null}),
            r#"{"b":[1,"x"],"a":null}"#,
        );
    }

    #[test]
    fn a_path_leads_through_objects_and_arrays() {
        let value = json!({"a": [{"0": "x"}, null]});
        let check = |path: &[&str], expected: Option<Value>| {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            assert_eq!(part(&value, &path).cloned(), expected, "{path:?}");
        };
        check(&["a", "0", "0"], Some(json!("x")));
        check(&["a", "1"], Some(json!(null)));
        check(&["a", "2"], None);
        check(&["a", "+1"], None);
        check(&["a", "1", "x"], None);
        check(&[], Some(value.clone()));
    }
}

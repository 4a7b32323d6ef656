//! Printing a value into an instruction: a text unchanged, numbers as in JavaScript, everything else as JSON.

use std::io;

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Returns a value as templates print it; `null` is the empty text.
#[must_use]
pub fn text_of(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// Adds a value to a text.
pub(super) fn push(out: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            out.push_str(&json_of(value));
        }
    }
}

/// Returns a value as compact JSON with the numbers of JavaScript.
fn json_of(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, JavaScriptNumbers);
    value
        .serialize(&mut serializer)
        .expect("a JSON value can always be written to memory");
    String::from_utf8(bytes).expect("JSON is written as UTF-8")
}

/// Formats compact JSON with JavaScript's numbers: `5` instead of `5.0`, and `1e+21` instead of `1e21`.
struct JavaScriptNumbers;

impl Formatter for JavaScriptNumbers {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number(value).as_bytes())
    }
}

/// Returns a number as JavaScript prints it: without exponent from 1e-6 to below 1e21, 0 for -0.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that read back as the same number, as in `-1.25e-7`.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent @ ..=-7) => format!("{mantissa}e{exponent}"),
        Ok(exponent @ 21..) => format!("{mantissa}e+{exponent}"),
        Ok(_) | Err(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_print_as_in_javascript() {
        let check = |value: f64, text: &str| assert_eq!(number(value), text);
        check(0.0, "0");
        check(-0.0, "0");
        check(5.0, "5");
        check(-1.5, "-1.5");
        check(0.1 + 0.2, "0.30000000000000004");
        check(1e20, "100000000000000000000");
        check(123_456_789_012_345_680_000.0, "123456789012345680000");
        check(1e21, "1e+21");
        check(-1.25e22, "-1.25e+22");
        check(0.000_001, "0.000001");
        check(1e-7, "1e-7");
        check(f64::MAX, "1.7976931348623157e+308");
        check(5e-324, "5e-324");
    }

    #[test]
    fn lists_and_objects_print_as_compact_json_in_their_own_order() {
        let value = json!({ "z": [1.0, "é\n", null, true], "a": { "big": 1e21 } });
        assert_eq!(
            text_of(&value),
            r#"{"z":[1,"é\n",null,true],"a":{"big":1e+21}}"#
        );
        assert_eq!(text_of(&json!(null)), "");
        assert_eq!(text_of(&json!("\"")), "\"");
    }
}

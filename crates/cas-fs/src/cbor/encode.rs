//! Encodes a JSON value.

use serde_json::{Map, Number, Value};

use super::{MAX_DEPTH, MAX_SAFE_INTEGER, major, simple};

/// Why a value has no encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Arrays and objects are nested too deep.
    #[error("the value is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Returns the bytes of the value.
///
/// # Errors
/// [`EncodeError::TooDeep`] if the value is nested deeper than [`MAX_DEPTH`].
pub fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(256);
    write_value(&mut out, value)?;
    Ok(out)
}

/// Appends the bytes of the value.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value) -> Result<(), EncodeError> {
    write_nested(out, value, MAX_DEPTH)
}

/// Appends a value that may be nested this many levels deep.
fn write_nested(out: &mut Vec<u8>, value: &Value, levels: usize) -> Result<(), EncodeError> {
    match value {
        Value::Null => out.push(simple::NULL),
        Value::Bool(false) => out.push(simple::FALSE),
        Value::Bool(true) => out.push(simple::TRUE),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            let inner = levels.checked_sub(1).ok_or(EncodeError::TooDeep)?;
            write_head(out, major::ARRAY, items.len() as u64);
            for item in items {
                write_nested(out, item, inner)?;
            }
        }
        Value::Object(members) => {
            let inner = levels.checked_sub(1).ok_or(EncodeError::TooDeep)?;
            write_head(out, major::MAP, members.len() as u64);
            for (key, member) in sorted(members) {
                write_text(out, key);
                write_nested(out, member, inner)?;
            }
        }
    }
    Ok(())
}

/// Returns the members in the order of their encoded keys.
///
/// An encoded key starts with its length, and shorter lengths encode to smaller bytes; so comparing length
/// and then text gives the same order without encoding first.
fn sorted(members: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut sorted: Vec<(&str, &Value)> = members.iter().map(|(k, v)| (k.as_str(), v)).collect();
    sorted.sort_unstable_by_key(|(key, _)| (key.len(), key.as_bytes()));
    sorted
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    let double = number
        .as_f64()
        .expect("without arbitrary precision, every JSON number is a double");
    if double.fract() != 0.0 || double.abs() > MAX_SAFE_INTEGER as f64 {
        out.push(simple::DOUBLE);
        out.extend_from_slice(&double.to_be_bytes());
    } else if double < 0.0 {
        write_head(out, major::NEGATIVE, (-1.0 - double) as u64);
    } else {
        write_head(out, major::UNSIGNED, double as u64);
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_head(out, major::TEXT, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends the first byte of an item with its argument in the shortest form.
fn write_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let first = major << 5;
    if argument < 24 {
        out.push(first | argument as u8);
    } else if let Ok(argument) = u8::try_from(argument) {
        out.extend_from_slice(&[first | 24, argument]);
    } else if let Ok(argument) = u16::try_from(argument) {
        out.push(first | 25);
        out.extend_from_slice(&argument.to_be_bytes());
    } else if let Ok(argument) = u32::try_from(argument) {
        out.push(first | 26);
        out.extend_from_slice(&argument.to_be_bytes());
    } else {
        out.push(first | 27);
        out.extend_from_slice(&argument.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_those_of_javascript() {
        let check = |value: Value, hex: &str| {
            let bytes = encode(&value).unwrap();
            let found: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, hex, "{value}");
        };
        check(json!(1.0), "01");
        check(json!(-0.0), "00");
        check(json!(-1), "20");
        check(json!(-25.0), "3818");
        check(json!(4_294_967_296_u64), "1b0000000100000000");
        check(json!(9_007_199_254_740_991_u64), "1b001fffffffffffff");
        check(json!(-9_007_199_254_740_991_i64), "3b001ffffffffffffe");
        check(json!(9_007_199_254_740_992_u64), "fb4340000000000000");
        check(json!(9_007_199_254_740_993_u64), "fb4340000000000000");
        check(json!(u64::MAX), "fb43f0000000000000");
        check(json!(i64::MIN), "fbc3e0000000000000");
        check(json!(0.5), "fb3fe0000000000000");
    }

    #[test]
    fn keys_are_ordered_by_their_encoded_form() {
        let long = "z".repeat(24);
        let value = json!({ (long.clone()): 0, "b": 1, "a": 2, "aa": 3, "$s": null });
        let bytes = encode(&value).unwrap();
        let mut expected = b"\xa5\x61a\x02\x61b\x01\x62$s\xf6\x62aa\x03\x78\x18".to_vec();
        expected.extend_from_slice(long.as_bytes());
        expected.push(0);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(encode(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(encode(&nested(MAX_DEPTH + 1)), Err(EncodeError::TooDeep));
    }
}

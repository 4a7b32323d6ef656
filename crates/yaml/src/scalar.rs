//! What a plain scalar is: the core schema of YAML 1.2, as the reference program's YAML library reads it.
//!
//! `yes`, `no`, `on`, `off` and dates are strings, `017` is seventeen, `0o17` is fifteen, `1_000` is a
//! string. In the tolerant dialect `017` is a string, too, and so is every number that JSON does not have.

use serde_json::Number;

use crate::Data;

/// Returns what a plain scalar means where ids and hashes are written without quotes.
pub(crate) fn tolerant(text: &str) -> Data {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let has_leading_zero =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    match plain(text) {
        Ok(Data::Number(_)) | Err(_) if has_leading_zero => Data::Text(text.to_owned()),
        Ok(data) => data,
        Err(_) => Data::Text(text.to_owned()),
    }
}

/// Returns what a plain scalar means. `Err` says which number JSON does not have.
pub(crate) fn plain(text: &str) -> Result<Data, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Data::Null),
        "true" | "True" | "TRUE" => return Ok(Data::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Data::Bool(false)),
        _ => {}
    }
    if is_special_float(text) {
        return Err(format!("`{text}` is a number that JSON does not have"));
    }
    Ok(match number(text)? {
        Some(number) => Data::Number(number),
        None => Data::Text(text.to_owned()),
    })
}

/// Tells whether the text is one of the spellings of infinity and of not-a-number.
fn is_special_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// Tells whether the text of a number is an integer: digits without a point or an exponent, in any of the bases.
pub(crate) fn is_integer(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let has_base = ["0o", "0x"].iter().any(|base| text.starts_with(base));
    has_base || all_digits(unsigned)
}

/// Returns the number that the text spells, or `None` if it spells none. `Err` is a number beyond the range of a double.
fn number(text: &str) -> Result<Option<Number>, String> {
    let octal = text.strip_prefix("0o").filter(|rest| is_in_radix(rest, 8));
    let hexadecimal = text.strip_prefix("0x").filter(|rest| is_in_radix(rest, 16));
    let number = if let Some(digits) = octal {
        in_radix(digits, 8)
    } else if let Some(digits) = hexadecimal {
        in_radix(digits, 16)
    } else if is_decimal(text) {
        decimal(text)
    } else {
        return Ok(None);
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(format!("the number `{text}` is too large")),
    }
}

fn decimal(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let integer = unsigned.parse::<i64>().map(Number::from);
    let integer = integer.or_else(|_| unsigned.parse::<u64>().map(Number::from));
    integer
        .ok()
        .or_else(|| Number::from_f64(unsigned.parse().ok()?))
}

fn in_radix(digits: &str, radix: u32) -> Option<Number> {
    if let Ok(exact) = u64::from_str_radix(digits, radix) {
        return Some(exact.into());
    }
    let add = |sum: f64, digit: char| {
        sum * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or(0))
    };
    Number::from_f64(digits.chars().fold(0.0, add))
}

fn is_in_radix(digits: &str, radix: u32) -> bool {
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

/// Tells whether the text is an integer or a decimal fraction, with or without an exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    has_digits && all_digits(whole) && all_digits(fraction) && exponent_fits
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(text: &str, expected: &Value) {
        let actual = match plain(text) {
            Ok(Data::Null) => Value::Null,
            Ok(Data::Bool(value)) => Value::Bool(value),
            Ok(Data::Number(number)) => Value::Number(number),
            Ok(Data::Text(text)) => Value::String(text),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(actual, *expected, "{text}");
    }

    #[test]
    fn booleans_and_null_have_three_spellings_each() {
        check("", &json!(null));
        check("~", &json!(null));
        check("NULL", &json!(null));
        check("nULL", &json!("nULL"));
        check("True", &json!(true));
        check("FALSE", &json!(false));
        for text in ["yes", "no", "on", "off", "y", "n", "tRUE", "YES"] {
            check(text, &json!(text));
        }
    }

    #[test]
    fn numbers_are_those_of_the_core_schema() {
        check("0", &json!(0));
        check("-12", &json!(-12));
        check("+12", &json!(12));
        check("017", &json!(17));
        check("0o17", &json!(15));
        check("0x1F", &json!(31));
        check("1.5", &json!(1.5));
        check("1.", &json!(1.0));
        check(".5", &json!(0.5));
        check("-.5e3", &json!(-500.0));
        check("12E2", &json!(1200.0));
        check("18446744073709551615", &json!(u64::MAX));
        check("18446744073709551616", &json!(18_446_744_073_709_551_616.0));
        check("0x1_0", &json!("0x1_0"));
    }

    #[test]
    fn what_looks_like_a_number_elsewhere_is_a_string_here() {
        for text in [
            "1_000",
            "0b11",
            "1:30",
            "2026-06-03",
            ".",
            "-",
            "+",
            "e5",
            "1e",
            "1e+",
            "0x",
            "0o8",
            "--1",
            "1.2.3",
            "0xG",
            "-0x1",
            "-.nan",
        ] {
            check(text, &json!(text));
        }
    }

    #[test]
    fn the_tolerant_dialect_keeps_ids_and_hashes() {
        for text in [
            "0123456789012",
            "-017",
            "00",
            "12E4567890123",
            ".inf",
            "1e999",
        ] {
            assert!(matches!(tolerant(text), Data::Text(_)), "{text}");
        }
        for text in ["0", "-0", "0.5", "0o17", "0x1F", "12"] {
            assert!(matches!(tolerant(text), Data::Number(_)), "{text}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_errors() {
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN", "1e999"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}

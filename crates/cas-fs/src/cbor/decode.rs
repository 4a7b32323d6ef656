//! Decodes bytes to a JSON value. It accepts any well-formed CBOR that has a JSON meaning, whichever program wrote it. The
//! bytes are not trusted.

use serde_json::{Map, Number, Value};

use super::{MAX_DEPTH, MAX_SAFE_INTEGER, major, simple};

/// The argument of an item whose end is marked by [`BREAK`].
const INDEFINITE: u8 = 31;
const BREAK: u8 = 0xff;

/// Where and why bytes are not a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at}")]
pub struct DecodeError {
    /// How many bytes come before the problem.
    pub at: usize,
    /// What is wrong there.
    pub problem: DecodeProblem,
}

/// What can be wrong with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The bytes end inside an item.
    #[error("the data ends too early")]
    Truncated,
    /// Bytes follow the end of the value.
    #[error("there is more data than one value")]
    Trailing,
    /// An item that JSON does not have: a byte string, a tag, `undefined`, NaN, …
    #[error("there is a kind of item (first byte {0:#04x}) that JSON does not have")]
    NotJson(u8),
    /// A key of a map occurs twice.
    #[error("a key of a map occurs twice")]
    KeyTwice,
    /// The key of a map is not a text.
    #[error("the key of a map is not a text")]
    KeyType,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Utf8,
    /// Arrays and maps are nested too deep.
    #[error("the data is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The fixed frame of a node is missing.
    #[error("the frame of a node (type, payload, timestamp) is not there")]
    Frame,
}

/// Returns the value that these bytes encode. A value has many encodings; [`encode`](super::encode()) writes one of them.
///
/// # Errors
/// [`DecodeError`] for bytes that are not one JSON value.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder::new(bytes);
    let value = decoder.value()?;
    decoder.end()?;
    Ok(value)
}

/// Reads items one after the other.
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns how many bytes have been read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads one value.
    pub(crate) fn value(&mut self) -> Result<Value, DecodeError> {
        self.nested(MAX_DEPTH)
    }

    /// Reads exactly these bytes, which belong to the frame of a node.
    pub(crate) fn frame(&mut self, expected: &[u8]) -> Result<(), DecodeError> {
        let start = self.at;
        if self.take(expected.len() as u64)? != expected {
            return Err(problem(start, DecodeProblem::Frame));
        }
        Ok(())
    }

    /// Reads `length` bytes without looking at them.
    pub(crate) fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        // The length may be a lie, so it is compared before anything is sliced or allocated.
        let rest = &self.bytes[self.at..];
        match usize::try_from(length) {
            Ok(length) if length <= rest.len() => {
                self.at += length;
                Ok(&rest[..length])
            }
            _ => Err(problem(self.bytes.len(), DecodeProblem::Truncated)),
        }
    }

    /// Fails if there are more bytes.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at < self.bytes.len() {
            return Err(problem(self.at, DecodeProblem::Trailing));
        }
        Ok(())
    }

    /// Reads a value that may be nested this many levels deep.
    fn nested(&mut self, levels: usize) -> Result<Value, DecodeError> {
        let start = self.at;
        let first = self.byte()?;
        match first {
            simple::NULL => return Ok(Value::Null),
            simple::FALSE => return Ok(Value::Bool(false)),
            simple::TRUE => return Ok(Value::Bool(true)),
            simple::HALF => {
                let bits = self.digits(2)? as u16;
                return number(f16_to_f64(bits), start, first);
            }
            simple::SINGLE => {
                let bits = self.digits(4)? as u32;
                return number(f32::from_bits(bits).into(), start, first);
            }
            simple::DOUBLE => return number(f64::from_bits(self.digits(8)?), start, first),
            _ if first >> 5 == major::SIMPLE => return Err(not_json(start, first)),
            _ => {}
        }
        if first & 0x1f == INDEFINITE {
            return match first >> 5 {
                major::TEXT => Ok(Value::String(self.chunks()?)),
                major::ARRAY => self.array(None, inner(levels, start)?),
                major::MAP => self.map(None, inner(levels, start)?),
                _ => Err(not_json(start, first)),
            };
        }
        let argument = self.argument(first)?;
        match first >> 5 {
            major::UNSIGNED if argument <= MAX_SAFE_INTEGER => Ok(argument.into()),
            major::NEGATIVE if argument < MAX_SAFE_INTEGER => Ok((-1 - argument as i64).into()),
            // A number in JSON is a double.
            major::UNSIGNED => number(argument as f64, start, first),
            major::NEGATIVE => number(-1.0 - argument as f64, start, first),
            major::TEXT => Ok(Value::String(self.text(argument)?.to_owned())),
            major::ARRAY => self.array(Some(argument), inner(levels, start)?),
            major::MAP => self.map(Some(argument), inner(levels, start)?),
            _ => Err(not_json(start, first)),
        }
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    /// Reads the argument of an item.
    fn argument(&mut self, first: u8) -> Result<u64, DecodeError> {
        match first & 0x1f {
            short @ 0..24 => Ok(u64::from(short)),
            24 => self.digits(1),
            25 => self.digits(2),
            26 => self.digits(4),
            27 => self.digits(8),
            _ => Err(not_json(self.at - 1, first)),
        }
    }

    /// Reads an unsigned integer of `length` bytes, big-endian.
    fn digits(&mut self, length: u64) -> Result<u64, DecodeError> {
        let digits = self.take(length)?.iter();
        Ok(digits.fold(0, |sum: u64, digit| sum << 8 | u64::from(*digit)))
    }

    /// Reads the end mark of items without a length if it comes next, and tells whether it did.
    fn at_break(&mut self) -> bool {
        let ends = self.bytes.get(self.at) == Some(&BREAK);
        self.at += usize::from(ends);
        ends
    }

    fn text(&mut self, length: u64) -> Result<&'a str, DecodeError> {
        let start = self.at;
        std::str::from_utf8(self.take(length)?).map_err(|_| problem(start, DecodeProblem::Utf8))
    }

    /// Reads a text of chunks, each with a length, up to the end mark.
    fn chunks(&mut self) -> Result<String, DecodeError> {
        let mut text = String::new();
        while !self.at_break() {
            let start = self.at;
            let first = self.byte()?;
            if first >> 5 != major::TEXT || first & 0x1f == INDEFINITE {
                return Err(not_json(start, first));
            }
            let length = self.argument(first)?;
            text.push_str(self.text(length)?);
        }
        Ok(text)
    }

    /// Reads an array of this length, or up to the end mark.
    fn array(&mut self, length: Option<u64>, levels: usize) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        while !self.is_complete(length, items.len()) {
            items.push(self.nested(levels)?);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, length: Option<u64>, levels: usize) -> Result<Value, DecodeError> {
        let mut members = Map::new();
        while !self.is_complete(length, members.len()) {
            let start = self.at;
            let key = self.key()?;
            if members.insert(key, self.nested(levels)?).is_some() {
                return Err(problem(start, DecodeProblem::KeyTwice));
            }
        }
        Ok(Value::Object(members))
    }

    fn is_complete(&mut self, length: Option<u64>, read: usize) -> bool {
        match length {
            Some(length) => read as u64 == length,
            None => self.at_break(),
        }
    }

    fn key(&mut self) -> Result<String, DecodeError> {
        let start = self.at;
        let first = self.byte()?;
        if first >> 5 != major::TEXT {
            return Err(problem(start, DecodeProblem::KeyType));
        }
        if first & 0x1f == INDEFINITE {
            return self.chunks();
        }
        let length = self.argument(first)?;
        Ok(self.text(length)?.to_owned())
    }
}

/// Returns a double as a JSON number. As in JavaScript, a double with an integral value is an integer.
fn number(double: f64, start: usize, first: u8) -> Result<Value, DecodeError> {
    if double.fract() == 0.0 && double.abs() <= MAX_SAFE_INTEGER as f64 {
        return Ok((double as i64).into());
    }
    let number = Number::from_f64(double).ok_or(not_json(start, first))?;
    Ok(Value::Number(number))
}

/// Returns the value of a float of 16 bits.
fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}

fn inner(levels: usize, at: usize) -> Result<usize, DecodeError> {
    levels
        .checked_sub(1)
        .ok_or(problem(at, DecodeProblem::TooDeep))
}

fn problem(at: usize, problem: DecodeProblem) -> DecodeError {
    DecodeError { at, problem }
}

fn not_json(at: usize, first: u8) -> DecodeError {
    problem(at, DecodeProblem::NotJson(first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_that_are_not_a_json_value_are_refused() {
        let check = |bytes: &[u8], at: usize, problem: DecodeProblem| {
            assert_eq!(
                decode(bytes),
                Err(DecodeError { at, problem }),
                "{bytes:x?}"
            );
        };
        check(b"", 0, DecodeProblem::Truncated);
        check(b"\x01\x02", 1, DecodeProblem::Trailing);
        check(b"\x19\x01", 2, DecodeProblem::Truncated);
        check(b"\xfb\x7f\xf0\0\0\0\0\0\0", 0, DecodeProblem::NotJson(0xfb));
        check(b"\xfa\x7f\x80\0\0", 0, DecodeProblem::NotJson(0xfa));
        check(b"\xf9\x7e\0", 0, DecodeProblem::NotJson(0xf9));
        check(b"\xf7", 0, DecodeProblem::NotJson(0xf7));
        check(b"\xff", 0, DecodeProblem::NotJson(0xff));
        check(b"\x1f", 0, DecodeProblem::NotJson(0x1f));
        check(b"\x1c", 0, DecodeProblem::NotJson(0x1c));
        check(b"\x41a", 0, DecodeProblem::NotJson(0x41));
        check(b"\x5f\xff", 0, DecodeProblem::NotJson(0x5f));
        check(b"\xc1\x01", 0, DecodeProblem::NotJson(0xc1));
        check(b"\x9f\x01", 2, DecodeProblem::Truncated);
        check(b"\x7f\x01\xff", 1, DecodeProblem::NotJson(0x01));
        check(b"\x7f\x7f\xff\xff", 1, DecodeProblem::NotJson(0x7f));
        check(b"\x62\xff\xfe", 1, DecodeProblem::Utf8);
        check(b"\xa1\x01\x01", 1, DecodeProblem::KeyType);
        check(b"\xbf\x61a\xff", 3, DecodeProblem::NotJson(0xff));
        check(b"\xa2\x61a\x01\x61a\x01", 4, DecodeProblem::KeyTwice);
    }

    #[test]
    fn a_value_is_read_in_every_encoding_that_it_has() {
        let check = |bytes: &[u8], value: Value| {
            assert_eq!(decode(bytes), Ok(value), "{bytes:x?}");
        };
        check(b"\x18\x01", json!(1));
        check(b"\x1b\0\0\0\0\0\0\0\x05", json!(5));
        check(b"\x38\x00", json!(-1));
        check(b"\x1b\x00\x20\0\0\0\0\0\0", json!(9_007_199_254_740_992.0));
        check(b"\xfb\x3f\xf0\0\0\0\0\0\0", json!(1));
        check(b"\xfb\x80\0\0\0\0\0\0\0", json!(0));
        check(b"\xfa\x3f\x80\0\0", json!(1));
        check(b"\xfa\x3f\x00\0\0", json!(0.5));
        check(b"\xf9\x38\0", json!(0.5));
        check(b"\xf9\x3c\0", json!(1));
        check(b"\xf9\xc1\0", json!(-2.5));
        check(b"\xf9\0\x01", json!(5.960_464_477_539_063e-8));
        check(b"\x9f\x01\x02\xff", json!([1, 2]));
        check(b"\x7f\x61a\x60\x62bc\xff", json!("abc"));
        check(b"\xbf\x61b\x01\x61a\x02\xff", json!({ "b": 1, "a": 2 }));
        check(b"\xa2\x62aa\x01\x61b\x01", json!({ "aa": 1, "b": 1 }));
    }

    #[test]
    fn a_false_length_costs_nothing() {
        let check = |first: u8| {
            let mut bytes = vec![first];
            bytes.extend_from_slice(&u64::MAX.to_be_bytes());
            let found = decode(&bytes).unwrap_err().problem;
            assert_eq!(found, DecodeProblem::Truncated, "{first:x}");
        };
        check(0x7b);
        check(0x9b);
        check(0xbb);
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |levels: usize| [vec![0x81; levels], vec![0x01]].concat();
        assert!(decode(&nested(MAX_DEPTH)).is_ok());
        let refused = decode(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(refused.problem, DecodeProblem::TooDeep);
        let refused = decode(&vec![0x81; 1_000_000]).unwrap_err();
        assert_eq!(refused.problem, DecodeProblem::TooDeep);
    }
}

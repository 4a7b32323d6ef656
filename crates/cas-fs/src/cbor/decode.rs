//! From bytes to the one JSON value that has them. The bytes are not trusted.

use serde_json::{Map, Number, Value};

use super::{MAX_DEPTH, MAX_SAFE_INTEGER, major, simple};

/// Says where the bytes stop being a value that the encoder writes, and why.
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
    /// An item that no JSON value is written as: a byte string, a tag, `undefined`, an indefinite length, …
    #[error("there is a kind of item (first byte {0:#04x}) that JSON does not have")]
    NotJson(u8),
    /// A number or a length has a longer form than it needs, or the wrong one of integer and float.
    #[error("a number or a length is not in its canonical form")]
    NotCanonical,
    /// The keys of a map are not in order, or one occurs twice.
    #[error("the keys of a map are not in order")]
    KeyOrder,
    /// The key of a map is not a text.
    #[error("the key of a map is not a text")]
    KeyType,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Utf8,
    /// Arrays and maps enclose each other too often.
    #[error("the data is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Something else than the fixed frame of a node.
    #[error("the frame of a node (type, payload, timestamp) is not there")]
    Frame,
}

/// Returns the value that has these bytes.
///
/// # Errors
/// [`DecodeError`] for bytes that [`encode`](super::encode()) does not write.
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

    /// Reads so many bytes, whatever they are.
    pub(crate) fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        // The length is compared before anything is sliced or allocated: it may be a lie.
        let rest = &self.bytes[self.at..];
        match usize::try_from(length) {
            Ok(length) if length <= rest.len() => {
                self.at += length;
                Ok(&rest[..length])
            }
            _ => Err(problem(self.bytes.len(), DecodeProblem::Truncated)),
        }
    }

    /// Makes sure that nothing follows.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at < self.bytes.len() {
            return Err(problem(self.at, DecodeProblem::Trailing));
        }
        Ok(())
    }

    /// Reads a value that may have so many levels of its own.
    fn nested(&mut self, levels: usize) -> Result<Value, DecodeError> {
        let start = self.at;
        let first = self.byte()?;
        match first {
            simple::NULL => return Ok(Value::Null),
            simple::FALSE => return Ok(Value::Bool(false)),
            simple::TRUE => return Ok(Value::Bool(true)),
            simple::DOUBLE => return self.double(start),
            _ if first >> 5 == major::SIMPLE => return Err(not_json(start, first)),
            _ => {}
        }
        let argument = self.argument(first)?;
        match first >> 5 {
            major::UNSIGNED if argument <= MAX_SAFE_INTEGER => Ok(argument.into()),
            major::NEGATIVE if argument < MAX_SAFE_INTEGER => Ok((-1 - argument as i64).into()),
            major::UNSIGNED | major::NEGATIVE => Err(problem(start, DecodeProblem::NotCanonical)),
            major::TEXT => Ok(Value::String(self.text(argument)?.to_owned())),
            major::ARRAY => self.array(argument, inner(levels, start)?),
            major::MAP => self.map(argument, inner(levels, start)?),
            _ => Err(not_json(start, first)),
        }
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    /// Reads the argument of an item, which must be in the shortest form.
    fn argument(&mut self, first: u8) -> Result<u64, DecodeError> {
        let start = self.at - 1;
        let (length, least) = match first & 0x1f {
            short @ 0..24 => return Ok(u64::from(short)),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(not_json(start, first)),
        };
        let digits = self.take(length)?;
        let argument = digits
            .iter()
            .fold(0, |sum: u64, digit| sum << 8 | u64::from(*digit));
        if argument < least {
            return Err(problem(start, DecodeProblem::NotCanonical));
        }
        Ok(argument)
    }

    fn double(&mut self, start: usize) -> Result<Value, DecodeError> {
        let bits = self
            .take(8)?
            .iter()
            .fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        let double = f64::from_bits(bits);
        let number = Number::from_f64(double)
            .ok_or(problem(start, DecodeProblem::NotJson(simple::DOUBLE)))?;
        if double.fract() == 0.0 && double.abs() <= MAX_SAFE_INTEGER as f64 {
            return Err(problem(start, DecodeProblem::NotCanonical));
        }
        Ok(Value::Number(number))
    }

    fn text(&mut self, length: u64) -> Result<&'a str, DecodeError> {
        let start = self.at;
        std::str::from_utf8(self.take(length)?).map_err(|_| problem(start, DecodeProblem::Utf8))
    }

    fn array(&mut self, length: u64, levels: usize) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.nested(levels)?);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, length: u64, levels: usize) -> Result<Value, DecodeError> {
        let mut members = Map::new();
        let mut last: Option<&str> = None;
        for _ in 0..length {
            let start = self.at;
            let key = self.key()?;
            if last.is_some_and(|last| (last.len(), last) >= (key.len(), key)) {
                return Err(problem(start, DecodeProblem::KeyOrder));
            }
            last = Some(key);
            members.insert(key.to_owned(), self.nested(levels)?);
        }
        Ok(Value::Object(members))
    }

    fn key(&mut self) -> Result<&'a str, DecodeError> {
        let start = self.at;
        let first = self.byte()?;
        if first >> 5 != major::TEXT {
            return Err(problem(start, DecodeProblem::KeyType));
        }
        let length = self.argument(first)?;
        self.text(length)
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
    use super::*;

    #[test]
    fn what_the_encoder_would_not_write_is_refused() {
        let check = |bytes: &[u8], at: usize, problem: DecodeProblem| {
            assert_eq!(
                decode(bytes),
                Err(DecodeError { at, problem }),
                "{bytes:x?}"
            );
        };
        check(b"", 0, DecodeProblem::Truncated);
        check(b"\x01\x02", 1, DecodeProblem::Trailing);
        check(b"\x18\x01", 0, DecodeProblem::NotCanonical);
        check(b"\x19\x00\xff", 0, DecodeProblem::NotCanonical);
        check(b"\x1b\x00\x20\0\0\0\0\0\0", 0, DecodeProblem::NotCanonical);
        check(
            b"\x3b\x00\x1f\xff\xff\xff\xff\xff\xff",
            0,
            DecodeProblem::NotCanonical,
        );
        check(b"\xfb\x3f\xf0\0\0\0\0\0\0", 0, DecodeProblem::NotCanonical);
        check(b"\xfb\x80\0\0\0\0\0\0\0", 0, DecodeProblem::NotCanonical);
        check(b"\xfb\x7f\xf0\0\0\0\0\0\0", 0, DecodeProblem::NotJson(0xfb));
        check(b"\xfa\x3f\x80\0\0", 0, DecodeProblem::NotJson(0xfa));
        check(b"\xf7", 0, DecodeProblem::NotJson(0xf7));
        check(b"\x41a", 0, DecodeProblem::NotJson(0x41));
        check(b"\xc1\x01", 0, DecodeProblem::NotJson(0xc1));
        check(b"\x9f\x01\xff", 0, DecodeProblem::NotJson(0x9f));
        check(b"\x62\xff\xfe", 1, DecodeProblem::Utf8);
        check(b"\xa1\x01\x01", 1, DecodeProblem::KeyType);
        check(b"\xa2\x61b\x01\x61a\x01", 4, DecodeProblem::KeyOrder);
        check(b"\xa2\x61a\x01\x61a\x01", 4, DecodeProblem::KeyOrder);
        check(b"\xa2\x62aa\x01\x61b\x01", 5, DecodeProblem::KeyOrder);
    }

    #[test]
    fn a_length_that_lies_costs_nothing() {
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

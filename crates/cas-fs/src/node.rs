//! A node as a value: its hash and the bytes of its file. This module touches no file.

use serde_json::{Value, json};
use uwf_protocol::ids::CasRef;
use xxhash_rust::xxh64::xxh64;

use crate::cbor::{self, DecodeError, DecodeProblem, Decoder, EncodeError};
use crate::error::Damage;

/// The start of every file: a CBOR map of three entries, the key `type`, and the head of a text of 13 bytes.
const TYPE_FRAME: &[u8] = b"\xa3dtypem";
const PAYLOAD_FRAME: &[u8] = b"gpayload";
const TIMESTAMP_FRAME: &[u8] = b"itimestamp";
const HASH_DIGITS: u64 = 13;

/// How many bytes at the start of a file contain the type of its node.
pub(crate) const TYPE_BYTES: usize = TYPE_FRAME.len() + HASH_DIGITS as usize;

/// A node of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The hash of the schema that types the payload.
    pub type_hash: CasRef,
    /// The payload, with the keys of objects in the order of their encoding.
    pub payload: Value,
    /// When the node was first stored, in milliseconds since 1970. Not part of the hash.
    pub timestamp_ms: i64,
}

/// Returns the hash of a node. A node with the type `None` types itself.
///
/// # Errors
/// [`EncodeError`] if the payload has no encoding.
pub fn hash_of(type_hash: Option<CasRef>, payload: &Value) -> Result<CasRef, EncodeError> {
    Ok(hash_encoded(type_hash, &cbor::encode(payload)?))
}

/// Returns the hash of a node whose payload has these bytes.
pub(crate) fn hash_encoded(type_hash: Option<CasRef>, payload: &[u8]) -> CasRef {
    let hash = match type_hash {
        None => xxh64(payload, 0),
        Some(type_hash) => xxh64(&[type_hash.as_str().as_bytes(), payload].concat(), 0),
    };
    CasRef::from_u64(hash)
}

/// Returns the bytes of the file of a node.
pub(crate) fn file_bytes(type_hash: CasRef, payload: &[u8], timestamp_ms: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TYPE_BYTES + payload.len() + 32);
    bytes.extend_from_slice(TYPE_FRAME);
    bytes.extend_from_slice(type_hash.as_str().as_bytes());
    bytes.extend_from_slice(PAYLOAD_FRAME);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(TIMESTAMP_FRAME);
    cbor::write_value(&mut bytes, &json!(timestamp_ms)).expect("a number is not nested");
    bytes
}

/// The content of a file that was checked against its name.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    pub(crate) node: Node,
    /// The bytes of the payload.
    pub(crate) payload: &'a [u8],
}

/// Parses the file of a node, and checks that its content has the hash.
pub(crate) fn check(hash: CasRef, bytes: &[u8]) -> Result<Checked<'_>, Damage> {
    let mut decoder = Decoder::new(bytes);
    let type_hash = read_type(&mut decoder)?;
    decoder.frame(PAYLOAD_FRAME)?;
    let start = decoder.position();
    let payload = decoder.value()?;
    let payload_bytes = &bytes[start..decoder.position()];
    decoder.frame(TIMESTAMP_FRAME)?;
    let timestamp_ms = read_timestamp(&mut decoder)?;
    decoder.end()?;

    check_hash(hash, type_hash, payload_bytes)?;
    Ok(Checked {
        node: Node {
            type_hash,
            payload,
            timestamp_ms,
        },
        payload: payload_bytes,
    })
}

/// Reads the bytes of one payload, and checks that a node of this type with it has the hash.
pub(crate) fn read_payload(
    hash: CasRef,
    type_hash: CasRef,
    payload: &[u8],
) -> Result<Value, Damage> {
    let mut decoder = Decoder::new(payload);
    let value = decoder.value()?;
    decoder.end()?;
    check_hash(hash, type_hash, payload)?;
    Ok(value)
}

fn check_hash(hash: CasRef, type_hash: CasRef, payload: &[u8]) -> Result<(), Damage> {
    let self_typed = type_hash == hash;
    match hash_encoded((!self_typed).then_some(type_hash), payload) {
        found if found == hash => Ok(()),
        found => Err(Damage::OtherHash { found }),
    }
}

/// Returns the type of a node from the first [`TYPE_BYTES`] of its file.
pub(crate) fn peek_type(start: &[u8]) -> Option<CasRef> {
    read_type(&mut Decoder::new(start)).ok()
}

fn read_type(decoder: &mut Decoder<'_>) -> Result<CasRef, DecodeError> {
    decoder.frame(TYPE_FRAME)?;
    let at = decoder.position();
    let digits = decoder.take(HASH_DIGITS)?;
    let text = std::str::from_utf8(digits).ok();
    text.and_then(|text| text.parse().ok()).ok_or(DecodeError {
        at,
        problem: DecodeProblem::Frame,
    })
}

fn read_timestamp(decoder: &mut Decoder<'_>) -> Result<i64, DecodeError> {
    let at = decoder.position();
    let value = decoder.value()?;
    let timestamp = value.as_f64().ok_or(DecodeError {
        at,
        problem: DecodeProblem::Frame,
    })?;
    Ok(timestamp as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(digits: &str) -> CasRef {
        digits.parse().unwrap()
    }

    #[test]
    fn a_file_has_the_bytes_of_the_reference() {
        let text = hash("7VQ43ZSJTEWA7");
        let bytes = file_bytes(text, b"\x65hello", 1_780_416_525_000);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "a364747970656d37565134335a534a5445574137677061796c6f61646568656c6c6f6974696d657374616d701b0000019e891832c8"
        );
        let checked = check(hash("95ST8MZ0QTKP9"), &bytes).unwrap();
        assert_eq!(checked.node.payload, json!("hello"));
        assert_eq!(checked.node.timestamp_ms, 1_780_416_525_000);
        assert_eq!(peek_type(&bytes[..TYPE_BYTES]), Some(text));
    }

    #[test]
    fn content_under_a_wrong_name_is_damage() {
        let bytes = file_bytes(hash("7VQ43ZSJTEWA7"), b"\x65hello", 0);
        let damage = check(hash("BZXYV1VK9W6ZQ"), &bytes).unwrap_err();
        let found = hash("95ST8MZ0QTKP9");
        assert_eq!(damage, Damage::OtherHash { found });
    }
}

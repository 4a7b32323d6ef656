//! An output that must be one JSON value.

use serde_json::Value;

use super::{JsonProblem, JsonReason};
use crate::exact_json;

/// How large the output may be.
const MAX_BYTES: usize = 1 << 20;
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The output so far, unless it is too large.
#[derive(Debug, Default)]
pub(super) struct JsonBuffer {
    bytes: Vec<u8>,
    is_over: bool,
}

impl JsonBuffer {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.is_over || self.bytes.len() + chunk.len() > MAX_BYTES {
            self.is_over = true;
            self.bytes = Vec::new();
            return;
        }
        self.bytes.extend_from_slice(chunk);
    }

    /// Returns the value.
    pub(super) fn parse(&self) -> Result<Value, JsonProblem> {
        if self.is_over {
            return Err(JsonProblem {
                reason: JsonReason::Overflow,
                message: format!("the output is larger than {MAX_BYTES} bytes"),
            });
        }
        let bytes = self.bytes.strip_prefix(BOM).unwrap_or(&self.bytes);
        let value = match std::str::from_utf8(bytes) {
            Ok(text) => exact_json(text),
            // This fails, and names the place.
            Err(_) => serde_json::from_slice(bytes),
        };
        value.map_err(|error| JsonProblem {
            reason: JsonReason::Invalid,
            message: format!("the output is not JSON: {error}"),
        })
    }
}

//! Validates values by a schema.

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use crate::check::{SchemaError, kind_of};
use crate::explain::{Violation, explain};
use crate::references::{REF_FORMAT, is_hash};

/// How many backtracking steps a pattern may take on one text. Harmless patterns need a few for each character; a
/// hostile one stops after some tens of milliseconds.
const BACKTRACK_LIMIT: usize = 1_000_000;
/// How many bytes a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Returns the validator of a schema.
    ///
    /// # Errors
    /// [`SchemaError::NotAnObject`], or [`SchemaError::Unusable`] for a pattern that is no regular
    /// expression, a negative length and the like.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        if !schema.is_object() {
            return Err(SchemaError::NotAnObject {
                at: String::new(),
                found: kind_of(schema),
            });
        }
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACK_LIMIT)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        jsonschema::options()
            .with_draft(Draft::Draft7)
            .with_format(REF_FORMAT, is_hash)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .with_pattern_options(patterns)
            .build(schema)
            .map(Self)
            .map_err(|error| SchemaError::Unusable {
                at: error.instance_path().as_str().to_owned(),
                message: error.to_string(),
            })
    }

    /// Validates a value.
    ///
    /// # Errors
    /// The violations, in no particular order; at most those of fifty errors.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        Err(explain(self.0.iter_errors(value)))
    }
}

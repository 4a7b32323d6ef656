//! Checks nodes in full, without stopping at the first problem.

use std::collections::HashMap;

use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::META;
use uwf_schema::Validator;
use uwf_util::causes::with_causes;

use crate::error::{StoreError, listed};
use crate::node::Node;
use crate::store::Store;

/// A node and the result of checking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The hash of the node.
    pub hash: CasRef,
    /// The result.
    pub verdict: Verdict,
}

/// The result of checking a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The content has the hash, and the payload fits the schema.
    Ok,
    /// The file cannot be read, is not a node, or holds another one.
    Corrupted {
        /// What is wrong with the file.
        reason: String,
    },
    /// The content has the hash, but the payload does not fit its schema, or the schema cannot be used.
    Invalid {
        /// What does not fit.
        reason: String,
    },
    /// There is no file for the hash.
    Missing,
}

/// Checks each of the nodes.
pub(crate) fn verify(store: &Store, hashes: &[CasRef]) -> Result<Vec<Verified>, StoreError> {
    uwf_durable::names(store.dir())?;
    let mut verifier = Verifier {
        store,
        validators: HashMap::new(),
    };
    let verified = hashes.iter().map(|&hash| Verified {
        hash,
        verdict: verifier.verdict(hash),
    });
    Ok(verified.collect())
}

/// Compiles each schema once.
struct Verifier<'a> {
    store: &'a Store,
    /// For each type its validator, or why it has none.
    validators: HashMap<CasRef, Result<Validator, String>>,
}

impl Verifier<'_> {
    fn verdict(&mut self, hash: CasRef) -> Verdict {
        match self.store.find(hash) {
            Ok(None) => Verdict::Missing,
            Ok(Some(node)) => match self.check(&node) {
                Ok(()) => Verdict::Ok,
                Err(reason) => Verdict::Invalid { reason },
            },
            Err(StoreError::Damaged { reason, .. }) => Verdict::Corrupted {
                reason: reason.to_string(),
            },
            Err(error) => Verdict::Corrupted {
                reason: with_causes(&error),
            },
        }
    }

    fn check(&mut self, node: &Node) -> Result<(), String> {
        if node.type_hash == META {
            return uwf_schema::check(&node.payload).map_err(|error| error.to_string());
        }
        let validator = self
            .validators
            .entry(node.type_hash)
            .or_insert_with(|| validator(self.store, node.type_hash));
        match validator {
            Ok(validator) => validator
                .validate(&node.payload)
                .map_err(|violations| listed(&violations)),
            Err(reason) => Err(reason.clone()),
        }
    }
}

fn validator(store: &Store, type_hash: CasRef) -> Result<Validator, String> {
    store.validator(type_hash).map_err(|error| match error {
        StoreError::NotFound { hash } => format!("its schema `{hash}` is not in the store"),
        other => format!("its schema is of no use: {}", with_causes(&other)),
    })
}

//! The first nodes of every store: the schema of schemas, one schema for each JSON type, and our own schemas.

use serde_json::{Value, json};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::{self, META};
use uwf_schema::{TYPE_NAMES, meta_schema};

use crate::error::StoreError;
use crate::store::Store;

/// The schemas `{type: …}` in the order of [`TYPE_NAMES`].
const PRIMITIVES: [CasRef; 7] = [
    schemas::TEXT,
    CasRef::from_digits(b"BEAZQGKVXMZT8"),
    CasRef::from_digits(b"B26JM4PBHPAFK"),
    CasRef::from_digits(b"1AVHCXEJVDCPP"),
    CasRef::from_digits(b"944RT37WX1PQ5"),
    CasRef::from_digits(b"D45CW047XS17Y"),
    CasRef::from_digits(b"8E33KAS0HMAZ7"),
];

/// Makes the directory of the store, and puts the first nodes if any is missing.
pub(crate) fn create(store: &Store, now_ms: i64) -> Result<(), StoreError> {
    let own = schemas::all();
    if all_present(store, hashes_with(&own))? {
        return Ok(());
    }
    uwf_durable::create_dir(store.dir())?;
    let mut batch = store.batch();
    batch.put_self_typed(&meta_schema(), now_ms)?;
    for name in TYPE_NAMES {
        batch.put(META, &json!({ "type": name }), now_ms)?;
    }
    for (_, schema) in &own {
        batch.put(META, schema, now_ms)?;
    }
    batch.commit()
}

/// Returns the hashes of the first nodes.
pub(crate) fn hashes() -> Vec<CasRef> {
    let mut hashes: Vec<CasRef> = hashes_with(&schemas::all()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hashes_with(own: &[(CasRef, Value)]) -> impl Iterator<Item = CasRef> {
    let first = [META].into_iter().chain(PRIMITIVES);
    first.chain(own.iter().map(|(hash, _)| *hash))
}

fn all_present(store: &Store, hashes: impl Iterator<Item = CasRef>) -> Result<bool, StoreError> {
    for hash in hashes {
        if !store.has(hash)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cbor, hash_of};

    #[test]
    fn the_schema_of_schemas_has_the_hash_of_the_reference() {
        assert_eq!(cbor::encode(&meta_schema()).unwrap().len(), 1602);
        assert_eq!(hash_of(None, &meta_schema()).unwrap(), META);
    }

    #[test]
    fn the_listed_hashes_are_those_of_the_schemas() {
        for (name, hash) in TYPE_NAMES.into_iter().zip(PRIMITIVES) {
            let schema = json!({ "type": name });
            assert_eq!(hash_of(Some(META), &schema).unwrap(), hash, "{name}");
        }
        let later = [
            (schemas::TURN_WITH_IDS, schemas::turn_with_ids()),
            (
                schemas::WORKFLOW_WITH_CHILDREN,
                schemas::workflow_with_children(),
            ),
            (schemas::WORKFLOW_UNATTENDED, schemas::workflow_unattended()),
            (schemas::START_NODE_OF_CHILD, schemas::start_node_of_child()),
            (
                schemas::START_NODE_WITH_FILES,
                schemas::start_node_with_files(),
            ),
            (schemas::CHECKS_FAILED, schemas::checks_failed()),
            (schemas::DETAIL_EXTENDED, schemas::detail_extended()),
            (schemas::BYTES_PART, schemas::bytes_part()),
            (schemas::BYTES, schemas::bytes()),
            (schemas::START_NODE_OF_RUN, schemas::start_node_of_run()),
            (schemas::PIPELINE, schemas::pipeline()),
            (schemas::RUN, schemas::run()),
            (schemas::RESULT, schemas::result()),
            (schemas::RESUME, schemas::resume()),
            (schemas::ARCHIVE, schemas::archive()),
            (schemas::DETAIL_EXTENDED, schemas::detail_extended()),
        ];
        let details = schemas::DetailField::sets().into_iter();
        let details = details.map(|present| {
            let hash = schemas::DetailField::type_hash(&present);
            (hash, schemas::DetailField::schema(&present))
        });
        let with_costs = schemas::CostKind::ALL.into_iter().flat_map(|cost| {
            [
                cost.verdict(),
                cost.summary(),
                cost.detail_of_children(),
                cost.visit(),
            ]
        });
        let later = later.into_iter().chain(details).chain(with_costs);
        for (hash, schema) in schemas::all().into_iter().chain(later) {
            assert_eq!(hash_of(Some(META), &schema).unwrap(), hash, "{schema}");
        }
    }
}

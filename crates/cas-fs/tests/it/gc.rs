//! Collecting garbage, as the store sees it: what is reached stays, whoever says so and however.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use uwf_cas_fs::{Collect, Collected, Roots, Store, StoreError};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::{META, OBJECT, TEXT};

use crate::support::{NOW, file, reference_store, store, until_somebody_waits_for};

/// From the year 5000 on nodes are young, so every node of a test is old.
const NOTHING_IS_YOUNG: i64 = 95_617_584_000_000;

fn roots(needed: &[CasRef]) -> Roots {
    Roots {
        needed: needed.iter().map(|hash| (*hash, "a root".into())).collect(),
        useful: Vec::new(),
        young_from_ms: NOTHING_IS_YOUNG,
    }
}

fn collect(store: &Store, needed: &[CasRef]) -> Result<Collected, StoreError> {
    store.collect(&[], Collect::Remove, || Ok(roots(needed)))
}

fn put(store: &Store, kind: CasRef, payload: &Value) -> CasRef {
    store.put(kind, payload, NOW).unwrap()
}

fn text(store: &Store, said: &str) -> CasRef {
    put(store, TEXT, &json!(said))
}

fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(60 * 60 * 24);
    File::open(path).unwrap().set_modified(old).unwrap();
}

fn has(store: &Store, hash: CasRef) -> bool {
    store.has(hash).unwrap()
}

#[test]
fn references_are_followed_wherever_they_stand() {
    let (_dir, store) = store();
    let reference = json!({ "type": "string", "format": "ocas_ref" });
    let schema = json!({
        "properties": {
            "one": { "oneOf": [{ "type": "null" }, reference] },
            "many": { "items": { "anyOf": [reference, { "type": "null" }] } },
            "maybe": { "if": {}, "then": reference },
        },
        "additionalProperties": reference,
    });
    let kind = put(&store, META, &schema);
    let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|said| text(&store, said));
    let payload = json!({ "one": a, "many": [null, b], "maybe": c, "other": d });
    let root = put(&store, kind, &payload);
    let found = collect(&store, &[root]).unwrap();
    assert!(
        [root, kind, a, b, c, d]
            .iter()
            .all(|hash| has(&store, *hash))
    );
    assert_eq!(found.garbage.len(), 1);
    assert_eq!(found.garbage[0].hash, e);
}

#[test]
fn a_string_that_is_a_hash_is_a_reference_even_if_no_schema_says_so() {
    let (_dir, store) = store();
    let deep = text(&store, "deep");
    let middle = put(&store, OBJECT, &json!({ "list": [{ "to": deep }] }));
    let key = text(&store, "key");
    let root = put(&store, OBJECT, &json!({ "to": middle, key.as_str(): 1 }));
    // One that is in no store is nothing but a text.
    let other = put(
        &store,
        OBJECT,
        &json!({ "to": "0123456789012", "also": root }),
    );
    collect(&store, &[other]).unwrap();
    assert!(
        [deep, middle, key, root]
            .iter()
            .all(|hash| has(&store, *hash))
    );
}

#[test]
fn nodes_of_another_program_are_followed() {
    let (_dir, all) = reference_store();
    for hash in all.all().unwrap() {
        let reached = all.walk(hash).unwrap();
        if reached.len() < 3 {
            continue;
        }
        let (_dir, store) = reference_store();
        collect(&store, &[hash]).unwrap();
        assert!(reached.iter().all(|hash| has(&store, *hash)), "{hash}");
        // What is left is what it was: nodes keep their schemas.
        let left = store.all().unwrap();
        assert_eq!(store.verify(&left).unwrap(), all.verify(&left).unwrap());
    }
}

#[test]
fn roots_that_appear_during_a_collection_count() {
    let (_dir, store) = store();
    let [early, late, waste] = ["early", "late", "waste"].map(|said| text(&store, said));
    let mut asked = 0;
    let found = store.collect(&[], Collect::Remove, || {
        asked += 1;
        Ok::<_, StoreError>(match asked {
            1 => roots(&[early]),
            _ => roots(&[early, late]),
        })
    });
    assert_eq!((asked, found.unwrap().garbage.len()), (2, 1));
    assert_eq!((has(&store, late), has(&store, waste)), (true, false));
}

#[test]
fn no_new_reference_to_an_old_node_appears_while_garbage_is_removed() {
    let (_dir, store) = store();
    let root = text(&store, "root");
    let waste = text(&store, "waste");
    let hold = store.hold().unwrap();
    let collector = thread::scope(|scope| {
        let collector = scope.spawn(|| collect(&store, &[root]).unwrap());
        until_somebody_waits_for(&store.dir().join(".gc.lock"));
        assert!(has(&store, waste));
        drop(hold);
        collector.join().unwrap().garbage.len()
    });
    assert_eq!((collector, has(&store, waste)), (1, false));
}

#[test]
fn a_root_that_cannot_be_read_stops_the_collection_and_is_named() {
    let (_dir, store) = store();
    let waste = text(&store, "waste");
    let gone = text(&store, "gone");
    let root = put(&store, OBJECT, &json!({ "to": waste }));
    let kind = put(&store, META, &json!({ "items": { "format": "ocas_ref" } }));
    let list = put(&store, kind, &json!([gone]));
    fs::remove_file(file(&store, gone)).unwrap();
    fs::write(file(&store, root), "nonsense").unwrap();
    let error = collect(&store, &[root, list]).unwrap_err().to_string();
    let said = [
        "nothing was removed",
        &format!("`{root}`, which is a root, is damaged"),
        &format!("`{gone}`, which is referred to by `{list}`, is not in the store"),
    ];
    assert!(said.iter().all(|part| error.contains(part)), "{error}");
    assert!(has(&store, waste));
    // What is only worth keeping leads as far as it can be read, and is never removed itself.
    let useful = || {
        Ok::<_, StoreError>(Roots {
            useful: vec![root, list],
            ..roots(&[])
        })
    };
    store.collect(&[], Collect::Remove, useful).unwrap();
    assert_eq!((has(&store, root), has(&store, list)), (true, true));
    let lost = store.collect(&[root, gone], Collect::Remove, || {
        Ok::<_, StoreError>(roots(&[root, list]))
    });
    lost.unwrap();
    assert!(
        has(&store, root),
        "a damaged node may be all that is left of it"
    );
    // One that is not lost is not given up by mistake.
    let [leaf, said] = ["leaf", "said"].map(|word| text(&store, word));
    let parent = put(&store, OBJECT, &json!({ "to": leaf }));
    let mistaken = store.collect(&[parent], Collect::Remove, || {
        Ok::<_, StoreError>(roots(&[parent]))
    });
    mistaken.unwrap();
    assert_eq!((has(&store, leaf), has(&store, said)), (true, false));
}

#[test]
fn the_first_nodes_are_never_garbage_and_the_index_agrees_afterwards() {
    let (_dir, store) = store();
    let before = store.all().unwrap();
    let kept = text(&store, "kept");
    text(&store, "waste");
    collect(&store, &[kept]).unwrap();
    let mut expected = before.clone();
    expected.push(kept);
    expected.sort_unstable();
    assert_eq!(store.all().unwrap(), expected);
    let list = fs::read_to_string(store.dir().join("_index").join(TEXT.as_str()));
    assert_eq!(list.unwrap(), format!("{kept}\n"));
    assert_eq!(store.of_type(TEXT).unwrap(), [kept]);
}

#[test]
fn a_node_that_is_put_again_is_young_again_but_not_every_time() {
    let (_dir, store) = store();
    let hash = text(&store, "again");
    let path = file(&store, hash);
    let used = || path.metadata().unwrap().modified().unwrap();
    let now_ms = store.clock_ms().unwrap();
    let young = used();
    store.put(TEXT, &json!("again"), now_ms).unwrap();
    assert_eq!(used(), young, "what is young stays as it is");
    age(&path);
    store.put(TEXT, &json!("again"), now_ms).unwrap();
    assert!(used() >= young);
}

#[test]
fn a_node_that_is_removed_between_put_and_commit_is_written() {
    let (_dir, store) = store();
    let hash = text(&store, "again");
    let mut batch = store.batch();
    batch.put(TEXT, &json!("again"), NOW).unwrap();
    fs::remove_file(file(&store, hash)).unwrap();
    batch.commit().unwrap();
    assert_eq!(store.get(hash).unwrap().payload, json!("again"));
}

#[test]
fn a_missing_store_has_no_garbage() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("none"));
    let _hold = store.hold().unwrap();
    let found = store.collect(&[], Collect::Look, || Ok::<_, StoreError>(roots(&[])));
    assert_eq!(found.unwrap().nodes, 0);
    assert!(!store.dir().exists());
}

#[test]
fn a_damaged_node_that_is_repaired_during_a_collection_is_kept() {
    let (_dir, store) = store();
    let root = text(&store, "root");
    let damaged = text(&store, "damaged");
    fs::write(file(&store, damaged), "no node").unwrap();
    age(&file(&store, damaged));
    let hour_ago = SystemTime::now() - Duration::from_secs(60 * 60);
    let hour_ago = hour_ago.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let young_from_ms = i64::try_from(hour_ago.as_millis()).unwrap();
    let is_repaired = AtomicBool::new(false);
    let mut round = 0;
    thread::scope(|scope| {
        let look = || -> Result<Roots, StoreError> {
            round += 1;
            // From the second look on, what is garbage does not change any more.
            if round == 2 {
                scope.spawn(|| {
                    text(&store, "damaged");
                    is_repaired.store(true, Ordering::Relaxed);
                });
                until_somebody_waits_for(&store.dir().join(".gc.lock"));
                let too_early = is_repaired.load(Ordering::Relaxed);
                assert!(!too_early, "it would be removed as what it was");
            }
            Ok(Roots {
                young_from_ms,
                ..roots(&[root])
            })
        };
        let found = store.collect(&[], Collect::Remove, look).unwrap();
        assert_eq!(found.garbage[0].hash, damaged);
    });
    assert_eq!(store.get(damaged).unwrap().payload, "damaged");
}

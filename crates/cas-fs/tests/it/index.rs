//! The type index is a cache: whatever happens to it, `of_type` answers from the nodes and repairs it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{NOW, file, hash, names, reference_store, store};
use serde_json::json;
use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::{META, TEXT};

/// The lines of each file of the index, sorted.
fn index(store: &Store) -> BTreeMap<String, Vec<String>> {
    let dir = store.dir().join("_index");
    let lists = names(&dir).into_iter().map(|name| {
        let text = fs::read_to_string(dir.join(&name)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        (name, lines)
    });
    lists.collect()
}

fn with_texts() -> (tempfile::TempDir, Store, Vec<CasRef>) {
    let (dir, store) = store();
    let mut texts: Vec<CasRef> = ["one", "two", "three"]
        .map(|text| store.put(TEXT, &json!(text), NOW).unwrap())
        .into();
    texts.sort();
    (dir, store, texts)
}

/// Damages the index of a store. Then the answers must be right, and the index must be repaired.
fn check(what: &str, damage: impl FnOnce(&Store, &[CasRef])) {
    let (_dir, store, texts) = with_texts();
    let before = index(&store);
    let schemas = store.of_type(META).unwrap();
    assert_eq!(index(&store), before, "a sound index is left as it is");
    damage(&store, &texts);
    assert_eq!(store.of_type(TEXT).unwrap(), texts, "{what}");
    assert_eq!(store.of_type(META).unwrap(), schemas, "{what}");
    assert_eq!(index(&store), before, "{what}");
}

#[test]
fn a_damaged_index_is_repaired() {
    let list = |store: &Store| store.dir().join("_index").join(TEXT.as_str());
    check("the index is gone", |store, _| {
        fs::remove_dir_all(store.dir().join("_index")).unwrap();
    });
    check("one list is gone", |store, _| {
        fs::remove_file(list(store)).unwrap();
    });
    check("the list of self-typed nodes is gone", |store, _| {
        fs::remove_file(store.dir().join("_index/_meta")).unwrap();
    });
    check("a line is missing", |store, texts| {
        fs::write(list(store), format!("{}\n{}\n", texts[2], texts[0])).unwrap();
    });
    check("a line is torn and another follows it", |store, texts| {
        let torn = &texts[1].as_str()[..7];
        fs::write(list(store), format!("{}\n{torn}{}\n", texts[2], texts[0])).unwrap();
    });
    check("the last line has no end", |store, texts| {
        fs::write(
            list(store),
            format!("{}\n{}\n{}", texts[0], texts[1], texts[2]),
        )
        .unwrap();
    });
    check("a line is there twice", |store, texts| {
        let lines: String = [0, 1, 1, 2]
            .map(|n: usize| format!("{}\n", texts[n]))
            .concat();
        fs::write(list(store), lines).unwrap();
    });
    check("a node is listed that is not there", |store, texts| {
        let lines: String = texts.iter().map(|hash| format!("{hash}\n")).collect();
        fs::write(list(store), lines + "ZZZZZZZZZZZZZ\n").unwrap();
    });
    check("a schema is listed among the texts", |store, texts| {
        let lines: String = texts.iter().map(|hash| format!("{hash}\n")).collect();
        fs::write(list(store), format!("{lines}{TEXT}\n")).unwrap();
    });
    check("a list is not text", |store, _| {
        fs::write(list(store), b"\xff\xfe\0\n").unwrap();
    });
    check("there is a list of no type", |store, _| {
        fs::write(store.dir().join("_index/notes.txt"), "hello\n").unwrap();
    });
}

#[test]
fn a_put_succeeds_although_the_index_cannot_be_written() {
    let (_dir, store, texts) = with_texts();
    fs::remove_dir_all(store.dir().join("_index")).unwrap();
    fs::write(store.dir().join("_index"), "in the way").unwrap();
    let four = store.put(TEXT, &json!("four"), NOW).unwrap();
    let found = store.of_type(TEXT).unwrap();
    assert_eq!(found.len(), texts.len() + 1);
    assert!(found.contains(&four));
    assert!(store.reindex().is_err());
}

#[test]
fn a_put_does_not_read_the_index() {
    let (_dir, store, _) = with_texts();
    let list = store.dir().join("_index").join(TEXT.as_str());
    fs::write(&list, "spoilt\n").unwrap();
    let four = store.put(TEXT, &json!("four"), NOW).unwrap();
    assert_eq!(
        fs::read_to_string(&list).unwrap(),
        format!("spoilt\n{four}\n")
    );
}

#[test]
fn damaged_nodes_have_no_type_and_other_files_are_not_nodes() {
    let (_dir, store, texts) = with_texts();
    fs::write(file(&store, texts[0]), b"cut").unwrap();
    fs::write(store.dir().join("variables.db"), b"").unwrap();
    fs::write(store.dir().join("7VQ43ZSJTEWA7.abc.tmp"), b"").unwrap();
    assert_eq!(store.of_type(TEXT).unwrap(), texts[1..]);
    assert!(store.all().unwrap().contains(&texts[0]));
}

#[test]
fn rebuilding_agrees_with_the_reference() {
    let (_dir, store) = reference_store();
    let before = index(&store);
    fs::remove_dir_all(store.dir().join("_index")).unwrap();
    assert_eq!(store.reindex().unwrap(), store.all().unwrap().len());
    assert_eq!(index(&store), before);
    let steps = store.of_type(hash("108DB063KRQWW")).unwrap();
    assert_eq!(steps.len(), before["108DB063KRQWW"].len());
}

//! The type index: for each type, a file that lists its nodes. It is a cache of the types that the nodes name themselves.
//!
//! `_index/<type>` has one hash a line, and `_index/_meta` lists the nodes that type themselves. Writers only
//! append, without a lock and without waiting for the disk. So lines can be missing, torn or doubled. A reader compares
//! the lists with the directory, and rewrites them if they are wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use uwf_durable::{Draft, FileError};
use uwf_protocol::ids::CasRef;

use crate::disk;
use crate::error::StoreError;
use crate::node::{self, TYPE_BYTES};

const DIR: &str = "_index";
const SELF_TYPED: &str = "_meta";

/// What the files of the index should say: their names and the hashes in them.
type Lists = BTreeMap<String, BTreeSet<CasRef>>;

/// Adds new nodes, given as type and hash, to the index.
///
/// Failures are ignored on purpose: the nodes are stored, and the next reader repairs the index.
pub(crate) fn append(dir: &Path, nodes: &[(CasRef, CasRef)]) {
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    for (type_hash, hash) in nodes {
        let mut lists = vec![type_hash.as_str()];
        if type_hash == hash {
            lists.push(SELF_TYPED);
        }
        for list in lists {
            let lines = lines.entry(list).or_default();
            lines.push_str(hash.as_str());
            lines.push('\n');
        }
    }
    for (list, lines) in lines {
        let _ = append_lines(&dir.join(DIR), list, &lines);
    }
}

fn append_lines(index: &Path, list: &str, lines: &str) -> Result<(), FileError> {
    let path = index.join(list);
    let file = match uwf_durable::open_append(&path) {
        Err(error) if error.is_not_found() => {
            uwf_durable::create_dir(index)?;
            uwf_durable::open_append(&path)
        }
        opened => opened,
    };
    file?
        .write_all(lines.as_bytes())
        .map_err(FileError::io("append to", &path))
}

/// Returns the nodes of a type, sorted, and repairs the index if it does not agree with the directory.
pub(crate) fn of_type(dir: &Path, type_hash: CasRef) -> Result<Vec<CasRef>, StoreError> {
    let found = load(dir);
    let mut types = found.types;
    let nodes: BTreeSet<CasRef> = disk::list(dir)?.into_iter().collect();
    types.retain(|hash, _| nodes.contains(hash));
    for hash in nodes {
        // The caller gets only nodes whose file was read. For nodes of other types we trust the index.
        if types.get(&hash).is_none_or(|found| *found == type_hash) {
            match peek(dir, hash)? {
                Some(type_hash) => types.insert(hash, type_hash),
                None => types.remove(&hash),
            };
        }
    }
    let lists = lists(&types);
    if !found.sound || found.lists != lists {
        // A store that cannot be written can still be read.
        let _ = replace(dir, &lists);
    }
    Ok(types
        .into_iter()
        .filter(|(_, found)| *found == type_hash)
        .map(|(hash, _)| hash)
        .collect())
}

/// Rewrites the index from the nodes alone, and returns how many it lists.
pub(crate) fn rebuild(dir: &Path) -> Result<usize, StoreError> {
    let mut types = BTreeMap::new();
    for hash in disk::list(dir)? {
        if let Some(type_hash) = peek(dir, hash)? {
            types.insert(hash, type_hash);
        }
    }
    replace(dir, &lists(&types))?;
    Ok(types.len())
}

/// Returns the temporary files of the index that were last written before a time, in milliseconds since 1970.
pub(crate) fn left_behind(dir: &Path, before_ms: i64) -> Result<Vec<PathBuf>, StoreError> {
    disk::left_behind(&dir.join(DIR), before_ms)
}

/// Returns the type that the file of a node names; `None` if the file is damaged or gone.
fn peek(dir: &Path, hash: CasRef) -> Result<Option<CasRef>, StoreError> {
    match disk::read_start(dir, hash, TYPE_BYTES) {
        Ok(Some(stored)) => Ok(node::peek_type(&stored.bytes)),
        Ok(None) | Err(StoreError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the files of the index say.
struct Found {
    /// The type of each node. A node that is listed under two types is left out.
    types: BTreeMap<CasRef, CasRef>,
    lists: Lists,
    /// Whether every line is a hash that occurs once in its file.
    sound: bool,
}

fn load(dir: &Path) -> Found {
    let index = dir.join(DIR);
    let mut found = Found {
        types: BTreeMap::new(),
        lists: Lists::new(),
        sound: true,
    };
    for name in uwf_durable::names(&index).unwrap_or_default() {
        let read = uwf_durable::read(&index.join(&name));
        let bytes = read.ok().flatten().unwrap_or_default();
        let (hashes, sound) = parse(&bytes);
        found.sound &= sound;
        found.lists.insert(name, hashes);
    }
    let mut contradicting = BTreeSet::new();
    for (name, hashes) in &found.lists {
        let Ok(type_hash) = name.parse() else {
            continue;
        };
        for hash in hashes {
            if found.types.insert(*hash, type_hash).is_some() {
                contradicting.insert(*hash);
            }
        }
    }
    found.types.retain(|hash, _| !contradicting.contains(hash));
    found
}

/// Returns the hashes in a file of the index, and whether it is exactly one line for each.
fn parse(bytes: &[u8]) -> (BTreeSet<CasRef>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let mut hashes = BTreeSet::new();
    let mut sound = text.is_empty() || text.ends_with('\n');
    for line in text.lines() {
        sound &= line.parse().is_ok_and(|hash| hashes.insert(hash));
    }
    (hashes, sound)
}

/// Returns the lists that the files of the index should have for nodes of these types.
fn lists(types: &BTreeMap<CasRef, CasRef>) -> Lists {
    let mut lists = Lists::new();
    for (hash, type_hash) in types {
        let mut add = |name: &str| lists.entry(name.to_owned()).or_default().insert(*hash);
        add(type_hash.as_str());
        if hash == type_hash {
            add(SELF_TYPED);
        }
    }
    lists
}

/// Replaces all files of the index by these lists.
fn replace(dir: &Path, lists: &Lists) -> Result<(), StoreError> {
    let index = dir.join(DIR);
    uwf_durable::create_dir(&index)?;
    for name in uwf_durable::names(&index)? {
        if !lists.contains_key(&name) {
            uwf_durable::remove(&index.join(name))?;
        }
    }
    for (name, hashes) in lists {
        let lines: String = hashes.iter().map(|hash| format!("{hash}\n")).collect();
        let path = index.join(name);
        Draft::write(&index, lines.as_bytes())?.replace(&path)?;
    }
    Ok(())
}

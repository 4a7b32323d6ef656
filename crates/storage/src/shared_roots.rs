//! The list of roots that share a store: a file in the store with one path a line. A garbage collection needs it, because
//! it must keep the nodes of all roots.

use std::path::{Path, PathBuf};

use crate::{Root, StorageError};

/// The name of a store's directory in its root.
const STORE: &str = "cas";
/// The name of the list in the directory of the store.
const NAME: &str = ".roots";

/// Returns the file that lists the roots of a store.
#[must_use]
pub fn list_file(store: &Path) -> PathBuf {
    store.join(NAME)
}

/// Adds a root to the list of a store, unless it is there already, or the store is its own.
///
/// # Errors
/// [`StorageError::Io`].
pub fn register(store: &Path, root: &Root) -> Result<(), StorageError> {
    if is_own(store, root) || registered(store)?.contains(root) {
        return Ok(());
    }
    Ok(uwf_durable::append_line(
        &list_file(store),
        &root.path().display().to_string(),
    )?)
}

/// Returns the roots on the list of a store.
///
/// # Errors
/// [`StorageError::Io`].
pub fn registered(store: &Path) -> Result<Vec<Root>, StorageError> {
    let content = uwf_durable::read(&list_file(store))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(|line| Root::at(PathBuf::from(line))).collect())
}

/// Returns the roots that contain a store: by the path of the store as given, and by its path without links.
#[must_use]
pub fn containing(store: &Path) -> Vec<Root> {
    let real = store.canonicalize().ok();
    let places = [Some(store), real.as_deref()].into_iter().flatten();
    let parents = places.filter(|place| place.ends_with(STORE));
    let roots = parents.filter_map(|place| Some(Root::at(place.parent()?.to_owned())));
    roots.filter(Root::has_state).collect()
}

/// Tells whether a store lies in the root itself. Other roots use it only if somebody names it for them.
#[must_use]
pub fn is_own(store: &Path, root: &Root) -> bool {
    let usual = root.path().join(STORE);
    store == usual && !usual.is_symlink()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_listed_once_in_a_store_that_is_not_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let root = |name: &str| Root::at(temp.path().join(name));
        let store = temp.path().join("a/cas");
        std::fs::create_dir_all(&store).unwrap();
        for name in ["a", "b", "c", "b"] {
            register(&store, &root(name)).unwrap();
        }
        assert_eq!(registered(&store).unwrap(), [root("b"), root("c")]);
        std::fs::create_dir(temp.path().join("d")).unwrap();
        std::os::unix::fs::symlink(&store, temp.path().join("d/cas")).unwrap();
        register(&temp.path().join("d/cas"), &root("d")).unwrap();
        assert_eq!(registered(&store).unwrap().last(), Some(&root("d")));
        assert_eq!(containing(&store), []);
        std::fs::write(root("a").history_file(), "").unwrap();
        let real = Root::at(temp.path().join("a").canonicalize().unwrap());
        assert_eq!(containing(&temp.path().join("d/cas")), [real]);
    }
}

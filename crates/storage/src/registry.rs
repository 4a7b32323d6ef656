//! The content of `registry.yaml`: which workflow a name stands for now. Other programs call the file
//! `workflows.yaml`, which is read but never written. A copy of it tells whether somebody cut it.

use std::path::Path;

use indexmap::IndexMap;
use uwf_durable::{Durability, FileError};
use uwf_protocol::ids::CasRef;

use crate::{Root, StorageError, state_file};

/// Parses the content of the file. A name without a hash is left out.
pub(crate) fn parse(content: &[u8], path: &Path) -> Result<IndexMap<String, CasRef>, StorageError> {
    let text = state_file::utf8(content, path)?;
    let mut names = IndexMap::new();
    for (key, hash) in state_file::entries(text, path)? {
        if !hash.is_null() {
            names.insert(key.text, state_file::scalar(&hash, path)?);
        }
    }
    Ok(names)
}

/// Returns the content for these names, sorted.
pub(crate) fn render(names: &IndexMap<String, CasRef>) -> String {
    let mut names = names.clone();
    names.sort_unstable_keys();
    uwf_yaml::render(&names)
}

/// Tells whether the registry is only the beginning of the copy that its last writer left. Then names are lost. Any other
/// difference is a change made on purpose. A registry without names on purpose is `{}`.
pub(crate) fn is_cut(registry: &[u8], copy: &[u8]) -> bool {
    let (registry, copy) = (registry.trim_ascii_end(), copy.trim_ascii_end());
    registry.len() < copy.len() && copy.starts_with(registry)
}

/// Copies the registry that is on the disk now.
pub(crate) fn keep_copy(root: &Root, content: &[u8]) {
    let copy = root.registry_copy();
    let replace = || -> Result<(), FileError> {
        match uwf_durable::read(&copy)? {
            Some(known) if known == content => Ok(()),
            Some(_) | None => uwf_durable::replace(&copy, content, Durability::Volatile),
        }
    };
    // Without the copy, a later loss may stay unseen. That is no reason to fail the registration.
    let _ = replace();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_sorted_and_read_back() {
        let hash = |text: &str| text.parse::<CasRef>().unwrap();
        let names: IndexMap<_, _> = [
            ("solve-issue".to_owned(), hash("CTS5P6RD8HMCS")),
            ("no: 1".to_owned(), hash("0123456789012")),
            ("12".to_owned(), hash("1234567890123")),
            ("e".to_owned(), hash("12345678901E2")),
        ]
        .into();
        let text = render(&names);
        assert_eq!(text.lines().last(), Some("solve-issue: CTS5P6RD8HMCS"));
        assert_eq!(parse(text.as_bytes(), Path::new("r")).unwrap(), names);
    }

    #[test]
    fn an_empty_file_has_no_names_and_a_wrong_one_is_an_error() {
        assert_eq!(parse(b"", Path::new("r")).unwrap().len(), 0);
        assert_eq!(parse(b"a: null\n", Path::new("r")).unwrap().len(), 0);
        let error = parse(b"a: CTS5P6RD8HMCS\nb: x\n", Path::new("r")).unwrap_err();
        assert!(error.to_string().starts_with("`r:2`: "), "{error}");
    }

    #[test]
    fn a_registry_is_cut_if_it_is_only_the_beginning_of_its_copy() {
        let copy = b"one: CTS5P6RD8HMCS\ntwo: 0123456789012\n";
        for cut in [
            "",
            "\n",
            "one: CTS5P6RD8HMCS\n",
            "one:",
            "one: CTS5P6RD8HMCS\ntwo: 0",
        ] {
            assert!(is_cut(cut.as_bytes(), copy), "{cut}");
        }
        let whole = String::from_utf8(copy.to_vec()).unwrap();
        for other in [
            "{}\n",
            "two: 0123456789012\n",
            "three: 0123456789012\n",
            whole.trim_end(),
        ] {
            assert!(!is_cut(other.as_bytes(), copy), "{other}");
        }
        assert!(!is_cut(b"", b""), "where nothing was, nothing is lost");
    }
}

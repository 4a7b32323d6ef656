//! What the files of the state looked like when the last writer left them. Who finds them so need not look whether
//! something is missing; who does not finds out. It is a cache, and lies with the locks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Root;

/// The size and the time of both files, as text.
pub(crate) struct Seal;

impl Seal {
    /// Tells whether the files are as they were left. Only the holder of the state lock may ask.
    pub(crate) fn is_intact(root: &Root) -> bool {
        let sealed = uwf_durable::read(&root.seal_file()).ok().flatten();
        sealed.is_some_and(|sealed| sealed.trim_ascii_end() == describe(root).as_bytes())
    }

    /// Remembers what the files look like. If it cannot, the next writer looks closer.
    pub(crate) fn set(root: &Root) {
        let _ = uwf_durable::overwrite(&root.seal_file(), describe(root).as_bytes());
    }
}

fn describe(root: &Root) -> String {
    let one = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) => format!(
            "{} {} {}.{:09}",
            found.ino(),
            found.len(),
            found.mtime(),
            found.mtime_nsec()
        ),
        Err(_) => "-".to_owned(),
    };
    format!(
        "{}, {}",
        one(&root.threads_file()),
        one(&root.history_file())
    )
}

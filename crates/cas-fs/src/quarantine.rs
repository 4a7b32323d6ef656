//! Moves damaged files out of the way of their nodes, into a folder of the store. Nothing is deleted, and a file keeps its
//! name, so that a person can look at it and bring it back.

use std::fs;
use std::path::{Path, PathBuf};

use uwf_durable::FileError;
use uwf_protocol::ids::CasRef;
use uwf_util::causes::with_causes;

use crate::error::StoreError;
use crate::store::Store;
use crate::{disk, hold, node};

/// The folder in the directory of the store.
const FOLDER: &str = "quarantine";

/// A file that should hold a node, and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// The node.
    pub hash: CasRef,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
    /// Whether it can be moved. A file that we may not read may be sound.
    pub movable: bool,
    /// Where it was moved.
    pub moved_to: Option<PathBuf>,
}

/// Returns the folder for damaged files.
pub(crate) fn folder(dir: &Path) -> PathBuf {
    dir.join(FOLDER)
}

/// Compares every file with the hash in its name. This changes nothing.
pub(crate) fn find(store: &Store) -> Result<Vec<DamagedFile>, StoreError> {
    let mut damaged = Vec::new();
    for hash in store.all()? {
        for (path, _) in disk::files_of(store.dir(), hash)? {
            damaged.extend(look_at(hash, path));
        }
    }
    Ok(damaged)
}

fn look_at(hash: CasRef, path: PathBuf) -> Option<DamagedFile> {
    let (reason, movable) = match uwf_durable::read(&path) {
        Ok(Some(bytes)) => (node::check(hash, &bytes).err()?.to_string(), true),
        // The file was removed meanwhile, or is a link.
        Ok(None) => {
            fs::symlink_metadata(&path).ok()?;
            ("it is a link that leads nowhere".to_owned(), true)
        }
        Err(error @ FileError::NotRegular { .. }) => (error.to_string(), true),
        Err(error) => (with_causes(&error), false),
    };
    Some(DamagedFile {
        hash,
        path,
        reason,
        movable,
        moved_to: None,
    })
}

/// Moves damaged files into quarantine.
///
/// The lock keeps out the collector, and a writer that is about to replace one of the files. Each file is looked at again
/// under the lock: it may have been replaced since it was found.
pub(crate) fn set_aside(
    store: &Store,
    found: Vec<DamagedFile>,
) -> Result<Vec<DamagedFile>, StoreError> {
    if found.iter().all(|one| !one.movable) {
        return Ok(found);
    }
    let _hold = hold::own(store.dir())?;
    let folder = folder(store.dir());
    refuse_link(&folder)?;
    uwf_durable::create_dir(&folder)?;
    let mut moved = Vec::new();
    for one in found {
        let Some(mut still) = look_at(one.hash, one.path) else {
            continue;
        };
        if still.movable {
            let to = free_name(&folder, still.hash);
            uwf_durable::move_file(&still.path, &to)?;
            still.moved_to = Some(to);
        }
        moved.push(still);
    }
    Ok(moved)
}

/// Fails for a link: the files would land where nobody looks for them, or in a folder of somebody else.
fn refuse_link(folder: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => Err(FileError::Link {
            path: folder.to_owned(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns a path in the folder that is not taken. Only the owner of the lock makes files there.
fn free_name(folder: &Path, hash: CasRef) -> PathBuf {
    let first = disk::node_path(folder, hash);
    let numbered = (2_u32..).map(|number| {
        let mut path = first.as_os_str().to_owned();
        path.push(format!(".{number}"));
        PathBuf::from(path)
    });
    let mut names = std::iter::once(first.clone()).chain(numbered);
    let free = names.find(|path| fs::symlink_metadata(path).is_err());
    free.expect("a folder has fewer files than there are numbers")
}

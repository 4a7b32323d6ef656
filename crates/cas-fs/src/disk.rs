//! The files of the store: where nodes lie, and how they are found and read. This module does not know the bytes of a
//! node, except to renew one; `uwf-durable` writes the files.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use uwf_durable::{Draft, FileError};
use uwf_protocol::ids::CasRef;

use crate::error::{Damage, StoreError};
use crate::{hold, node};

const EXTENSION: &str = ".bin";
/// The length of the name of a node's file.
const FILE_NAME: usize = 13 + EXTENSION.len();
/// The folder in which newer programs keep nodes. We read nodes there, and never write any.
const NESTED: &str = "nodes";
/// How many files are open at once, at most.
pub(crate) const OPEN_FILES: usize = 64;
/// The extension of temporary files of older versions and of other programs.
const TEMPORARY: &str = ".tmp";

/// The content of a file and where it was found.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the path at which a node is written, and looked for first.
pub(crate) fn node_path(dir: &Path, hash: CasRef) -> PathBuf {
    let mut path = PathBuf::with_capacity(dir.as_os_str().len() + 1 + FILE_NAME);
    path.push(dir);
    path.push(hash.as_str());
    path.as_mut_os_string().push(EXTENSION);
    path
}

/// Returns all paths at which a node may be.
fn places(dir: &Path, hash: CasRef) -> [PathBuf; 2] {
    [node_path(dir, hash), node_path(&dir.join(NESTED), hash)]
}

/// Returns the path of the node, if there is one.
pub(crate) fn locate(dir: &Path, hash: CasRef) -> Result<Option<PathBuf>, StoreError> {
    for path in places(dir, hash) {
        if path
            .try_exists()
            .map_err(FileError::io("look for", &path))?
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Reads the file of the node, if there is one.
pub(crate) fn read(dir: &Path, hash: CasRef) -> Result<Option<Stored>, StoreError> {
    read_start(dir, hash, usize::MAX)
}

/// Reads the file of the node like [`read`], unless it has more bytes than `largest`: such a file is damage.
pub(crate) fn read_limited(
    dir: &Path,
    hash: CasRef,
    largest: usize,
) -> Result<Option<Stored>, StoreError> {
    let too_large = |(path, found): (PathBuf, Metadata)| {
        let reason = Damage::TooLarge {
            bytes: found.len(),
            largest,
        };
        StoreError::Damaged { hash, path, reason }
    };
    if largest < usize::MAX {
        let files = files_of(dir, hash)?.into_iter();
        let sizes = files.map(|(path, _)| fs::metadata(&path).map(|found| (path, found)));
        let mut existing = sizes.flatten();
        if let Some(file) = existing.find(|(_, found)| found.len() > largest as u64) {
            return Err(too_large(file));
        }
    }
    // A file that grows meanwhile is cut, and then does not have its hash.
    read_start(dir, hash, largest)
}

/// Reads at most `limit` bytes from the start of the file of the node, if there is one.
pub(crate) fn read_start(
    dir: &Path,
    hash: CasRef,
    limit: usize,
) -> Result<Option<Stored>, StoreError> {
    for path in places(dir, hash) {
        match uwf_durable::read_start(&path, limit) {
            Ok(None) => {}
            Ok(Some(bytes)) => return Ok(Some(Stored { path, bytes })),
            Err(FileError::NotRegular { path, kind }) => {
                let reason = Damage::NotRegular(kind);
                return Err(StoreError::Damaged { hash, path, reason });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Returns the existing files of a node: at most one for each of its paths.
pub(crate) fn files_of(dir: &Path, hash: CasRef) -> Result<Vec<(PathBuf, Metadata)>, StoreError> {
    let mut files = Vec::new();
    for path in places(dir, hash) {
        match fs::symlink_metadata(&path) {
            Ok(found) => files.push((path, found)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::io("look at", &path)(error).into()),
        }
    }
    Ok(files)
}

/// Returns the hashes of all nodes, sorted. A store that was never created has none.
pub(crate) fn list(dir: &Path) -> Result<Vec<CasRef>, StoreError> {
    let mut hashes = Vec::new();
    for dir in [dir, &dir.join(NESTED)] {
        for name in uwf_durable::names(dir)? {
            let stem = name.strip_suffix(EXTENSION);
            hashes.extend(stem.and_then(|stem| stem.parse::<CasRef>().ok()));
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// Returns the current time by the clock that dates the files of a directory. It writes a temporary file to find out.
pub(crate) fn clock_ms(dir: &Path) -> Result<i64, StoreError> {
    let written = Draft::write(dir, b"?")?.written_at()?;
    Ok(hold::ms_since_epoch(written))
}

/// Returns the temporary files that were last written before a time, in milliseconds since 1970.
pub(crate) fn left_behind(dir: &Path, before_ms: i64) -> Result<Vec<PathBuf>, StoreError> {
    let mut left = Vec::new();
    for name in uwf_durable::names(dir)? {
        let path = dir.join(&name);
        // A newer file may still have a writer, which is about to give it its name.
        if (uwf_durable::is_temporary(&name) || name.ends_with(TEMPORARY))
            && let Ok(used) = fs::symlink_metadata(&path).and_then(|found| found.modified())
            && hold::ms_since_epoch(used) < before_ms
        {
            left.push(path);
        }
    }
    Ok(left)
}

/// Checks nodes against their hashes, and replaces their files by new ones, durably.
pub(crate) fn renew_nodes(dir: &Path, hashes: &[CasRef]) -> Result<(), StoreError> {
    for &hash in hashes {
        let Stored { path, bytes } = read(dir, hash)?.ok_or(StoreError::NotFound { hash })?;
        node::check(hash, &bytes).map_err(|reason| StoreError::Damaged {
            hash,
            path: path.clone(),
            reason,
        })?;
        // Without the lock, a collector that decided to remove the old file could remove the new one.
        let _hold = hold::share(dir).ok();
        Draft::beside(&path, &bytes)?.replace_durably(&path)?;
    }
    Ok(())
}

/// Makes the content of nodes durable, then their names.
pub(crate) fn sync_nodes(dir: &Path, hashes: &[CasRef]) -> Result<(), StoreError> {
    let mut dirs = BTreeSet::new();
    for &hash in hashes {
        let path = locate(dir, hash)?.ok_or(StoreError::NotFound { hash })?;
        uwf_durable::sync_file(&path)?;
        dirs.extend(path.parent().map(Path::to_owned));
    }
    Ok(dirs.iter().try_for_each(|dir| uwf_durable::sync_dir(dir))?)
}

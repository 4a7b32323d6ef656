//! The files of checks in a folder that was made after the thread had started: they are recorded before a role works there for the
//! first time, so that a change of them is noticed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use uwf_protocol::check_files::{CheckPlace, plain};
use uwf_protocol::checks::{Checks, PinnedFile};
use uwf_storage::{LateCheckFile, RunDir, StorageError};

/// Records the files of checks as they are now, if neither the start of the thread nor an earlier call recorded them. A path
/// without a file is recorded, too: the agent may make that file.
///
/// # Errors
/// When a file cannot be read, or the record cannot be read or written.
pub(crate) fn record(
    run: &RunDir,
    checks: &Checks,
    place: &CheckPlace<'_>,
    pinned: &[PinnedFile],
) -> Result<(), StorageError> {
    let is_own = place.own.iter().any(|own| plain(own) == plain(place.cwd));
    // Without a directory of the thread, nothing is known of any file.
    if is_own || place.own.is_empty() {
        return Ok(());
    }
    let known = run.late_check_files.read()?;
    let mut files = known.clone();
    for path in checks.run.iter().flat_map(|check| check.paths()) {
        let whole = plain(&place.cwd.join(path));
        let Some(name) = whole.to_str() else {
            continue;
        };
        if place.pinned(path, pinned).is_some() || files.iter().any(|file| file.path == name) {
            continue;
        }
        files.push(LateCheckFile {
            path: name.to_owned(),
            sha256: sha256(&whole, place)?,
        });
    }
    match files.len() == known.len() {
        true => Ok(()),
        false => run.late_check_files.write(&files),
    }
}

/// Returns the files on record, as those that are recorded at the start.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn recorded(run: &RunDir) -> Result<Vec<PinnedFile>, StorageError> {
    let files = run.late_check_files.read()?.into_iter();
    let pinned = files.filter_map(|file| {
        Some(PinnedFile {
            path: file.path,
            sha256: file.sha256?,
        })
    });
    Ok(pinned.collect())
}

/// Returns the checksum of a file in the folder of the check, or in that of the thread. A folder has none, nor has an
/// argument that is no path.
fn sha256(file: &Path, place: &CheckPlace<'_>) -> Result<Option<String>, StorageError> {
    let mut folders = place.own.iter().map(PathBuf::as_path).chain([place.cwd]);
    if !folders.any(|folder| file.starts_with(plain(folder))) {
        return Ok(None);
    }
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(uwf_durable::sha256(file)?),
        Ok(_) => Ok(None),
        Err(error) if says_that_there_is_none(error.kind()) => Ok(None),
        // It may be there.
        Err(error) => Err(StorageError::io("look at", file)(error)),
    }
}

/// Tells whether an error of a look at a path says that there is no file: nothing is there, or the text is no path.
fn says_that_there_is_none(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_there_counts_as_no_file() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink("loop", temp.path().join("loop")).unwrap();
        let own = [temp.path().to_owned()];
        let place = CheckPlace {
            own: &own,
            cwd: temp.path(),
        };
        let look = |name: &str| sha256(&temp.path().join(name), &place);
        assert!(look("file").unwrap().is_some());
        let long = "x".repeat(300);
        for none in [".", "none", "file/below", "a\0b", &long] {
            assert_eq!(look(none).unwrap(), None, "{none}");
        }
        look("loop").unwrap_err();
    }
}

//! Finds workflows in the folders of a project: one by its name, or all.
//!
//! The folders are `.workflow` and `.workflows`, in the working directory and its parents up to the root of
//! the repository. Outside a repository only the working directory counts, so that nobody runs a workflow that
//! another user put into `/tmp/.workflow`.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use uwf_storage::StorageError;

use super::{looks_like_path, without_extension};

/// The stem of the file that stands for the folder around it.
pub(super) const INDEX: &str = "index";
const FOLDERS: [&str; 2] = [".workflow", ".workflows"];
const EXTENSIONS: [&str; 2] = [".yaml", ".yml"];

/// A workflow of the project. Its file was not opened: it may have mistakes, or not be a workflow at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalWorkflow {
    /// The name by which [`discover`] finds it.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Returns the file of the workflow with this name; the nearest folder wins.
///
/// # Errors
/// [`StorageError::Io`] when a folder cannot be searched.
pub fn discover(name: &str, cwd: &Path) -> Result<Option<PathBuf>, StorageError> {
    for place in places(cwd)? {
        if let Some(path) = find_in(place, name)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns every file that could be the workflow with this name, the one that [`discover`] finds first.
///
/// # Errors
/// See [`discover`].
pub fn discover_all(name: &str, cwd: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let mut found = Vec::new();
    for place in places(cwd)? {
        for path in paths_in(place, name) {
            if is_file(&path)? {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns all workflows that [`discover`] would find, the nearest folders first, sorted by name in each.
///
/// # Errors
/// [`StorageError::Io`] when a folder cannot be read.
pub fn list_local(cwd: &Path) -> Result<Vec<LocalWorkflow>, StorageError> {
    let mut seen = HashSet::new();
    let mut workflows = Vec::new();
    for place in places(cwd)? {
        for name in candidates(place)? {
            if seen.contains(&name) {
                continue;
            }
            if let Some(path) = find_in(place, &name)? {
                seen.insert(name.clone());
                workflows.push(LocalWorkflow { name, path });
            }
        }
    }
    Ok(workflows)
}

/// Returns the directories whose folders are searched, the nearest first.
pub(crate) fn places(cwd: &Path) -> Result<Vec<&Path>, StorageError> {
    let Some(owner) = metadata(cwd)?.map(|metadata| metadata.uid()) else {
        return Ok(Vec::new());
    };
    let mut places = Vec::new();
    for place in cwd.ancestors() {
        places.push(place);
        // A repository of another user, such as `/tmp/.git`, does not count.
        let git = fs::symlink_metadata(place.join(".git"));
        if git.is_ok_and(|git| git.uid() == owner) {
            return Ok(places);
        }
    }
    places.truncate(1);
    Ok(places)
}

/// Returns the workflow file with a name in the folders of a directory.
fn find_in(place: &Path, name: &str) -> Result<Option<PathBuf>, StorageError> {
    for path in paths_in(place, name) {
        if is_file(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns where the workflow file with a name may be in the folders of a directory.
fn paths_in(place: &Path, name: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if !is_name(name) {
        return paths;
    }
    for folder in FOLDERS {
        let folder = place.join(folder);
        // `index.yaml` right in the folder would be a workflow called `.workflow`.
        let flat = (name != INDEX).then(|| folder.join(name));
        for stem in flat.into_iter().chain([folder.join(name).join(INDEX)]) {
            for extension in EXTENSIONS {
                let mut path = stem.clone().into_os_string();
                path.push(extension);
                paths.push(PathBuf::from(path));
            }
        }
    }
    paths
}

fn is_file(path: &Path) -> Result<bool, StorageError> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_file()))
}

/// Returns the names that workflows in the folders of a directory may have.
fn candidates(place: &Path) -> Result<BTreeSet<String>, StorageError> {
    let mut names = BTreeSet::new();
    for folder in FOLDERS {
        let folder = place.join(folder);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => continue,
            Err(error) => return Err(StorageError::io("read", &folder)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(StorageError::io("read", &folder))?;
            if let Some(name) = entry.file_name().to_str() {
                names.insert(without_extension(name).to_owned());
            }
        }
    }
    Ok(names)
}

/// Tells whether a text can be the name of a local workflow: neither a path nor a hidden file.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && !looks_like_path(text) && !text.contains('\0')
}

/// Returns the metadata of a path, through links; `None` if nothing is there.
fn metadata(path: &Path) -> Result<Option<Metadata>, StorageError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(StorageError::io("read", path)(error)),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename
    )
}

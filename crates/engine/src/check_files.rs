//! The files that belong to checks. They are recorded when a thread starts, so that a change of them is noticed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use uwf_cas_fs::{Batch, Store};
use uwf_protocol::check_files;
use uwf_protocol::checks::{Check, PinnedFile};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_protocol::workflow::Workflow;
use uwf_thread::read_program;

use crate::EngineError;
use crate::check_error::CheckError;

/// Returns the files of the checks of a workflow, and of those that play its roles, as they are now where the checks will run: in
/// a directory, or below it. What is known already stays as it was.
///
/// # Errors
/// [`CheckError::NoFile`] if a file that a check lists cannot be read. When a workflow cannot be read.
pub(crate) fn pin(
    store: &Store,
    workflow: CasRef,
    directory: Option<&str>,
    known: &[PinnedFile],
) -> Result<Vec<PinnedFile>, EngineError> {
    let mut pinned = known.to_vec();
    let Some(directory) = directory else {
        return Ok(pinned);
    };
    for CheckOfRole { role, check, below } in checks_of(store, workflow, Path::new(directory))? {
        for path in check.paths() {
            let whole = below.join(path);
            if check_files::find(&pinned, &whole).is_some() {
                continue;
            }
            match sha256(Path::new(directory), &whole, &check) {
                Some(sha256) => pinned.push(PinnedFile {
                    path: whole.display().to_string(),
                    sha256,
                }),
                None if check.files.is_some() => {
                    return Err(CheckError::NoFile {
                        role,
                        path: path.to_owned(),
                        directory: Path::new(directory).join(below).display().to_string(),
                        check: check.name,
                    }
                    .into());
                }
                // It is no file, or one that the thread is to make.
                None => {}
            }
        }
    }
    Ok(pinned)
}

/// Returns what a child that works in a directory knows of the files of its parent, which works in another one or the same.
pub(crate) fn known_to_child(
    files: &[PinnedFile],
    own: &Path,
    directory: &Path,
) -> Vec<PinnedFile> {
    match directory.strip_prefix(own) {
        Ok(below) if below.as_os_str().is_empty() => files.to_vec(),
        Ok(below) => check_files::below(files, below),
        Err(_) => Vec::new(),
    }
}

/// Tells whether a file is as it was recorded.
pub(crate) fn is_unchanged(pinned: &PinnedFile, file: &Path) -> bool {
    let found = uwf_durable::sha256(file);
    found.is_ok_and(|found| found.as_deref() == Some(&pinned.sha256))
}

/// Puts the schema that a start with such files needs, and returns its type; `None` without files.
pub(crate) fn put_schema(
    batch: &mut Batch<'_>,
    start: &StartNode,
    now_ms: i64,
) -> Result<Option<CasRef>, EngineError> {
    if start.check_files.is_empty() {
        return Ok(None);
    }
    let schema = schemas::start_node_with_files();
    Ok(Some(batch.put(schemas::META, &schema, now_ms)?))
}

/// Returns the checksum of a file of a check. A file that only the command names counts if it is inside of the directory of the
/// thread.
fn sha256(directory: &Path, path: &Path, check: &Check) -> Option<String> {
    let file = directory.join(path);
    let is_inside = check_files::plain(&file).starts_with(check_files::plain(directory));
    if check.files.is_none() && !is_inside {
        return None;
    }
    // The file is read as the check reads it: a link on the way leads both to the same file.
    uwf_durable::sha256(&file).ok().flatten()
}

/// A check of a role, and where it runs.
struct CheckOfRole {
    role: RoleName,
    check: Check,
    /// The way from the directory of the thread.
    below: PathBuf,
}

/// Returns the checks of a workflow and of those that play its roles, once for each place where they run.
fn checks_of(
    store: &Store,
    workflow: CasRef,
    directory: &Path,
) -> Result<Vec<CheckOfRole>, EngineError> {
    let mut workflows = vec![(workflow, PathBuf::new())];
    let mut checks = Vec::new();
    let mut next = 0;
    while let Some((hash, below)) = workflows.get(next).cloned() {
        next += 1;
        let Program::Graph(workflow) = read_program(store, hash)? else {
            continue;
        };
        for (name, role) in &workflow.roles {
            for below in places_of(&workflow, name, (directory, &below)) {
                let of_role = role.checks.iter().flat_map(|checks| &checks.run);
                checks.extend(of_role.map(|check| CheckOfRole {
                    role: name.clone(),
                    check: check.clone(),
                    below: below.clone(),
                }));
                for child in role.work.workflows() {
                    let child = (*child, below.clone());
                    if !workflows.contains(&child) {
                        workflows.push(child);
                    }
                }
            }
        }
    }
    Ok(checks)
}

/// Returns where a role works in a thread that works below the directory. A location that is not known yet, or has no folder yet,
/// is taken for a copy of the thread's own.
fn places_of(
    workflow: &Workflow,
    role: &RoleName,
    (directory, below): (&Path, &Path),
) -> BTreeSet<PathBuf> {
    let mut places: BTreeSet<PathBuf> = workflow
        .locations(role)
        .map(|location| {
            let known = location.filter(|text| !text.is_empty() && !text.contains("{{"));
            let place = known.map(|location| below.join(location));
            let place = place.filter(|place| directory.join(place).is_dir());
            place.map_or_else(|| below.to_owned(), |place| within(directory, place))
        })
        .collect();
    if places.is_empty() {
        places.insert(below.to_owned());
    }
    places
}

/// Returns a place by its way from the directory, if it lies below it.
fn within(directory: &Path, place: PathBuf) -> PathBuf {
    let plain = check_files::plain(&place);
    match plain.strip_prefix(check_files::plain(directory)) {
        Ok(below) => below.to_owned(),
        Err(_) => place,
    }
}

//! The files that belong to checks. They are recorded when a thread starts, so that a change of them is noticed.

use std::path::{Component, Path};

use uwf_cas_fs::{Batch, Store};
use uwf_protocol::checks::{Check, PinnedFile};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_thread::read_program;

use crate::EngineError;
use crate::check_error::CheckError;

/// Returns the files of the checks of a workflow, and of those that play its roles, as they are now in a directory. What is
/// known already stays as it was.
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
    for (role, check) in checks_of(store, workflow)? {
        for path in check.paths() {
            if pinned.iter().any(|one| one.path == path) {
                continue;
            }
            match sha256(Path::new(directory), path, &check) {
                Some(sha256) => pinned.push(PinnedFile {
                    path: path.to_owned(),
                    sha256,
                }),
                None if check.files.is_some() => {
                    return Err(CheckError::NoFile {
                        role,
                        path: path.to_owned(),
                        directory: directory.to_owned(),
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

/// Tells whether a file is in a directory as it was recorded.
pub(crate) fn is_unchanged(file: &PinnedFile, directory: &Path) -> bool {
    let found = uwf_durable::sha256(&directory.join(&file.path));
    found.is_ok_and(|found| found.as_deref() == Some(&file.sha256))
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

/// Returns the checksum of a file of a check. A file that only the command names counts if it is inside of the directory.
fn sha256(directory: &Path, path: &str, check: &Check) -> Option<String> {
    let given = Path::new(path);
    let is_inside = match given.is_absolute() {
        true => given.starts_with(directory),
        false => true,
    };
    let leads_out = given.components().any(|part| part == Component::ParentDir);
    if check.files.is_none() && (!is_inside || leads_out) {
        return None;
    }
    uwf_durable::sha256(&directory.join(given)).ok().flatten()
}

/// Returns the checks of a workflow and of those that play its roles.
fn checks_of(store: &Store, workflow: CasRef) -> Result<Vec<(RoleName, Check)>, EngineError> {
    let mut workflows = vec![workflow];
    let mut checks = Vec::new();
    let mut next = 0;
    while let Some(hash) = workflows.get(next).copied() {
        next += 1;
        let Program::Graph(workflow) = read_program(store, hash)? else {
            continue;
        };
        for (name, role) in &workflow.roles {
            let of_role = role.checks.iter().flat_map(|checks| &checks.run);
            checks.extend(of_role.map(|check| (name.clone(), check.clone())));
            for child in role.work.workflows() {
                if !workflows.contains(child) {
                    workflows.push(*child);
                }
            }
        }
    }
    Ok(checks)
}

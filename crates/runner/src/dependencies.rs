//! The files that a step depends on: whether they are there, and what the prompt says about them.

use uwf_pipeline::course::Dependencies;
use uwf_pipeline::{Failure, Inject};

use crate::Workspace;
use crate::attempt::Surroundings;
use crate::environment::need_secrets;

/// How much is said about the files in a prompt, in bytes.
const MAX_INJECTED: usize = 256 * 1024;

/// Checks that what a step needs is there that runs no program of its own, and returns the files that it depends on.
///
/// # Errors
/// When secrets or files are missing, without secrets in the error.
pub fn needs(
    around: &Surroundings<'_>,
    secrets: &[String],
    depends_on: &Dependencies,
) -> Result<Vec<String>, Failure> {
    let found =
        need_secrets(secrets, around.ours).and_then(|()| find(around.workspace, depends_on));
    found.map_err(|failure| failure.masked(around.masks))
}

/// Finds the files that a step depends on, sorted and each once.
///
/// # Errors
/// When patterns that must match do not, with all of them.
pub(crate) fn find(
    workspace: &Workspace,
    depends_on: &Dependencies,
) -> Result<Vec<String>, Failure> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for glob in &depends_on.required {
        let found = workspace.paths(glob)?;
        if found.is_empty() {
            missing.push(glob.clone());
        }
        files.extend(found);
    }
    if !missing.is_empty() {
        return Err(Failure::failed_deps(&missing));
    }
    for glob in &depends_on.optional {
        files.extend(workspace.paths(glob)?);
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// Returns what the prompt says about the files, before its own text.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn injected(
    workspace: &Workspace,
    files: &[String],
    inject: Inject,
) -> Result<String, Failure> {
    if files.is_empty() {
        return Ok(String::new());
    }
    let mut text = match inject {
        Inject::None => return Ok(String::new()),
        Inject::List => list(files),
        Inject::Content => contents(workspace, files)?,
    };
    if text.len() > MAX_INJECTED {
        text.truncate(text.floor_char_boundary(MAX_INJECTED));
        text.push_str("\n[cut: the files are larger than 256 KiB together]\n");
    }
    text.push('\n');
    Ok(text)
}

fn list(files: &[String]) -> String {
    let lines = files.iter().map(|file| format!("- {file}\n"));
    std::iter::once("The files for this task:\n".to_owned())
        .chain(lines)
        .collect()
}

/// Returns the contents of the files, as far as they can be shown. What is no file, such as a folder, is only named.
fn contents(workspace: &Workspace, files: &[String]) -> Result<String, Failure> {
    let mut text = String::new();
    for file in files {
        if text.len() > MAX_INJECTED {
            break;
        }
        text.push_str(&format!("=== {file} ===\n"));
        if !workspace.is_file(file) {
            continue;
        }
        let content = workspace.read(file, MAX_INJECTED)?;
        text.push_str(&String::from_utf8_lossy(&content));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

//! Resolving a workflow reference: by hash, by file, in the project's folder, then in the registry.

use std::path::{Path, PathBuf};

use uwf_config::project;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::State;
use uwf_thread::read_program;
use uwf_util::suggest;

use crate::{EngineError, Site, register};

/// Where a workflow was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It was named by its hash.
    Hash,
    /// In a file.
    File(PathBuf),
    /// In the registry.
    Registry,
}

/// A workflow that was found and is in the store.
pub(crate) struct Found {
    pub(crate) hash: CasRef,
    pub(crate) origin: Origin,
    /// The warnings about its file.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The other workflow that is registered by the name, if a project's file was chosen in its place.
    pub(crate) hidden: Option<HiddenWorkflow>,
}

/// A registered workflow that a name did not choose: a file of the project's folder has the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenWorkflow {
    /// The name that was given.
    pub name: String,
    /// The file that was chosen.
    pub file: PathBuf,
    /// The registered workflow of that name.
    pub registered: CasRef,
}

/// Finds a workflow. A file is checked and stored, but not registered.
pub(crate) fn resolve(site: &Site, text: &str) -> Result<Found, EngineError> {
    let text = text.trim();
    if let Ok(hash) = text.parse::<CasRef>() {
        site.store.get(hash)?;
        read_program(&site.store, hash)?;
        return Ok(Found {
            hash,
            origin: Origin::Hash,
            warnings: Vec::new(),
            hidden: None,
        });
    }
    if let Some(file) = find_file(site.env.cwd(), text)? {
        let checked = register::check_file(site, &file)?;
        let stored = register::store(site, checked)?;
        return Ok(Found {
            hidden: hidden(site, text, &file, stored.hash)?,
            hash: stored.hash,
            origin: Origin::File(file),
            warnings: stored.warnings,
        });
    }
    let registered = State::new(&site.root).workflows()?;
    match registered.get(text) {
        Some(hash) => {
            read_program(&site.store, *hash)?;
            Ok(Found {
                hash: *hash,
                origin: Origin::Registry,
                warnings: Vec::new(),
                hidden: None,
            })
        }
        None => Err(EngineError::UnknownWorkflow {
            name: text.to_owned(),
            near: nearest(site, text, registered.into_keys())?,
        }),
    }
}

/// Returns the error that a name is not in the registry, which has these names.
pub(crate) fn not_registered(name: &str, registered: impl Iterator<Item = String>) -> EngineError {
    let known: Vec<String> = registered.collect();
    EngineError::UnknownWorkflow {
        name: name.to_owned(),
        near: suggest::nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
    }
}

/// Returns the nearest name for an unknown workflow: a file in our directory if only its path is missing, else a workflow of
/// the project or the registry.
pub(crate) fn nearest(
    site: &Site,
    word: &str,
    registered: impl Iterator<Item = String>,
) -> Result<Option<String>, EngineError> {
    match file_of_name(site.env.cwd(), word) {
        Some(file) => Ok(Some(file)),
        None => nearest_name(site, word, registered),
    }
}

/// Returns the path, from a folder, of the file there that is called like a workflow.
pub(crate) fn file_of_name(folder: &Path, name: &str) -> Option<String> {
    let files = ["yaml", "yml"].map(|ending| format!("{name}.{ending}"));
    let is_there = |file: &&String| folder.join(file.as_str()).is_file();
    files.iter().find(is_there).map(|file| format!("./{file}"))
}

/// Returns the nearest name of a workflow of the project or the registry.
pub(crate) fn nearest_name(
    site: &Site,
    word: &str,
    registered: impl Iterator<Item = String>,
) -> Result<Option<String>, EngineError> {
    let local = project::list_local(site.env.cwd())?;
    let known: Vec<String> = local
        .into_iter()
        .map(|found| found.name)
        .chain(registered)
        .collect();
    Ok(suggest::nearest(word, known.iter().map(String::as_str)).map(str::to_owned))
}

/// Returns the file that the text names, directly or through the folder of the project around a folder.
pub(crate) fn find_file(folder: &Path, text: &str) -> Result<Option<PathBuf>, EngineError> {
    if project::looks_like_path(text) {
        return Ok(Some(Path::new(text).to_owned()));
    }
    Ok(project::discover(text, folder)?)
}

/// Returns the registered workflow that a file of the project's folder hides, if it is another one.
fn hidden(
    site: &Site,
    name: &str,
    file: &Path,
    chosen: CasRef,
) -> Result<Option<HiddenWorkflow>, EngineError> {
    if project::looks_like_path(name) {
        return Ok(None);
    }
    let registered = State::new(&site.root).workflows()?.get(name).copied();
    let other = registered.filter(|other| *other != chosen);
    Ok(other.map(|registered| HiddenWorkflow {
        name: name.to_owned(),
        file: file.to_owned(),
        registered,
    }))
}

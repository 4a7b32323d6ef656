//! Finding the workflow that a person means: a hash, a file, a project's folder, the registry; in that order.

use std::path::{Path, PathBuf};

use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{State, project};
use uwf_util::suggest;

use crate::{Engine, EngineError, register, thread};

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
    /// What is probably not meant in its file.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Finds a workflow; one that is found as a file is checked and stored, but not registered.
pub(crate) fn resolve(engine: &Engine, text: &str) -> Result<Found, EngineError> {
    let text = text.trim();
    if let Ok(hash) = text.parse::<CasRef>() {
        engine.store.get(hash)?;
        thread::load_workflow(&engine.store, hash)?;
        return Ok(Found {
            hash,
            origin: Origin::Hash,
            warnings: Vec::new(),
        });
    }
    if let Some(file) = find_file(engine, text)? {
        let checked = register::check_file(engine, &file)?;
        let stored = register::store(engine, checked)?;
        note_hidden(engine, text, &file, stored.hash)?;
        return Ok(Found {
            hash: stored.hash,
            origin: Origin::File(file),
            warnings: stored.warnings,
        });
    }
    let registered = State::new(&engine.root).workflows()?;
    match registered.get(text) {
        Some(hash) => {
            thread::load_workflow(&engine.store, *hash)?;
            Ok(Found {
                hash: *hash,
                origin: Origin::Registry,
                warnings: Vec::new(),
            })
        }
        None => Err(EngineError::UnknownWorkflow {
            name: text.to_owned(),
            near: nearest(engine, text, registered.into_keys())?,
        }),
    }
}

/// Returns what a word that names no workflow was probably meant to be: a file beside us that lacks only its path, or
/// a workflow of the project or the registry.
fn nearest(
    engine: &Engine,
    word: &str,
    registered: impl Iterator<Item = String>,
) -> Result<Option<String>, EngineError> {
    let files = ["yaml", "yml"].map(|ending| format!("{word}.{ending}"));
    let is_there = |file: &&String| engine.env.cwd().join(file.as_str()).is_file();
    if let Some(file) = files.iter().find(is_there) {
        return Ok(Some(format!("./{file}")));
    }
    let local = project::list_local(engine.env.cwd())?;
    let known: Vec<String> = local
        .into_iter()
        .map(|found| found.name)
        .chain(registered)
        .collect();
    Ok(suggest::nearest(word, known.iter().map(String::as_str)).map(str::to_owned))
}

/// Returns the file that the text names, directly or through a project's folder.
fn find_file(engine: &Engine, text: &str) -> Result<Option<PathBuf>, EngineError> {
    if project::looks_like_path(text) {
        return Ok(Some(Path::new(text).to_owned()));
    }
    Ok(project::discover(text, engine.env.cwd())?)
}

/// Says that a file of the project's folder was chosen by a name that is also registered, for another workflow.
fn note_hidden(
    engine: &Engine,
    name: &str,
    file: &Path,
    chosen: CasRef,
) -> Result<(), EngineError> {
    if project::looks_like_path(name) {
        return Ok(());
    }
    let registered = State::new(&engine.root).workflows()?;
    if let Some(other) = registered.get(name).filter(|other| **other != chosen) {
        let file = file.display();
        (engine.notice)(&format!(
            "`{file}` is used; `{name}` is also registered, as another workflow: `{other}` names that one"
        ));
    }
    Ok(())
}

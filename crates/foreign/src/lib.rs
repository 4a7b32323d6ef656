//! Reads the state that the reference program keeps beside its nodes, from the database of its newer versions and from the
//! files of its older ones, and returns it as plain data.
//!
//! The source is never changed. This is the only crate that knows SQLite. It does not know nodes: whether a head is in the
//! store is for the caller to find out.

mod copy;
mod database;
mod error;
mod layout;
mod state;

pub use error::ForeignError;
pub use state::{End, ForeignState, ForeignThread};

use std::path::{Path, PathBuf};

use layout::Layout;

/// What was found in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSource {
    /// The files that were read, the newest form first.
    pub read: Vec<PathBuf>,
    /// The folder of the nodes.
    pub nodes: PathBuf,
    /// What the files say. Where they differ, the newest form counts.
    pub state: ForeignState,
}

/// Reads the state that belongs to a folder: a storage root, or a store with a database. `nodes` names the folder of the
/// nodes, if it is neither the folder itself nor `cas` in it. A relative path starts at the working directory.
///
/// If our own program works in the folder, only the database and the renamed files count: the others are ours.
///
/// # Errors
/// When there is no state, or only ours, or a file of it cannot be read. Then nothing of it is returned.
pub fn read(dir: &Path, nodes: Option<&Path>) -> Result<ForeignSource, ForeignError> {
    let layout = Layout::of(dir, nodes)?;
    let mut found = ForeignSource {
        read: Vec::new(),
        nodes: layout.nodes.clone(),
        state: ForeignState::default(),
    };
    for path in &layout.databases {
        if let Some(state) = database::read(path)? {
            found.take(path, state);
        }
    }
    let own_record = layout.own_record()?;
    let files = own_record.is_none().then_some(&layout.files);
    for files in files.into_iter().chain([&layout.renamed]) {
        for (path, state) in files.read()? {
            found.take(&path, state);
        }
    }
    let dir = dir.to_owned();
    match own_record {
        _ if !found.read.is_empty() => Ok(found),
        Some(record) => Err(ForeignError::Ours { dir, record }),
        None => Err(ForeignError::Nothing {
            dir,
            looked_for: layout.all(),
        }),
    }
}

impl ForeignSource {
    fn take(&mut self, path: &Path, older: ForeignState) {
        self.read.push(path.to_owned());
        self.state.add_older(older);
    }
}

//! Where the reference program keeps its state: in three files under its root first, later in a database beside the nodes.
//! When it moves a file into the database, it renames the file to `<name>.migrated`.

use std::path::{Path, PathBuf};

use uwf_storage::{Root, elsewhere};

use crate::error::ForeignError;
use crate::state::{End, ForeignState};

const DATABASE: &str = "variables.db";
/// The folder of the nodes in a root.
const NODES: &str = "cas";
/// What is added to the name of a file that is in the database now.
const MIGRATED: &str = ".migrated";

/// The places that may have a state, the newest form first.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The folder of the nodes.
    pub(crate) nodes: PathBuf,
    pub(crate) databases: Vec<PathBuf>,
    /// Those that the program still reads.
    pub(crate) files: Files,
    /// Those that it has renamed.
    pub(crate) renamed: Files,
    /// The folder, as a root of ours.
    root: Root,
}

/// The files of one generation.
#[derive(Debug)]
pub(crate) struct Files {
    heads: PathBuf,
    history: PathBuf,
    /// The registry has two names. The newer one comes first.
    registries: [PathBuf; 2],
}

impl Layout {
    /// Tells where to look in a folder.
    pub(crate) fn of(dir: &Path, nodes: Option<&Path>) -> Result<Self, ForeignError> {
        for folder in [Some(dir), nodes].into_iter().flatten() {
            if !folder.is_dir() {
                return Err(ForeignError::NoFolder(folder.to_owned()));
            }
        }
        let inner = dir.join(NODES);
        let nodes = match nodes {
            Some(nodes) => nodes.to_owned(),
            None if inner.is_dir() => inner,
            None => dir.to_owned(),
        };
        let mut databases = vec![nodes.join(DATABASE), dir.join(DATABASE)];
        databases.dedup();
        Ok(Self {
            nodes,
            databases,
            files: Files::of(dir, ""),
            renamed: Files::of(dir, MIGRATED),
            root: Root::at(dir.to_owned()),
        })
    }

    /// Returns a record that shows that our program works in the folder, if there is one. Then the files there are ours: they
    /// have more than the other program knows, such as steps that were done again.
    pub(crate) fn own_record(&self) -> Result<Option<PathBuf>, ForeignError> {
        if let Some(record) = self.root.own_record() {
            return Ok(Some(record));
        }
        let history = elsewhere::history(&self.files.history)?;
        let is_ours = history
            .is_some_and(|history| !history.replaced.is_empty() || !history.removed.is_empty());
        Ok(is_ours.then(|| self.files.history.clone()))
    }

    /// Returns all files that may have a state.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let mut all = self.databases.clone();
        for files in [&self.files, &self.renamed] {
            all.extend([&files.heads, &files.history].map(Clone::clone));
            all.extend(files.registries.clone());
        }
        all
    }
}

impl Files {
    fn of(dir: &Path, ending: &str) -> Self {
        let file = |name: &str| dir.join(format!("{name}{ending}"));
        Self {
            heads: file("threads.yaml"),
            history: file("history.jsonl"),
            registries: ["workflows.yaml", "registry.yaml"].map(file),
        }
    }

    /// Returns the files that exist with what they say.
    pub(crate) fn read(&self) -> Result<Vec<(PathBuf, ForeignState)>, ForeignError> {
        let mut found = Vec::new();
        if let Some(heads) = elsewhere::heads(&self.heads)? {
            let mut state = ForeignState::default();
            for (thread, head) in heads {
                state.add_active(thread, head);
            }
            found.push((self.heads.clone(), state));
        }
        if let Some(history) = elsewhere::history(&self.history)? {
            let mut state = ForeignState::default();
            for record in history.records {
                let end = End {
                    completed_at: record.completed_at,
                    reason: record.reason,
                    workflow: Some(record.workflow),
                };
                state.add_ended(record.thread, record.head, end);
            }
            found.push((self.history.clone(), state));
        }
        for path in &self.registries {
            if let Some(workflows) = elsewhere::workflows(path)? {
                let state = ForeignState {
                    workflows: workflows.into_iter().collect(),
                    ..ForeignState::default()
                };
                found.push((path.clone(), state));
            }
        }
        Ok(found)
    }
}

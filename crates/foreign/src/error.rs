//! Why the state of another program cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use uwf_durable::FileError;
use uwf_storage::StorageError;

/// Why the state of another program cannot be read. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// There is no folder at a path.
    #[error("`{}` is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// The folder has no state.
    #[error("`{}` has no threads and no workflows: none of these files is there: {}", dir.display(), listed(looked_for, dir))]
    Nothing {
        /// The folder.
        dir: PathBuf,
        /// The files that may have a state.
        looked_for: Vec<PathBuf>,
    },
    /// The state of the folder is that of our own program, which has more than is read here.
    #[error(
        "`{}` is a root of this program, as `{}` shows: what only this program records would be lost", dir.display(), record.display()
    )]
    Ours {
        /// The folder.
        dir: PathBuf,
        /// A record that only our program makes.
        record: PathBuf,
    },
    /// The nodes of a state are somewhere else.
    #[error("`{}` has no nodes", .0.display())]
    NoNodes(PathBuf),
    /// A file is not the database of the reference program, or is damaged.
    #[error("the database `{}` cannot be read: {problem}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A variable of the database cannot be understood.
    #[error("the database `{}` has a variable `{name}` that cannot be understood: {problem}", path.display())]
    Variable {
        /// The file.
        path: PathBuf,
        /// The name of the variable.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// The database changed while it was copied.
    #[error("another program writes to the database `{}`", .0.display())]
    InUse(PathBuf),
    /// The database cannot be copied.
    #[error("cannot copy the database `{}` to a folder for temporary files", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the state cannot be read, or has a line that cannot be understood.
    #[error(transparent)]
    File(#[from] StorageError),
}

impl From<FileError> for ForeignError {
    fn from(error: FileError) -> Self {
        Self::File(error.into())
    }
}

/// Names files, those in the folder without its path.
fn listed(paths: &[PathBuf], dir: &Path) -> String {
    let shown = |path: &PathBuf| {
        let shown = path.strip_prefix(dir).unwrap_or(path);
        format!("`{}`", shown.display())
    };
    let paths = paths.iter().map(shown);
    paths.collect::<Vec<_>>().join(", ")
}

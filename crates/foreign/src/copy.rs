//! A copy of a database. SQLite makes files beside a database even if it only reads it, and a database whose program was
//! killed must be recovered first. So the copy is opened, and the original is only read.
//!
//! `immutable=1` would open the original without making files. But then SQLite ignores the log beside the database, which
//! has what was written last.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;
use uwf_storage::elsewhere::{self, LARGEST};

use crate::error::ForeignError;

/// The endings of the files of a database: itself, and the logs that a killed program leaves.
const ENDINGS: [&str; 3] = ["", "-wal", "-journal"];

/// A copy, which is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct DatabaseCopy {
    dir: TempDir,
}

/// Size and time of a file, if it exists.
type Look = Option<(u64, Option<SystemTime>)>;

impl DatabaseCopy {
    /// Copies the database at a path; `None` if there is none.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, ForeignError> {
        let cannot = |source| ForeignError::Copy {
            path: path.to_owned(),
            source,
        };
        let before = look_at(path);
        let copy = Self {
            dir: tempfile::Builder::new()
                .prefix("uwf-database-")
                .tempdir()
                .map_err(cannot)?,
        };
        for ending in ENDINGS {
            let Some(from) = elsewhere::open(&with_ending(path, ending))? else {
                if ending.is_empty() {
                    return Ok(None);
                }
                continue;
            };
            let mut to = uwf_durable::create(&with_ending(&copy.path(), ending))?;
            std::io::copy(&mut from.take(LARGEST), &mut to).map_err(cannot)?;
        }
        if look_at(path) != before {
            return Err(ForeignError::InUse(path.to_owned()));
        }
        Ok(Some(copy))
    }

    /// Returns the path of the copy.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("copy.db")
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

fn look_at(path: &Path) -> [Look; 3] {
    ENDINGS.map(|ending| {
        let found = fs::metadata(with_ending(path, ending)).ok()?;
        Some((found.len(), found.modified().ok()))
    })
}

//! What is in place of our files in the folder of a run. A program of a step may have put it there. It gets another name, and
//! is never removed: somebody may need it.

use std::path::{Path, PathBuf};

use super::{CLAIMS, LOGS, RunRoot, STATE, THREAD, WORKFLOW};
use crate::StorageError;

/// How the names of logs of steps end.
const STEP_LOGS: [&str; 3] = [".stdout", ".stderr", ".prompt.txt"];

/// Something that was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedAside {
    /// Its name before, which is one of our names.
    pub from: PathBuf,
    /// What it is.
    pub kind: &'static str,
    /// Its name now.
    pub to: PathBuf,
}

impl RunRoot {
    /// Renames everything that is in place of a file or a folder of ours: links, and what is of another kind. The caller is the
    /// only one that works on the run.
    ///
    /// # Errors
    /// See [`create`](Self::create). Nothing is done behind a link in place of the folder of the run.
    pub fn move_aside(&self) -> Result<Vec<MovedAside>, StorageError> {
        uwf_durable::refuse_link(self.path())?;
        let mut moved = Vec::new();
        for name in [STATE, THREAD, WORKFLOW, CLAIMS] {
            moved.extend(aside_unless_file(&self.path().join(name))?);
        }
        let logs = self.path().join(LOGS);
        let other = kind_of(&logs).filter(|kind| *kind != FOLDER);
        moved.extend(other.map(|kind| aside(&logs, kind)).transpose()?);
        let mut names = uwf_durable::names(&logs)?;
        names.sort_unstable();
        for name in names {
            let log = logs.join(&name);
            if log == self.log_file() || STEP_LOGS.iter().any(|ending| name.ends_with(ending)) {
                moved.extend(aside_unless_file(&log)?);
            }
        }
        Ok(moved)
    }
}

const FOLDER: &str = "a folder";
const FILE: &str = "a file";

/// Returns what has a name; `None` if nothing has it. No link is followed.
fn kind_of(path: &Path) -> Option<&'static str> {
    let found = path.symlink_metadata().ok()?.file_type();
    Some(if found.is_symlink() {
        "a symbolic link"
    } else if found.is_dir() {
        FOLDER
    } else if found.is_file() {
        FILE
    } else {
        "no regular file"
    })
}

fn aside_unless_file(path: &Path) -> Result<Option<MovedAside>, StorageError> {
    let other = kind_of(path).filter(|kind| *kind != FILE);
    other.map(|kind| aside(path, kind)).transpose()
}

/// Gives a file the first name that is free: its own with `.aside` behind it, then with a number.
fn aside(path: &Path, kind: &'static str) -> Result<MovedAside, StorageError> {
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2..).map(|number| format!("{own}.aside.{number}"));
    let to = std::iter::once(format!("{own}.aside"))
        .chain(numbered)
        .map(|name| path.with_file_name(name))
        .find(|to| to.symlink_metadata().is_err())
        .expect("the numbers do not end");
    uwf_durable::move_file(path, &to)?;
    Ok(MovedAside {
        from: path.to_owned(),
        kind,
        to,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_is_in_place_of_our_files_gets_another_name() {
        let temp = tempfile::tempdir().unwrap();
        let root = RunRoot::at(temp.path().join("r"));
        root.create().unwrap();
        fs::write(root.path().join(THREAD), "ours").unwrap();
        fs::create_dir(root.path().join("theirs")).unwrap();
        fs::create_dir(root.path().join("logs/theirs")).unwrap();
        fs::write(root.log("A.stdout"), "ours").unwrap();
        assert!(root.move_aside().unwrap().is_empty());
        fs::create_dir(root.log("A.stderr")).unwrap();
        symlink("/nowhere", root.log_file()).unwrap();
        symlink("/nowhere", root.state_file()).unwrap();
        let moved = root.move_aside().unwrap();
        let moved: Vec<_> = moved
            .iter()
            .map(|it| (it.from.file_name().unwrap().to_str().unwrap(), it.kind))
            .collect();
        let expected = [
            (STATE, "a symbolic link"),
            ("A.stderr", FOLDER),
            ("orchestrator.log", "a symbolic link"),
        ];
        assert_eq!(moved, expected);
        fs::create_dir(root.log("A.stderr")).unwrap();
        let again = root.move_aside().unwrap();
        assert_eq!(again[0].to, root.log("A.stderr.aside.2"));
        fs::rename(root.path().join(LOGS), temp.path().join("logs")).unwrap();
        fs::write(root.path().join(LOGS), "").unwrap();
        assert_eq!(root.move_aside().unwrap()[0].kind, FILE);
        root.create().unwrap();
    }
}

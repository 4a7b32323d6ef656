//! A workspace in a temporary folder, with a folder beside it that no path may reach.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;
use uwf_runner::Workspace;

/// The folders of a test.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) workspace: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["inside/closed", "outside", "logs"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let closed = [dir.path().join("inside/closed")];
        let workspace = Workspace::open(&dir.path().join("inside"), &closed).unwrap();
        Self { dir, workspace }
    }

    /// Returns a path in the workspace.
    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.dir.path().join("inside").join(path)
    }

    /// Returns a path beside the workspace.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join("outside").join(path)
    }

    /// Returns the path of a log.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join("logs").join(name)
    }

    /// Writes a file in the workspace, and makes its folders.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads a file in the workspace.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).unwrap()
    }

    /// Makes a link in the workspace.
    pub(crate) fn link(&self, path: &str, target: impl Into<PathBuf>) {
        symlink(target.into(), self.inside(path)).unwrap();
    }

    /// Returns the names in a folder of the workspace, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        names(self.inside(path))
    }

    /// Returns the names beside the workspace.
    pub(crate) fn names_outside(&self) -> Vec<String> {
        names(self.outside(""))
    }
}

fn names(dir: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

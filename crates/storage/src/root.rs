//! The storage root: which directory it is, and the paths below it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use uwf_durable::FileLock;
use uwf_protocol::ids::ThreadId;

use crate::{Env, RunDir, SharedFile, SharedFolder, StorageError};

/// How much disk space is reserved for the nodes of steps, in bytes.
const ROOM: u64 = 1024 * 1024;

/// The directory in which the program keeps everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// Finds the root: the flag, `UWF_STORAGE_ROOT`, `WORKFLOW_STORAGE_ROOT`, else `.uwf` in the home
    /// directory. A relative path starts at the working directory. Nothing on the disk is touched.
    ///
    /// # Errors
    /// [`StorageError::EmptyRoot`] for an empty flag, [`StorageError::NoHome`] when nothing names a root.
    pub fn resolve(flag: Option<&Path>, env: &Env) -> Result<Self, StorageError> {
        let named = flag.map(Path::as_os_str).or_else(|| {
            env.var_os("UWF_STORAGE_ROOT")
                .or_else(|| env.var_os("WORKFLOW_STORAGE_ROOT"))
        });
        match named {
            Some(path) if path.is_empty() => Err(StorageError::EmptyRoot),
            Some(path) => Ok(Self::at(absolute(path, env))),
            None => {
                let home = env.home().ok_or(StorageError::NoHome)?;
                Ok(Self::at(home.join(".uwf")))
            }
        }
    }

    /// Returns the root at this path, which should be absolute.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory with mode 0700, if it is not there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn create(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::create_dir(&self.path)?)
    }

    /// Returns the directory of the nodes: `OCAS_DIR`, else `cas` under the root.
    #[must_use]
    pub fn cas_dir(&self, env: &Env) -> PathBuf {
        env.var_os("OCAS_DIR")
            .map_or_else(|| self.path.join("cas"), |path| absolute(path, env))
    }

    /// Returns the file of the configuration.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.path.join("config.yaml")
    }

    /// Returns the file of the configs of projects that the user trusts.
    #[must_use]
    pub fn trust_file(&self) -> PathBuf {
        self.path.join("trust.json")
    }

    /// Returns the file with the variables for agents and model calls.
    #[must_use]
    pub fn env_file(&self) -> PathBuf {
        self.path.join(".env")
    }

    /// Returns the file of the active threads.
    #[must_use]
    pub fn threads_file(&self) -> PathBuf {
        self.path.join("threads.yaml")
    }

    /// Returns the file of the threads that ended.
    #[must_use]
    pub fn history_file(&self) -> PathBuf {
        self.path.join("history.jsonl")
    }

    /// Returns the file that collects unfinished lines of the history.
    pub(crate) fn torn_history_file(&self) -> PathBuf {
        self.path.join("history.torn")
    }

    /// Returns the file of the workflows that have a name.
    #[must_use]
    pub fn registry_file(&self) -> PathBuf {
        self.path.join("registry.yaml")
    }

    /// Returns the file of what the names of workflows stood for.
    #[must_use]
    pub fn registry_history_file(&self) -> PathBuf {
        self.path.join("registry.history.jsonl")
    }

    /// Returns the file of the names and labels of threads.
    #[must_use]
    pub fn labels_file(&self) -> PathBuf {
        self.path.join("labels.jsonl")
    }

    /// Returns the registry of other programs.
    pub(crate) fn foreign_registry_file(&self) -> PathBuf {
        self.path.join("workflows.yaml")
    }

    /// Reserves disk space, so that a step that cost money can be written even if the disk fills up meanwhile. As much must
    /// be free beside it, for what the agent writes until its step is finished.
    ///
    /// # Errors
    /// [`StorageError::Io`], above all when the disk is full.
    pub fn set_room_aside(&self) -> Result<(), StorageError> {
        uwf_durable::set_aside(&self.room_file(), ROOM)?;
        Ok(uwf_durable::need_free(&self.path, ROOM)?)
    }

    /// Does a write that must not be lost. On a full disk, it is done again with the reserved space.
    ///
    /// # Errors
    /// Those of the write.
    pub fn with_room<T, E>(
        &self,
        is_of_full_disk: impl Fn(&E) -> bool,
        write: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        write().or_else(|error| {
            if !is_of_full_disk(&error) {
                return Err(error);
            }
            uwf_durable::give_back(&self.room_file());
            write()
        })
    }

    fn room_file(&self) -> PathBuf {
        self.path.join("locks").join("room")
    }

    /// Waits for the lock of the state and the configuration, the files that do not belong to one thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn lock_state(&self) -> Result<FileLock, StorageError> {
        let file = self.path.join("locks").join("state.lock");
        Ok(FileLock::acquire(&file)?)
    }

    /// Waits until no other call removes threads.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn removals_turn(&self) -> Result<FileLock, StorageError> {
        let file = self.path.join("locks").join("removals");
        Ok(FileLock::acquire(&file)?)
    }

    /// Returns the file of the [seal](crate::seal::Seal).
    pub(crate) fn seal_file(&self) -> PathBuf {
        self.path.join("locks").join("state.seal")
    }

    /// Returns the record of the threads that were used last.
    pub(crate) fn last_used_file(&self) -> PathBuf {
        self.path.join("locks").join("last-used")
    }

    /// Returns the copy that the last writer made of the registry.
    pub(crate) fn registry_copy(&self) -> PathBuf {
        self.path.join("locks").join("registry.yaml")
    }

    /// Returns the threads that have a run folder.
    pub(crate) fn threads_with_runs(&self) -> Result<Vec<ThreadId>, StorageError> {
        let names = uwf_durable::names(&self.runs_dir())?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns the directory of the slots that limit how many agents run.
    pub(crate) fn slots_dir(&self) -> PathBuf {
        self.path.join("locks").join("slots")
    }

    /// Returns the directory of the notes who works in which working tree.
    pub(crate) fn trees_dir(&self) -> PathBuf {
        self.path.join("locks").join("trees")
    }

    /// Returns the directory of indexes of git that are used for one look.
    pub(crate) fn indexes_dir(&self) -> PathBuf {
        self.path.join("locks").join("indexes")
    }

    /// Returns the directory of the worktrees of threads, and of their records.
    #[must_use]
    pub fn worktrees_dir(&self) -> PathBuf {
        self.path.join("worktrees")
    }

    /// Returns the record that a thread is shared.
    #[must_use]
    pub fn shared(&self, thread: ThreadId) -> SharedFile {
        SharedFile::at(self.shared_folder(), thread)
    }

    /// Returns the directory of the records of shared threads.
    #[must_use]
    pub fn shared_dir(&self) -> PathBuf {
        self.path.join("shared")
    }

    /// Returns the folder of these records.
    #[must_use]
    pub fn shared_folder(&self) -> SharedFolder {
        SharedFolder::at(self.shared_dir(), self.path.join("locks").join("shared"))
    }

    /// Returns the directory of the process logs.
    #[must_use]
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Returns the directory with the records of a thread's runs.
    #[must_use]
    pub fn run(&self, thread: ThreadId) -> RunDir {
        RunDir::at(self.runs_dir().join(thread.as_str()))
    }

    /// Returns all entries of the directory of runs, sorted, also those that are not named after a thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn runs(&self) -> Result<Vec<RunDir>, StorageError> {
        let mut runs = crate::references::entries(&self.runs_dir())?;
        runs.sort();
        Ok(runs.into_iter().map(RunDir::at).collect())
    }

    /// Returns the threads that began after this one and have a run folder, oldest first.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn runs_after(&self, thread: ThreadId) -> Result<Vec<ThreadId>, StorageError> {
        let runs = crate::references::entries(&self.runs_dir())?;
        let id = |path: &PathBuf| path.file_name()?.to_str()?.parse().ok();
        let mut threads: Vec<ThreadId> = runs.iter().filter_map(id).collect();
        threads.retain(|other| *other > thread);
        threads.sort_unstable();
        Ok(threads)
    }

    /// Returns the directory of the runs of all threads.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Tells whether a program has used the directory as a root.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.path.join("locks").is_dir() || self.has_state()
    }

    /// Tells whether any file of the state exists.
    #[must_use]
    pub fn has_state(&self) -> bool {
        [
            self.threads_file(),
            self.history_file(),
            self.registry_file(),
            self.foreign_registry_file(),
        ]
        .iter()
        .any(|file| file.exists())
    }

    /// Returns a record that only this program makes, if there is one: of runs, of names and labels, or of what names of
    /// workflows stood for.
    #[must_use]
    pub fn own_record(&self) -> Option<PathBuf> {
        let records = [
            self.runs_dir(),
            self.labels_file(),
            self.registry_history_file(),
        ];
        records.into_iter().find(|record| record.exists())
    }

    /// Returns the files that remain when another program has migrated the state.
    #[must_use]
    pub fn files_taken_over(&self) -> [PathBuf; 3] {
        ["threads.yaml", "workflows.yaml", "history.jsonl"]
            .map(|name| self.path.join(format!("{name}.migrated")))
    }
}

/// Tells whether a path, given from a root on, has a meaning there.
#[must_use]
pub fn is_of_root(below: &Path) -> bool {
    const FOLDERS: [&str; 6] = ["cas", "runs", "locks", "logs", "worktrees", "shared"];
    let root = Root::at(PathBuf::new());
    let files = [
        root.threads_file(),
        root.history_file(),
        root.torn_history_file(),
        root.registry_file(),
        root.registry_history_file(),
        root.foreign_registry_file(),
        root.labels_file(),
        root.trust_file(),
        root.config_file(),
        root.env_file(),
    ];
    files.iter().any(|file| file == below) || FOLDERS.iter().any(|folder| below.starts_with(folder))
}

/// Makes a path absolute; one that is absolute already stays as it is.
fn absolute(path: &OsStr, env: &Env) -> PathBuf {
    env.cwd().join(path).components().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn check(flag: Option<&str>, variables: &[(&str, &str)], expected: &str) {
        let env = Env::from_parts(variables, "/work", 0, 0);
        let root = Root::resolve(flag.map(Path::new), &env).unwrap();
        assert_eq!(root.path(), Path::new(expected));
    }

    #[test]
    fn the_flag_beats_the_variables_and_these_the_home_directory() {
        let first = ("UWF_STORAGE_ROOT", "/first");
        let second = ("WORKFLOW_STORAGE_ROOT", "/second");
        let home = ("HOME", "/home/me");
        check(Some("/flag"), &[first, second, home], "/flag");
        check(None, &[first, second, home], "/first");
        check(None, &[("UWF_STORAGE_ROOT", ""), second, home], "/second");
        check(None, &[home], "/home/me/.uwf");
    }

    #[test]
    fn a_relative_root_starts_at_the_working_directory() {
        check(Some("here"), &[], "/work/here");
        check(Some("./here/."), &[], "/work/here");
        check(None, &[("UWF_STORAGE_ROOT", "there")], "/work/there");
    }

    #[test]
    fn without_any_name_there_is_no_root() {
        let env = Env::from_parts(&[("HOME", "")], "/work", 0, 0);
        assert!(matches!(
            Root::resolve(None, &env),
            Err(StorageError::NoHome)
        ));
        let empty = Root::resolve(Some(Path::new("")), &env);
        assert!(matches!(empty, Err(StorageError::EmptyRoot)));
    }

    #[test]
    fn nodes_lie_under_the_root_unless_a_variable_says_otherwise() {
        let root = Root::at("/root".into());
        let env = |value| Env::from_parts(&[("OCAS_DIR", value)], "/work", 0, 0);
        assert_eq!(root.cas_dir(&env("")), Path::new("/root/cas"));
        assert_eq!(root.cas_dir(&env("/cas")), Path::new("/cas"));
        assert_eq!(root.cas_dir(&env("cas")), Path::new("/work/cas"));
    }

    #[test]
    fn files_of_the_state_are_told_from_others() {
        for ours in [
            "threads.yaml",
            "labels.jsonl",
            ".env",
            "cas/x.bin",
            "runs",
            "locks/room",
        ] {
            assert!(is_of_root(Path::new(ours)), "{ours}");
        }
        for other in [
            "",
            "threads.tar",
            "casual",
            "x/threads.yaml",
            "history.html",
        ] {
            assert!(!is_of_root(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn a_new_root_is_private() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("a/b"));
        root.create().unwrap();
        root.create().unwrap();
        let mode = root.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

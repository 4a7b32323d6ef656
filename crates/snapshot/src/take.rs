//! Taking a snapshot.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use uwf_durable::{Durability, FileError, open, read, remove, replace};

use crate::git::Git;
use crate::start::Start;
use crate::{Repository, SnapshotError};

/// Where the snapshots of one thread are kept.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// An index of our own, for these snapshots of this repository alone. It is made if it is missing.
    pub index: &'a Path,
    /// The reference that keeps the newest snapshot, and by its parents all earlier ones.
    pub reference: &'a str,
    /// Untracked files with more bytes than this are left out.
    pub most_bytes: u64,
    /// Tells whether a folder is one whose untracked files are left out.
    pub hides: fn(&Path) -> bool,
    /// How the calls of `git` are started that may run filters of the repository.
    pub start: &'a dyn Start,
}

/// A snapshot of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit. If nothing has changed since the snapshot before, it is the same commit.
    pub commit: String,
    /// The untracked files that were left out because they are too large, relative to the working tree.
    pub left_out: Vec<PathBuf>,
}

impl Repository {
    /// Takes a snapshot of the working tree.
    ///
    /// The first one has the commit that is checked out as its parent, a later one the snapshot before. The caller makes sure
    /// that nobody else uses the place at the same time.
    ///
    /// # Errors
    /// When `git` cannot be started or refuses, or the index cannot be made.
    pub fn snapshot(&self, place: Place<'_>, message: &str) -> Result<Snapshot, SnapshotError> {
        let git = self.git();
        let (tree, left_out) = self.tree(place)?;
        let before = self.found(&format!("{}^{{commit}}", place.reference));
        if let Some(before) = &before
            && self.tree_of(before).as_deref() == Some(&tree)
        {
            let commit = before.clone();
            return Ok(Snapshot { commit, left_out });
        }
        let parent = before.or_else(|| self.found("HEAD^{commit}"));
        let mut args = vec!["commit-tree", &tree, "-m", message];
        if let Some(parent) = &parent {
            args.extend(["-p", parent]);
        }
        let commit = git.line(&args)?;
        self.keep(place.reference, &commit)?;
        Ok(Snapshot { commit, left_out })
    }

    /// Writes the tree of all files, and no commit. Returns it, with the untracked files that are too large.
    ///
    /// # Errors
    /// See [`snapshot`](Self::snapshot).
    pub fn tree(&self, place: Place<'_>) -> Result<(String, Vec<PathBuf>), SnapshotError> {
        let git = self.git().with_index(place.index).by(place.start);
        match self.try_tree(&git, place) {
            // A power cut may have damaged the index. Any other refusal stays one.
            Err(SnapshotError::Refused { .. }) if git.bytes(&["ls-files"], b"").is_err() => {
                remove(place.index)?;
                self.try_tree(&git, place)
            }
            done => done,
        }
    }

    /// Returns the tree of a commit, which may be named by a reference; `None` if there is no such commit.
    #[must_use]
    pub fn tree_of(&self, commit: &str) -> Option<String> {
        self.found(&format!("{commit}^{{tree}}"))
    }

    /// Tells whether a commit has exactly these files: that of the user's branch, or one that a reference in this folder names.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn is_kept(&self, tree: &str, references: &str) -> Result<bool, SnapshotError> {
        let args = ["for-each-ref", "--format=%(tree)", references];
        let is_kept = self.git().line(&args)?.lines().any(|kept| kept == tree);
        Ok(is_kept || self.tree_of("HEAD").as_deref() == Some(tree))
    }

    /// Tells whether the repository has a commit.
    #[must_use]
    pub fn has(&self, commit: &str) -> bool {
        self.found(&format!("{commit}^{{commit}}")).is_some()
    }

    pub(crate) fn found(&self, name: &str) -> Option<String> {
        self.git()
            .line(&["rev-parse", "--quiet", "--verify", name])
            .ok()
    }

    fn try_tree(
        &self,
        git: &Git<'_>,
        place: Place<'_>,
    ) -> Result<(String, Vec<PathBuf>), SnapshotError> {
        self.ready(place.index)?;
        show_all(git, &self.root)?;
        let left_out = self.add_changed(git, place)?;
        Ok((git.line(&["write-tree"])?, left_out))
    }

    /// Makes the index ready: it is made from the user's, which knows which files have not changed. A lock is left of a call
    /// that was killed.
    fn ready(&self, index: &Path) -> Result<(), SnapshotError> {
        let mut lock = index.as_os_str().to_owned();
        lock.push(".lock");
        remove(Path::new(&lock))?;
        if index.exists() {
            return Ok(());
        }
        let users = self.git().path(&["rev-parse", "--git-path", "index"])?;
        // Without one, nothing was ever added in this repository.
        if let Some(content) = read(&users)? {
            replace(index, &content, Durability::Volatile)?;
            // By the time of its index, git knows which files may have changed within the same second.
            let modified = users.metadata().and_then(|users| users.modified());
            if let (Ok(modified), Some(copy)) = (modified, open(index)?) {
                copy.set_modified(modified)
                    .map_err(FileError::io("touch", index))?;
            }
        }
        Ok(())
    }

    /// Adds what has changed to the index. Returns the untracked files that are too large.
    fn add_changed(&self, git: &Git<'_>, place: Place<'_>) -> Result<Vec<PathBuf>, SnapshotError> {
        git.bytes(&["add", "--update"], b"")?;
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = git.bytes(&others, b"")?;
        let (mut added, mut left_out) = (Vec::new(), Vec::new());
        let mut hidden = HashMap::new();
        for name in others.split(|byte| *byte == 0) {
            // A name with a slash at its end is another repository.
            if name.is_empty() || name.ends_with(b"/") {
                continue;
            }
            let path = Path::new(OsStr::from_bytes(name));
            let whole = self.root.join(path);
            if self.is_hidden(whole.parent(), place.hides, &mut hidden) {
                continue;
            }
            let found = whole.symlink_metadata();
            if found.is_ok_and(|found| found.len() > place.most_bytes) {
                left_out.push(path.to_owned());
            } else {
                added.extend(name);
                added.push(0);
            }
        }
        if !added.is_empty() {
            // A file that somebody has removed in between is no error.
            let add = ["update-index", "--add", "--remove", "-z", "--stdin"];
            git.bytes(&add, &added)?;
        }
        Ok(left_out)
    }

    /// Tells whether a folder, or one above it in the working tree, is hidden. What is known already is not asked again.
    fn is_hidden(
        &self,
        folder: Option<&Path>,
        hides: fn(&Path) -> bool,
        known: &mut HashMap<PathBuf, bool>,
    ) -> bool {
        let Some(folder) = folder.filter(|folder| **folder != *self.root) else {
            return false;
        };
        if let Some(is_hidden) = known.get(folder) {
            return *is_hidden;
        }
        let is_hidden = self.is_hidden(folder.parent(), hides, known) || hides(folder);
        known.insert(folder.to_owned(), is_hidden);
        is_hidden
    }
}

/// Lets an index tell of all files. A user may have told his own index not to look at some of them (`--assume-unchanged`,
/// `--skip-worktree`), and ours began as a copy of it. In a sparse checkout, the files that are not there stay as they are.
fn show_all(git: &Git<'_>, root: &Path) -> Result<(), SnapshotError> {
    let listed = git.bytes(&["ls-files", "-v", "-z"], b"")?;
    let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
    // Each is a letter and a name: `S` if it is skipped, and a small letter if it is assumed to be unchanged.
    for entry in listed.split(|byte| *byte == 0) {
        let [tag, b' ', name @ ..] = entry else {
            continue;
        };
        let add = |names: &mut Vec<u8>| {
            names.extend(name);
            names.push(0);
        };
        if tag.is_ascii_lowercase() {
            add(&mut assumed);
        }
        let is_there = || {
            root.join(OsStr::from_bytes(name))
                .symlink_metadata()
                .is_ok()
        };
        if tag.eq_ignore_ascii_case(&b'S') && is_there() {
            add(&mut skipped);
        }
    }
    for (flag, names) in [
        ("--no-assume-unchanged", assumed),
        ("--no-skip-worktree", skipped),
    ] {
        if !names.is_empty() {
            git.bytes(&["update-index", flag, "-z", "--stdin"], &names)?;
        }
    }
    Ok(())
}

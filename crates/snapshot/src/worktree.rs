//! A worktree with a branch of its own, beside the working tree of the user.
//!
//! The caller keeps the record of it, and makes sure that no two calls work on the same one at once. Every call here can be
//! repeated after it was killed.
//!
//! `git` looks at all worktrees of a repository when it makes one, and refuses to if it finds one that is just being made. So
//! calls that make or remove worktrees of one repository wait for each other, by a lock on its git folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use uwf_durable::{FileLock, create_dir, move_file, names, read, remove, remove_tree};

use crate::git::Git;
use crate::start::Start;
use crate::take::Place;
use crate::unkept::{uncommitted, unkept_inside};
use crate::{Repository, SnapshotError};

/// A worktree, which may not have been made yet, or not wholly.
#[derive(Debug, Clone, Copy)]
pub struct Worktree<'a> {
    /// The git folder of the repository, which all its worktrees share.
    pub git_dir: &'a Path,
    /// The folder of the worktree.
    pub place: &'a Path,
    /// Its branch, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit at which the branch began.
    pub base: &'a str,
}

/// What would be lost with a worktree and its branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unkept {
    /// How many files have changes that are not committed. Ignored files do not count.
    pub files: u64,
    /// How many commits no other branch, tag or remote branch has, nor the commit that is checked out elsewhere.
    pub commits: u64,
    /// The commit that is checked out in the worktree, if it is not that of the branch.
    pub detached: Option<String>,
    /// The repositories inside that have commits which none of their remote branches has. Their folders, within the worktree.
    pub inside: Vec<String>,
    /// Whether the folder is there, and is no worktree of the repository any more: then nobody can tell what in it is kept
    /// elsewhere.
    pub damaged: bool,
}

impl Unkept {
    /// Tells whether nothing would be lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.files == 0 && self.commits == 0 && self.inside.is_empty() && !self.damaged
    }
}

/// What is where a worktree was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The worktree.
    Whole,
    /// Something that is no worktree of the repository any more.
    Damaged,
    /// Nothing.
    Absent,
}

impl Repository {
    /// Returns the git folder of the repository, which all its worktrees share.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn git_dir(&self) -> Result<PathBuf, SnapshotError> {
        self.git().path(&["rev-parse", "--git-common-dir"])
    }

    /// Returns the commit that is checked out; `None` if nothing was ever committed.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.found("HEAD^{commit}")
    }

    /// Returns how many files have changes that are not committed.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn uncommitted(&self, start: &dyn Start) -> Result<u64, SnapshotError> {
        uncommitted(self.root(), start)
    }

    /// Returns a commit of all files as they are: the commit that is checked out if they are those of it, otherwise a new
    /// one after it, which no reference keeps. The reference of the place is not used.
    ///
    /// # Errors
    /// See [`snapshot`](Self::snapshot).
    pub fn commit_of_state(
        &self,
        place: Place<'_>,
        message: &str,
    ) -> Result<String, SnapshotError> {
        let (tree, _) = self.tree(place)?;
        self.commit_after("HEAD", &tree, message)
    }

    /// Returns a commit with the files of a snapshot after the newest commit that the snapshot and the checked out commit
    /// have in common; or this commit itself, if it has these files. `None` if the repository does not have the snapshot.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn commit_of_snapshot(
        &self,
        snapshot: &str,
        message: &str,
    ) -> Result<Option<String>, SnapshotError> {
        let Some(tree) = self.tree_of(snapshot) else {
            return Ok(None);
        };
        match self.git().line(&["merge-base", "HEAD", snapshot]) {
            Ok(common) => self.commit_after(&common, &tree, message).map(Some),
            // They have nothing in common: the snapshot is the beginning.
            Err(SnapshotError::Refused { .. }) => Ok(Some(snapshot.to_owned())),
            Err(error) => Err(error),
        }
    }

    fn commit_after(
        &self,
        parent: &str,
        tree: &str,
        message: &str,
    ) -> Result<String, SnapshotError> {
        let git = self.git();
        let parent = git.line(&["rev-parse", "--verify", &format!("{parent}^{{commit}}")])?;
        if self.tree_of(&parent).as_deref() == Some(tree) {
            return Ok(parent);
        }
        git.line(&["commit-tree", tree, "-m", message, "-p", &parent])
    }
}

impl Worktree<'_> {
    /// Tells what is where the worktree was made.
    #[must_use]
    pub fn presence(&self) -> Presence {
        if self.is_whole() {
            return Presence::Whole;
        }
        match self.place.symlink_metadata() {
            Ok(_) => Presence::Damaged,
            Err(_) => Presence::Absent,
        }
    }

    /// Tells whether the folder is there, as a worktree of the repository.
    fn is_whole(&self) -> bool {
        let known = self.git_dir.join("worktrees").canonicalize();
        let Ok(Some(link)) = read(&self.place.join(".git")) else {
            return false;
        };
        let Some(link) = link.strip_prefix(b"gitdir: ") else {
            return false;
        };
        let entry = self.place.join(OsStr::from_bytes(link.trim_ascii_end()));
        let entry = entry.canonicalize();
        matches!((&known, &entry), (Ok(known), Ok(entry)) if entry.starts_with(known))
    }

    /// Tells whether the branch could be made: its name is one, and no branch has it.
    ///
    /// # Errors
    /// When `git` cannot be started.
    pub fn is_free(&self) -> Result<bool, SnapshotError> {
        let valid = self.answers(&["check-ref-format", &self.reference()])?;
        Ok(valid && self.tip()?.is_none())
    }

    /// Returns the newest commit of the branch; `None` if there is no such branch.
    ///
    /// # Errors
    /// When `git` cannot be started.
    pub fn tip(&self) -> Result<Option<String>, SnapshotError> {
        let name = format!("{}^{{commit}}", self.reference());
        refused_as_none(
            self.git()
                .line(&["rev-parse", "--quiet", "--verify", &name]),
        )
    }

    /// Returns the name that the branch has now, if a person has renamed it, and it is checked out in the worktree. That it was the
    /// branch is in its log: another one may be checked out, and this one gone.
    ///
    /// # Errors
    /// When `git` cannot be started.
    pub fn renamed(&self) -> Result<Option<String>, SnapshotError> {
        if self.tip()?.is_some() {
            return Ok(None);
        }
        let Some(branch) = self.checked_out()? else {
            return Ok(None);
        };
        let reference = format!("refs/heads/{branch}");
        let log = ["reflog", "show", "--format=%gs", &reference, "--"];
        let log = refused_as_none(self.git().line(&log))?.unwrap_or_default();
        let renamed = format!("Branch: renamed {} to ", self.reference());
        let is_ours = log.lines().any(|line| line.starts_with(&renamed));
        Ok(Some(branch).filter(|_| is_ours))
    }

    /// Returns the branch that is checked out in the worktree; `None` if there is none, or no worktree.
    ///
    /// # Errors
    /// When `git` cannot be started.
    fn checked_out(&self) -> Result<Option<String>, SnapshotError> {
        if !self.is_whole() {
            return Ok(None);
        }
        let args = ["symbolic-ref", "--quiet", "--short", "HEAD"];
        refused_as_none(Git::at(self.place).line(&args))
    }

    /// Makes the branch at its base, and the worktree. What an earlier call left of it is made anew. Hooks are not run.
    ///
    /// # Errors
    /// When `git` refuses: for example because the branch exists and is not at its base.
    pub fn make(&self, start: &dyn Start) -> Result<(), SnapshotError> {
        remove_tree(self.place)?;
        self.register(start)?;
        // Nobody waits for the files of another worktree to be written or removed.
        let fill = ["reset", "--quiet", "--hard", "--no-recurse-submodules"];
        Git::at(self.place).by(start).line(&fill)?;
        Ok(())
    }

    /// Makes the branch, and the worktree without its files.
    fn register(&self, start: &dyn Start) -> Result<(), SnapshotError> {
        let _alone = self.alone()?;
        self.unregister()?;
        if let Some(parent) = self.place.parent() {
            create_dir(parent)?;
        }
        if self.tip()?.as_deref() != Some(self.base) {
            // An empty old value: the branch must not exist.
            let branch = self.reference();
            self.git().line(&["update-ref", &branch, self.base, ""])?;
        }
        let place = self.place.as_os_str();
        let args = ["worktree", "add", "--quiet", "--no-checkout"].map(OsStr::new);
        let rest = [place, OsStr::new(self.branch)];
        self.git()
            .by(start)
            .line(&[&args[..], &rest[..]].concat())?;
        Ok(())
    }

    /// Returns what would be lost with the worktree and its branch, if these other branches are removed, too.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn unkept(&self, leaving: &[&str], start: &dyn Start) -> Result<Unkept, SnapshotError> {
        let mut unkept = Unkept::default();
        let mut tips: Vec<String> = self.tip()?.into_iter().collect();
        if self.is_whole() {
            let inside = Git::at(self.place);
            unkept.files = uncommitted(self.place, start)?;
            // Somebody may have checked out another commit there.
            let head = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
            let head = refused_as_none(inside.line(&head))?;
            unkept.detached = head.filter(|head| !tips.contains(head));
            tips.extend(unkept.detached.clone());
            unkept.inside = unkept_inside(self.place)?;
        }
        unkept.damaged = self.presence() == Presence::Damaged;
        if tips.is_empty() {
            return Ok(unkept);
        }
        let excluded = leaving.iter().chain([&self.branch]);
        let excluded: Vec<String> = excluded.map(|one| format!("--exclude={one}")).collect();
        let mut args = vec!["rev-list", "--count"];
        args.extend(tips.iter().map(String::as_str));
        args.push("--not");
        args.extend(excluded.iter().map(String::as_str));
        args.extend(["--branches", "--tags", "--remotes"]);
        args.extend(Some(self.base).filter(|base| self.has(base)));
        // In the git folder, this is the commit that is checked out in the user's working tree.
        args.extend(Some("HEAD").filter(|head| self.has(head)));
        unkept.commits = self.git().line(&args)?.parse().unwrap_or(u64::MAX);
        Ok(unkept)
    }

    /// Returns why a person has locked the worktree with `git worktree lock`, which may be empty; `None` if it is not locked.
    ///
    /// # Errors
    /// When the git folder cannot be read.
    pub fn locked(&self) -> Result<Option<String>, SnapshotError> {
        let known = self.git_dir.join("worktrees");
        for name in names(&known)? {
            let entry = known.join(&name);
            if self.is_known_as(&entry)?
                && let Some(reason) = read(&entry.join("locked"))?
            {
                let reason = String::from_utf8_lossy(&reason);
                return Ok(Some(reason.trim().to_owned()));
            }
        }
        Ok(None)
    }

    /// Removes the worktree, and the branch unless it is checked out elsewhere. The folder gets another name first: after a kill, a
    /// part of it is not taken for the worktree.
    ///
    /// # Errors
    /// When the folder cannot be removed, or `git` cannot be started.
    pub fn remove(&self) -> Result<(), SnapshotError> {
        let mut leaving = self.place.as_os_str().to_owned();
        leaving.push(".removed");
        let leaving = Path::new(&leaving);
        remove_tree(leaving)?;
        if self.place.symlink_metadata().is_ok() {
            move_file(self.place, leaving)?;
            remove_tree(leaving)?;
        }
        let _alone = self.alone()?;
        self.unregister()?;
        self.remove_branch()
    }

    /// Removes what a call that was killed left of the worktree, and the branch if it is at its base: another one of that name
    /// is not ours.
    ///
    /// # Errors
    /// As of [`remove`](Self::remove).
    pub fn remove_unmade(&self) -> Result<(), SnapshotError> {
        remove_tree(self.place)?;
        let _alone = self.alone()?;
        self.unregister()?;
        if !self.git_dir.is_dir() {
            return Ok(());
        }
        let tip = self.tip()?;
        if tip.as_deref().is_none_or(|tip| tip == self.base) {
            // Left of a git of ours that was killed, perhaps before it had made the branch.
            remove(&self.branch_lock())?;
            self.remove_branch()?;
        }
        Ok(())
    }

    /// Removes a reference of our own in the repository, if it is there.
    ///
    /// # Errors
    /// When `git` cannot be started.
    pub fn forget(&self, reference: &str) -> Result<(), SnapshotError> {
        if self.git_dir.is_dir() {
            refused_as_none(self.git().line(&["update-ref", "-d", reference]))?;
        }
        Ok(())
    }

    /// Waits until no other call of ours makes or removes a worktree of the repository, if that is still there. The lock ends
    /// with the process.
    fn alone(&self) -> Result<Option<FileLock>, SnapshotError> {
        Ok(FileLock::acquire_folder(self.git_dir)?)
    }

    /// Removes what git knows of the worktree. `git` itself refuses that for one that is not wholly made, and then lists no
    /// worktree of the repository any more.
    fn unregister(&self) -> Result<(), SnapshotError> {
        let known = self.git_dir.join("worktrees");
        for name in names(&known)? {
            let entry = known.join(&name);
            if self.is_known_as(&entry)? {
                remove_tree(&entry)?;
            }
        }
        Ok(())
    }

    /// Tells whether an entry of the git folder is about this worktree. One that does not say it yet was left of a call that
    /// was killed; its name tells it.
    pub(crate) fn is_known_as(&self, entry: &Path) -> Result<bool, SnapshotError> {
        let file = read(&entry.join("gitdir"))?.unwrap_or_default();
        let file = file.trim_ascii_end();
        if file.is_empty() {
            return Ok(entry.file_name() == self.place.file_name());
        }
        Ok(Path::new(OsStr::from_bytes(file)) == self.place.join(".git"))
    }

    /// Removes the branch, if it is there, unless it is checked out elsewhere.
    fn remove_branch(&self) -> Result<(), SnapshotError> {
        if !self.git_dir.is_dir() || self.tip()?.is_none() {
            return Ok(());
        }
        match self
            .git()
            .line(&["branch", "--quiet", "-D", "--", self.branch])
        {
            Err(SnapshotError::Refused { message, .. })
                if message.contains("used by worktree") || message.contains("checked out") =>
            {
                Ok(())
            }
            done => done.map(|_| ()),
        }
    }

    /// Tells whether the repository has a commit.
    #[must_use]
    pub fn has(&self, commit: &str) -> bool {
        let name = format!("{commit}^{{commit}}");
        self.answers(&["rev-parse", "--quiet", "--verify", &name])
            .unwrap_or(false)
    }

    fn answers(&self, args: &[&str]) -> Result<bool, SnapshotError> {
        Ok(refused_as_none(self.git().line(args))?.is_some())
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn git(&self) -> Git<'_> {
        Git::at(self.git_dir)
    }
}

/// Returns the working tree that a directory lies in, or the directory itself: the nearest folder with a `.git`. No program
/// is started.
#[must_use]
pub fn tree_around(directory: &Path) -> &Path {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    directory.ancestors().find(has_git).unwrap_or(directory)
}

pub(crate) fn refused_as_none<T>(
    answer: Result<T, SnapshotError>,
) -> Result<Option<T>, SnapshotError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(SnapshotError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

//! Claims tell which threads work in a working tree. A claim is a file that a thread locks while one of its agents works
//! there. The agent inherits the lock, as it inherits the lock of the thread, so the claim holds until its last process has
//! ended.
//!
//! A thread makes its claim first and looks for those of others after that. So of two threads that begin at once, at least
//! one sees the other. Threads that want a tree for themselves do both while they have the turn, which is another lock: of
//! these, only one stays. Threads of one family never keep each other out.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use uwf_durable::FileLock;
use uwf_protocol::ids::ThreadId;

use crate::{Root, StorageError};

/// A working tree, as the threads under a root see it.
#[derive(Debug)]
pub struct Tree {
    root: Root,
    /// What the names of its files begin with.
    name: String,
}

/// Who works in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimant {
    /// The thread.
    pub thread: ThreadId,
    /// The thread above it that has no parent; itself if it has none.
    pub family: ThreadId,
}

/// The note that a thread works in a tree. It ends when it is dropped, also for the processes that inherited it, or when the
/// last process that has it ends.
#[derive(Debug)]
pub struct Claim {
    file: PathBuf,
    _lock: FileLock,
}

/// What came of claiming a tree alone.
#[derive(Debug)]
pub enum Claimed {
    /// Nobody else works there.
    Alone(Claim),
    /// Agents of these threads work there.
    Taken(Vec<ThreadId>),
}

impl Tree {
    /// Returns the tree with this folder. A folder is the same one by whichever path it is named.
    ///
    /// # Errors
    /// [`StorageError::Io`] if the folder cannot be looked at.
    pub fn at(root: &Root, folder: &Path) -> Result<Self, StorageError> {
        let found = fs::metadata(folder).map_err(StorageError::io("look at", folder))?;
        Ok(Self {
            root: root.clone(),
            name: format!("{:x}-{:x}.", found.dev(), found.ino()),
        })
    }

    /// Claims the tree. Returns the threads of other families whose agents work there, too.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn claim(&self, who: Claimant) -> Result<(Claim, Vec<ThreadId>), StorageError> {
        let file = self
            .directory()
            .join(format!("{}{}", self.name, who.thread));
        // Only leftovers of the thread itself can have its lock for longer than a look: this process owns the thread.
        let lock = match FileLock::acquire_if_free(&file)? {
            Some(lock) => lock,
            None => FileLock::replace(&file)?,
        };
        uwf_durable::overwrite(&file, who.family.as_str().as_bytes())?;
        lock.inherit_on_exec()?;
        let claim = Claim { file, _lock: lock };
        let others = self.others(who)?;
        Ok((claim, others))
    }

    /// Claims the tree, unless agents of other families work there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn claim_alone(&self, who: Claimant) -> Result<Claimed, StorageError> {
        let _turn = FileLock::acquire(&self.directory().join("turn"))?;
        let (claim, others) = self.claim(who)?;
        Ok(match others.is_empty() {
            true => Claimed::Alone(claim),
            false => Claimed::Taken(others),
        })
    }

    /// Returns the threads of other families whose agents work in the tree, the oldest first.
    fn others(&self, who: Claimant) -> Result<Vec<ThreadId>, StorageError> {
        let mut others = Vec::new();
        for name in uwf_durable::names(&self.directory())? {
            let thread = name.strip_prefix(&self.name);
            let thread: Option<ThreadId> = thread.and_then(|thread| thread.parse().ok());
            let Some(thread) = thread.filter(|thread| *thread != who.thread) else {
                continue;
            };
            let file = self.directory().join(&name);
            let is_relative = read_thread(&file).is_some_and(|family| family == who.family);
            // Trying a lock would make its file.
            if is_relative || !file.is_file() || FileLock::try_acquire(&file)?.is_some() {
                continue;
            }
            // What an agent whose step is done left running works for nobody.
            if !self.root.run(thread).lease.is_left_behind()? {
                others.push(thread);
            }
        }
        // The order of names in a folder is the file system's own.
        others.sort_unstable();
        Ok(others)
    }

    fn directory(&self) -> PathBuf {
        self.root.trees_dir()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A file that stays says nothing, because nobody has its lock.
        let _ = uwf_durable::remove(&self.file);
    }
}

/// Returns the thread that a small file names.
pub(crate) fn read_thread(file: &Path) -> Option<ThreadId> {
    let content = uwf_durable::read(file).ok()??;
    str::from_utf8(&content).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u8) -> ThreadId {
        format!("01J7K9Z00000000000000000{number:02}")
            .parse()
            .unwrap()
    }

    fn who(number: u8, family: u8) -> Claimant {
        Claimant {
            thread: thread(number),
            family: thread(family),
        }
    }

    fn world() -> (tempfile::TempDir, Tree) {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("root"));
        let tree = Tree::at(&root, temp.path()).unwrap();
        (temp, tree)
    }

    #[track_caller]
    fn taken(claimed: Claimed) -> Vec<ThreadId> {
        match claimed {
            Claimed::Taken(by) => by,
            Claimed::Alone(_) => panic!("nobody was there"),
        }
    }

    /// Lets a thread look like one whose agent works.
    fn at_work(tree: &Tree, number: u8) -> crate::ThreadLock {
        let lease = tree.root.run(thread(number)).lease;
        lease.try_acquire().unwrap().unwrap()
    }

    #[test]
    fn a_tree_is_for_one_family_until_its_claims_end() {
        let (_temp, tree) = world();
        let _work = [at_work(&tree, 1), at_work(&tree, 2)];
        let Claimed::Alone(first) = tree.claim_alone(who(1, 1)).unwrap() else {
            panic!("somebody was there");
        };
        let (child, others) = tree.claim(who(2, 1)).unwrap();
        assert_eq!(others, []);
        assert_eq!(
            taken(tree.claim_alone(who(3, 3)).unwrap()),
            [thread(1), thread(2)]
        );
        drop(first);
        assert_eq!(taken(tree.claim_alone(who(3, 3)).unwrap()), [thread(2)]);
        let (_other, others) = tree.claim(who(3, 3)).unwrap();
        assert_eq!(others, [thread(2)]);
        drop(child);
        assert!(matches!(
            tree.claim_alone(who(3, 3)).unwrap(),
            Claimed::Alone(_)
        ));
    }

    #[test]
    fn another_path_to_a_folder_is_the_same_tree_and_another_folder_is_not() {
        let (temp, tree) = world();
        let _work = at_work(&tree, 1);
        let _claim = tree.claim(who(1, 1)).unwrap();
        let link = temp.path().join("link");
        std::os::unix::fs::symlink(temp.path(), &link).unwrap();
        let same = Tree::at(&tree.root, &link).unwrap();
        assert_eq!(taken(same.claim_alone(who(2, 2)).unwrap()), [thread(1)]);
        let folder = temp.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let other = Tree::at(&tree.root, &folder).unwrap();
        assert!(matches!(
            other.claim_alone(who(2, 2)).unwrap(),
            Claimed::Alone(_)
        ));
    }
}

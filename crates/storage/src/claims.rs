//! Claims tell which threads work in a working tree. A claim is a file that a thread locks while one of its agents works
//! there. The agent inherits the lock, as it inherits the lock of the thread, so the claim holds until its last process has
//! ended.
//!
//! A thread looks for the claims of others and makes its own while it has the turn, which is another lock. So of two threads
//! that begin at once, the second one sees the first, and of threads that want a tree for themselves, only one gets it. A thread
//! that waits for a tree has no claim. Threads of one family never keep each other out.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use uwf_durable::FileLock;
use uwf_protocol::ids::ThreadId;

use crate::{Root, StorageError};

/// A working tree, as the threads under a root see it.
#[derive(Debug, PartialEq, Eq)]
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

/// The note that a thread works in a tree.
///
/// [`release`](Self::release) ends it for all processes. Dropping it ends it for this process only: processes that inherited it
/// keep it until the last of them ends.
#[derive(Debug)]
pub struct Claim {
    file: PathBuf,
    lock: FileLock,
}

impl Claim {
    /// Ends the claim, also for the processes that inherited it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn release(self) -> Result<(), StorageError> {
        // A file that stays says nothing, because nobody has its lock.
        let _ = uwf_durable::remove(&self.file);
        Ok(self.lock.release()?)
    }
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
        let _turn = self.turn()?;
        let others = self.others(who)?;
        Ok((self.claim_in_turn(who)?, others))
    }

    /// Claims the tree, unless agents of other families work there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn claim_alone(&self, who: Claimant) -> Result<Claimed, StorageError> {
        let _turn = self.turn()?;
        let others = self.others(who)?;
        Ok(match others.is_empty() {
            true => Claimed::Alone(self.claim_in_turn(who)?),
            false => Claimed::Taken(others),
        })
    }

    /// Waits for the right to look at claims and to make one. Nobody has it for longer than that takes.
    fn turn(&self) -> Result<FileLock, StorageError> {
        Ok(FileLock::acquire(&self.directory().join("turn"))?)
    }

    fn claim_in_turn(&self, who: Claimant) -> Result<Claim, StorageError> {
        let file = self
            .directory()
            .join(format!("{}{}", self.name, who.thread));
        // Only leftovers of the thread itself can have its lock: this process owns the thread, and has the turn.
        let mut lock = match FileLock::try_acquire(&file)? {
            Some(lock) => lock,
            None => FileLock::replace(&file)?,
        };
        uwf_durable::overwrite(&file, who.family.as_str().as_bytes())?;
        lock.hand_on()?;
        Ok(Claim { file, lock })
    }

    /// Returns the threads of other families whose agents work in the tree, the oldest first. Removes the files of claims that
    /// ended with their processes. The caller has the turn.
    fn others(&self, who: Claimant) -> Result<Vec<ThreadId>, StorageError> {
        let mut others = Vec::new();
        for name in uwf_durable::names(&self.directory())? {
            let thread = name.strip_prefix(&self.name);
            let thread: Option<ThreadId> = thread.and_then(|thread| thread.parse().ok());
            let Some(thread) = thread.filter(|thread| *thread != who.thread) else {
                continue;
            };
            let file = self.directory().join(&name);
            // Trying a lock would make its file.
            if !file.is_file() {
                continue;
            }
            if let Some(_lock) = FileLock::try_acquire(&file)? {
                uwf_durable::remove(&file)?;
                continue;
            }
            if read_thread(&file).is_some_and(|family| family == who.family) {
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
        first.release().unwrap();
        assert_eq!(taken(tree.claim_alone(who(3, 3)).unwrap()), [thread(2)]);
        let (_other, others) = tree.claim(who(3, 3)).unwrap();
        assert_eq!(others, [thread(2)]);
        child.release().unwrap();
        assert!(matches!(
            tree.claim_alone(who(3, 3)).unwrap(),
            Claimed::Alone(_)
        ));
    }

    fn files(tree: &Tree) -> Vec<String> {
        let mut files = uwf_durable::names(&tree.directory()).unwrap();
        files.sort_unstable();
        files
    }

    #[test]
    fn the_file_of_a_claim_that_was_killed_is_removed() {
        let (_temp, tree) = world();
        let _work = at_work(&tree, 1);
        let killed = tree.directory().join(format!("{}{}", tree.name, thread(1)));
        fs::create_dir_all(tree.directory()).unwrap();
        fs::write(killed, thread(1).as_str()).unwrap();
        let (claim, others) = tree.claim(who(2, 2)).unwrap();
        assert_eq!(others, []);
        let own = format!("{}{}", tree.name, thread(2));
        assert_eq!(files(&tree), [own, "turn".to_owned()]);
        claim.release().unwrap();
        assert_eq!(files(&tree), ["turn"]);
    }

    #[test]
    fn a_thread_that_finds_a_tree_taken_has_claimed_nothing() {
        let (_temp, tree) = world();
        let _work = at_work(&tree, 1);
        let _claim = tree.claim(who(1, 1)).unwrap();
        taken(tree.claim_alone(who(2, 2)).unwrap());
        assert_eq!(files(&tree).len(), 2);
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
